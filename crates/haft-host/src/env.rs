//! Which environment variables a command may see. By exact name: a prefix lets the next vendor's
//! token through. What looks like a secret, or makes a program load code, is not passed on even
//! if it is listed here by mistake.

use std::ffi::{OsStr, OsString};

use serde::{Deserialize, Serialize};

/// What the owner adds to the usual names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvPolicy {
    /// Names the owner wants passed on, as `isolation.envVars` lists them. The owner's word
    /// lifts the look of a secret; nothing lifts [`loads_code`].
    pub extra: Vec<String>,
}

/// Names that commands need and that hold no secret.
const ALLOWED: &[&str] = &[
    // Who and where
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "CI",
    // Terminal and language
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "COLUMNS",
    "LINES",
    "FORCE_COLOR",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_ADDRESS",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
    // The desk
    "EDITOR",
    "VISUAL",
    "PAGER",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_DIRS",
    "XDG_SESSION_TYPE",
    // Tool chains
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUST_BACKTRACE",
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_USER_HOME",
    "SDKMAN_DIR",
    "ANDROID_HOME",
    "NVM_DIR",
    "NVM_BIN",
    "NPM_CONFIG_PREFIX",
    "NPM_CONFIG_CACHE",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_ROOT",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PIPX_HOME",
    "UV_CACHE_DIR",
    "RBENV_ROOT",
    "GEM_HOME",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "DOTNET_ROOT",
    "HOMEBREW_PREFIX",
    "CC",
    "CXX",
    "SOURCE_DATE_EPOCH",
    "PKG_CONFIG_PATH",
    "CMAKE_PREFIX_PATH",
    "MANPATH",
    "INFOPATH",
];

/// Parts of a name that say it holds a secret.
const SECRET_WORDS: &[&str] = &[
    "TOKEN",
    "KEY",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTH",
    "PRIVATE",
    "COOKIE",
];

/// Names that make the next program run something that is not on its command line.
const LOADING: &[&str] = &[
    "ENV",
    "BASH_ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "PROMPT_COMMAND",
    "PS4",
    "IFS",
    "NODE_OPTIONS",
    "NODE_EXTRA_CA_CERTS",
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "PYTHONBREAKPOINT",
    "PERL5OPT",
    "RUBYOPT",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "LESSOPEN",
    "LESSCLOSE",
    "GCONV_PATH",
];

/// The variables of `all` that a command may see, in the order they come.
pub fn filter_env(
    all: impl IntoIterator<Item = (OsString, OsString)>,
    policy: &EnvPolicy,
) -> Vec<(OsString, OsString)> {
    all.into_iter()
        .filter(|(name, _)| passes(name, policy))
        .collect()
}

fn passes(name: &OsStr, policy: &EnvPolicy) -> bool {
    // A name that is no text is on no list.
    let Some(name) = name.to_str() else {
        return false;
    };
    if loads_code(name) {
        return false;
    }
    policy.extra.iter().any(|extra| extra == name)
        || (ALLOWED.contains(&name) && !looks_secret(name))
}

/// Whether a name says that its value is a secret.
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Whether a variable makes programs load or run something: such a one is never passed on, for
/// then no rule about a command line would mean anything.
pub fn loads_code(name: &str) -> bool {
    LOADING.contains(&name)
        || ["LD_", "DYLD_", "BASH_FUNC_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        || is_git_command(name)
}

/// Git runs what many of its variables name, and takes whole settings from others.
fn is_git_command(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("GIT_") else {
        return false;
    };
    rest.starts_with("CONFIG")
        || matches!(
            rest,
            "ASKPASS"
                | "SSH"
                | "SSH_COMMAND"
                | "SSH_VARIANT"
                | "EDITOR"
                | "SEQUENCE_EDITOR"
                | "PAGER"
                | "EXTERNAL_DIFF"
                | "PROXY_COMMAND"
                | "EXEC_PATH"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(names: &[&str], extra: &[&str]) -> Vec<String> {
        let policy = EnvPolicy {
            extra: extra.iter().map(|&name| name.to_owned()).collect(),
        };
        let all = names
            .iter()
            .map(|name| (OsString::from(name), OsString::from("value")));
        filter_env(all, &policy)
            .into_iter()
            .map(|(name, _)| name.into_string().unwrap())
            .collect()
    }

    /// Forty names under which secrets are found on developers' machines.
    const PLANTED: [&str; 40] = [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "MISTRAL_API_KEY",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "GITLAB_TOKEN",
        "CI_JOB_TOKEN",
        "CI_DEPLOY_PASSWORD",
        "NPM_TOKEN",
        "NODE_AUTH_TOKEN",
        "CARGO_REGISTRY_TOKEN",
        "PYPI_TOKEN",
        "TWINE_PASSWORD",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "AZURE_CLIENT_SECRET",
        "ARM_CLIENT_SECRET",
        "DATABASE_URL",
        "PGPASSWORD",
        "MYSQL_PWD",
        "REDIS_URL",
        "MONGODB_URI",
        "SENTRY_DSN",
        "SLACK_WEBHOOK_URL",
        "DISCORD_WEBHOOK",
        "STRIPE_SECRET_KEY",
        "TWILIO_AUTH_TOKEN",
        "SSH_AUTH_SOCK",
        "SSH_PRIVATE_KEY",
        "GPG_PASSPHRASE",
        "VAULT_TOKEN",
        "KUBECONFIG",
        "DOCKER_AUTH_CONFIG",
        "COMPOSE_SECRET",
        "XAUTHORITY",
        "SESSION_COOKIE",
        "LC_SECRET_TOKEN",
    ];

    #[test]
    fn no_planted_secret_is_visible() {
        assert_eq!(visible(&PLANTED, &[]), Vec::<String>::new());
        assert_eq!(
            visible(&["github_token", "HAFT_HOME", "LC_PASS"], &[]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn the_owner_may_name_a_secret() {
        assert_eq!(visible(&PLANTED, &["GITHUB_TOKEN"]), ["GITHUB_TOKEN"]);
        assert_eq!(visible(&["HTTPS_PROXY"], &["HTTPS_PROXY"]), ["HTTPS_PROXY"]);
        assert_eq!(
            visible(&["https_proxy", "GITHUB_TOKEN"], &["github_token"]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_loads_code_never_passes() {
        let loading = [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "ENV",
            "PROMPT_COMMAND",
            "BASH_FUNC_ls%%",
            "NODE_OPTIONS",
            "PYTHONSTARTUP",
            "PERL5OPT",
            "RUBYOPT",
            "GIT_SSH_COMMAND",
            "GIT_ASKPASS",
            "GIT_EXTERNAL_DIFF",
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_KEY_0",
            "GIT_PAGER",
            "JAVA_TOOL_OPTIONS",
            "RUSTC_WRAPPER",
        ];
        assert_eq!(visible(&loading, &loading), Vec::<String>::new());
    }

    #[test]
    fn ordinary_names_pass() {
        let ordinary = [
            "PATH",
            "HOME",
            "LANG",
            "LC_ALL",
            "TERM",
            "CARGO_HOME",
            "NO_COLOR",
        ];
        assert_eq!(visible(&ordinary, &[]), ordinary);
    }

    #[test]
    fn the_list_itself_holds_no_secret_and_no_loader() {
        for name in ALLOWED {
            assert!(!looks_secret(name) && !loads_code(name), "{name}");
        }
    }
}
