//! Searching as one caller: what it may not see cannot be found, nor be felt in any score.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use haft_core::{Category, Source};
use haft_search::{ScoreParts, Searcher};
use serde::Serialize;

use crate::visible::shortened;
use crate::{Entry, Runtime, Session, View, visible};

/// Asked for beyond the limit, because some of the nearest may not be available now.
const SLACK: usize = 20;

/// Characters of what others say of their category that a list of categories shows.
const SAID: usize = 300;

/// Tools named where a category has no words of its own.
const NAMED: usize = 4;

/// The answer to a query.
pub struct Search {
    /// The nearest tools that can be called now, best first; they are there even where none fits
    pub hits: Vec<SearchHit>,
    /// Even the best hit is too far off to be offered
    pub nothing_fits: bool,
    /// The categories of the nearest tools, nearest first, with their share
    pub categories: Vec<(String, f32)>,
    /// Share of the query's words, by weight, that the visible tools know
    pub coverage: f32,
}

/// A tool that was found.
pub struct SearchHit {
    pub entry: Arc<Entry>,
    pub score: f32,
    pub parts: ScoreParts,
}

/// Where a tool is that a search did not bring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Whereabouts {
    /// No tool answers to this name
    Unknown,
    /// It is kept out of the registry
    Quarantined {
        reason: String,
    },
    /// It does not exist for this caller: scopes or filters
    Outside {
        tool: String,
        reason: String,
    },
    Denied {
        tool: String,
        reason: String,
    },
    Unavailable {
        tool: String,
        reason: String,
    },
    /// Meta-tools are not searched for; they are shown
    Meta {
        tool: String,
    },
    /// It was found, at this place
    Ranked {
        tool: String,
        rank: usize,
        nothing_fits: bool,
    },
}

impl Runtime {
    /// The tools nearest to a sentence, for this caller.
    pub fn search(&self, session: &Session, query: &str, limit: usize) -> Search {
        let view = session.view(self);
        let searcher = self.searcher(&view);
        let mut ask = limit.saturating_add(SLACK);
        loop {
            let found = searcher.search(query, ask);
            let whole = found.hits.len() < ask;
            let mut hits: Vec<SearchHit> = found
                .hits
                .into_iter()
                .filter_map(|hit| {
                    let entry = view.snapshot().get(&hit.id)?.clone();
                    session.unavailable(&entry).is_none().then_some(SearchHit {
                        entry,
                        score: hit.score,
                        parts: hit.parts,
                    })
                })
                .collect();
            if hits.len() < limit && !whole {
                ask = ask.saturating_mul(4);
                continue;
            }
            let named = self.named(session, &view, query);
            let nothing_fits = named.is_none() && (found.nothing_fits || hits.is_empty());
            if let Some(named) = named {
                put_first(&mut hits, named);
            }
            hits.truncate(limit);
            return Search {
                nothing_fits,
                hits,
                categories: found.categories,
                coverage: found.coverage,
            };
        }
    }

    /// The tool that the whole query is a name of, whichever of its names, or the action, if this
    /// caller could call it now.
    fn named(&self, session: &Session, view: &View, query: &str) -> Option<Arc<Entry>> {
        let index = view.resolve(query.trim())?;
        let entry = view.entry(index);
        let there = view.outside(index).is_none()
            && view.bound(index).visible()
            && session.unavailable(entry).is_none();
        there.then(|| entry.clone())
    }

