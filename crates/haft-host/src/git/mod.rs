//! Looking at repositories with the `git` program. Only questions that change nothing can be
//! asked here, and what a repository's own settings would have git run is switched off: they
//! may have come with an archive, or from the very model that asks.

mod closed;
mod program;
mod source;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::{Capability, Power, ToolContext, ToolError};

use crate::files::{Resolved, Workspace, holds_secrets};
use program::{Answer, Program};
use source::Places;

/// Most of what git says that is kept.
pub const GIT_OUTPUT: usize = 10 << 20;

/// The power to look at repositories in the workspace.
#[derive(Debug, Clone)]
pub struct ReadGit {
    workspace: Arc<Workspace>,
}

impl Power for ReadGit {
    const CAPABILITIES: &'static [Capability] =
        &[Capability::FilesystemRead, Capability::FilesystemList];
}

/// What two states are compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffRequest {
    /// What is to be committed, instead of what lies in the folder
    pub staged: bool,
    /// A commit to compare with, or two as `a..b`
    pub commit: Option<String>,
}

/// What git says about the state of a folder, as `status --porcelain=v2 -z` puts it.
#[derive(Debug)]
pub struct GitStatus {
    pub records: Vec<u8>,
    /// There was more
    pub truncated: bool,
    /// Files left out because rules close them
    pub closed: usize,
    pub top: PathBuf,
}

/// What git says about differences.
#[derive(Debug)]
pub struct GitDiff {
    /// As `diff --numstat -z` puts it
    pub numbers: Vec<u8>,
    pub patch: Vec<u8>,
    /// There was more
    pub truncated: bool,
    /// Files that changed and are not shown, since they may hold secrets
    pub withheld: Vec<String>,
    /// Files left out because rules close them
    pub closed: usize,
    pub top: PathBuf,
}

/// A repository that has been found, and what to ask it about.
struct Repository {
    program: Program,
    top: PathBuf,
    /// What was asked about, in git's own notation
    scope: OsString,
}

