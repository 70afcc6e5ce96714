//! Goes through a tree and shows each file to a visitor. Folders are opened beneath the root
//! without following links; files are opened by name from their folder's handle. A link is
//! followed only to a place file tools may go, and a folder is entered through links once at
//! most, so that no ring of links is walked for ever. The calling thread starts alone; others
//! join only when the first files did not fill the answer.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;

use haft_core::{CancelToken, ClosedPaths, Mode};
use rustix::io::Errno;

use super::entries::{Entries, Found, Kind};
use super::queue::Queue;
use super::rules::{Candidate, Rules, Verdict};
use super::start::{self, Start};
use crate::files::{Resolved, Workspace, open_dir};

/// Files that one thread looks at before others join.
const ALONE: usize = 96;
/// More files of one folder than this are shared among threads.
const PIECE: usize = 64;
/// Threads beyond this wait for the same disk.
const THREADS: usize = 8;
/// Folders and files that could not be opened, as far as they are named.
const NAMED: usize = 20;

/// What a walk leaves out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    /// Leave out what `.gitignore` and `.ignore` files name
    pub(super) ignore: bool,
    /// Go into names that start with a dot
    pub(super) hidden: bool,
    /// Show the files of a folder in the order of their names
    pub(super) sorted: bool,
}

/// One thread's part in a walk.
pub(super) trait Visitor {
    /// Whether a file or folder of this name is worth a look.
    fn wants(&mut self, name: &[u8], kind: Kind, path: &[u8]) -> bool;

    /// Whether the walk needs not go into this folder, or on with files from this path on.
    fn is_past(&self, path: &[u8]) -> bool;

    /// Whether the answer is complete.
    fn is_done(&self) -> bool;

    /// Whether a place that a link leads to must be left alone.
    fn refuses(&mut self, place: &Resolved) -> bool;

    fn file(&mut self, file: Met<'_>) -> Result<(), Errno>;
}

/// A file that a visitor is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Met<'a> {
    pub(super) folder: &'a OwnedFd,
    pub(super) name: &'a std::ffi::CStr,
    /// From the folder where the walk began
    pub(super) path: &'a [u8],
}

/// What could not be seen.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    pub(super) count: usize,
    pub(super) named: Vec<PathBuf>,
    /// Files and folders that rules close
    pub(super) closed: u64,
}

pub(super) struct Walk<'a> {
    workspace: &'a Workspace,
    choice: Choice,
    cancel: &'a CancelToken,
    closed: Option<&'a dyn ClosedPaths>,
    queue: Queue<Work>,
    /// Bytes of a path before the part that is shown
    lead: usize,
    /// Folders that were entered through a link
    linked: Mutex<HashSet<PathBuf>>,
    unseen: Mutex<Unseen>,
}

enum Work {
    Folder(Folder),
    /// Some files of a large folder
    Files(Arc<Opened>, std::ops::Range<usize>),
    Linked {
        place: Resolved,
        path: Vec<u8>,
    },
}

struct Folder {
    place: Resolved,
    /// With the lead before what is shown; no slash at the end
    path: Vec<u8>,
    rules: Rules,
    through_link: bool,
}

struct Opened {
    handle: OwnedFd,
    /// With a slash at the end, or empty
    path: Vec<u8>,
    entries: Entries,
    files: Vec<Found>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        base: &Resolved,
        choice: Choice,
        cancel: &'a CancelToken,
        closed: Option<&'a dyn ClosedPaths>,
    ) -> Self {
        let Start { lead, rules } = match choice.ignore {
            true => start::rules_above(workspace, base),
            false => Start::default(),
        };
        Walk {
            workspace,
            choice,
            cancel,
            closed,
            lead: if lead.is_empty() { 0 } else { lead.len() + 1 },
            queue: Queue::new(Work::Folder(Folder {
                place: base.clone(),
                path: lead,
                rules,
                through_link: false,
            })),
            linked: Mutex::default(),
            unseen: Mutex::default(),
        }
    }

    /// Show every file to visitors, of which `make` makes one a thread; all come back.
    pub(super) fn run<V: Visitor + Send>(self, make: impl Fn() -> V + Sync) -> (Vec<V>, Unseen) {
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let mut worker = Worker::new(&self, make());
            worker.work(|| join_in(&self, scope, &make, &done));
            keep(&done, worker.visitor);
        });
        let visitors = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let unseen = self.unseen.into_inner();
        (visitors, unseen.unwrap_or_else(PoisonError::into_inner))
    }

    fn note_unseen(&self, path: &[u8]) {
        let mut unseen = self.unseen.lock().unwrap_or_else(PoisonError::into_inner);
        unseen.count += 1;
        if unseen.named.len() < NAMED {
            let shown = path.get(self.lead..).unwrap_or_default();
            unseen.named.push(OsStr::from_bytes(shown).into());
        }
    }

    /// Whether a rule closes a place, which then counts as left out.
    fn is_closed(&self, path: &Path) -> bool {
        let closes = |closed: &dyn ClosedPaths| closed.closes(Mode::Read, path);
        if !self.closed.is_some_and(closes) {
            return false;
        }
        let mut unseen = self.unseen.lock().unwrap_or_else(PoisonError::into_inner);
        unseen.closed += 1;
        true
    }

    /// Whether a folder may be entered through a link, which it may be once.
    fn enters(&self, place: &Resolved) -> bool {
        let mut linked = self.linked.lock().unwrap_or_else(PoisonError::into_inner);
        linked.insert(place.path().to_owned())
    }
}

