//! Files with several names (hard links). What is written under one name is written under all of
//! them, so a call that changed one has changed the others, which nobody may have named. They are
//! looked for in the workspace once the call is over; those outside of it stay unknown.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Stat};

use super::conclude::{Looked, after};
use super::log::Line;
use super::record::{Entry, Inode, Recorder, inode};
use crate::place::{Kind, Moved, State, open_folder};

/// Entries of folders that are looked at for other names.
const MOST: usize = 500_000;

/// Whether a file has other names.
pub(super) fn is_linked(stat: &Stat) -> bool {
    stat.st_nlink > 1 && State::of(stat).kind == Kind::File
}

impl Recorder {
    /// What was noted of this file under another name.
    pub(super) fn twin(&self, stat: &Stat) -> Option<usize> {
        self.by_inode.get(&inode(stat)).copied()
    }

    /// Another name of a file that was noted before. What it held then is what it held here,
    /// whatever was written to it since.
    pub(super) fn add_twin(&mut self, root: usize, path: &Path, first: usize) -> io::Result<usize> {
        let number = self.entries.len();
        let entry = self.entries[first].twin(root, path.to_owned());
        let digest = entry.before.as_ref().and_then(|before| before.digest);
        let mut lines = vec![Line::Before {
            root,
            path: path.to_owned(),
            state: entry.before.clone(),
        }];
        lines.extend(entry.packed.zip(digest).map(|(packed, digest)| {
            // Where it lies is not part of the state.
            Line::Packed(number, digest, packed)
        }));
        lines.extend(entry.lost.clone().map(|why| Line::Lost(number, why)));
        for line in lines {
            self.log()?.add(&line)?;
        }
        let waiting = entry.inode.and_then(|inode| self.unkept.get_mut(&inode));
        waiting.into_iter().for_each(|numbers| numbers.push(number));
        self.entries.push(entry);
        self.by_place.insert((root, path.to_owned()), number);
        Ok(number)
    }

    /// The names that nobody named, of files that have changed.
    pub(super) fn add_other_names(&mut self, looked: &mut Vec<Looked>) -> io::Result<()> {
        let mut names: HashMap<(usize, Inode), Vec<usize>> = HashMap::new();
        for (number, one) in looked.iter().enumerate() {
            if let Some(key) = one.linked() {
                names.entry(key).or_default().push(number);
            }
        }
        names.retain(|_, numbers| {
            let all = looked[numbers[0]].entry.before.as_ref();
            let missing = all.is_some_and(|before| before.links > numbers.len() as u64);
            missing && numbers.iter().any(|number| !looked[*number].same)
        });
        let roots: HashSet<usize> = names.keys().map(|(root, _)| *root).collect();
        for root in roots {
            let inodes = names.keys().filter(|one| one.0 == root);
            let numbers: HashSet<u64> = inodes.map(|(_, inode)| inode.1).collect();
            for path in find(self.trees[root].root(), &numbers) {
                let Some((folder, stat)) = self.look(root, &path)? else {
                    continue;
                };
                let known = self.by_place.contains_key(&(root, path.clone()));
                let twins = names.get(&(root, inode(&stat))).filter(|_| !known);
                let Some(first) = twins.and_then(|numbers| numbers.first()) else {
                    continue;
                };
                let entry = looked[*first].entry.twin(root, path);
                let now = after(&entry, Some(&(folder, stat)));
                looked.push(Looked::new(entry, now, Some(inode(&stat))));
            }
        }
        Ok(())
    }
}

impl Entry {
    fn twin(&self, root: usize, path: PathBuf) -> Entry {
        Entry {
            root,
            path,
            before: self.before.clone(),
            inode: self.inode,
            packed: self.packed,
            deep: false,
            lost: self.lost.clone(),
        }
    }
}

impl Looked {
    /// The file that this is one of several names of, as it was before.
    pub(super) fn linked(&self) -> Option<(usize, Inode)> {
        let before = self.entry.before.as_ref()?;
        (before.links > 1).then_some((self.entry.root, self.entry.inode?))
    }
}

/// Whether this is still the file that it was, so that it can have its other name again.
pub(super) fn is_still(before: &State, now: &State) -> bool {
    let content = match before.digest {
        Some(_) => before.digest == now.digest,
        None => before.same_stamps(now, Moved::Yes),
    };
    content
        && before.inode() == now.inode()
        && (before.kind, before.mode) == (now.kind, now.mode)
        && before.attributes == now.attributes
}

/// Every path beneath a folder that a folder there lists with one of these numbers.
fn find(root: &OwnedFd, numbers: &HashSet<u64>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = MOST;
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let opened = match folder.as_os_str().is_empty() {
            true => Dir::read_from(root),
            false => open_folder(root, folder.as_os_str()).and_then(Dir::read_from),
        };
        for entry in opened.into_iter().flatten().flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if left == 0 {
                return found;
            }
            left -= 1;
            if entry.file_type() == FileType::Directory {
                if name != "." && name != ".." {
                    folders.push(folder.join(name));
                }
            } else if numbers.contains(&entry.ino()) {
                found.push(folder.join(name));
            }
        }
    }
    found
}