impl ReadGit {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        ReadGit { workspace }
    }

    pub fn resolve(&self, path: &str) -> Result<Resolved, ToolError> {
        self.workspace.resolve(path)
    }

    /// The workspace's own folder.
    pub fn workspace(&self) -> &Path {
        self.workspace.path()
    }

    pub async fn status(&self, place: &Resolved, cx: &ToolContext) -> Result<GitStatus, ToolError> {
        let repository = self.open(place, cx).await?;
        let mut args: Vec<OsString> = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=normal",
            "--ignore-submodules=dirty",
            "--",
        ]
        .map(OsString::from)
        .into();
        args.push(repository.scope);
        let answer = repository.program.ask(&args, cx).await?.expect_success()?;
        let (records, closed) = closed::leave_out(answer.output, &repository.top, cx);
        Ok(GitStatus {
            records,
            truncated: answer.truncated,
            closed,
            top: repository.top,
        })
    }

    /// Differences in a file or folder. Those in files that may hold secrets are left out,
    /// unless that very file was asked for.
    pub async fn diff(
        &self,
        place: &Resolved,
        request: &DiffRequest,
        cx: &ToolContext,
    ) -> Result<GitDiff, ToolError> {
        if let Some(commit) = &request.commit {
            check_commit(commit)?;
        }
        let repository = self.open(place, cx).await?;
        let program = &repository.program;
        let ask = |form: &[&str], hidden: &[String]| {
            let mut args: Vec<OsString> = DIFF.iter().map(OsString::from).collect();
            args.extend(form.iter().map(OsString::from));
            if cx.closed.is_some() {
                // Each file under its own name only: the other name of a rename may be closed.
                args.push("--no-renames".into());
            }
            if let Ok(inside) = self.workspace.path().strip_prefix(&repository.top)
                && !inside.as_os_str().is_empty()
            {
                let mut relative = OsString::from("--relative=");
                relative.push(inside);
                args.push(relative);
            }
            if request.staged {
                args.push("--cached".into());
            }
            args.extend(request.commit.iter().map(OsString::from));
            args.push("--".into());
            args.push(repository.scope.clone());
            for name in hidden {
                args.push(format!(":(top,exclude,literal){name}").into());
            }
            args
        };
        let mut names: Vec<OsString> = ask(&["--name-only", "--no-relative", "-z"], &[]);
        names.retain(|arg| !arg.to_string_lossy().starts_with("--relative="));
        let names = program.ask(&names, cx).await?.expect_success()?;
        let exactly = holds_secrets(place.relative()).is_some();
        let names = String::from_utf8_lossy(&names.output);
        let names = names.split('\0').filter(|name| !name.is_empty());
        let (closed, open): (Vec<String>, Vec<String>) = names
            .map(str::to_owned)
            .partition(|name| closed::is_closed(&repository.top, name, cx));
        let withheld: Vec<String> = open
            .into_iter()
            .filter(|name| !exactly && holds_secrets(Path::new(name)).is_some())
            .collect();
        let hidden = [withheld.as_slice(), closed.as_slice()].concat();
        let numbers = program.ask(&ask(&["--numstat", "-z"], &hidden), cx).await?;
        let patch = program.ask(&ask(&["--patch"], &hidden), cx).await?;
        let (numbers, patch) = (numbers.expect_success()?, patch.expect_success()?);
        Ok(GitDiff {
            numbers: numbers.output,
            patch: patch.output,
            truncated: patch.truncated,
            withheld,
            closed: closed.len(),
            top: repository.top,
        })
    }

    /// The repository that holds a place.
    async fn open(&self, place: &Resolved, cx: &ToolContext) -> Result<Repository, ToolError> {
        let (folder, scope) = self.scope(place)?;
        let mut program = Program::find(&self.workspace, &folder)?;
        let found = program
            .ask(&Places::QUESTION.map(OsString::from), cx)
            .await?;
        let places = found_places(&found, place)?;
        places.check(place.path(), &self.workspace)?;
        let top = places.top;
        // A repository can name any folder as its own: only one that holds the place counts.
        if !place.path().starts_with(&top) {
            return Err(ToolError::denied(format!(
                "the repository's files are elsewhere: `{}`",
                top.display()
            ))
            .hint("its `core.worktree` setting leads out of the folder that was asked about"));
        }
        let filters = ["config", "-z", "--name-only", "--get-regexp", r"^filter\."];
        let filters = program.ask(&filters.map(OsString::from), cx).await?;
        program.disable_filters(&filters.output);
        Ok(Repository {
            program,
            top,
            scope,
        })
    }

    /// The folder git is to run in, and the part of it that is meant.
    fn scope(&self, place: &Resolved) -> Result<(Resolved, OsString), ToolError> {
        use crate::files::EntryKind;
        match self.workspace.kind_of(place)? {
            Some(EntryKind::Directory) => Ok((place.clone(), ".".into())),
            // What was deleted can still be asked about.
            _ => {
                let name = place.path().file_name().unwrap_or_default();
                let mut scope = OsString::from(":(literal)");
                scope.push(name);
                Ok((self.workspace.folder_of(place)?, scope))
            }
        }
    }
}

const DIFF: &[&str] = &[
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--find-renames",
    "--submodule=short",
    "--ignore-submodules=dirty",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// A commit goes on a command line and must stay what it is there: no option, and no way to
/// name a file of a commit, which would go past what was asked about.
fn check_commit(commit: &str) -> Result<(), ToolError> {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && c != ':';
    if commit.is_empty() || commit.starts_with('-') || !commit.chars().all(plain) {
        return Err(
            ToolError::input_invalid(format!("not a commit: `{}`", commit.escape_debug()))
                .hint("give a hash, a branch, a tag, `HEAD~1` or two of them as `a..b`"),
        );
    }
    Ok(())
}

fn found_places(answer: &Answer, place: &Resolved) -> Result<Places, ToolError> {
    let shown = place.path().display();
    if !answer.success {
        let no_repository = answer.complaint.contains("not a git repository");
        return Err(match no_repository {
            true => ToolError::failed(format!("not a git repository: `{shown}`"))
                .hint("name a folder of one with `path`, or make one with `git init`"),
            false => answer.failure(),
        });
    }
    Places::read(&answer.output).ok_or_else(|| {
        ToolError::failed(format!(
            "a name with a line end in it: `{}`",
            shown.to_string().escape_debug()
        ))
    })
}
