//! `$HAFT_HOME`: the directory that holds the owner's config and haft's own records. What lies
//! there decides what tools may do, so a directory or file that somebody else could have written
//! is refused rather than read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::OFlags;
use rustix::process::geteuid;
use serde::Serialize;

/// Permission bits that let others change something.
const WRITABLE_BY_OTHERS: u32 = 0o022;

const LONGEST_SESSION_ID: usize = 128;

/// Why haft's directory, or a file in it, cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HomeError {
    #[error("no place for haft's files: neither `HAFT_HOME` nor `HOME` is set")]
    Nowhere,
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
    #[error("others can write `{}`: run `chmod go-w {}`", .0.display(), .0.display())]
    WritableByOthers(PathBuf),
    #[error(
        "`{}` belongs to another user (uid {owner}): give it to the user who runs haft, or set \
         `HAFT_HOME` to a directory of your own",
        path.display()
    )]
    NotOurs { path: PathBuf, owner: u32 },
    #[error("`{}` is not a regular file", .0.display())]
    NotAFile(PathBuf),
    #[error("`{}` is too large: {size} bytes, at most {limit}", path.display())]
    TooLarge {
        path: PathBuf,
        size: u64,
        limit: u64,
    },
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("path is not UTF-8: `{}`", .0.display())]
    NotUtf8(PathBuf),
    #[error(
        "session id is not valid: `{}`: use 1 to {LONGEST_SESSION_ID} of `a-z A-Z 0-9 . _ -`, \
         starting with a letter or digit",
        .0.escape_debug()
    )]
    BadSession(String),
}

/// Where haft keeps what is its own.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    path: PathBuf,
}

impl Home {
    /// `$HAFT_HOME`, or `~/.haft`. Nothing is created yet.
    pub(crate) fn locate() -> Result<Home, HomeError> {
        let given = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let path = match (given("HAFT_HOME"), given("HOME")) {
            (Some(path), _) => PathBuf::from(path),
            (None, Some(home)) => Path::new(&home).join(".haft"),
            (None, None) => return Err(HomeError::Nowhere),
        };
        Home::at(&path)
    }

    pub(crate) fn at(path: &Path) -> Result<Home, HomeError> {
        let path = std::path::absolute(path).map_err(|source| io_error("find", path, source))?;
        Ok(Home { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the directory is there. One that others could have filled is an error.
    pub(crate) fn exists(&self) -> Result<bool, HomeError> {
        match fs::metadata(&self.path) {
            Ok(found) if !found.is_dir() => Err(HomeError::NotADirectory(self.path.clone())),
            Ok(found) => only_ours(&self.path, &found).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(io_error("open", &self.path, error)),
        }
    }

    /// Make the directory on first need, for its owner alone.
    pub(crate) fn ensure(&self) -> Result<(), HomeError> {
        if self.exists()? {
            return Ok(());
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.path)
            .map_err(|source| io_error("create", &self.path, source))?;
        // Another process may have made it in between, in its own way.
        self.exists().map(drop)
    }

    /// The bytes of a file of ours, if it is there.
    pub(crate) fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, HomeError> {
        if !self.exists()? {
            return Ok(None);
        }
        let path = self.path.join(name);
        let Some((file, found)) = open_regular(&path, OFlags::NOFOLLOW)? else {
            return Ok(None);
        };
        only_ours(&path, &found)?;
        read_at_most(&path, file, limit).map(Some)
    }

    /// Put a file in place whole or not at all, readable by its owner alone.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), HomeError> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        self.ensure()?;
        let path = self.path.join(name);
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let fresh = self
            .path
            .join(format!(".{name}.{}-{count}.new", std::process::id()));
        let written = write_new(&fresh, bytes)
            .and_then(|()| fs::rename(&fresh, &path))
            .and_then(|()| File::open(&self.path)?.sync_all());
        written.map_err(|source| {
            // Best effort: the error that matters is the one being reported.
            let _ = fs::remove_file(&fresh);
            io_error("write", &path, source)
        })
    }

    /// Put a record in place as JSON that a person can read.
    pub(crate) fn write_json(&self, name: &str, record: &impl Serialize) -> Result<(), HomeError> {
        let text = serde_json::to_vec_pretty(record)
            .map_err(|error| io_error("write", &self.path.join(name), error.into()))?;
        self.write(name, &text)
    }

    /// Remove a file of ours, if it is there.
    pub(crate) fn remove(&self, name: &str) -> Result<(), HomeError> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(io_error("remove", &path, error))
            }
            _ => Ok(()),
        }
    }

    /// Put a file that cannot be understood out of the way, so that it is not lost.
    pub(crate) fn set_aside(&self, name: &str) -> Result<(), HomeError> {
        let path = self.path.join(name);
        let aside = self.path.join(format!("{name}.broken"));
        match fs::rename(&path, &aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(io_error("move", &path, error))
            }
            _ => Ok(()),
        }
    }

    /// Hold a file of ours against other processes until the guard is dropped. Reading needs no
    /// lock: files are replaced whole.
    pub(crate) fn lock(&self, name: &str) -> Result<Lock, HomeError> {
        self.ensure()?;
        let path = self.path.join(format!("{name}.lock"));
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(&path)
            .map_err(|source| io_error("open", &path, source))?;
        file.lock()
            .map_err(|source| io_error("lock", &path, source))?;
        Ok(Lock { _file: file })
    }
}

/// A held lock; the kernel lets go when the file closes, also when the process dies.
#[must_use]
pub(crate) struct Lock {
    _file: File,
}

