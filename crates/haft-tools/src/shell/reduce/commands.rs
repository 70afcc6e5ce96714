//! Which commands are known, and which of their lines are only noise.

use std::sync::LazyLock;

use regex::Regex;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    GitStatus,
    Tests,
    Install,
}

/// What a line of a test run that nobody needs is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noise {
    Passed,
    Progress,
}

/// The command a line is, if it is one command and nothing else.
pub(super) fn recognise(line: &str) -> Option<Known> {
    let line = line.trim();
    let line = line.strip_suffix("2>&1").unwrap_or(line).trim_end();
    if line.contains([
        '|', '&', ';', '<', '>', '`', '$', '\n', '(', ')', '{', '}', '\\', '#',
    ]) {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let words = skip_settings(&words);
    match words {
        ["git", "status", flags @ ..] => {
            flags.iter().all(is_status_flag).then_some(Known::GitStatus)
        }
        _ if runs_tests(words) => Some(Known::Tests),
        _ if installs(words) => Some(Known::Install),
        _ => None,
    }
}

/// `NAME=value` before a command.
fn skip_settings<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    let setting = |word: &&&str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    &words[words.iter().take_while(setting).count()..]
}

/// Flags that leave one of the two formats as it is.
fn is_status_flag(flag: &&str) -> bool {
    matches!(
        *flag,
        "-s" | "--short"
            | "-b"
            | "--branch"
            | "-sb"
            | "-bs"
            | "--long"
            | "--porcelain"
            | "--porcelain=v1"
            | "-u"
            | "-uall"
            | "-uno"
            | "-unormal"
            | "--untracked-files"
            | "--untracked-files=all"
            | "--ignored"
    )
}

fn runs_tests(words: &[&str]) -> bool {
    let words = match words {
        ["npx" | "bunx", rest @ ..] => rest,
        ["pnpm" | "yarn", "exec" | "dlx", rest @ ..] => rest,
        ["python" | "python3", "-m", rest @ ..] => rest,
        ["poetry" | "uv" | "pipenv", "run", rest @ ..] => rest,
        other => other,
    };
    match words {
        ["cargo", "test" | "t" | "nextest", ..]
        | [
            "pytest" | "py.test" | "unittest" | "jest" | "vitest" | "mocha" | "ava",
            ..,
        ]
        | ["go", "test", ..]
        | ["npm" | "pnpm" | "yarn" | "bun" | "deno", "test" | "t", ..]
        | ["node", "--test", ..] => true,
        ["cargo", toolchain, "test" | "t" | "nextest", ..] => toolchain.starts_with('+'),
        ["npm" | "pnpm" | "yarn" | "bun", "run", script, ..] => {
            *script == "test" || script.starts_with("test:")
        }
        _ => false,
    }
}

fn installs(words: &[&str]) -> bool {
    matches!(
        words,
        [
            "npm" | "pnpm",
            "install" | "i" | "ci" | "add" | "update" | "remove" | "uninstall",
            ..,
        ] | [
            "yarn" | "bun",
            "install" | "add" | "remove" | "upgrade" | "up",
            ..,
        ] | ["yarn"]
            | ["pip" | "pip3", "install" | "uninstall", ..]
            | [
                "python" | "python3",
                "-m",
                "pip",
                "install" | "uninstall",
                ..,
            ]
            | ["uv", "sync" | "add" | "remove", ..]
            | ["uv", "pip", "install" | "uninstall", ..]
            | [
                "cargo",
                "add" | "remove" | "install" | "update" | "fetch",
                ..,
            ]
            | ["apt" | "apt-get", "install" | "remove", ..]
    )
}

static PASSED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let forms = [
        r"^test .+ \.\.\. (?:ok|ignored)(?:[, <].*)?$",
        r"^\s+PASS \[",
        r"\bPASSED\b(?:\s+\[\s*\d+%\])?\s*$",
        r"^\S+\.py [.sxX]+\s*(?:\[\s*\d+%\])?\s*$",
        r"^\s*[✓✔√]\s",
        r"^\s*PASS(?:\s|$)",
        r"^\s*--- (?:PASS|SKIP):",
        r"^ok\s+\S+\s+(?:\(cached\)|[\d.]+s)",
        r"^\?\s+\S+\s+\[no test files\]",
        r"^\s*ok \d+ ",
    ];
    Regex::new(&forms.join("|")).ok()
});

static PROGRESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let forms = [
        r"^\s+(?:Compiling|Checking|Downloaded|Downloading|Updating|Locking|Adding|Fresh|Building|Blocking|Dirty)\s",
        r"^=== (?:RUN|PAUSE|CONT|NAME)\b",
        r"^\s*○\s",
    ];
    Regex::new(&forms.join("|")).ok()
});

static INSTALL_NEWS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let forms = [
        r"(?i)\b(?:added|removed|changed|updated|upgraded|downgraded|warn(?:ing)?|deprecated|vulnerabilit(?:y|ies)|audited|up to date|successfully|installed|uninstalled|success|conflict|done in|newly installed)\b",
        r"^\s*[+-] ?\S",
        r"^Packages: ",
        r"^\s+(?:Adding|Removing|Installed|Replacing|Replaced|Upgrading|Downgrading) ",
    ];
    Regex::new(&forms.join("|")).ok()
});

pub(super) fn noise(line: &str) -> Option<Noise> {
    let fits = |regex: &Option<Regex>| regex.as_ref().is_some_and(|regex| regex.is_match(line));
    if fits(&PASSED) {
        Some(Noise::Passed)
    } else if fits(&PROGRESS) {
        Some(Noise::Progress)
    } else {
        None
    }
}

/// Whether a line of an install says what came of it.
pub(super) fn is_install_news(line: &str) -> bool {
    INSTALL_NEWS
        .as_ref()
        .is_some_and(|news| news.is_match(line))
}
