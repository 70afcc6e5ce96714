//! A checkpoint on disk: one file of lines, written as things come. First who is at work, then
//! what was there before each change, at last what is there after them. Whoever dies in between
//! leaves enough for the next one to say what happened. Once a call is over, a few words beside it
//! say so and what it needs, for whoever lists it.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use haft_core::{KeptChanges, ToolContext, changes_place};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::draft::{Draft, digest_of};
use super::large::{Digest, hex, private_folder};
use super::pack::{Pack, Packed};
use crate::place::{Change, State, path_bytes};

/// Whose changes these are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub call: String,
    pub session: String,
    pub tool: String,
}

impl Mark {
    pub fn of(cx: &ToolContext) -> Self {
        Mark {
            call: cx.call_id.to_string(),
            session: cx.caller.session.to_string(),
            tool: cx.tool.to_string(),
        }
    }
}

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Head {
    #[serde(flatten)]
    pub(super) mark: Mark,
    /// Milliseconds since 1970
    pub(super) at: u64,
    /// The workspace first
    pub(super) roots: Vec<Spelled>,
    /// The checkpoints that this call put back
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) undoes: Vec<String>,
}

impl Head {
    /// The workspace as its changes are looked up by.
    pub(super) fn place(&self) -> String {
        changes_place(self.workspace())
    }

    fn workspace(&self) -> &Path {
        self.roots.first().map_or(Path::new(""), |root| &root.0)
    }
}

/// A path that need not be text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spelled(#[serde(with = "path_bytes")] pub(super) PathBuf);

/// Something that did not come through a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    #[serde(with = "path_bytes")]
    pub path: PathBuf,
    pub why: String,
    /// It is gone now, and an undo puts it back; anything else cannot be
    #[serde(default)]
    pub undoable: bool,
}

impl Lost {
    /// Something that cannot be put back.
    pub fn for_good(path: PathBuf, why: impl Into<String>) -> Self {
        Lost {
            path,
            why: why.into(),
            undoable: false,
        }
    }
}

/// One change, once the call is over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) root: usize,
    #[serde(flatten)]
    pub(super) change: Change,
    /// Where in the pack the content of before is, if it is there
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) packed: Option<Packed>,
    /// Where the content of before lies now, if it was not kept
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lies: Option<(usize, Spelled)>,
    /// Why what was before cannot be put back
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lost: Option<String>,
    /// It was a file with other names, not all of which are known: those stay as they are
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) linked: bool,
    /// Another name that the same file had and still has
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shares: Option<Spelled>,
}

/// The words on files that had other names, if there were any: one for all, since there may be
/// thousands.
pub(super) fn told_links(mut paths: impl Iterator<Item = PathBuf>) -> Option<Lost> {
    let path = paths.next()?;
    let who = match paths.count() {
        0 => "it".to_owned(),
        more => format!("it and {more} more"),
    };
    let why = format!("{who} had other names (hard links), of which an undo knows nothing");
    Some(Lost::for_good(path, why))
}

/// What lines can say.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Head(Head),
    Before {
        root: usize,
        #[serde(with = "path_bytes")]
        path: PathBuf,
        state: Option<State>,
    },
    /// The content of the entry with this number
    Content(usize, Digest),
    /// The same, in the pack
    Packed(usize, Digest, Packed),
    Lost(usize, String),
    /// All that this folder held is named too
    Deep(usize),
    Done {
        changes: Vec<Done>,
        /// Its haft died; found out later
        interrupted: bool,
    },
}

/// A log that is being written. While it is open nobody else takes it for abandoned.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) draft: Draft,
    file: File,
    pending: Vec<u8>,
}

impl Writer {
    pub(super) fn create(draft: Draft, head: Head) -> io::Result<Self> {
        private_folder(&draft.folder)?;
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(draft.log())?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let mut writer = Writer {
            draft,
            file,
            pending: Vec::new(),
        };
        writer.add(&Line::Head(head))?;
        Ok(writer)
    }

    pub(super) fn add(&mut self, line: &Line) -> io::Result<()> {
        serde_json::to_writer(&mut self.pending, line)?;
        self.pending.push(b'\n');
        Ok(())
    }