/// Open a file that must be a regular one. A pipe or a device must not make haft wait.
pub(crate) fn open_regular(
    path: &Path,
    flags: OFlags,
) -> Result<Option<(File, fs::Metadata)>, HomeError> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NONBLOCK | flags).bits() as i32)
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error("open", path, error)),
    };
    let found = file
        .metadata()
        .map_err(|source| io_error("open", path, source))?;
    match found.is_file() {
        true => Ok(Some((file, found))),
        false => Err(HomeError::NotAFile(path.to_owned())),
    }
}

/// All bytes of a file, unless it is larger than `limit`, also while it grows.
pub(crate) fn read_at_most(path: &Path, file: File, limit: u64) -> Result<Vec<u8>, HomeError> {
    let mut bytes = Vec::new();
    let size = file
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| io_error("read", path, source))? as u64;
    if size > limit {
        let size = fs::metadata(path).map_or(size, |found| found.len().max(size));
        return Err(HomeError::TooLarge {
            path: path.to_owned(),
            size,
            limit,
        });
    }
    Ok(bytes)
}

/// The session of a call: the one given, or the one that all calls from a workspace share.
pub(crate) fn session_id(given: Option<&str>, workspace: &Path) -> Result<String, HomeError> {
    let Some(id) = given else {
        let hash = blake3::hash(workspace.as_os_str().as_encoded_bytes()).to_hex();
        return Ok(format!("ws-{}", &hash[..16]));
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let starts_plain = id.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts_plain && id.len() <= LONGEST_SESSION_ID && id.chars().all(plain) {
        Ok(id.to_owned())
    } else {
        Err(HomeError::BadSession(id.to_owned()))
    }
}

/// A path as our records hold it. A path that is not UTF-8 could be taken for another one.
pub(crate) fn path_text(path: &Path) -> Result<&str, HomeError> {
    path.to_str()
        .ok_or_else(|| HomeError::NotUtf8(path.to_owned()))
}

fn only_ours(path: &Path, found: &fs::Metadata) -> Result<(), HomeError> {
    if found.uid() != geteuid().as_raw() {
        return Err(HomeError::NotOurs {
            path: path.to_owned(),
            owner: found.uid(),
        });
    }
    if found.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(HomeError::WritableByOthers(path.to_owned()));
    }
    Ok(())
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn io_error(doing: &'static str, path: &Path, source: io::Error) -> HomeError {
    HomeError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn home_is_made_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(&dir.path().join("deep/haft")).unwrap();
        assert!(!home.exists().unwrap());
        assert_eq!(home.read("config.yaml", 10).unwrap(), None);
        assert!(!home.exists().unwrap(), "reading must not create it");
        home.write("a.json", b"{}").unwrap();
        assert_eq!(mode(home.path()), 0o700);
        assert_eq!(mode(&home.path().join("a.json")), 0o600);
        assert_eq!(home.read("a.json", 2).unwrap(), Some(b"{}".to_vec()));
        let names: Vec<_> = fs::read_dir(home.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["a.json"], "no temporary file stays");
    }

    /// What is said about a home prepared by `prepare`, with its path as `HOME`.
    fn refused(prepare: impl Fn(&Path)) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("haft");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        prepare(&path);
        let home = Home::at(&path).unwrap();
        let error = home.read("config.yaml", 4).unwrap_err().to_string();
        error.replace(path.to_str().unwrap(), "HOME")
    }

    #[test]
    fn what_others_could_have_written_is_refused() {
        let set_mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let file = |home: &Path| home.join("config.yaml");
        for bits in [0o720, 0o702, 0o777] {
            assert_eq!(
                refused(|home| set_mode(home, bits)),
                "others can write `HOME`: run `chmod go-w HOME`"
            );
        }
        assert_eq!(
            refused(|home| {
                fs::write(file(home), "a").unwrap();
                set_mode(&file(home), 0o666);
            }),
            "others can write `HOME/config.yaml`: run `chmod go-w HOME/config.yaml`"
        );
        assert_eq!(
            refused(|home| fs::write(file(home), "12345").unwrap()),
            "`HOME/config.yaml` is too large: 5 bytes, at most 4"
        );
        assert_eq!(
            refused(|home| fs::create_dir(file(home)).unwrap()),
            "`HOME/config.yaml` is not a regular file"
        );
        assert_eq!(
            refused(|home| {
                rustix::fs::mknodat(
                    rustix::fs::CWD,
                    file(home),
                    rustix::fs::FileType::Fifo,
                    rustix::fs::Mode::RUSR,
                    0,
                )
                .unwrap();
            }),
            "`HOME/config.yaml` is not a regular file"
        );
        assert_eq!(
            refused(|home| {
                fs::remove_dir(home).unwrap();
                fs::write(home, "").unwrap();
            }),
            "`HOME` is not a directory"
        );
    }

    #[test]
    fn sessions_are_named_by_workspace_or_by_hand() {
        let derived = |path: &str| session_id(None, Path::new(path)).unwrap();
        assert_eq!(derived("/a"), derived("/a"));
        assert_ne!(derived("/a"), derived("/b"));
        assert!(derived("/a").starts_with("ws-") && derived("/a").len() == 19);
        assert_eq!(
            session_id(Some("S-1.x_y"), Path::new("/a")).unwrap(),
            "S-1.x_y"
        );
        let long = "x".repeat(129);
        for bad in [
            "", "../x", "a/b", ".hidden", "-flag", "a b", "ä", "a\n", &long,
        ] {
            assert!(session_id(Some(bad), Path::new("/a")).is_err(), "{bad:?}");
        }
        assert_eq!(
            session_id(Some("a\u{1b}b"), Path::new("/a"))
                .unwrap_err()
                .to_string(),
            "session id is not valid: `a\\u{1b}b`: use 1 to 128 of `a-z A-Z 0-9 . _ -`, starting \
             with a letter or digit"
        );
    }
}
