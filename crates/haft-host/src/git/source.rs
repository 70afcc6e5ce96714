//! Where a repository keeps what it knows. A folder of the workspace can name any repository of the
//! machine as its own: in a file `.git`, by a link, by what is written inside. What such a one holds
//! is shown only where it lies in the workspace, too, or says itself that the folder is its own.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use haft_core::ToolError;

use crate::files::Workspace;

/// The folders of a repository, as git names them.
pub(super) struct Places {
    pub(super) top: PathBuf,
    own: PathBuf,
    common: PathBuf,
}

impl Places {
    /// What git is asked for them.
    pub(super) const QUESTION: [&str; 5] = [
        "rev-parse",
        "--path-format=absolute",
        "--show-toplevel",
        "--git-dir",
        "--git-common-dir",
    ];

    /// A name with a line end in it makes more lines than there are places: then nothing is known.
    pub(super) fn read(answer: &[u8]) -> Option<Places> {
        let text = answer.strip_suffix(b"\n").unwrap_or(answer);
        let mut lines = text.split(|byte| *byte == b'\n');
        let mut next = || {
            Some(PathBuf::from(std::ffi::OsString::from_vec(
                lines.next()?.into(),
            )))
        };
        let places = Places {
            top: next()?,
            own: next()?,
            common: next()?,
        };
        lines.next().is_none().then_some(places)
    }

    /// An error where what would be shown about a place is somebody else's.
    pub(super) fn check(&self, place: &Path, workspace: &Workspace) -> Result<(), ToolError> {
        let inside = |path: &Path| workspace.follow(path).is_some();
        let within = place.ancestors().take_while(|folder| inside(folder));
        let named_here = within
            .map(|folder| folder.join(".git"))
            .any(|name| name.symlink_metadata().is_ok());
        // What is above the workspace was not put there by whoever asks.
        if !named_here || !inside(&self.own) && self.knows_its_folder() {
            return Ok(());
        }
        let objects = self.common.join("objects");
        let elsewhere = [self.own.clone(), self.common.clone(), objects.clone()]
            .into_iter()
            .chain(links_in(&objects))
            .chain(alternates(&objects))
            .find(|path| !inside(path));
        match elsewhere {
            None => Ok(()),
            Some(path) => Err(ToolError::denied(format!(
                "the repository's content is outside the workspace: `{}`",
                path.display()
            ))
            .hint("list its folder under `files.roots` in the config if it may be read")),
        }
    }

    /// Whether the repository, which is out of reach, says where its files are: git goes by that, or
    /// it is what we were asked about.
    fn knows_its_folder(&self) -> bool {
        let (Ok(own), Ok(common)) = (self.own.canonicalize(), self.common.canonicalize()) else {
            return false;
        };
        let told = fs::read(own.join("gitdir")).unwrap_or_default();
        let told = PathBuf::from(std::ffi::OsString::from_vec(told.trim_ascii_end().to_vec()));
        let same = |one: &Path, other: &Path| match (one.canonicalize(), other.canonicalize()) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        };
        let settings = fs::read_to_string(own.join("config")).unwrap_or_default();
        let mut settings = settings.lines().map(str::trim_start);
        // A submodule; then a second working tree.
        own == common && settings.any(|line| line.starts_with("worktree ="))
            || own.parent() == Some(&common.join("worktrees"))
                && same(&told, &self.top.join(".git"))
    }
}

/// The links among a folder's entries.
fn links_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.map(|entry| entry.path()).collect()
}

/// Where else objects are looked for.
fn alternates(objects: &Path) -> Vec<PathBuf> {
    let list = fs::read(objects.join("info/alternates")).unwrap_or_default();
    let lines = list.split(|byte| *byte == b'\n');
    let paths = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    paths
        .map(|line| objects.join(PathBuf::from(std::ffi::OsString::from_vec(line.to_vec()))))
        .collect()
}
