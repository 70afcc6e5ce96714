//! Checkpoints: what calls changed, kept so that it can be put back. Large contents lie under their
//! digest, changes and small contents in two files a call; all of it in haft's own folder, so it outlives the
//! process. This is the only door to that folder: where it lies is nobody else's business.

mod blobs;
mod conclude;
mod log;
mod pack;
mod plan;
mod record;
mod restore;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

pub use log::{Lost, Mark};
pub use plan::{Back, Summary, UndoPlan, Which};

pub(crate) use record::{Recorded, Recorder, Touch};
pub(crate) use restore::unkept;

use crate::retention::{Amount, Retention, stay};
use blobs::{Blobs, Digest};
use log::{Done, Head, Spelled, Stored, Writer};
use serde::{Deserialize, Serialize};

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoConfig {
    /// Bytes of one file
    pub max_file: u64,
    /// Bytes of all files that one call changes
    pub max_call: u64,
}

impl Default for UndoConfig {
    fn default() -> Self {
        UndoConfig {
            max_file: 256 << 20,
            max_call: 2 << 30,
        }
    }
}

/// Where checkpoints are kept.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    place: PathBuf,
    blobs: Blobs,
    config: UndoConfig,
    /// The newest id that is known of a folder
    newest: Arc<Mutex<HashMap<PathBuf, u64>>>,
}

/// A call that is over, as it was kept.
#[derive(Debug)]
struct Checkpoint {
    id: String,
    head: Head,
    /// Where its small contents lie
    pack: PathBuf,
    changes: Vec<Done>,
    interrupted: bool,
}

impl Checkpoints {
    /// Under `home/undo`; nothing is made before the first change.
    pub fn new(home: &Path, config: UndoConfig) -> Self {
        let place = home.join("undo");
        Checkpoints {
            blobs: Blobs::new(place.join("blobs")),
            place,
            config,
            newest: Arc::default(),
        }
    }

    pub(crate) fn config(&self) -> UndoConfig {
        self.config
    }

    /// Start to note the changes of a call. Roots come with their handles, the workspace first.
    pub(crate) fn begin(
        &self,
        mark: Mark,
        roots: Vec<(PathBuf, OwnedFd)>,
        undoes: Vec<String>,
    ) -> Recorder {
        let (paths, handles): (Vec<_>, Vec<_>) = roots.into_iter().unzip();
        let head = Head {
            mark,
            at: now_ms(),
            roots: paths.into_iter().map(Spelled).collect(),
            undoes,
        };
        Recorder::new(self.clone(), head, handles)
    }

    fn new_log(&self, head: &Head) -> io::Result<Writer> {
        let workspace = head.roots.first().map_or(Path::new(""), |root| &root.0);
        let random = getrandom::u32().map_err(io::Error::other)?;
        let folder = self.folder(workspace);
        let id = format!("{:012x}-{random:08x}", self.next(&folder)?);
        Writer::create(&folder, &id, head.clone())
    }

    /// A number for the next call: the time, so that whoever lists them has them in order; and more
    /// than every one before, should the clock have gone back.
    fn next(&self, folder: &Path) -> io::Result<u64> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match newest.get(folder) {
            Some(before) => *before,
            None => {
                let newest = log::list(folder)?.into_iter().next();
                let number = |stored: Stored| u64::from_str_radix(stored.id.get(..12)?, 16).ok();
                newest.and_then(number).unwrap_or(0)
            }
        };
        let next = now_us().max(before + 1);
        newest.insert(folder.to_owned(), next);
        Ok(next)
    }

    fn sync_all(&self) -> io::Result<()> {
        rustix::fs::syncfs(File::open(&self.place)?).map_err(io::Error::from)
    }

    /// The folder for the calls of one workspace.
    fn folder(&self, workspace: &Path) -> PathBuf {
        let hash = blake3::hash(workspace.as_os_str().as_encoded_bytes()).to_hex();
        self.place.join("calls").join(&hash.as_str()[..16])
    }

    /// A call as it was kept; one whose haft died is closed first, with what is there now. None
    /// for one that is still at work, or that has changed nothing.
    fn load(&self, stored: &Stored) -> io::Result<Option<Checkpoint>> {
        let mut read = stored.read()?;
        if read.done.is_none() {
            let Some(log) = stored.reopen()? else {
                return Ok(None);
            };
            let roots = read.head.roots.iter();
            let roots: io::Result<Vec<OwnedFd>> =
                roots.map(|root| Ok(File::open(&root.0)?.into())).collect();
            Recorder::resume(self.clone(), read, roots?, log).conclude(true)?;
            if !stored.path.exists() {
                return Ok(None);
            }
            read = stored.read()?;
        }
        Ok(read.done.map(|(changes, interrupted)| Checkpoint {
            id: stored.id.clone(),
            head: read.head,
            pack: pack::beside(&stored.path),
            changes,
            interrupted,
        }))
    }

    /// Remove calls that are old or whose contents are too much, and contents that nobody needs.
    /// Says how much there was and how much of it went; with `dry_run`, how much would go.
    pub fn tidy(
        &self,
        limit: &Retention,
        now: SystemTime,
        dry_run: bool,
    ) -> io::Result<(Amount, Amount)> {
        let folders = match fs::read_dir(self.place.join("calls")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Default::default());
            }
            other => other?,
        };
        let mut calls = Vec::new();
        for folder in folders.flatten() {
            calls.extend(log::list(&folder.path())?);
        }
        calls.sort_by(|a, b| b.id.cmp(&a.id));
        let mut needed: HashSet<Digest> = HashSet::new();
        let (mut all, mut gone) = (Amount::default(), Amount::default());
        let mut sizes = Vec::new();
        for call in &calls {
            let about = fs::metadata(&call.path)?;
            let packed = fs::metadata(pack::beside(&call.path));
            let mut size = about.len() + packed.map_or(0, |found| found.len());
            let mut own = Vec::new();
            // One that cannot be read cannot be put back either.
            for digest in call.digests().unwrap_or_default() {
                if needed.insert(digest) {
                    size += self.blobs.size(&digest);
                    own.push(digest);
                }
            }
            all.count += 1;
            all.bytes += size;
            sizes.push((about.modified()?, size, own));
        }
        let stays = stay(
            sizes.iter().map(|(time, size, _)| (*time, *size)),
            limit,
            now,
        );
        for (call, (_, size, own)) in calls.iter().zip(&sizes).skip(stays) {
            // Somebody may still be writing it.
            let Some(_alone) = call.reopen()? else {
                continue;
            };
            gone.count += 1;
            gone.bytes += size;
            if !dry_run {
                call.remove()?;
                own.iter().for_each(|digest| {
                    needed.remove(digest);
                });
            }
        }
        if !dry_run {
            self.blobs.retain(|digest| needed.contains(digest))?;
        }
        Ok((all, gone))
    }

    /// A folder for the steps of one undo, and those that a crash has left.
    fn workshop(&self) -> PathBuf {
        self.place.join("work")
    }
}

fn now_ms() -> u64 {
    now_us() / 1000
}

fn now_us() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_micros() as u64)
}

fn remove_folder(path: &Path) {
    // What still resists is tried again by the next one.
    let _ = fs::remove_dir_all(path);
}
