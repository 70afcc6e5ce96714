//! Checkpoints: what calls changed, kept so that it can be put back. While a call is at work its
//! changes and what they replaced lie in files of its own, so that they outlive the process; once it
//! is over, whoever lists such calls takes them over. This is the only door to those files.

mod adopt;
mod conclude;
mod draft;
mod large;
mod log;
mod names;
mod pack;
mod plan;
mod record;
mod restore;

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use haft_core::{ChangesIndex, KeptChanges, KeptResult, changes_place};

pub use log::{Lost, Mark};
pub use plan::{Back, Summary, UndoPlan, Which};

pub(crate) use record::{Recorded, Recorder, Touch};
pub(crate) use restore::unkept;

use crate::retention::{Amount, Retention, stay};
use draft::Draft;
use log::{Done, Head, Spelled, Writer};
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
#[derive(Clone)]
pub struct Checkpoints {
    place: PathBuf,
    /// Where the files of calls lie until they are listed
    drafts: PathBuf,
    config: UndoConfig,
    /// The newest id that is known
    newest: Arc<Mutex<Option<u64>>>,
    /// Lists the calls that are over
    index: Option<Arc<dyn ChangesIndex>>,
}

impl fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoints")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// A call that is over, as it was kept.
#[derive(Debug)]
struct Checkpoint {
    entry: KeptChanges,
    head: Head,
    changes: Vec<Done>,
    interrupted: bool,
}

/// A call of which there is something.
#[derive(Debug)]
enum Stored {
    /// It is at work, or was cut short
    Begun(Draft, Mark),
    Over(KeptChanges),
}

impl Stored {
    fn id(&self) -> &str {
        match self {
            Stored::Begun(draft, _) => &draft.id,
            Stored::Over(entry) => &entry.id,
        }
    }
}

impl Checkpoints {
    /// Under `home/undo`; nothing is made before the first change.
    pub fn new(home: &Path, config: UndoConfig) -> Self {
        Checkpoints {
            place: home.join("undo"),
            drafts: home.join(KeptChanges::FOLDER),
            config,
            newest: Arc::default(),
            index: None,
        }
    }

    /// Calls that are over are listed here; without it their own files are all there is.
    #[must_use]
    pub fn listed_in(mut self, index: Arc<dyn ChangesIndex>) -> Self {
        self.index = Some(index);
        self
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
        let random = getrandom::u32().map_err(io::Error::other)?;
        let draft = self.draft(format!("{:012x}-{random:08x}", self.next()?));
        Writer::create(draft, head.clone())
    }

    /// A number for the next call: the time, so that whoever lists them has them in order; and more
    /// than every one before that is not listed elsewhere, should the clock have gone back.
    fn next(&self) -> io::Result<u64> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match *newest {
            Some(before) => before,
            None => {
                self.adopt();
                let newest = draft::list(&self.drafts)?.into_iter().next();
                let number = |draft: Draft| u64::from_str_radix(draft.id.get(..12)?, 16).ok();
                newest.and_then(number).unwrap_or(0)
            }
        };
        let next = now_us().max(before + 1);
        *newest = Some(next);
        Ok(next)
    }

    fn sync_all(&self) -> io::Result<()> {
        rustix::fs::syncfs(File::open(&self.place)?).map_err(io::Error::from)
    }

    fn draft(&self, id: String) -> Draft {
        Draft {
            folder: self.drafts.clone(),
            id,
        }
    }

    /// A content of a call: where it came in, or where it is listed.
    fn open(&self, id: &str, ending: &str, digest: &str) -> io::Result<Box<dyn KeptResult>> {
        let opened = File::open(self.draft(id.to_owned()).file(ending));
        match (opened, &self.index) {
            (Err(error), Some(index)) if error.kind() == io::ErrorKind::NotFound => {
                index.open(digest)
            }
            (opened, _) => Ok(Box::new(opened?)),
        }
    }

    /// Every call of a workspace, newest first.
    fn list(&self, workspace: &Path) -> io::Result<Vec<Stored>> {
        self.adopt();
        let place = changes_place(workspace);
        let mut found = Vec::new();
        for draft in draft::list(&self.drafts)? {
            let stored = match draft.told() {
                Some(entry) if entry.place == place => Stored::Over(entry),
                Some(_) => continue,
                None => match draft.head() {
                    Ok(head) if head.place() == place => Stored::Begun(draft, head.mark),
                    _ => continue,
                },
            };
            found.push(stored);
        }
        // Looked at after those: what is taken over in between is there.
        if let Some(index) = &self.index {
            let listed = index.list(&place)?;
            found.retain(|one| listed.iter().all(|entry| entry.id != one.id()));
            found.extend(listed.into_iter().map(Stored::Over));
        }
        Ok(found)
    }

    /// A call as it was kept; one whose haft died is closed first, with what is there now. None
    /// for one that is still at work, or that has changed nothing.
    fn load(&self, stored: Stored) -> io::Result<Option<Checkpoint>> {
        let entry = match stored {
            Stored::Over(entry) => entry,
            Stored::Begun(draft, _) => match self.close(&draft)? {
                Some(entry) => entry,
                None => return Ok(None),
            },
        };
        let mut bytes = Vec::new();
        self.open(&entry.id, KeptChanges::LOG, &entry.log)?
            .read_to_end(&mut bytes)?;
        if blake3::hash(&bytes).to_hex().as_str() != entry.log {
            return Err(io::Error::other("what was kept of a call is damaged"));
        }
        let read = log::read(&*bytes)?;
        let (changes, interrupted) = read.done.ok_or_else(log::broken)?;
        Ok(Some(Checkpoint {
            entry,
            head: read.head,
            changes,
            interrupted,
        }))
    }

    /// Close a call whose haft died, with what is there now. None for one that is still at work, or
    /// that has changed nothing.
    fn close(&self, draft: &Draft) -> io::Result<Option<KeptChanges>> {
        let Some(mut log) = draft.reopen()? else {
            return Ok(None);
        };
        let read = log::read(io::BufReader::new(File::open(draft.log())?))?;
        if let Some((changes, _)) = &read.done {
            return log.seal(&read.head, changes, None).map(Some);
        }
        let roots = read.head.roots.iter();
        let roots: io::Result<Vec<OwnedFd>> =
            roots.map(|root| Ok(File::open(&root.0)?.into())).collect();
        Recorder::resume(self.clone(), read, roots?, log).conclude(true)?;
        Ok(draft.told())
    }

    /// Remove what was cut short and is old. Says how much there was of such calls and how much of
    /// it went; with `dry_run`, how much would go.
    pub fn tidy(
        &self,
        limit: &Retention,
        now: SystemTime,
        dry_run: bool,
    ) -> io::Result<(Amount, Amount)> {
        self.adopt();
        let (mut all, mut gone) = (Amount::default(), Amount::default());
        for draft in draft::list(&self.drafts)? {
            // One that is over is not ours any more; one that is at work is in use.
            if draft.told().is_some() {
                continue;
            }
            let Some(_alone) = draft.reopen()? else {
                continue;
            };
            let (time, bytes) = (fs::metadata(draft.log())?.modified()?, draft.bytes()?);
            all.count += 1;
            all.bytes += bytes;
            if stay([(time, all.bytes)], limit, now) == 0 {
                gone.count += 1;
                gone.bytes += bytes;
                if !dry_run {
                    draft.remove()?;
                }
            }
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
