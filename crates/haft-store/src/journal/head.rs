//! The newest end of the journal, signed, in a file of its own. A database that was cut off or
//! put back no longer reaches it.
//!
//! It is written soon after each commit, once for those that come at once, and not waited for: it
//! may be behind, never ahead of what is on the disk. Records of calls without effects are not
//! waited for either, so it also says how far the journal was on the disk for certain.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::chain::Hash;
use super::key::Key;
use crate::store::lock;
use crate::{StoreError, paths};

const FILE: &str = "journal.head";
const MAGIC: &[u8; 8] = b"hafthead";
/// Two places, written in turn, so that one is always whole.
const PLACE: usize = 256;
/// Written into the second place.
const FIRST: u64 = 1;
const SIGNED: usize = 8 + 8 + 8 + 32 + 8 + 32 + 32;

/// Where the journal ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    generation: u64,
    pub(super) seq: i64,
    pub(super) hash: Hash,
    /// What is on the disk, whatever happens
    pub(super) durable_seq: i64,
    pub(super) durable_hash: Hash,
    /// The start of the machine in which it was written
    boot: Hash,
    /// The start of the machine in which it was read
    now: Hash,
    /// The other place holds nothing valid: a later end may have stood there
    pub(super) alone: bool,
}

impl Head {
    /// Whether power may have been lost since it was written.
    pub(super) fn is_of_another_boot(&self) -> bool {
        self.boot != self.now
    }
}

pub(super) struct HeadFile {
    path: PathBuf,
    key: [u8; 32],
    boot: Hash,
    /// Kept open from one commit to the next
    kept: Mutex<Option<Kept>>,
    /// What is committed and not yet said here
    unsaid: Mutex<Unsaid>,
}

/// The newest record that was committed, and the newest that is on the disk.
#[derive(Default)]
struct Unsaid {
    newest: Option<(i64, Hash)>,
    durable: Option<(i64, Hash)>,
}

/// A file, and what tells it from another one in its place.
struct Kept {
    file: File,
    device: u64,
    inode: u64,
}

impl Kept {
    fn open(path: &Path) -> Result<Kept, StoreError> {
        let file = paths::own_file(path)?;
        let about = file.metadata();
        let about = about.map_err(|error| StoreError::io(&path.display().to_string(), &error))?;
        Ok(Kept {
            file,
            device: about.dev(),
            inode: about.ino(),
        })
    }

    fn is_at(&self, path: &Path) -> bool {
        fs::symlink_metadata(path)
            .is_ok_and(|there| there.dev() == self.device && there.ino() == self.inode)
    }
}

impl HeadFile {
    pub(super) fn path(home: &Path) -> PathBuf {
        home.join(FILE)
    }

    pub(super) fn new(home: &Path, key: &Key, boot: Option<&str>) -> Self {
        let boot = boot.unwrap_or_else(|| paths::boot_id());
        HeadFile {
            path: HeadFile::path(home),
            key: key.head,
            boot: *blake3::hash(boot.as_bytes()).as_bytes(),
            kept: Mutex::default(),
            unsaid: Mutex::default(),
        }
    }

    /// The journal ends with this record now, which is said when [`HeadFile::catch_up`] comes.
    pub(super) fn reached(&self, seq: i64, hash: &Hash, durable: bool) {
        let mut unsaid = lock(&self.unsaid);
        unsaid.newest = Some((seq, *hash));
        if durable {
            unsaid.durable = unsaid.newest;
        }
    }

    /// Say what was reached.
    pub(super) fn catch_up(&self) -> Result<(), StoreError> {
        // Held until it is said: whoever says something else must come before or after.
        let mut unsaid = lock(&self.unsaid);
        let Unsaid { newest, durable } = &*unsaid;
        if let Some((seq, hash)) = durable {
            self.write(*seq, hash, true, false)?;
        }
        if let Some((seq, hash)) = newest.filter(|newest| Some(newest) != durable.as_ref()) {
            self.write(seq, &hash, false, false)?;
        }
        *unsaid = Unsaid::default();
        Ok(())
    }

    /// The journal goes on from an earlier record: what was reached before counts no more.
    pub(super) fn go_back(&self, seq: i64, hash: &Hash, durable: bool) -> Result<(), StoreError> {
        let mut unsaid = lock(&self.unsaid);
        self.write(seq, hash, durable, true)?;
        *unsaid = Unsaid::default();
        Ok(())
    }

