//! The end of a call: everything that was named is looked at again, and what has really changed
//! is written down, with what cannot be put back.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::Stat;

use super::large::Digest;
use super::log::{Done, Line, Lost, Spelled, told_links};
use super::names::is_still;
use super::pack::{Pack, Packed};
use super::record::{Entry, Inode, Recorded, Recorder, inode};
use crate::place::{Change, Kind, Moved, State, attributes, digest, names, open_folder};

/// Contents up to this size are known by their digest when the call is over.
const DIGESTED: u64 = 64 << 20;

impl Recorder {
    /// The call is over: see what has really changed, and keep that.
    pub(crate) fn finish(self) -> io::Result<Recorded> {
        self.conclude(false)
    }

    /// What is in folders that came with all they hold: nobody named that place by place.
    fn add_arrivals(&mut self) -> io::Result<()> {
        let mut number = 0;
        while number < self.entries.len() {
            let entry = &self.entries[number];
            let (root, path) = (entry.root, entry.path.clone());
            let came = entry.deep || !self.is_folder_before(number);
            number += 1;
            let Some((folder, stat)) = self.look(root, &path)? else {
                continue;
            };
            if !came || State::of(&stat).kind != Kind::Folder {
                continue;
            }
            let name = path.file_name().unwrap_or_default();
            // One that we may not look into can only be removed when it is empty.
            for name in open_folder(&folder, name)
                .and_then(names)
                .unwrap_or_default()
            {
                let inside = path.join(name);
                if !self.by_place.contains_key(&(root, inside.clone())) {
                    self.add(root, &inside, None)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn conclude(mut self, interrupted: bool) -> io::Result<Recorded> {
        if self.log.is_none() {
            return Ok(Recorded::default());
        }
        self.add_arrivals()?;
        let Some(mut log) = self.log.take() else {
            return Ok(Recorded::default());
        };
        let mut looked = Vec::with_capacity(self.entries.len());
        for entry in std::mem::take(&mut self.entries) {
            let found = self.look(entry.root, &entry.path)?;
            let now = found.as_ref().map(|(_, stat)| inode(stat));
            let after = after(&entry, found.as_ref());
            looked.push(Looked::new(entry, after, now));
        }
        self.add_other_names(&mut looked)?;
        let known = Known::of(&looked);
        let mut recorded = Recorded::default();
        let mut changes = Vec::new();
        let roots = &self.head.roots;
        let absolute = |done: &Done| {
            let root = roots.get(done.root).map(|root| root.0.clone());
            root.unwrap_or_default().join(&done.change.path)
        };
        for one in looked.into_iter().filter(|one| !one.same) {
            let change = close(one, &known);
            let before = change.change.before.as_ref();
            let rights = before.and_then(State::not_ours_to_give);
            if let Some(why) = change.lost.as_deref().or(rights) {
                let path = absolute(&change);
                recorded.lost.push(Lost::for_good(path, why));
            }
            changes.push(change);
        }
        recorded.changes = changes.len();
        let linked = changes.iter().filter(|change| change.linked);
        recorded.lost.extend(told_links(linked.map(absolute)));
        if changes.is_empty() {
            log.discard()?;
            return Ok(recorded);
        }
        let done = Line::Done {
            changes,
            interrupted,
        };
        log.add(&done)?;
        if let Line::Done { changes, .. } = &done {
            let pack = self.pack.as_ref().map(Pack::digest);
            log.seal(&self.head, changes, pack)?;
        }
        Ok(recorded)
    }
}

/// An entry, with what is there now.
#[derive(Debug)]
pub(super) struct Looked {
    pub(super) entry: Entry,
    after: Option<State>,
    inode: Option<Inode>,
    /// Nothing has changed that could be put back
    pub(super) same: bool,
}

impl Looked {
    pub(super) fn new(entry: Entry, after: Option<State>, inode: Option<Inode>) -> Self {
        let same = match (&entry.before, &after) {
            // Another name of it was given up or changed; this one is as it was.
            (Some(before), Some(after)) if before.links > 1 && is_still(before, after) => true,
            (before, after) => is_same(before.as_ref(), after.as_ref()),
        };
        Looked {
            entry,
            after,
            inode,
            same,
        }
    }
}

/// What all entries together tell about where files are now.
#[derive(Debug, Default)]
struct Known {
    /// Where a file lies that has got another name
    now: HashMap<Inode, (usize, PathBuf)>,
    /// What was kept of a place that another file with the same content has taken
    copies: HashMap<Inode, (Digest, Option<Packed>)>,
    /// How many names of a file are known
    names: HashMap<(usize, Inode), u64>,
    /// A name of a file that it still has
    shares: HashMap<(usize, Inode), PathBuf>,
}

impl Known {
    fn of(looked: &[Looked]) -> Self {
        let mut known = Known::default();
        for one in looked {
            let entry = &one.entry;
            if let Some(key) = one.linked() {
                *known.names.entry(key).or_default() += 1;
                if one.same && one.inode == entry.inode {
                    known.shares.insert(key, entry.path.clone());
                }
            }
            let Some(inode) = one.inode else {
                continue;
            };
            let digest = entry.before.as_ref().and_then(|before| before.digest);
            match (one.same, digest) {
                (false, _) => {
                    let place = (entry.root, entry.path.clone());
                    known.now.insert(inode, place);
                }
                (true, Some(digest)) => {
                    known.copies.insert(inode, (digest, entry.packed));
                }
                (true, None) => {}
            }
        }
        known
    }
}

/// The last word on an entry: whether what was before can be had again, and where.
fn close(one: Looked, known: &Known) -> Done {
    let names = one.linked();
    let mut entry = one.entry;
    let has_content = |state: &State| matches!(state.kind, Kind::File | Kind::Link);
    let unkept = entry
        .before
        .as_ref()
        .is_some_and(|before| has_content(before) && before.digest.is_none());
    let mut lost = entry.lost.filter(|_| entry.before.is_some());
    let mut lies = None;
    if unkept && lost.is_none() {
        let of = |inode: Inode| (known.now.get(&inode), known.copies.get(&inode));
        match (entry.inode.map(of), &mut entry.before) {
            (Some((Some((root, path)), _)), _) => lies = Some((*root, Spelled(path.clone()))),
            (Some((_, Some((digest, packed)))), Some(before)) => {
                before.digest = Some(*digest);
                entry.packed = *packed;
            }
            _ => lost = Some("its content was not kept".to_owned()),
        }
    }
    let all = entry.before.as_ref().map_or(0, |before| before.links);
    let found = names.and_then(|key| known.names.get(&key)).copied();
    Done {
        root: entry.root,
        packed: entry.packed,
        lies,
        lost,
        linked: found.is_some_and(|found| found < all),
        shares: names
            .and_then(|key| known.shares.get(&key))
            .map(|path| Spelled(path.clone())),
        change: Change {
            path: entry.path,
            before: entry.before,
            after: one.after,
        },
    }
}

/// What is at the place of an entry now. The content is read only where the stamps tell nothing.
pub(super) fn after(entry: &Entry, found: Option<&(OwnedFd, Stat)>) -> Option<State> {
    let (folder, stat) = found?;
    let mut now = State::of(stat);
    let untouched = entry
        .before
        .as_ref()
        .is_some_and(|before| before.same_stamps(&now, Moved::No));
    let name = entry.path.file_name().unwrap_or_default();
    // What is attached to a folder leaves no mark on it that is looked at.
    if now.kind == Kind::Folder {
        now.attributes = attributes(folder, name);
    } else if untouched {
        now.digest = entry.before.as_ref().and_then(|before| before.digest);
        now.attributes = entry.before.as_ref()?.attributes.clone();
    } else if matches!(now.kind, Kind::File | Kind::Link) {
        now.attributes = attributes(folder, name);
        if now.size <= DIGESTED {
            now.digest = digest(folder, name, now.kind).ok();
        }
    }
    Some(now)
}

/// Whether nothing has changed that could be put back.
pub(super) fn is_same(before: Option<&State>, after: Option<&State>) -> bool {
    match (before, after) {
        (None, None) => true,
        (Some(before), Some(after)) => {
            before.kind == after.kind
                && before.mode == after.mode
                && before.attributes == after.attributes
                && (before.kind == Kind::Folder
                    || before.same_stamps(after, Moved::No)
                    || (before.digest.is_some() && before.digest == after.digest))
        }
        _ => false,
    }
}
