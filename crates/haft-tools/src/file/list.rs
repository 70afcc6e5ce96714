//! Lists folders. Order, cap and the refusal to follow links are the host's; this file gives
//! the answer its two forms.

use std::fmt::Write;

use haft_core::{
    Effects, Output, Repeat, Resource, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{Entry, EntryKind, ListFiles, ListRequest, Listing, Resolved};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::target::Target;

/// More entries than anyone reads; the answer says when there are more.
const LIMIT: usize = 10_000;

/// List what a folder holds: files with their sizes, folders and links, by name. Links are shown
/// and not followed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    /// Folder to list, relative to the workspace; the workspace itself if not given
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["directory", "dir", "folder"]))]
    path: Option<String>,
    /// Also list what the folders inside hold
    #[serde(default)]
    recursive: bool,
    /// Leave out what `.gitignore` files name, and `.git` itself; not given, this is so when the
    /// list is recursive
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["gitignore", "respect_gitignore"]))]
    ignore: Option<bool>,
    #[serde(skip)]
    target: Target,
}

impl Tool for List {
    const NAME: &'static str = "file.list";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ListFiles;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("List a folder")
            .aliases(&["list_files", "list_directory", "list_dir", "ls", "LS"])
            .tags(&["file", "folder", "directory", "list", "tree"])
            .risk(Risk::Low)
            .example(
                "List a folder",
                json!({"path": "src"}),
                json!({
                    "entries": [{"path": "main.rs", "kind": "file", "size": 13}],
                    "count": 1,
                    "truncated": false,
                }),
            )
    }

    fn effects(&self, files: &ListFiles, _cx: &ToolContext) -> Result<Effects, ToolError> {
        let path = self.place(files)?.path().to_owned();
        let effects = Effects::none().skipping_closed();
        Ok(effects.reads(if self.recursive {
            Resource::Tree(path)
        } else {
            Resource::File(path)
        }))
    }

    async fn run(self, files: &ListFiles, cx: &ToolContext) -> ToolResult {
        let place = self.place(files)?;
        let ignore = self.ignore.unwrap_or(self.recursive);
        let request = ListRequest {
            recursive: self.recursive,
            limit: LIMIT,
            skip_ignored: ignore,
        };
        let listing = files.list(place, request, cx).await?;
        let mut structured = json!({
            "path": place.path().to_string_lossy(),
            "entries": listing.entries.iter().map(entry_value).collect::<Vec<Value>>(),
            "count": listing.entries.len(),
            "truncated": listing.truncated,
        });
        if ignore {
            structured["ignored"] = listing.ignored.into();
        }
        if listing.closed > 0 {
            structured["closed"] = listing.closed.into();
        }
        if !listing.unreadable.is_empty() {
            structured["unreadable"] = listing
                .unreadable
                .iter()
                .map(|path| path.to_string_lossy())
                .collect();
        }
        Ok(Output::text(as_text(&listing)).and_structured(structured))
    }
}

impl List {
    fn place(&self, files: &ListFiles) -> Result<&Resolved, ToolError> {
        self.target
            .get(|| files.resolve(self.path.as_deref().unwrap_or(".")))
    }
}

fn entry_value(entry: &Entry) -> Value {
    let mut value = json!({
        "path": entry.path.to_string_lossy(),
        "kind": kind_name(entry.kind),
    });
    if let Some(size) = entry.size {
        value["size"] = size.into();
    }
    value
}

/// What an entry is called in answers.
pub(super) fn kind_name(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::File => "file",
        EntryKind::Directory => "dir",
        EntryKind::Symlink => "symlink",
        EntryKind::Other => "other",
    }
}

fn as_text(listing: &Listing) -> String {
    let mut text = String::new();
    for entry in &listing.entries {
        let path = entry.path.display();
        // Writing to a string cannot fail.
        let _ = match (entry.kind, entry.size) {
            (EntryKind::Directory, _) => writeln!(text, "{path}/"),
            (EntryKind::Symlink, _) => writeln!(text, "{path}@"),
            (_, Some(size)) => writeln!(text, "{path}\t{size}"),
            (_, None) => writeln!(text, "{path}\tnot a regular file"),
        };
    }
    for path in &listing.unreadable {
        let _ = writeln!(text, "[cannot be opened: {}]", path.display());
    }
    if listing.ignored > 0 {
        let _ = writeln!(text, "[left out as ignored: {}]", listing.ignored);
    }
    if listing.closed > 0 {
        let _ = writeln!(text, "[left out, as rules close them: {}]", listing.closed);
    }
    if listing.truncated {
        let _ = writeln!(
            text,
            "[only the first {LIMIT} entries; list a folder inside]"
        );
    }
    if text.is_empty() {
        text.push_str("[empty folder]");
    }
    text
}
