//! Names that deserve a question even inside the workspace: files that some program will run or
//! obey later, and files that hold secrets. Names are compared the way a forgiving file system
//! would: case, trailing dots and spaces and invisible characters do not matter.
//!
//! These are the only lists of such names: file tools mark what they touch by them, policy looks
//! for them in command lines, the sandbox keeps the same places read-only or out of sight, and the
//! login environment is read again when one of the start-up files changes.

use std::path::{Component, Path};

const RUNS_LATER: &str = "a file that other programs run or obey";
const KEYS: &str = "a place for keys and passwords";
const BACKUP: &str = "a backup that may be put back over a file that is run";

/// Folders in which every file is protected.
const FOLDERS: &[&str] = &[
    ".git",
    ".vscode",
    ".idea",
    ".zed",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".windsurf",
    ".continue",
    ".haft",
    ".devcontainer",
    ".husky",
    ".githooks",
    ".circleci",
    ".direnv",
];

/// Two names in a row, the second one anything below which is protected.
pub const PAIRS: &[(&str, &str)] = &[
    (".github", "workflows"),
    (".github", "actions"),
    (".config", "fish"),
    (".config", "autostart"),
    (".config", "systemd"),
    (".config", "git"),
    (".cargo", "config"),
    (".cargo", "config.toml"),
];

/// Files in a home that every shell, every login or git reads.
pub const START_UP: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".pam_environment",
    ".gitconfig",
];

/// Files that are read at the start of an editor, a build, an agent or another program.
const FILES: &[&str] = &[
    ".inputrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".vimrc",
    ".gvimrc",
    ".exrc",
    ".nvimrc",
    ".emacs",
    ".tmux.conf",
    ".screenrc",
    ".gdbinit",
    ".lldbinit",
    ".pythonrc",
    ".pythonstartup",
    ".irbrc",
    ".pryrc",
    ".curlrc",
    ".wgetrc",
    ".gitmodules",
    ".mcp.json",
    ".envrc",
    ".gitlab-ci.yml",
    ".pre-commit-config.yaml",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".bazelrc",
    ".aider.conf.yml",
    "haft.yaml",
    "haft.yml",
];

/// Folders that hold keys.
pub const KEY_FOLDERS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".gcloud",
    ".password-store",
];

/// Files that hold keys or passwords.
pub const KEY_FILES: &[&str] = &[
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".vault-token",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
];

/// Two names in a row that lead to keys.
pub const KEY_PAIRS: &[(&str, &str)] = &[
    (".config", "gcloud"),
    (".config", "gh"),
    (".cargo", "credentials"),
    (".cargo", "credentials.toml"),
];

const KEY_ENDINGS: &[&str] = &[
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".ppk",
    ".kdbx",
];

/// Endings that mark an `.env` file as a template without values.
const TEMPLATES: &[&str] = &[".example", ".sample", ".template", ".dist"];

/// Why writing here needs asking, if it does. Takes a path relative to the workspace, so that
/// the place of the workspace itself does not matter.
pub fn is_protected(path: &Path) -> Option<&'static str> {
    let names = plain_names(path);
    if let Some(reason) = secret_names(&names) {
        return Some(reason);
    }
    let last = names.last()?;
    if names
        .iter()
        .any(|name| FOLDERS.contains(&name.as_str()) || name == "git~1")
        || has_pair(&names, PAIRS)
        || START_UP.contains(&last.as_str())
        || FILES.contains(&last.as_str())
    {
        return Some(RUNS_LATER);
    }
    last.ends_with('~').then_some(BACKUP)
}

/// Why reading this needs asking, if it does.
pub fn holds_secrets(path: &Path) -> Option<&'static str> {
    secret_names(&plain_names(path))
}

