//! Notes what is there before a call changes it. Whoever changes files says so first, place by
//! place; what stood there is kept then, and at the end everything is looked at again. A place
//! that somebody forgot to name is not found out here.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Stat, readlinkat, statat};
use rustix::io::Errno;

use super::large::{self, Digest, Refused};
use super::log::{self, Line, Lost, Writer};
use super::names::is_linked;
use super::pack::{Pack, Packed, SMALL};
use super::{Checkpoints, Head};
use crate::place::{Kind, State, Tree, attributes, names, open_file, open_folder};
use crate::sandbox::is_placeholder;

/// What is about to happen to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touch {
    /// It is made, replaced, written or removed; a folder alone
    Here,
    /// It is removed with all that is in it
    Tree,
    /// It gets another name in the workspace, with all that is in it: the contents stay
    Moved,
    /// Its name is given up or goes to something else; a folder must be empty for that
    Vacated,
    /// Its mode or owner changes
    Mode,
}

/// A file by its device and number.
pub(super) type Inode = (u64, u64);

/// One place that was named.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) root: usize,
    pub(super) path: PathBuf,
    pub(super) before: Option<State>,
    pub(super) inode: Option<Inode>,
    /// Where in the pack its content is, if it is there
    pub(super) packed: Option<Packed>,
    /// All that it held is named too
    pub(super) deep: bool,
    pub(super) lost: Option<String>,
}

/// The changes of one call, while they are made.
#[derive(Debug)]
pub(crate) struct Recorder {
    store: Checkpoints,
    pub(super) head: Head,
    pub(super) trees: Vec<Tree>,
    /// Made with the first entry: most commands change nothing
    pub(super) log: Option<Writer>,
    pub(super) entries: Vec<Entry>,
    pub(super) by_place: HashMap<(usize, PathBuf), usize>,
    /// Files with several names, by the first that was noted
    pub(super) by_inode: HashMap<Inode, usize>,
    /// Files that moved: their contents are kept when something happens to them
    pub(super) unkept: HashMap<Inode, Vec<usize>>,
    /// Bytes that this call may still have kept
    left: u64,
    /// Small contents, once there are any
    pub(super) pack: Option<Pack>,
    /// Large contents that the disk may not have yet
    unsynced: Vec<PathBuf>,
}

/// What a call has done.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) changes: usize,
    /// Absolute paths
    pub(crate) lost: Vec<Lost>,
}

impl Recorder {
    pub(super) fn new(store: Checkpoints, head: Head, roots: Vec<OwnedFd>) -> Self {
        Recorder {
            left: store.config.max_call,
            store,
            head,
            trees: roots.into_iter().map(Tree::of).collect(),
            log: None,
            entries: Vec::new(),
            by_place: HashMap::new(),
            by_inode: HashMap::new(),
            unkept: HashMap::new(),
            pack: None,
            unsynced: Vec::new(),
        }
    }

    /// What a dead haft left: the same state as it had, to be finished.
    pub(super) fn resume(
        store: Checkpoints,
        read: log::Read,
        roots: Vec<OwnedFd>,
        log: Writer,
    ) -> Self {
        let mut recorder = Recorder::new(store, read.head, roots);
        recorder.log = Some(log);
        let devices: Vec<Option<u64>> = recorder.trees.iter().map(device).collect();
        for before in read.befores {
            let device = devices.get(before.root).copied().flatten();
            let number = before.state.as_ref().map(State::inode);
            let place = (before.root, before.path.clone());
            recorder.by_place.insert(place, recorder.entries.len());
            recorder.entries.push(Entry {
                root: before.root,
                path: before.path,
                inode: device.zip(number),
                before: before.state,
                packed: before.packed,
                deep: before.deep,
                lost: before.lost,
            });
        }
        recorder
    }