    /// The newest head, if one was ever written. A file without a valid one is damage.
    pub(super) fn read(&self) -> Result<Option<Head>, StoreError> {
        match File::open(&self.path) {
            Ok(file) => match self.newest(&file) {
                Ok(Some(head)) if head.alone => self.undisturbed(&file),
                Err(StoreError::Damaged(_)) => self.undisturbed(&file),
                found => found,
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// The same while nobody writes: whoever looks in between may see half of a place.
    fn undisturbed(&self, file: &File) -> Result<Option<Head>, StoreError> {
        file.lock_shared().map_err(|error| self.failed(&error))?;
        self.newest(file)
    }

    /// The newest head in a file. Only the loss of power can leave half of a place: within one start
    /// of the machine both are whole, or somebody has changed one.
    fn newest(&self, file: &File) -> Result<Option<Head>, StoreError> {
        let mut bytes = [0; PLACE * 2];
        let mut got = 0;
        while got < bytes.len() {
            match file.read_at(&mut bytes[got..], got as u64) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(error) => return Err(self.failed(&error)),
            }
        }
        let places = [&bytes[..PLACE], &bytes[PLACE..]];
        let found = places.map(|place| self.parse(place));
        let both = found.iter().all(Option::is_some);
        let mut newest = found
            .into_iter()
            .flatten()
            .max_by_key(|head| head.generation);
        let damaged = match &mut newest {
            None => got > 0,
            // The first one stands alone, and nothing was in the other place.
            Some(head) => {
                let first = head.generation == FIRST && bytes[..PLACE] == [0; PLACE];
                head.alone = !both && !first;
                head.alone && !head.is_of_another_boot()
            }
        };
        if damaged {
            return Err(StoreError::Damaged(format!(
                "the signed end of the journal is not valid: `{}`",
                self.path.display()
            )));
        }
        Ok(newest)
    }

    /// Write where the journal ends now. A head that is further on stays, unless the journal is
    /// to go on from an earlier record.
    fn write(&self, seq: i64, hash: &Hash, durable: bool, go_back: bool) -> Result<(), StoreError> {
        let mut kept = lock(&self.kept);
        let there = kept.take().filter(|kept| kept.is_at(&self.path));
        let new = there.is_none() && !self.path.exists();
        let open = match there {
            Some(open) => open,
            None => Kept::open(&self.path)?,
        };
        open.file.lock().map_err(|error| self.failed(&error))?;
        let written = self.put(&open.file, (seq, hash), durable, go_back);
        // A file that stays locked would hold up others: where that fails it is closed.
        let unlocked = open.file.unlock();
        if written? && (new || go_back) {
            let synced = open.file.sync_all();
            synced
                .and_then(|()| paths::sync_folder(&self.path))
                .map_err(|error| self.failed(&error))?;
        }
        *kept = unlocked.is_ok().then_some(open);
        Ok(())
    }

    /// Put the end into a file that is locked. False where one that is further on stays.
    fn put(
        &self,
        file: &File,
        (seq, hash): (i64, &Hash),
        durable: bool,
        go_back: bool,
    ) -> Result<bool, StoreError> {
        let current = match self.newest(file) {
            Ok(current) => current,
            Err(_) if go_back => None,
            Err(error) => return Err(error),
        };
        if !go_back
            && current
                .as_ref()
                .is_some_and(|head| head.seq >= seq && !durable)
        {
            return Ok(false);
        }
        let (durable_seq, durable_hash) = match &current {
            _ if durable => (seq, *hash),
            Some(head) => (head.durable_seq, head.durable_hash),
            None => (0, super::chain::genesis()),
        };
        let mut head = Head {
            generation: current.as_ref().map_or(FIRST, |head| head.generation + 1),
            seq,
            hash: *hash,
            durable_seq,
            durable_hash,
            boot: self.boot,
            now: self.boot,
            alone: false,
        };
        if let (false, Some(current)) = (go_back, current)
            && current.seq > seq
        {
            (head.seq, head.hash) = (current.seq, current.hash);
            if current.durable_seq > durable_seq {
                (head.durable_seq, head.durable_hash) = (current.durable_seq, current.durable_hash);
            }
        }
        let place = if head.generation.is_multiple_of(2) {
            0
        } else {
            PLACE
        };
        let written = file.write_all_at(&self.format(&head), place as u64);
        let written = match head.generation {
            // Whatever is in the other place counts no more.
            FIRST => written.and_then(|()| file.write_all_at(&[0; PLACE], 0)),
            _ => written,
        };
        written.map_err(|error| self.failed(&error))?;
        Ok(true)
    }

    fn format(&self, head: &Head) -> [u8; PLACE] {
        let mut bytes = Vec::with_capacity(PLACE);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&head.generation.to_le_bytes());
        bytes.extend_from_slice(&head.seq.to_le_bytes());
        bytes.extend_from_slice(&head.hash);
        bytes.extend_from_slice(&head.durable_seq.to_le_bytes());
        bytes.extend_from_slice(&head.durable_hash);
        bytes.extend_from_slice(&head.boot);
        let signature = blake3::keyed_hash(&self.key, &bytes);
        bytes.extend_from_slice(signature.as_bytes());
        let mut place = [0; PLACE];
        place[..bytes.len()].copy_from_slice(&bytes);
        place
    }

    fn parse(&self, place: &[u8]) -> Option<Head> {
        let (signed, rest) = place.split_at_checked(SIGNED)?;
        let signature: [u8; 32] = rest.get(..32)?.try_into().ok()?;
        if blake3::keyed_hash(&self.key, signed) != blake3::Hash::from_bytes(signature) {
            return None;
        }
        let hash = |at: usize| signed.get(at..at + 32)?.try_into().ok();
        let number = |at: usize| signed.get(at..at + 8)?.try_into().ok();
        (signed.get(..8)? == MAGIC).then_some(())?;
        Some(Head {
            generation: u64::from_le_bytes(number(8)?),
            seq: i64::from_le_bytes(number(16)?),
            hash: hash(24)?,
            durable_seq: i64::from_le_bytes(number(56)?),
            durable_hash: hash(64)?,
            boot: hash(96)?,
            now: self.boot,
            alone: false,
        })
    }

    fn failed(&self, error: &std::io::Error) -> StoreError {
        StoreError::io(&self.path.display().to_string(), error)
    }
}
