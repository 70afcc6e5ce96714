//! Changes that can be put back: what file tools are about to change is noted first, and the
//! power to undo hands it back.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::{Capability, Effects, Power, Resource, ToolContext, ToolError};

use super::change::FileChange;
use super::{Resolved, Workspace, is_protected};
use crate::blocking::blocking;
use crate::undo::{Checkpoints, Lost, Mark, Recorder, Summary, Touch, UndoPlan, Which, unkept};

/// Above this many places their root is named instead.
const NAMED: usize = 5_000;

impl Workspace {
    /// Keep what tools change, so that it can be put back.
    #[must_use]
    pub fn keeping(mut self, checkpoints: Checkpoints) -> Self {
        self.checkpoints = Some(checkpoints);
        self
    }

    /// Note the changes of this call from here on; none where nothing is kept.
    pub(crate) fn recorder(&self, mark: Mark) -> Result<Option<Recorder>, ToolError> {
        let Some(checkpoints) = &self.checkpoints else {
            return Ok(None);
        };
        Ok(Some(checkpoints.begin(
            mark,
            self.open_roots()?,
            Vec::new(),
        )))
    }

    /// haft's own state.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Every root with a handle of its own, the workspace first.
    pub(crate) fn open_roots(&self) -> Result<Vec<(PathBuf, OwnedFd)>, ToolError> {
        let roots = self.roots.iter();
        roots
            .map(|root| {
                let handle = super::open_dir(&root.handle, Path::new(""))
                    .map_err(|error| super::failure("open", &root.path, error))?;
                Ok((root.path.clone(), handle))
            })
            .collect()
    }

    /// Do something to these places, after what is there was kept.
    pub(super) fn kept<T>(
        &self,
        mark: Mark,
        touched: &[(&Resolved, Touch)],
        work: impl FnOnce() -> Result<T, ToolError>,
    ) -> Result<(T, Vec<Lost>), ToolError> {
        let Some(mut recorder) = self.recorder(mark)? else {
            return Ok((work()?, Vec::new()));
        };
        for (place, touch) in touched {
            recorder
                .touch(place.root, place.relative(), *touch)
                .map_err(unkept)?;
        }
        recorder.sync().map_err(unkept)?;
        let done = work();
        // The change is made. What could not be noted about it now is found out by an undo.
        let recorded = recorder.finish().unwrap_or_default();
        Ok((done?, recorded.lost))
    }
}

/// The places that changes touch.
pub(super) fn touched(changes: &[FileChange]) -> Vec<(&Resolved, Touch)> {
    changes
        .iter()
        .flat_map(|change| match change {
            FileChange::Put { place, .. } => vec![(place, Touch::Here)],
            FileChange::Remove { place, .. } => vec![(place, Touch::Tree)],
            FileChange::Move { from, to, .. } => vec![(from, Touch::Moved), (to, Touch::Here)],
        })
        .collect()
}

/// The power to put back what earlier calls changed.
#[derive(Debug, Clone)]
pub struct UndoFiles(Arc<Workspace>);

impl Power for UndoFiles {
    const CAPABILITIES: &'static [Capability] =
        &[Capability::FilesystemWrite, Capability::FilesystemEdit];
}

impl UndoFiles {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        UndoFiles(workspace)
    }

    /// Why nothing can be undone here, if so.
    pub fn unavailable(&self) -> Option<String> {
        let missing = self.0.checkpoints.is_none();
        missing.then(|| "no changes are kept here: `undo.enabled` is off".to_owned())
    }

    /// The last calls that changed files here, newest first.
    pub async fn list(&self, most: usize) -> Result<Vec<Summary>, ToolError> {
        let workspace = self.0.clone();
        blocking(move || {
            workspace
                .expect_checkpoints()?
                .summaries(workspace.path(), most)
        })
        .await
    }

    /// Look over what would be put back. Waits for the disk. What no tool may write is left out
    /// and named.
    pub fn plan_now(&self, which: &Which) -> Result<UndoPlan, ToolError> {
        let mut plan = self
            .0
            .expect_checkpoints()?
            .plan(which, &self.0.open_roots()?)?;
        let mut closed = Vec::new();
        plan.back.retain(|back| {
            let place = self.0.at(back.place());
            match self
                .0
                .expect_writable(&place, &place.path().to_string_lossy())
            {
                Ok(()) => true,
                Err(error) => {
                    let why = error.into_body().message;
                    closed.push(Lost::for_good(place.path().to_owned(), why));
                    false
                }
            }
        });
        plan.lost.extend(closed);
        Ok(plan)
    }

    /// Where the places of a plan are.
    pub fn places(&self, plan: &UndoPlan) -> Vec<Resolved> {
        plan.back
            .iter()
            .map(|back| self.0.at(back.place()))
            .collect()
    }

    /// What a plan would write. Where there is much, its folders are named and every place that
    /// is asked about.
    pub fn effects(&self, plan: &UndoPlan) -> Effects {
        let mut effects = Effects::none();
        let named = plan.back.len() <= NAMED;
        for place in self.places(plan) {
            let root = Resource::Tree(self.0.roots[place.root].path.clone());
            if named {
                effects.accesses.extend(place.writes().accesses);
            } else if is_protected(place.relative()).is_some() {
                effects = effects.writes(Resource::protected(place.path()));
            } else if !effects.accesses.iter().any(|one| one.resource == root) {
                effects = effects.writes(root);
            }
        }
        effects
    }

    /// Put back what was planned: all of it, or nothing and an answer why.
    pub async fn put_back(&self, plan: Arc<UndoPlan>, cx: &ToolContext) -> Result<(), ToolError> {
        let (workspace, mark) = (self.0.clone(), Mark::of(cx));
        blocking(move || {
            let roots = workspace.open_roots()?;
            let checkpoints = workspace.expect_checkpoints()?;
            checkpoints.put_back(&plan, mark, &roots).map(drop)
        })
        .await
    }
}

impl Workspace {
    fn expect_checkpoints(&self) -> Result<&Checkpoints, ToolError> {
        self.checkpoints.as_ref().ok_or_else(|| {
            ToolError::not_available("no changes are kept here")
                .hint("a person can switch that on with `undo.enabled` in the config")
        })
    }

    /// A place by its root.
    fn at(&self, (root, relative): (usize, &Path)) -> Resolved {
        Resolved {
            root,
            relative: relative.to_owned(),
            absolute: self.roots[root].path.join(relative),
        }
    }
}