    /// Note what is at this place, before something happens to it. An error is one of the store:
    /// what cannot be read is only noted as lost.
    pub(crate) fn touch(&mut self, root: usize, path: &Path, touch: Touch) -> io::Result<()> {
        self.note(root, path, touch)?;
        match &mut self.log {
            Some(log) => log.flush(),
            None => Ok(()),
        }
    }

    /// Something has come to a place that was empty when the call began, and nobody said so.
    pub(crate) fn arrived(&mut self, root: usize, path: &Path) -> io::Result<()> {
        let known = self.by_place.contains_key(&(root, path.to_owned()));
        if !known && self.look(root, path)?.is_some() {
            self.add(root, path, None)?;
        }
        Ok(())
    }

    /// Wait until all that was noted has reached the disk.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        const FEW: usize = 16;
        if self.unsynced.len() > FEW {
            self.store.sync_all()?;
        } else {
            for path in &self.unsynced {
                File::open(path)?.sync_all()?;
            }
        }
        self.unsynced.clear();
        if let Some(pack) = &self.pack {
            pack.sync()?;
        }
        match &mut self.log {
            Some(log) => log.sync(),
            None => Ok(()),
        }
    }

    fn note(&mut self, root: usize, path: &Path, touch: Touch) -> io::Result<()> {
        let known = self.by_place.get(&(root, path.to_owned())).copied();
        let found = self.look(root, path)?;
        if let Some((folder, stat)) = &found
            && matches!(touch, Touch::Here | Touch::Tree | Touch::Vacated)
        {
            self.keep_moved(folder, path, stat)?;
        }
        let number = match known {
            Some(number) => number,
            None if self.was_absent(root, path) => self.add(root, path, None)?,
            None => {
                let twin = found.as_ref().and_then(|(_, stat)| self.twin(stat));
                match (&found, twin) {
                    (_, Some(first)) => self.add_twin(root, path, first)?,
                    (Some((folder, stat)), None) => {
                        let number = self.add(root, path, found.as_ref())?;
                        self.content(number, folder, path, stat, touch)?;
                        number
                    }
                    (None, _) => {
                        self.note_missing_parents(root, path)?;
                        self.add(root, path, None)?
                    }
                }
            }
        };
        if self.entries[number].deep || !self.is_folder_before(number) {
            return Ok(());
        }
        let folder = found.filter(|(_, stat)| State::of(stat).kind == Kind::Folder);
        match (folder, touch) {
            // It is gone, and what it held went first or with a folder above it.
            (None, _) => {}
            (Some((folder, _)), Touch::Tree | Touch::Moved) => {
                self.note_inside(root, &folder, path, touch)?;
            }
            // Nothing is left in it, so all of it was named.
            (Some((folder, _)), Touch::Vacated) if is_empty(&folder, path) => {}
            _ => return Ok(()),
        }
        self.entries[number].deep = true;
        self.log()?.add(&Line::Deep(number))
    }

    /// Everything in a folder that was there before.
    fn note_inside(
        &mut self,
        root: usize,
        folder: &OwnedFd,
        path: &Path,
        touch: Touch,
    ) -> io::Result<()> {
        let name = path.file_name().unwrap_or_default();
        let inside = match open_folder(folder, name).and_then(names) {
            Ok(inside) => inside,
            Err(error) => {
                let why = format!("the folder cannot be read: {error}");
                let number = self.by_place.get(&(root, path.to_owned())).copied();
                return match number {
                    Some(number) => self.lose(number, why),
                    None => Ok(()),
                };
            }
        };
        for name in inside {
            self.note(root, &path.join(name), touch)?;
        }
        Ok(())
    }

    /// Folders on the way that are not there: the call will make them.
    fn note_missing_parents(&mut self, root: usize, path: &Path) -> io::Result<()> {
        let mut missing = Vec::new();
        for folder in path.ancestors().skip(1) {
            let known = self.by_place.contains_key(&(root, folder.to_owned()));
            if folder.as_os_str().is_empty() || known || self.look(root, folder)?.is_some() {
                break;
            }
            missing.push(folder);
        }
        for folder in missing.into_iter().rev() {
            self.add(root, folder, None)?;
        }
        Ok(())
    }

    pub(super) fn is_folder_before(&self, number: usize) -> bool {
        let before = &self.entries[number].before;
        before
            .as_ref()
            .is_some_and(|state| state.kind == Kind::Folder)
    }

    /// Whether nothing was at this place when the call began, whatever is there now: a folder
    /// above it was not there, or all that it held is known.
    fn was_absent(&self, root: usize, path: &Path) -> bool {
        path.ancestors().skip(1).any(|folder| {
            let number = self.by_place.get(&(root, folder.to_owned()));
            number
                .is_some_and(|&number| self.entries[number].deep || !self.is_folder_before(number))
        })
    }

    pub(super) fn look(&mut self, root: usize, path: &Path) -> io::Result<Option<(OwnedFd, Stat)>> {
        let (folder, name) = match self.trees[root].parent(path) {
            Ok(found) => found,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // It stands for nothing, and will be gone.
        if is_placeholder(&stat) {
            return Ok(None);
        }
        let folder = rustix::io::fcntl_dupfd_cloexec(folder, 0)?;
        // Names change hands while the call runs.
        self.trees[root].forget();
        Ok(Some((folder, stat)))
    }

    pub(super) fn add(
        &mut self,
        root: usize,
        path: &Path,
        found: Option<&(OwnedFd, Stat)>,
    ) -> io::Result<usize> {
        let number = self.entries.len();
        let before = found.map(|(folder, stat)| {
            let mut state = State::of(stat);
            state.owner = Some((stat.st_uid, stat.st_gid));
            if matches!(state.kind, Kind::File | Kind::Folder) {
                state.attributes = attributes(folder, path.file_name().unwrap_or_default());
            }
            state
        });
        if let Some((_, stat)) = found
            && is_linked(stat)
        {
            self.by_inode.entry(inode(stat)).or_insert(number);
        }
        self.log()?.add(&Line::Before {
            root,
            path: path.to_owned(),
            state: before.clone(),
        })?;
        self.entries.push(Entry {
            root,
            path: path.to_owned(),
            before,
            inode: found.map(|(_, stat)| inode(stat)),
            packed: None,
            deep: false,
            lost: None,
        });
        self.by_place.insert((root, path.to_owned()), number);
        Ok(number)
    }

    /// See that the content of a new entry can be had again.
    fn content(
        &mut self,
        number: usize,
        folder: &OwnedFd,
        path: &Path,
        stat: &Stat,
        touch: Touch,
    ) -> io::Result<()> {
        match State::of(stat).kind {
            Kind::Folder => Ok(()),
            Kind::Other => self.lose(number, "a pipe, a socket or a device".to_owned()),
            Kind::File | Kind::Link if matches!(touch, Touch::Moved | Touch::Mode) => {
                self.unkept.entry(inode(stat)).or_default().push(number);
                Ok(())
            }
            Kind::File | Kind::Link => self.keep(&[number], folder, path, stat),
        }
    }

    /// A file that got another name before: what it holds belongs to that older entry.
    fn keep_moved(&mut self, folder: &OwnedFd, path: &Path, stat: &Stat) -> io::Result<()> {
        match self.unkept.remove(&inode(stat)) {
            Some(numbers) => self.keep(&numbers, folder, path, stat),
            None => Ok(()),
        }
    }

    fn keep(
        &mut self,
        numbers: &[usize],
        folder: &OwnedFd,
        path: &Path,
        stat: &Stat,
    ) -> io::Result<()> {
        let (digest, packed) = match self.taken(folder, path, stat) {
            Ok(kept) => kept,
            Err(Refused::Store(error)) => return Err(error),
            Err(Refused::Unreadable(error)) => {
                return self.lose_all(numbers, &format!("cannot be read: {error}"));
            }
            Err(Refused::TooLarge(size)) => {
                return self.lose_all(numbers, &format!("too large to be kept: {size} bytes"));
            }
        };
        self.left -= self.left.min(u64::try_from(stat.st_size).unwrap_or(0));
        for &number in numbers {
            let entry = &mut self.entries[number];
            entry.packed = packed;
            if let Some(before) = &mut entry.before {
                before.digest = Some(digest);
            }
            self.log()?.add(&match packed {
                Some(packed) => Line::Packed(number, digest, packed),
                None => Line::Content(number, digest),
            })?;
        }
        Ok(())
    }

    /// Take what a file or a link holds: small contents into the pack, others to the rest.
    fn taken(
        &mut self,
        folder: &OwnedFd,
        path: &Path,
        stat: &Stat,
    ) -> Result<(Digest, Option<Packed>), Refused> {
        let name = path.file_name().unwrap_or_default();
        let unreadable = |error: Errno| Refused::Unreadable(error.into());
        if State::of(stat).kind == Kind::Link {
            let target = readlinkat(folder, name, Vec::new()).map_err(unreadable)?;
            return self.pack(target.as_bytes());
        }
        let file = File::from(open_file(folder, name).map_err(unreadable)?);
        let most = self.store.config.max_file.min(self.left);
        let mut content = Vec::new();
        // One byte more tells whether that was all: it may be growing under us.
        let mut start = (&file).take(SMALL.min(most) + 1);
        start
            .read_to_end(&mut content)
            .map_err(Refused::Unreadable)?;
        if content.len() as u64 <= SMALL.min(most) {
            return self.pack(&content);
        }
        (&file).rewind().map_err(Refused::Unreadable)?;
        let draft = self.log().map_err(Refused::Store)?.draft.clone();
        let digest = large::keep(&draft, &file, most)?;
        self.unsynced.push(draft.file(&large::hex(&digest)));
        Ok((digest, None))
    }

    fn pack(&mut self, content: &[u8]) -> Result<(Digest, Option<Packed>), Refused> {
        if self.pack.is_none() {
            let log = self.log().map_err(Refused::Store)?;
            self.pack = Some(log.new_pack().map_err(Refused::Store)?);
        }
        let pack = self.pack.as_mut().map(|pack| pack.put(content));
        let (digest, packed) = pack
            .unwrap_or_else(|| Err(io::Error::other("no pack")))
            .map_err(Refused::Store)?;
        Ok((digest, Some(packed)))
    }

    fn lose_all(&mut self, numbers: &[usize], why: &str) -> io::Result<()> {
        numbers
            .iter()
            .try_for_each(|&number| self.lose(number, why.to_owned()))
    }

    fn lose(&mut self, number: usize, why: String) -> io::Result<()> {
        self.log()?.add(&Line::Lost(number, why.clone()))?;
        self.entries[number].lost = Some(why);
        Ok(())
    }

    pub(super) fn log(&mut self) -> io::Result<&mut Writer> {
        if self.log.is_none() {
            self.log = Some(self.store.new_log(&self.head)?);
        }
        self.log.as_mut().ok_or_else(|| io::Error::other("no log"))
    }
}

// The fields' types differ between platforms, so some casts are empty on some of them.
#[allow(clippy::unnecessary_cast)]
pub(super) fn inode(stat: &Stat) -> Inode {
    (stat.st_dev as u64, stat.st_ino as u64)
}

#[allow(clippy::unnecessary_cast)]
fn device(tree: &Tree) -> Option<u64> {
    let stat = rustix::fs::fstat(tree.root()).ok()?;
    Some(stat.st_dev as u64)
}

fn is_empty(folder: &OwnedFd, path: &Path) -> bool {
    let inside = open_folder(folder, path.file_name().unwrap_or_default()).and_then(names);
    inside.is_ok_and(|names| names.is_empty())
}

/// No folder there, or something else that has its name.
fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(Errno::from_raw_os_error),
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG)
    )
}
