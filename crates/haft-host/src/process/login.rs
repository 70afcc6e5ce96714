//! The environment that a login shell sets up, without its price. Start-up files are run once,
//! in the user's home and under a deadline; what they come to is kept, in memory and beside
//! haft's other files, until one of them changes. Commands then run without them.
//!
//! Of all that, commands see what they may see of any environment. What the owner lets through
//! besides may be a secret and is never written to disk: then each process reads for itself.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_core::CancelToken;
use serde::{Deserialize, Serialize};

use super::record::Keep;
use super::run::{self, Watch};
use super::terminal::Streams;
use super::{Inner, prepare, started};
use crate::files::START_UP;
use crate::sandbox::Input;
use crate::{EnvPolicy, filter_env};

/// How the environment of a login shell is read.
#[derive(Debug, Clone)]
pub struct LoginConfig {
    /// Where it is kept between processes; nowhere if none
    pub folder: Option<PathBuf>,
    /// How long start-up files may take
    pub deadline: Duration,
}

impl Default for LoginConfig {
    fn default() -> Self {
        LoginConfig {
            folder: None,
            deadline: Duration::from_secs(5),
        }
    }
}

/// Files that start-up files read in turn are not known, so nothing is kept for ever.
const OLDEST: Duration = Duration::from_secs(24 * 60 * 60);
/// A start that failed is tried again after this time.
const OLDEST_FAILURE: Duration = Duration::from_secs(10 * 60);
/// Environments that are kept on disk.
const MOST_KEPT: usize = 16;
/// Characters of a whole environment.
const LARGEST: usize = 1 << 20;

/// Names that say where a process is, not what its user set up.
const PASSING: [&str; 6] = ["PWD", "OLDPWD", "SHLVL", "COLUMNS", "LINES", "_"];

/// Where fish keeps its own.
const OF_FISH: [&str; 2] = [".config/fish/config.fish", ".config/fish/conf.d"];

/// Start-up files of the system. Of a folder, what is in it counts too.
const OF_SYSTEM: &[&str] = &[
    "/etc/environment",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bash.bashrc",
    "/etc/bashrc",
    "/etc/zshenv",
    "/etc/zprofile",
    "/etc/zshrc",
    "/etc/zlogin",
    "/etc/zsh",
    "/etc/csh.cshrc",
    "/etc/csh.login",
    "/etc/fish/config.fish",
    "/etc/fish/conf.d",
];

/// Variables, in the order they came.
pub(crate) type Variables = Vec<(OsString, OsString)>;

/// What is known, and for which state of the start-up files.
#[derive(Debug, Default)]
pub(super) struct Login {
    known: tokio::sync::Mutex<Option<(String, Arc<Reading>)>>,
}

/// What came of reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reading {
    variables: Vec<(String, String)>,
    /// Why there are none
    trouble: Option<String>,
}

