//! Facts about the machine that anyone may know.

use std::ffi::CStr;
use std::fs;
use std::path::PathBuf;

use haft_core::{Capability, Power};

/// The power to look at the machine; it changes nothing and shows no secret.
#[derive(Debug, Clone)]
pub struct ReadSystem {
    version: String,
    shell: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemInfo {
    /// `linux`, `macos`…
    pub os: &'static str,
    /// Name and version of the distribution, where one says so
    pub distribution: Option<String>,
    pub kernel: String,
    pub arch: &'static str,
    pub hostname: String,
    pub cpus: usize,
    pub memory_total: Option<u64>,
    pub memory_available: Option<u64>,
    pub version: String,
    pub shell: PathBuf,
}

impl Power for ReadSystem {
    const CAPABILITIES: &'static [Capability] = &[];
}

impl ReadSystem {
    /// `version` is haft's own; `shell` is the one that runs command lines.
    pub fn new(version: impl Into<String>, shell: PathBuf) -> Self {
        ReadSystem {
            version: version.into(),
            shell,
        }
    }

    pub fn info(&self) -> SystemInfo {
        let names = rustix::system::uname();
        let text = |name: &CStr| name.to_string_lossy().into_owned();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        SystemInfo {
            os: std::env::consts::OS,
            distribution: fs::read_to_string("/etc/os-release")
                .ok()
                .and_then(|release| pretty_name(&release)),
            kernel: text(names.release()),
            arch: std::env::consts::ARCH,
            hostname: text(names.nodename()),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            memory_total: memory_line(&memory, "MemTotal:"),
            memory_available: memory_line(&memory, "MemAvailable:"),
            version: self.version.clone(),
            shell: self.shell.clone(),
        }
    }
}

fn pretty_name(release: &str) -> Option<String> {
    release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map(|name| name.trim_matches('"').to_owned())
}

/// A line of `/proc/meminfo` in bytes.
fn memory_line(memory: &str, name: &str) -> Option<u64> {
    let line = memory.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine() {
        let info = ReadSystem::new("1.2.3", "/bin/sh".into()).info();
        assert_eq!(info.version, "1.2.3");
        assert!(info.cpus >= 1 && !info.kernel.is_empty() && !info.hostname.is_empty());
        assert!(info.memory_total >= info.memory_available);
    }

    #[test]
    fn files_are_read_as_they_are_written() {
        assert_eq!(
            memory_line("MemFree: 1 kB\nMemTotal:  2 kB\n", "MemTotal:"),
            Some(2048)
        );
        assert_eq!(memory_line("MemTotal: many", "MemTotal:"), None);
        assert_eq!(
            pretty_name("ID=x\nPRETTY_NAME=\"Some Linux 1\"\n"),
            Some("Some Linux 1".into())
        );
    }
}
