//! Many changes as one: files written, moved and removed, all of them or none. How that is kept
//! is in [`super::apply`]; here is what can be asked for.

use std::path::Path;
use std::sync::Arc;

use haft_core::{Capability, Power, ToolContext, ToolError};

use super::apply::apply;
use super::edit::{Known, Snapshot, snapshot};
use super::list::{EntryKind, ListRequest, Listing, list};
use super::open::Stamp;
use super::undo::touched;
use super::{Resolved, Workspace};
use crate::blocking::blocking;
use crate::undo::{Lost, Mark};

/// The power to write, move and remove several files in one go.
#[derive(Debug, Clone)]
pub struct ChangeFiles(Arc<Workspace>);

impl Power for ChangeFiles {
    const CAPABILITIES: &'static [Capability] = &[
        Capability::FilesystemWrite,
        Capability::FilesystemEdit,
        Capability::FilesystemRead,
        Capability::FilesystemList,
    ];
}

/// One change to the files of a workspace.
#[derive(Debug, Clone)]
pub enum FileChange {
    /// Give a file this content, making folders on the way
    Put {
        place: Resolved,
        content: Vec<u8>,
        mode: NewMode,
        like: Option<Like>,
        before: Before,
    },
    /// Remove an entry; a folder with all that is in it
    Remove { place: Resolved, before: Before },
    /// Give an entry another place
    Move {
        from: Resolved,
        to: Resolved,
        /// A file that is there may be replaced; a folder never is
        overwrite: bool,
    },
}

/// Another file that one takes the place of: it bears what that one does, as it was when it was
/// read.
#[derive(Debug, Clone)]
pub struct Like {
    pub(super) place: Resolved,
    pub(super) stamp: Stamp,
}

/// The mode of a file that is put in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewMode {
    /// That of the file it replaces or is like, or the usual one
    Kept,
    /// That of another file
    Bits(u32),
    /// The usual one for programs, or for anything else
    Executable(bool),
}

/// What must be there before a change; anything else is a conflict.
#[derive(Debug, Clone, Copy)]
pub enum Before {
    Anything,
    Nothing,
    /// What a [`Snapshot`] was taken of
    State(SnapshotStamp),
}

/// Tells whether a file is still the one that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotStamp(pub(super) Stamp);

impl Snapshot {
    pub fn state(&self) -> Before {
        Before::State(SnapshotStamp(self.stamp))
    }

    /// The mode of the file, for another one.
    pub fn mode(&self) -> NewMode {
        NewMode::Bits(self.mode)
    }

    /// For a file that takes the place of this one, which lies here.
    pub fn like(&self, place: &Resolved) -> Like {
        Like {
            place: place.clone(),
            stamp: self.stamp,
        }
    }
}

impl ChangeFiles {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        ChangeFiles(workspace)
    }

    /// Where a file to be written really lies, links followed.
    pub fn resolve(&self, path: &str) -> Result<Resolved, ToolError> {
        self.0.resolve_for_writing(path)
    }

    /// Where a folder to be looked at really lies.
    pub fn resolve_folder(&self, path: &str) -> Result<Resolved, ToolError> {
        self.0.resolve(path)
    }

    /// Where an entry to be moved or removed lies; a link is itself.
    pub fn resolve_entry(&self, path: &str) -> Result<Resolved, ToolError> {
        let place = self.0.resolve_entry(path)?;
        self.0.expect_changeable(&place)?;
        Ok(place)
    }

    /// The same for an entry of a folder, by a path that came from a listing of it.
    pub fn inside(&self, folder: &Resolved, path: &Path) -> Result<Resolved, ToolError> {
        let place = self.0.inside(folder, path)?;
        self.0.expect_changeable(&place)?;
        Ok(place)
    }

    /// What has the name now, if anything has.
    pub fn kind(&self, place: &Resolved) -> Result<Option<EntryKind>, ToolError> {
        self.0.kind_of(place)
    }

    /// What a folder holds. Waits for the disk.
    pub fn list_now(
        &self,
        folder: &Resolved,
        request: ListRequest,
        cx: &ToolContext,
    ) -> Result<Listing, ToolError> {
        list(&self.0, folder, request, &cx.cancel, None)
    }

    /// A whole text. Waits for the disk.
    pub fn read_now(&self, place: &Resolved, cx: &ToolContext) -> Result<Snapshot, ToolError> {
        let session = &cx.caller.session;
        snapshot(&self.0, place, session, Known::AnyState, &cx.cancel)
    }

    /// A whole text.
    pub async fn read(&self, place: &Resolved, cx: &ToolContext) -> Result<Snapshot, ToolError> {
        let (workspace, place) = (self.0.clone(), place.clone());
        let (session, cancel) = (cx.caller.session.clone(), cx.cancel.clone());
        blocking(move || snapshot(&workspace, &place, &session, Known::AnyState, &cancel)).await
    }

    /// Make all these changes, or none of them. The answer is what cannot be put back.
    pub async fn apply(
        &self,
        changes: Vec<FileChange>,
        cx: &ToolContext,
    ) -> Result<Vec<Lost>, ToolError> {
        let (workspace, mark) = (self.0.clone(), Mark::of(cx));
        let (session, cancel) = (cx.caller.session.clone(), cx.cancel.clone());
        blocking(move || {
            let work = || apply(&workspace, &changes, &session, &cancel);
            let (unkept, mut lost) = workspace.kept(mark, &touched(&changes), work)?;
            lost.extend(unkept);
            Ok(lost)
        })
        .await
    }
}