/// The names that `is_protected` knows, as globs below any folder, in lower case: for whoever has
/// to tell what a `*` could find.
pub fn protected_globs() -> Vec<String> {
    let mut globs = secret_globs();
    globs.extend(FOLDERS.iter().flat_map(|name| folder(name)));
    globs.extend(PAIRS.iter().flat_map(pair));
    globs.extend(
        START_UP
            .iter()
            .chain(FILES)
            .map(|name| format!("/**/{name}")),
    );
    globs.push("/**/*~".to_owned());
    globs
}

/// The names that `holds_secrets` knows, in the same way.
pub fn secret_globs() -> Vec<String> {
    let mut globs = vec!["/**/.env".to_owned(), "/**/.env.*".to_owned()];
    globs.extend(KEY_FOLDERS.iter().flat_map(|name| folder(name)));
    globs.extend(KEY_PAIRS.iter().flat_map(pair));
    globs.extend(KEY_FILES.iter().map(|name| format!("/**/{name}")));
    globs.extend(KEY_ENDINGS.iter().map(|end| format!("/**/*{end}")));
    globs
}

fn folder(name: &str) -> [String; 2] {
    [format!("/**/{name}"), format!("/**/{name}/**")]
}

fn pair((first, second): &(&str, &str)) -> [String; 2] {
    folder(&format!("{first}/{second}"))
}

fn secret_names(names: &[String]) -> Option<&'static str> {
    let last = names.last()?;
    let environment = last == ".env"
        || (last.starts_with(".env.") && !TEMPLATES.iter().any(|end| last.ends_with(end)));
    let listed = names
        .iter()
        .any(|name| KEY_FOLDERS.contains(&name.as_str()))
        || has_pair(names, KEY_PAIRS)
        || KEY_FILES.contains(&last.as_str())
        || KEY_ENDINGS.iter().any(|end| last.ends_with(end));
    (environment || listed).then_some(KEYS)
}

fn has_pair(names: &[String], pairs: &[(&str, &str)]) -> bool {
    let is_one = |window: &[String]| {
        pairs
            .iter()
            .any(|(first, second)| window[0] == *first && window[1] == *second)
    };
    names.windows(2).any(is_one)
}

fn plain_names(path: &Path) -> Vec<String> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(plain(&name.to_string_lossy())),
            _ => None,
        })
        .collect()
}

/// A name as a forgiving file system compares it.
fn plain(name: &str) -> String {
    let visible: String = name
        .chars()
        .filter(|&c| !c.is_control() && !is_invisible(c))
        .flat_map(char::to_lowercase)
        .collect();
    let stream_cut = match visible.split_once(':') {
        Some((before, _)) if !before.is_empty() => before,
        _ => &visible,
    };
    stream_cut.trim_end_matches([' ', '.']).to_owned()
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_names_in_every_spelling() {
        let check = |path: &str, write: bool, read: bool| {
            let path = Path::new(path);
            assert_eq!(is_protected(path).is_some(), write, "write {path:?}");
            assert_eq!(holds_secrets(path).is_some(), read, "read {path:?}");
        };
        check("src/main.rs", false, false);
        check(".gitignore", false, false);
        check(".github/dependabot.yml", false, false);
        check("environment.md", false, false);
        check(".env.example", false, false);
        check("Makefile", false, false);
        check(".git/hooks/pre-commit", true, false);
        check("deep/.GIT /config", true, false);
        check(".g\u{200c}it/config", true, false);
        check("GIT~1/config", true, false);
        check(".git::$INDEX_ALLOCATION/config", true, false);
        check(".bashrc.", true, false);
        check(".github/workflows/x.yml", true, false);
        check("sub/haft.yaml", true, false);
        check("Makefile~", true, false);
        check(".env", true, true);
        check(".env.production", true, true);
        check("config/server.PEM", true, true);
        check(".ssh/known_hosts", true, true);
        check(".npmrc", true, true);
        check(".cargo/credentials.toml", true, true);
        check(".config/gh/hosts.yml", true, true);
        check(".cargo/bin/tool", false, false);
    }
}