    /// Hand over to the system what was added: it stays when we die.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if !self.pending.is_empty() {
            self.file.write_all(&self.pending)?;
            self.pending.clear();
        }
        Ok(())
    }

    /// Wait for the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_all()
    }

    /// Where its small contents go.
    pub(super) fn new_pack(&self) -> io::Result<Pack> {
        Pack::create(&self.draft)
    }

    /// Nothing came of it.
    pub(super) fn discard(self) -> io::Result<()> {
        self.draft.remove()
    }

    /// The call is over: say so, with what it needs. `pack` is the digest of its small contents,
    /// where that is known already.
    pub(super) fn seal(
        &mut self,
        head: &Head,
        changes: &[Done],
        pack: Option<String>,
    ) -> io::Result<KeptChanges> {
        self.flush()?;
        let small = changes.iter().any(|done| done.packed.is_some());
        let pack = match pack.filter(|_| small) {
            None if small => Some(digest_of(&self.draft.pack())?),
            known => known,
        };
        let large = changes.iter().filter(|done| done.packed.is_none());
        let large = large.filter_map(|done| done.change.before.as_ref()?.digest);
        let entry = KeptChanges {
            id: self.draft.id.clone(),
            place: head.place(),
            workspace: head.workspace().display().to_string(),
            call: head.mark.call.clone(),
            session: head.mark.session.clone(),
            tool: head.mark.tool.clone(),
            at_ms: head.at,
            places: changes.len() as u64,
            undoes: head.undoes.clone(),
            bytes: self.draft.bytes()?,
            log: digest_of(&self.draft.log())?,
            pack,
            contents: Vec::from_iter(BTreeSet::from_iter(large.map(|one| hex(&one)))),
        };
        let mut done = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.draft.file(KeptChanges::DONE))?;
        done.write_all(&serde_json::to_vec(&entry)?)?;
        Ok(entry)
    }
}

/// What a log says.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) head: Head,
    pub(super) befores: Vec<Before>,
    pub(super) done: Option<(Vec<Done>, bool)>,
}

/// A line about what was there before, with what came later about its content.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) root: usize,
    pub(super) path: PathBuf,
    pub(super) state: Option<State>,
    pub(super) packed: Option<Packed>,
    pub(super) deep: bool,
    pub(super) lost: Option<String>,
}

impl Draft {
    /// The log opened to be finished, if nobody writes it any more.
    pub(super) fn reopen(&self) -> io::Result<Option<Writer>> {
        let file = OpenOptions::new().append(true).open(self.log())?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(None);
        }
        Ok(Some(Writer {
            draft: self.clone(),
            file,
            // The last line may have been cut short.
            pending: b"\n".to_vec(),
        }))
    }

    /// The first line alone.
    pub(super) fn head(&self) -> io::Result<Head> {
        let mut line = String::new();
        BufReader::new(File::open(self.log())?).read_line(&mut line)?;
        match serde_json::from_str(&line) {
            Ok(Line::Head(head)) => Ok(head),
            _ => Err(broken()),
        }
    }
}

/// What the lines of a log say.
pub(super) fn read(log: impl BufRead) -> io::Result<Read> {
    let mut head = None;
    let mut befores: Vec<Before> = Vec::new();
    let mut done = None;
    for line in log.split(b'\n') {
        // A line that was cut short is the last thing its haft did.
        let Ok(line) = serde_json::from_slice(&line?) else {
            continue;
        };
        match line {
            Line::Head(found) => head = Some(found),
            Line::Before { root, path, state } => befores.push(Before {
                root,
                path,
                state,
                packed: None,
                deep: false,
                lost: None,
            }),
            Line::Content(number, digest) => {
                let state = befores.get_mut(number).and_then(|b| b.state.as_mut());
                state.ok_or_else(broken)?.digest = Some(digest);
            }
            Line::Packed(number, digest, packed) => {
                let before = befores.get_mut(number).ok_or_else(broken)?;
                before.state.as_mut().ok_or_else(broken)?.digest = Some(digest);
                before.packed = Some(packed);
            }
            Line::Lost(number, why) => {
                befores.get_mut(number).ok_or_else(broken)?.lost = Some(why);
            }
            Line::Deep(number) => {
                befores.get_mut(number).ok_or_else(broken)?.deep = true;
            }
            Line::Done {
                changes,
                interrupted,
            } => done = Some((changes, interrupted)),
        }
    }
    Ok(Read {
        head: head.ok_or_else(broken)?,
        befores,
        done,
    })
}

pub(super) fn broken() -> io::Error {
    io::Error::other("the checkpoint cannot be read")
}
