//! The reducers by the exact name of the tool they serve.

use std::collections::hash_map::Entry;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use foldhash::HashMap;
use haft_core::{Output, ReduceContext, Reducer};
use thiserror::Error;

type ByTool = HashMap<String, Arc<dyn Reducer>>;

#[derive(Clone, Default)]
pub struct Reducers {
    by_tool: Arc<ArcSwap<ByTool>>,
    writing: Arc<Mutex<()>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a reducer is already registered for `{0}`")]
pub struct ReducerTaken(pub String);

/// The way to take a reducer out again.
#[must_use = "keep it to undo the registration, or let it go to keep the reducer"]
pub struct Registered {
    reducers: Reducers,
    tool: String,
}

impl Reducers {
    pub fn new() -> Self {
        Reducers::default()
    }

    pub fn register(&self, reducer: Arc<dyn Reducer>) -> Result<Registered, ReducerTaken> {
        let tool = reducer.tool().to_owned();
        self.change(|next| match next.entry(tool.clone()) {
            Entry::Occupied(_) => Err(ReducerTaken(tool.clone())),
            Entry::Vacant(place) => {
                place.insert(reducer);
                Ok(())
            }
        })?;
        Ok(Registered {
            reducers: self.clone(),
            tool,
        })
    }

    pub fn get(&self, tool: &str) -> Option<Arc<dyn Reducer>> {
        self.by_tool.load().get(tool).cloned()
    }

    /// The reduced output, or none when there is no reducer, it has nothing to say, or it breaks.
    pub(crate) fn reduce(
        &self,
        tool: &str,
        output: &Output,
        cx: ReduceContext<'_>,
    ) -> Option<Output> {
        let by_tool = self.by_tool.load();
        let reducer = by_tool.get(tool)?;
        catch_unwind(AssertUnwindSafe(|| reducer.reduce(output, cx)))
            .ok()
            .flatten()
    }

    fn change<E>(&self, step: impl FnOnce(&mut ByTool) -> Result<(), E>) -> Result<(), E> {
        let _one_writer = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = ByTool::clone(&self.by_tool.load());
        step(&mut next)?;
        self.by_tool.store(Arc::new(next));
        Ok(())
    }
}

impl Registered {
    pub fn undo(self) {
        let _: Result<(), Infallible> = self.reducers.change(|next| {
            next.remove(&self.tool);
            Ok(())
        });
    }
}