/// Start the other threads.
fn join_in<'scope, V: Visitor + Send>(
    walk: &'scope Walk<'_>,
    scope: &'scope Scope<'scope, '_>,
    make: &'scope (impl Fn() -> V + Sync),
    done: &'scope Mutex<Vec<V>>,
) {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    for _ in 1..cores.min(THREADS) {
        let thread = std::thread::Builder::new();
        // Without a further thread the work is done by those there are.
        let _ = thread.spawn_scoped(scope, move || {
            let mut worker = Worker::new(walk, make());
            worker.alone = false;
            worker.work(|| {});
            keep(done, worker.visitor);
        });
    }
}

fn keep<V>(done: &Mutex<Vec<V>>, visitor: V) {
    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
    done.push(visitor);
}

struct Worker<'w, 'a, V> {
    walk: &'w Walk<'a>,
    visitor: V,
    entries: Entries,
    folders: Vec<Work>,
    files: Vec<Found>,
    path: Vec<u8>,
    seen: usize,
    alone: bool,
}

impl<'w, 'a, V: Visitor> Worker<'w, 'a, V> {
    fn new(walk: &'w Walk<'a>, visitor: V) -> Self {
        Worker {
            walk,
            visitor,
            entries: Entries::default(),
            folders: Vec::new(),
            files: Vec::new(),
            path: Vec::new(),
            seen: 0,
            alone: true,
        }
    }