/// What the environment depends on: the shell, the start-up files, and the environment that they
/// start from.
pub(super) fn stamp(shell: &Path, given: &Variables, policy: &EnvPolicy) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |part: &[u8]| {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    };
    let home = value(given, "HOME").map(PathBuf::from);
    let zsh = value(given, "ZDOTDIR").map(PathBuf::from);
    let in_home = home.iter().chain(&zsh).flat_map(|home| {
        let files = START_UP.iter().chain(&OF_FISH);
        files.map(|name| home.join(name))
    });
    let mut files: Vec<PathBuf> = vec![shell.to_owned()];
    files.extend(in_home);
    files.extend(OF_SYSTEM.iter().map(PathBuf::from));
    for path in files {
        add(path.as_os_str().as_bytes());
        add(&state(&path));
        let mut inside: Vec<PathBuf> = fs::read_dir(&path)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        inside.sort();
        for path in inside {
            add(path.as_os_str().as_bytes());
            add(&state(&path));
        }
    }
    let mut given: Vec<_> = given.iter().filter(|(name, _)| !passes_by(name)).collect();
    given.sort();
    for (name, value) in given {
        add(name.as_bytes());
        add(value.as_bytes());
    }
    for name in &policy.extra {
        add(name.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// What changes when a file does.
fn state(path: &Path) -> Vec<u8> {
    let Ok(file) = fs::metadata(path) else {
        return Vec::new();
    };
    [
        file.dev(),
        file.ino(),
        file.size(),
        file.mtime() as u64,
        file.mtime_nsec() as u64,
    ]
    .into_iter()
    .flat_map(u64::to_le_bytes)
    .collect()
}

impl Login {
    /// The environment to start a command with, as `$SHELL -lc` would have it; the one that was
    /// given where no shell says another.
    pub(super) async fn environment(&self, inner: &Inner, config: &LoginConfig) -> Variables {
        let given = filter_env(std::env::vars_os(), &inner.config.env);
        let stamp = stamp(&inner.shell, &given, &inner.config.env);
        // Held while it is read, so that many commands at once read once.
        let mut known = self.known.lock().await;
        if known.as_ref().is_none_or(|(of, _)| *of != stamp) {
            let kept = config.folder.as_deref().and_then(|at| recall(at, &stamp));
            let reading = match kept {
                Some(reading) => reading,
                None => {
                    let reading = read(inner, config, given.clone()).await;
                    if let Some(folder) = &config.folder {
                        // One that cannot be kept is read again by the next process.
                        let _ = keep(folder, &stamp, &reading);
                    }
                    reading
                }
            };
            *known = Some((stamp, Arc::new(reading)));
        }
        let reading = known.as_ref().map(|(_, reading)| reading.clone());
        drop(known);
        match reading {
            Some(reading) if reading.trouble.is_none() => merged(&reading, given),
            _ => given,
        }
    }

    /// Why the last reading came to nothing, if it did.
    pub(super) async fn trouble(&self) -> Option<String> {
        let known = self.known.lock().await;
        known.as_ref()?.1.trouble.clone()
    }
}

/// The environment of the shell, with what says where we are now.
fn merged(reading: &Reading, given: Variables) -> Variables {
    let read = reading.variables.iter();
    let read = read.map(|(name, value)| (name.into(), value.into()));
    let passing = given.into_iter().filter(|(name, _)| passes_by(name));
    read.chain(passing).collect()
}

/// Run the start-up files.
async fn read(inner: &Inner, config: &LoginConfig, given: Variables) -> Reading {
    match ask(inner, config, given).await {
        Ok(variables) => Reading {
            variables,
            trouble: None,
        },
        Err(trouble) => Reading {
            variables: Vec::new(),
            trouble: Some(trouble),
        },
    }
}

async fn ask(
    inner: &Inner,
    config: &LoginConfig,
    given: Variables,
) -> Result<Vec<(String, String)>, String> {
    let random = getrandom::u64().map_err(|error| error.to_string())?;
    let mark = format!("haft-{random:016x}");
    // One plain command, so that every shell takes it alike and one that traces what it runs
    // says nothing in between.
    let line = format!(
        "/usr/bin/env sh -c 'echo; echo {mark}; cat /proc/self/environ; echo; echo {mark}'"
    );
    let argv = [
        inner.shell.as_os_str(),
        OsStr::new("-l"),
        OsStr::new("-c"),
        OsStr::new(&line),
    ];
    let home = value(&given, "HOME").map(PathBuf::from);
    let home = home.filter(|home| home.is_dir()).unwrap_or("/".into());
    let (mut command, group): (Command, _) = prepare::plain(&inner.config, &argv, Input::Plain)
        .map_err(|error| error.into_body().message)?;
    command.env_clear().envs(given);
    let guardian = inner.guardian.clone();
    let streams = Streams::Piped(Stdio::null());
    let beginning = started::start(command, &home, group, streams, guardian)
        .map_err(|error| error.to_string())?;
    let watch = Watch {
        live: &mut |_| {},
        cancel: &CancelToken::new(),
        session: "",
    };
    let keep = Keep {
        open: None,
        max_bytes: 0,
        held: LARGEST,
    };
    let finished = run::follow(beginning, config.deadline, watch, keep, None)
        .await
        .map_err(|error| error.into_body().message)?;
    if finished.timed_out {
        let time = config.deadline.as_millis();
        return Err(format!("its start-up files take longer than {time} ms"));
    }
    let all = parse(&finished.output, &mark)
        .ok_or_else(|| "its start-up files end it before it runs a command".to_owned())?;
    let names = all.iter().map(|(name, _)| (name.into(), OsString::new()));
    let seen: Vec<OsString> = filter_env(names, &inner.config.env)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let may_be_seen = |(name, _): &(String, String)| seen.iter().any(|one| one == name.as_str());
    Ok(all.into_iter().filter(may_be_seen).collect())
}

/// What stands between the marks. Entries that are no plain text are left out.
fn parse(output: &str, mark: &str) -> Option<Vec<(String, String)>> {
    let (_, rest) = output.split_once(&format!("\n{mark}\n"))?;
    let (entries, _) = rest.split_once(&format!("\0\n{mark}\n"))?;
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_%.()-".contains(c))
    };
    let all = entries
        .split('\0')
        .filter_map(|entry| entry.split_once('='))
        .filter(|(name, value)| is_name(name) && !value.contains(char::REPLACEMENT_CHARACTER))
        .filter(|(name, _)| !passes_by(OsStr::new(name)) && *name != super::CALL_VARIABLE)
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    Some(all.collect())
}

fn value<'a>(all: &'a Variables, wanted: &str) -> Option<&'a OsStr> {
    let found = all.iter().find(|(name, _)| name == wanted);
    found.map(|(_, value)| value.as_os_str())
}

