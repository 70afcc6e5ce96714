//! Editing: read a whole text, give it back changed, and refuse if it moved in between.

use std::borrow::Cow;
use std::sync::Arc;

use haft_core::{CancelToken, Capability, Power, ToolContext, ToolError};

use super::encoding::{self, TextForm};
use super::open::{Stamp, open_regular};
use super::read::{TEXT_LIMIT, Unreadable, first_bad_line, read_capped};
use super::write::{Expected, changed, replace};
use super::{Resolved, Workspace};
use crate::blocking::blocking;
use crate::undo::Lost;

/// The power to change files that are there.
#[derive(Debug, Clone)]
pub struct EditFiles(Arc<Workspace>);

impl Power for EditFiles {
    const CAPABILITIES: &'static [Capability] = &[
        Capability::FilesystemEdit,
        Capability::FilesystemRead,
        Capability::FilesystemWrite,
    ];
}

/// A text as it was at one moment.
#[derive(Debug)]
pub struct Snapshot {
    pub text: String,
    pub(super) form: TextForm,
    pub(super) stamp: Stamp,
    /// What of the file's mode a person can set
    pub(super) mode: u32,
}

impl Snapshot {
    /// A text of it as it can be shown.
    pub fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.form.shown(text)
    }

    /// Why a text may not be found in it that seems to be there, if there is a reason.
    pub fn strangeness(&self) -> Option<String> {
        self.form.strangeness()
    }

    /// The bytes of a changed text in the encoding of the old one.
    pub fn encode(&self, place: &Resolved, after: &str) -> Result<Vec<u8>, ToolError> {
        self.form.encode(after).map_err(|missing| {
            let encoding = self.form.foreign().unwrap_or("UTF-8");
            ToolError::failed(format!(
                "`{missing}` cannot be written in {encoding}, the encoding of the file: `{}`",
                place.path().display()
            ))
            .hint("leave the character out, or write the whole file anew as UTF-8")
        })
    }
}

/// Whether a text must be one that the session knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// A conflict if the session has read another state of it
    Latest,
    AnyState,
}

/// A whole text file, decoded.
pub(super) fn snapshot(
    workspace: &Workspace,
    place: &Resolved,
    session: &str,
    known: Known,
    cancel: &CancelToken,
) -> Result<Snapshot, ToolError> {
    let opened = open_regular(workspace.handle(place), place.relative(), place.path())?;
    let told = |error: Unreadable| error.told(place, opened.size);
    let content = read_capped(&opened.file, TEXT_LIMIT, cancel).map_err(told)?;
    let last = match known {
        Known::Latest => workspace.seen.last_read(session, place.path()),
        Known::AnyState => None,
    };
    if last.is_some_and(|sight| sight.is_stale(opened.stamp, &content)) {
        return Err(changed(place.path()));
    }
    let (text, form) = encoding::decode(content)
        .map_err(|content| told(Unreadable::NotUtf8(first_bad_line(&content))))?;
    Ok(Snapshot {
        text,
        form,
        stamp: opened.stamp,
        mode: opened.mode,
    })
}

impl EditFiles {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        EditFiles(workspace)
    }

    pub fn resolve(&self, path: &str) -> Result<Resolved, ToolError> {
        self.0.resolve_for_writing(path)
    }

    /// The text of a file. A conflict if this session has read another state of it before.
    pub async fn read(&self, place: &Resolved, cx: &ToolContext) -> Result<Snapshot, ToolError> {
        let (workspace, place) = (self.0.clone(), place.clone());
        let (session, cancel) = (cx.caller.session.clone(), cx.cancel.clone());
        blocking(move || snapshot(&workspace, &place, &session, Known::Latest, &cancel)).await
    }

    /// Put a changed text in the place of the one that was read. The answer is what cannot be
    /// put back.
    pub async fn replace(
        &self,
        place: &Resolved,
        before: &Snapshot,
        after: String,
        cx: &ToolContext,
    ) -> Result<Vec<Lost>, ToolError> {
        let expected = Expected::State(before.stamp);
        let content = before.encode(place, &after)?;
        replace(&self.0, place, content, expected, cx).await
    }
}
