//! Notes by meaning: the same words and vectors that tools are found by. A long note is cut into
//! passages; the best one speaks for it.

use std::collections::HashMap;

use haft_search::{Counted, Index, Searcher, ToolDoc};
use haft_store::{Note, Notes, Scope, StoreError};

/// Characters of a passage, and passages of one note that are looked at.
const PASSAGE: usize = 700;
const MOST_PASSAGES: usize = 64;
/// So many notes are worked out again at each start, or one in twenty; more are kept worked out.
const WORTH_KEEPING: usize = 200;
/// Views kept at hand.
const MOST_VIEWS: usize = 8;

/// A note that was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) id: i64,
    pub(super) score: f32,
    pub(super) keywords: f32,
}

/// What is known of a note besides its words.
struct Place {
    namespace: String,
    scope: Scope,
    owner: String,
    passages: usize,
}

type View = (Vec<(Scope, String)>, Option<String>);

#[derive(Default)]
pub(super) struct NoteIndex {
    index: Index,
    places: HashMap<i64, Place>,
    revision: Option<i64>,
    newest: i64,
    /// Notes that were worked out since the index was last kept
    fresh: usize,
    views: Vec<(View, Searcher)>,
}

impl NoteIndex {
    /// Take in what has changed since the last look.
    pub(super) fn refresh(&mut self, notes: &Notes) -> Result<(), StoreError> {
        let revision = notes.revision()?;
        if self.revision.is_some_and(|known| known == revision.changes) {
            return Ok(());
        }
        // Before the index changes: a view that is still held would make it copy itself.
        let views: Vec<(View, Counted)> = self
            .views
            .drain(..)
            .map(|(view, searcher)| (view, searcher.counted()))
            .collect();
        let from = match self.revision {
            Some(known) if revision.removal <= known => self.newest,
            _ => self.sort_out(notes)?,
        };
        for note in notes.after(from)? {
            self.add(&note);
        }
        self.revision = Some(revision.changes);
        for (view, counted) in views {
            let searcher = self.index.grown(counted, |id| self.is_in(&view, id));
            self.views.push((view, searcher));
        }
        // All of it is written each time.
        if self.fresh >= WORTH_KEEPING.max(self.places.len() / 20) {
            self.fresh = 0;
            notes.keep_index(revision.changes, self.index.to_bytes());
        }
        Ok(())
    }

    /// Let go what is gone, and say after which note to go on.
    fn sort_out(&mut self, notes: &Notes) -> Result<i64, StoreError> {
        let begun = self.revision.is_some();
        if !begun
            && let Some((_, bytes)) = notes.index()?
            && let Ok(index) = Index::from_bytes(&bytes)
        {
            self.index = index;
        }
        let ids = notes.ids()?;
        if !begun {
            // What was kept may be older than the notes.
            self.index
                .retain(|id| note_of(id).is_some_and(|id| ids.binary_search(&id).is_ok()));
        }
        let gone: Vec<i64> = self
            .places
            .keys()
            .copied()
            .filter(|id| ids.binary_search(id).is_err())
            .collect();
        for id in gone {
            if let Some(place) = self.places.remove(&id) {
                for at in 0..place.passages {
                    self.index.remove(&key(id, at));
                }
            }
        }
        // A note that came back from being replaced is older than the newest known.
        let first = ids.iter().find(|id| !self.places.contains_key(id));
        Ok(first.map_or(self.newest, |first| first - 1))
    }

    fn add(&mut self, note: &Note) {
        if self.places.contains_key(&note.id) {
            return;
        }
        let mut passages = 0;
        for (at, passage) in passages_of(&note.text).enumerate() {
            let id = key(note.id, at);
            passages += 1;
            if self.index.contains(&id) {
                continue;
            }
            self.index.add(&ToolDoc {
                id,
                description: passage.to_owned(),
                ..ToolDoc::default()
            });
            self.fresh += 1;
        }
        self.newest = self.newest.max(note.id);
        let place = Place {
            namespace: note.namespace.clone(),
            scope: note.scope,
            owner: note.owner.clone(),
            passages,
        };
        self.places.insert(note.id, place);
    }

    pub(super) fn search(
        &mut self,
        query: &str,
        owners: &[(Scope, String)],
        namespace: Option<&str>,
        limit: usize,
        keywords_only: bool,
    ) -> Vec<Found> {
        let view: View = (owners.to_vec(), namespace.map(str::to_owned));
        let at = match self.views.iter().position(|(known, _)| *known == view) {
            Some(at) => at,
            None => {
                let searcher = self.index.view(|id| self.is_in(&view, id));
                if self.views.len() >= MOST_VIEWS {
                    self.views.remove(0);
                }
                self.views.push((view, searcher));
                self.views.len() - 1
            }
        };
        // Several passages may be of one note.
        let hits = self.views[at]
            .1
            .search(query, limit.saturating_mul(4).max(20))
            .hits;
        let mut found: Vec<Found> = Vec::new();
        for hit in hits {
            let Some(id) = note_of(&hit.id) else {
                continue;
            };
            if found.iter().any(|known| known.id == id) {
                continue;
            }
            found.push(Found {
                id,
                score: hit.score,
                keywords: hit.parts.keywords,
            });
        }
        // Of notes that fit as well, such as equal ones, the nearer one counts.
        let scope = |found: &Found| self.places.get(&found.id).map(|place| place.scope);
        for equal in found.chunk_by_mut(|a, b| a.score == b.score) {
            equal.sort_by_key(scope);
        }
        if keywords_only {
            found.retain(|found| found.keywords > 0.0);
            found.sort_by(|a, b| b.keywords.total_cmp(&a.keywords));
        }
        found.truncate(limit);
        found
    }

    fn is_in(&self, (owners, namespace): &View, id: &str) -> bool {
        let place = note_of(id).and_then(|id| self.places.get(&id));
        place.is_some_and(|place| {
            namespace
                .as_ref()
                .is_none_or(|name| *name == place.namespace)
                && owners
                    .iter()
                    .any(|(scope, owner)| *scope == place.scope && *owner == place.owner)
        })
    }
}

fn key(note: i64, passage: usize) -> String {
    format!("{note}#{passage}")
}

fn note_of(key: &str) -> Option<i64> {
    key.split_once('#')?.0.parse().ok()
}

/// Pieces of a text of bearable length, cut at the ends of lines where possible.
fn passages_of(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = match rest.char_indices().nth(PASSAGE) {
            None => rest.len(),
            Some((most, _)) => {
                let cut = rest[..most].rfind('\n').or_else(|| rest[..most].rfind(' '));
                cut.map_or(most, |at| at + 1)
            }
        };
        let (passage, after) = rest.split_at(end);
        rest = after;
        Some(passage)
    })
    .filter(|passage| !passage.trim().is_empty())
    .take(MOST_PASSAGES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_hold_all_of_a_text_that_is_not_too_long() {
        let check = |text: &str| {
            let parts: Vec<&str> = passages_of(text).collect();
            assert_eq!(parts.concat(), text);
            assert!(parts.iter().all(|part| part.chars().count() <= PASSAGE));
        };
        check("short");
        check(&"word ".repeat(1_000));
        check(&"ü".repeat(5_000));
        check(&"line\n".repeat(900));
        assert_eq!(passages_of("").count(), 0);
        assert_eq!(passages_of(&"x ".repeat(1_000_000)).count(), MOST_PASSAGES);
    }
}