    /// Why a search did not bring a tool. For the owner: it tells of tools that the caller may
    /// not see.
    pub fn whereabouts(&self, session: &Session, query: &str, name: &str) -> Whereabouts {
        let view = session.view(self);
        let snapshot = view.snapshot();
        let Some(index) = view.resolve(name) else {
            let bad = snapshot.quarantined().iter().find(|bad| bad.name == name);
            return match bad {
                Some(bad) => Whereabouts::Quarantined {
                    reason: bad.reason.clone(),
                },
                None => Whereabouts::Unknown,
            };
        };
        let entry = view.entry(index);
        let tool = entry.spec().name.to_string();
        if let Some(reason) = view.outside(index) {
            return Whereabouts::Outside { tool, reason };
        }
        let bound = view.bound(index);
        if !bound.visible() {
            let reason = bound.tool_verdict().reason.clone();
            return Whereabouts::Denied { tool, reason };
        }
        if entry.spec().exposure.is_meta() {
            return Whereabouts::Meta { tool };
        }
        if let Some(reason) = session.unavailable(entry) {
            return Whereabouts::Unavailable { tool, reason };
        }
        if view.resolve(query.trim()) == Some(index) {
            let (rank, nothing_fits) = (1, false);
            return Whereabouts::Ranked {
                tool,
                rank,
                nothing_fits,
            };
        }
        let searcher = self.searcher(&view);
        match searcher.rank_of(query, &tool) {
            None => Whereabouts::Unknown,
            Some(rank) => Whereabouts::Ranked {
                rank,
                nothing_fits: searcher.search(query, 1).nothing_fits,
                tool,
            },
        }
    }

    /// The groups of tools that this caller can call now, by name.
    pub fn categories(&self, session: &Session) -> Vec<Category> {
        let view = session.view(self);
        let mut groups: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
        for entry in self.findable(session, &view) {
            let group = groups.entry(entry.spec().module.as_str());
            group.or_default().push(entry);
        }
        let built_in = |entry: &&Entry| *entry.source() == Source::Builtin;
        groups
            .into_iter()
            .map(|(id, entries)| Category {
                id: id.to_owned(),
                summary: summary(&view, id),
                ours: view.snapshot().module(id).is_some() || entries.iter().all(built_in),
                tool_count: entries.len(),
                instructions: entries
                    .iter()
                    .find_map(|entry| entry.spec().said.as_deref())
                    .map(|said| shortened(said, SAID).into_owned()),
            })
            .collect()
    }

    /// The tools of one category that this caller can call now, by name.
    pub fn of_category(&self, session: &Session, category: &str) -> Vec<Arc<Entry>> {
        let view = session.view(self);
        let wanted = haft_core::canonical_module(category);
        let mut entries: Vec<Arc<Entry>> = self
            .findable(session, &view)
            .filter(|entry| entry.spec().module == wanted)
            .cloned()
            .collect();
        entries.sort_unstable_by(|a, b| a.spec().name.cmp(&b.spec().name));
        entries
    }

    fn findable<'a>(
        &self,
        session: &'a Session,
        view: &'a View,
    ) -> impl Iterator<Item = &'a Arc<Entry>> {
        view.tools()
            .filter(|entry| !entry.spec().exposure.is_meta())
            .filter(|entry| session.unavailable(entry).is_none())
    }

    fn searcher<'a>(&self, view: &'a View) -> &'a Searcher {
        view.searcher(|snapshot| {
            let seen: HashSet<&str> = view
                .tools()
                .filter(|entry| !entry.spec().exposure.is_meta())
                .map(|entry| &*entry.spec().name)
                .collect();
            self.catalogue()
                .index(snapshot)
                .view(|id| seen.contains(id))
        })
    }
}

/// An exact name always wins, also where the words in it speak for another tool.
fn put_first(hits: &mut Vec<SearchHit>, named: Arc<Entry>) {
    let best = hits.first().map_or(0.0, |hit| hit.score);
    let place = hits
        .iter()
        .position(|hit| hit.entry.spec().name == named.spec().name);
    let mut hit = match place {
        Some(place) => hits.remove(place),
        None => SearchHit {
            entry: named,
            score: best,
            parts: ScoreParts::default(),
        },
    };
    hit.score = hit.score.max(best);
    hit.parts.exact = true;
    hits.insert(0, hit);
}

/// What a category is about: its module's own words, or the titles of what it holds.
fn summary(view: &View, category: &str) -> String {
    if let Some(module) = view.snapshot().module(category) {
        return module.summary.to_owned();
    }
    let mut names: Vec<String> = view
        .tools()
        .filter(|entry| entry.spec().module == category)
        .take(NAMED + 1)
        .map(|entry| visible(entry.spec().action()))
        .collect();
    let more = if names.len() > NAMED { " …" } else { "" };
    names.truncate(NAMED);
    format!(
        "Tools of `{}`: {}{more}",
        visible(category),
        names.join(", ")
    )
}