    fn work(&mut self, join_in: impl FnOnce()) {
        let mut join_in = Some(join_in);
        let mut busy = false;
        while let Some(work) = self.walk.queue.take(busy) {
            busy = true;
            if self.is_over() {
                self.walk.queue.clear();
                continue;
            }
            match work {
                Work::Folder(folder) => self.folder(folder),
                Work::Files(opened, range) => self.some_files(&opened, range),
                Work::Linked { place, path } => self.linked_file(&place, path),
            }
            if self.seen >= ALONE && self.alone && self.walk.queue.waiting() > 1 {
                self.alone = false;
                if let Some(join_in) = join_in.take() {
                    join_in();
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        self.walk.cancel.is_cancelled() || self.visitor.is_done()
    }

    fn folder(&mut self, folder: Folder) {
        let Folder {
            place,
            mut path,
            mut rules,
            through_link,
        } = folder;
        if !path.is_empty() {
            path.push(b'/');
        }
        if path.len() > self.walk.lead && self.visitor.is_past(&path[self.walk.lead..]) {
            return;
        }
        let handle = match open_dir(self.walk.workspace.handle(&place), place.relative()) {
            Ok(handle) => handle,
            // It went away, or became something else, since it was listed.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return,
            Err(_) => return self.walk.note_unseen(&path),
        };
        let mut entries = std::mem::take(&mut self.entries);
        if entries.read(&handle).is_err() {
            self.walk.note_unseen(&path);
        }
        if self.walk.choice.ignore {
            start::add_rules(&mut rules, &handle, &entries, path.len());
        }
        self.sort_out(&entries, &handle, &place, &path, &rules, through_link);
        if self.files.len() > PIECE {
            self.share(handle, path, entries);
            return;
        }
        self.walk.queue.put(self.folders.drain(..).rev());
        let files = std::mem::take(&mut self.files);
        self.show(&handle, &path, &entries, &files);
        self.files = files;
        self.files.clear();
        self.entries = entries;
    }

    /// Hand out the files of a large folder in pieces.
    fn share(&mut self, handle: OwnedFd, path: Vec<u8>, entries: Entries) {
        let files = std::mem::take(&mut self.files);
        let count = files.len();
        let opened = Arc::new(Opened {
            handle,
            path,
            entries,
            files,
        });
        let pieces = (0..count.div_ceil(PIECE)).rev();
        let pieces = pieces.map(|n| n * PIECE..count.min((n + 1) * PIECE));
        let work = pieces.map(|range| Work::Files(opened.clone(), range));
        self.walk
            .queue
            .put(self.folders.drain(..).rev().chain(work));
    }

    fn some_files(&mut self, opened: &Opened, range: std::ops::Range<usize>) {
        let files = &opened.files[range];
        self.show(&opened.handle, &opened.path, &opened.entries, files);
    }

    /// Part a folder's entries into files and folders, without those that are left out.
    fn sort_out(
        &mut self,
        entries: &Entries,
        handle: &OwnedFd,
        place: &Resolved,
        path: &[u8],
        rules: &Rules,
        through_link: bool,
    ) {
        self.path.clear();
        self.path.extend_from_slice(path);
        for found in entries.iter() {
            let name = entries.name(found);
            self.path.truncate(path.len());
            self.path.extend_from_slice(name);
            let kind = match found.kind {
                Kind::Unknown => Kind::at(handle, OsStr::from_bytes(name)),
                known => known,
            };
            if kind == Kind::Other || !self.is_chosen(name, kind, path.len(), rules) {
                continue;
            }
            if kind != Kind::Link
                && self.walk.closed.is_some()
                && self
                    .walk
                    .is_closed(&place.path().join(OsStr::from_bytes(name)))
            {
                continue;
            }
            match kind {
                Kind::File => self.files.push(*found),
                Kind::Folder => {
                    let place = place.inside(OsStr::from_bytes(name));
                    self.push_folder(place, rules, through_link);
                }
                _ => self.link(place, name, rules),
            }
        }
        if self.walk.choice.sorted {
            self.files
                .sort_unstable_by(|a, b| entries.name(a).cmp(entries.name(b)));
            // All of them lie in this folder: their names decide.
            self.folders
                .sort_unstable_by(|a, b| a.path()[path.len()..].cmp(&b.path()[path.len()..]));
        }
    }

    /// `self.path` holds the entry's path, whose name starts at `start`.
    fn is_chosen(&mut self, name: &[u8], kind: Kind, start: usize, rules: &Rules) -> bool {
        let Choice { ignore, hidden, .. } = self.walk.choice;
        if ignore && name == b".git" {
            return false;
        }
        let verdict = match ignore {
            true => rules.verdict(Candidate {
                path: &self.path,
                name: start,
                is_folder: kind == Kind::Folder,
            }),
            false => Verdict::Unknown,
        };
        match verdict {
            Verdict::Left => return false,
            Verdict::Unknown if !hidden && name.first() == Some(&b'.') => return false,
            _ => {}
        }
        kind == Kind::Link || self.visitor.wants(name, kind, &self.path[self.walk.lead..])
    }

    fn push_folder(&mut self, place: Resolved, rules: &Rules, through_link: bool) {
        if self.walk.workspace.is_home_at(&place) || (through_link && !self.walk.enters(&place)) {
            return;
        }
        self.folders.push(Work::Folder(Folder {
            place,
            path: self.path.clone(),
            rules: rules.clone(),
            through_link,
        }));
    }

    /// Follow a link, if it leads to a place we may look at and not back to where we are.
    fn link(&mut self, folder: &Resolved, name: &[u8], rules: &Rules) {
        let link = folder.path().join(OsStr::from_bytes(name));
        let Some(place) = self.walk.workspace.follow(&link) else {
            return;
        };
        let handle = self.walk.workspace.handle(&place);
        if folder.path().starts_with(place.path()) || self.visitor.refuses(&place) {
            return;
        }
        let kind = Kind::at(handle, place.relative().as_os_str());
        if !matches!(kind, Kind::File | Kind::Folder)
            || !self.visitor.wants(name, kind, &self.path[self.walk.lead..])
            || self.walk.is_closed(place.path())
        {
            return;
        }
        match kind {
            Kind::Folder => self.push_folder(place, rules, true),
            _ => self.folders.push(Work::Linked {
                place,
                path: self.path.clone(),
            }),
        }
    }

    fn linked_file(&mut self, place: &Resolved, path: Vec<u8>) {
        if self.visitor.is_past(&path[self.walk.lead..]) {
            return;
        }
        let root = self.walk.workspace.handle(place);
        let parent = place.relative().parent().unwrap_or(Path::new(""));
        let name = place.relative().file_name().unwrap_or_default();
        let Ok(name) = std::ffi::CString::new(name.as_bytes()) else {
            return;
        };
        let shown = open_dir(root, parent).and_then(|folder| {
            self.visitor.file(Met {
                folder: &folder,
                name: &name,
                path: &path[self.walk.lead..],
            })
        });
        if shown.is_err_and(|error| !is_gone(error)) {
            self.walk.note_unseen(&path);
        }
    }

    fn show(&mut self, folder: &OwnedFd, path: &[u8], entries: &Entries, files: &[Found]) {
        self.path.clear();
        self.path.extend_from_slice(path);
        for found in files {
            if self.is_over() {
                return;
            }
            self.path.truncate(path.len());
            self.path.extend_from_slice(entries.name(found));
            let shown = &self.path[self.walk.lead..];
            if self.visitor.is_past(shown) {
                return;
            }
            self.seen += 1;
            let met = Met {
                folder,
                name: entries.c_name(found),
                path: shown,
            };
            if self.visitor.file(met).is_err_and(|error| !is_gone(error)) {
                self.walk.note_unseen(&self.path);
            }
        }
    }
}

impl Work {
    /// With the lead before what is shown.
    fn path(&self) -> &[u8] {
        match self {
            Work::Folder(folder) => &folder.path,
            Work::Linked { path, .. } => path,
            Work::Files(opened, _) => &opened.path,
        }
    }
}

/// Went away, or became a link, since it was listed.
fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::LOOP | Errno::NXIO)
}
