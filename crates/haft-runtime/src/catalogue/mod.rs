//! The search index over the registry. It follows the registry when somebody searches, and works
//! out only what is new: a tool that was registered before costs a comparison, one that a store
//! kept from an earlier run costs a hash.
//!
//! The index may hold more than the registry does, because a store serves several workspaces;
//! searchers see only what their caller sees, so the rest leaves no trace in any score.

mod document;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_search::Index;

use self::document::document;
use crate::Snapshot;

/// Tools of other workspaces that may stay in the index, beside as many as the registry holds.
const SPARE: usize = 2_000;

type Load = dyn Fn() -> Option<Vec<u8>> + Send + Sync;
type Save = dyn Fn(&[u8]) + Send + Sync;

/// Where the index is kept between runs; the binary knows the place.
pub struct IndexStore {
    /// The bytes that were kept last, if any
    pub load: Box<Load>,
    /// Keep these; failing costs the next start some time and nothing else
    pub save: Box<Save>,
}

#[derive(Default)]
pub(crate) struct Catalogue {
    state: Mutex<State>,
    store: Option<IndexStore>,
}

#[derive(Default)]
struct State {
    index: Index,
    /// The registry as it was indexed last; none before the first search
    last: Option<Arc<Snapshot>>,
}

impl Catalogue {
    pub(crate) fn keep_in(&mut self, store: IndexStore) {
        self.store = Some(store);
    }

    /// An index that holds every tool of the snapshot.
    pub(crate) fn index(&self, snapshot: &Arc<Snapshot>) -> Index {
        let mut state = self.lock();
        let known = state
            .last
            .as_ref()
            .is_some_and(|last| last.revision() >= snapshot.revision());
        if !known {
            if state.last.is_none() {
                state.index = self.kept().unwrap_or_default();
            }
            if state.follow(snapshot)
                && let Some(store) = &self.store
            {
                (store.save)(&state.index.to_bytes());
            }
        }
        state.index.clone()
    }

    fn kept(&self) -> Option<Index> {
        let bytes = (self.store.as_ref()?.load)()?;
        // Bytes of another version, or damaged ones: the index is made anew and kept over them.
        Index::from_bytes(&bytes).ok()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Bring the index to the snapshot; true if anything was new.
    fn follow(&mut self, snapshot: &Arc<Snapshot>) -> bool {
        let mut new = false;
        for entry in snapshot.entries() {
            let name = &entry.spec().name;
            let before = self.last.as_ref().and_then(|last| last.get(name));
            if before.is_none_or(|before| !Arc::ptr_eq(before, entry)) {
                new |= self.index.add(&document(entry));
            }
        }
        let held = snapshot.entries().len();
        if self.index.len() > 2 * held + SPARE {
            let names: HashSet<&str> = snapshot
                .entries()
                .iter()
                .map(|entry| &*entry.spec().name)
                .collect();
            self.index.retain(|id| names.contains(id));
        }
        self.last = Some(snapshot.clone());
        new
    }
}
