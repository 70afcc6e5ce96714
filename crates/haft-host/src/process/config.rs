//! How commands are run on this machine, and which shell runs them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, access};

use super::login::LoginConfig;
use crate::{EnvPolicy, Sandbox, WorkersConfig};

/// No configuration lets a command run longer.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

const FALLBACK_SHELL: &str = "/bin/sh";

#[derive(Debug, Clone)]
pub struct ProcessConfig {
    /// Bytes of one command's output that are kept as a whole
    pub max_output: u64,
    /// The longest a command may ask to run; what asks for no limit gets this one
    pub max_timeout: Duration,
    pub env: EnvPolicy,
    /// Give commands the environment that a login shell sets up; none for that of this process
    pub login: Option<LoginConfig>,
    /// Instead of the user's own shell
    pub shell: Option<PathBuf>,
    /// Program and arguments that end in [`super::guardian_main`]; none for no guardian
    pub guardian: Option<Vec<OsString>>,
    /// What commands are kept to; none for the rights of this process
    pub sandbox: Option<Sandbox>,
    /// Program and arguments that end in [`super::session_main`]; used where haft has a terminal,
    /// which its commands must not reach
    pub session: Option<Vec<OsString>>,
    /// Program and arguments that end in [`crate::watched_main`]; none for commands whose changes
    /// are not kept
    pub watched: Option<Vec<OsString>>,
    /// Commands may outlive their call: this process lives long enough to be asked about them
    pub background: bool,
    /// How long a session can be asked about after its end
    pub retention: Duration,
    /// Worker processes for what ends with its call; none to do it in this process
    pub workers: Option<WorkersConfig>,
}

impl Default for ProcessConfig {
    fn default() -> Self {
        ProcessConfig {
            max_output: 10_000_000,
            max_timeout: Duration::from_secs(30 * 60),
            env: EnvPolicy::default(),
            login: None,
            shell: None,
            guardian: None,
            sandbox: None,
            session: None,
            watched: None,
            background: false,
            retention: Duration::from_secs(30 * 60),
            workers: None,
        }
    }
}

impl ProcessConfig {
    /// What a command gets that asks for this much time; zero asks for no limit.
    pub fn clamp_timeout(&self, asked: Duration) -> Duration {
        let longest = self.max_timeout.min(LONGEST_TIMEOUT);
        if asked.is_zero() {
            longest
        } else {
            asked.min(longest)
        }
    }

    /// The shell for command lines: the configured one, the user's own, or `/bin/sh`.
    pub fn shell(&self) -> PathBuf {
        let user = std::env::var_os("SHELL").map(PathBuf::from);
        choose_shell([self.shell.clone(), user])
    }
}

fn choose_shell(wanted: [Option<PathBuf>; 2]) -> PathBuf {
    wanted
        .into_iter()
        .flatten()
        .find(|shell| is_shell(shell))
        .unwrap_or_else(|| FALLBACK_SHELL.into())
}

/// Accounts that may not log in have a program for a shell that runs nothing.
fn is_shell(path: &Path) -> bool {
    let refuses = path
        .file_name()
        .is_some_and(|name| name == "nologin" || name == "false");
    path.is_absolute() && !refuses && path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells() {
        let check = |configured: Option<&str>, user: Option<&str>, expected: &str| {
            let shell = choose_shell([configured.map(PathBuf::from), user.map(PathBuf::from)]);
            assert_eq!(shell, Path::new(expected));
        };
        check(None, None, "/bin/sh");
        check(None, Some("bash"), "/bin/sh");
        check(None, Some("/no/such/shell"), "/bin/sh");
        check(None, Some("/etc/passwd"), "/bin/sh");
        check(None, Some("/"), "/bin/sh");
        check(None, Some("/bin/false"), "/bin/sh");
        check(Some("/usr/bin/env"), Some("/bin/sh"), "/usr/bin/env");
        check(Some("relative"), Some("/usr/bin/env"), "/usr/bin/env");
    }

    #[test]
    fn timeouts_are_clamped() {
        let config = ProcessConfig {
            max_timeout: Duration::from_secs(9),
            ..ProcessConfig::default()
        };
        let check = |asked, expected| {
            let time = config.clamp_timeout(Duration::from_secs(asked));
            assert_eq!(time, Duration::from_secs(expected));
        };
        check(0, 9);
        check(3, 3);
        check(99, 9);
    }
}