fn passes_by(name: &OsStr) -> bool {
    PASSING.iter().any(|passing| name == *passing)
}

/// A reading of an earlier process, if it is ours and not too old.
fn recall(folder: &Path, stamp: &str) -> Option<Reading> {
    let path = folder.join(stamp);
    let found = fs::symlink_metadata(&path).ok()?;
    let ours = found.is_file()
        && found.uid() == rustix::process::geteuid().as_raw()
        && found.permissions().mode() & 0o077 == 0;
    let age = SystemTime::now().duration_since(found.modified().ok()?);
    let reading: Reading = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
    let oldest = match reading.trouble {
        None => OLDEST,
        Some(_) => OLDEST_FAILURE,
    };
    (ours && age.is_ok_and(|age| age < oldest)).then_some(reading)
}

/// Keep a reading for the next process. Only names that everybody may see are written down: what
/// the owner added may be a secret, and is read again.
fn keep(folder: &Path, stamp: &str, reading: &Reading) -> io::Result<()> {
    let all = reading.variables.iter();
    let names = all.map(|(name, _)| (OsString::from(name), OsString::new()));
    if filter_env(names, &EnvPolicy::default()).len() < reading.variables.len() {
        return Ok(());
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    make_room(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&serde_json::to_vec(reading)?)?;
    file.persist(folder.join(stamp))?;
    Ok(())
}

/// Remove the oldest beyond what is kept.
fn make_room(folder: &Path) -> io::Result<()> {
    let mut all: Vec<(SystemTime, PathBuf)> = fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    all.sort();
    let spare = (all.len() + 1).saturating_sub(MOST_KEPT);
    for (_, path) in all.into_iter().take(spare) {
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_the_marks() {
        let check = |output: &str, expected: Option<&[(&str, &str)]>| {
            let found = parse(output, "m-1");
            let found = found.as_ref().map(|all| {
                let all = all
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str()));
                all.collect::<Vec<_>>()
            });
            assert_eq!(found.as_deref(), expected, "{output:?}");
        };
        check("", None);
        check("A=1\0", None);
        check("\nm-1\nA=1\0", None);
        check("\nm-1\nA=1\0\nm-1\n", Some(&[("A", "1")]));
        check(
            "+ echo m-1\nX=0\nm-1\nA=1=2\0B=x\ny\0\nm-1\nbye",
            Some(&[("A", "1=2"), ("B", "x\ny")]),
        );
        check(
            "\nm-1\nPWD=/\0A\u{FFFD}=1\0B=\u{FFFD}\0no\0C=\0\nm-1\n",
            Some(&[("C", "")]),
        );
    }

    #[test]
    fn only_what_everybody_may_see_is_written_down() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("login");
        let reading = |name: &str| Reading {
            variables: vec![("PATH".into(), "/bin".into()), (name.into(), "x".into())],
            trouble: None,
        };
        keep(&folder, "a", &reading("LANG")).unwrap();
        assert_eq!(recall(&folder, "a"), Some(reading("LANG")));
        keep(&folder, "b", &reading("GITHUB_TOKEN")).unwrap();
        assert_eq!(recall(&folder, "b"), None);
        let mode = fs::metadata(folder.join("a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::set_permissions(folder.join("a"), fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(recall(&folder, "a"), None, "others could have written it");
    }

    #[test]
    fn no_more_are_kept_than_room_is_for() {
        let dir = tempfile::tempdir().unwrap();
        let reading = Reading {
            variables: Vec::new(),
            trouble: Some("slow".into()),
        };
        for n in 0..3 * MOST_KEPT {
            keep(dir.path(), &n.to_string(), &reading).unwrap();
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), MOST_KEPT);
        let last = (3 * MOST_KEPT - 1).to_string();
        assert_eq!(recall(dir.path(), &last), Some(reading));
    }
}
