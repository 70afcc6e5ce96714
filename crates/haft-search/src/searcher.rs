//! Searching, for one caller. A searcher holds the index as it was and which tools its caller
//! may see; every statistic is worked out over those alone, so what is hidden leaves no trace in
//! any score.

use std::ops::Range;
use std::sync::Arc;

use crate::dot;
use crate::entry::{FIELD_WEIGHTS, exact_form};
use crate::fit::{self, Parts};
use crate::index::{Data, Tool};
use crate::query::Query;
use crate::rank::{Scores, ranked, standing};

/// Longest query that could be a name typed whole.
const LONGEST_NAME: usize = 256;
/// Most tools that one typed name brings to the front.
const MOST_NAMED: usize = 40;
/// Categories named when nothing fits.
const MOST_CATEGORIES: usize = 5;
/// Tools whose categories are counted then.
const CATEGORY_TOOLS: usize = 20;

/// Pieces in more tools than this are so few that their rarity is worked out when asked for.
const COMMON: u16 = 1_000;

/// The parameters of BM25.
pub(crate) const K1: f32 = 1.2;
const B: f32 = 0.75;

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub id: String,
    pub name: String,
    pub category: String,
    pub score: f32,
    pub parts: ScoreParts,
}

/// What a score is made of. Each lies between 0 and 1, or a little below 0 for vectors that
/// point apart.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ScoreParts {
    /// The query is this tool's name, alias or API name
    pub exact: bool,
    /// Keyword score against the best tool's
    pub keywords: f32,
    /// Share of the query's known words that the tool has
    pub share: f32,
    /// Likeness of the query's and the tool's text
    pub vector: f32,
    /// Likeness to name and first sentence
    pub head: f32,
    /// Likeness of the query's best clause
    pub clause: f32,
    /// How well the tool's pieces answer the query's
    pub query_side: f32,
    /// How well the query's pieces answer the tool's
    pub tool_side: f32,
    /// The same for the pieces of its name
    pub name: f32,
}

/// The answer to a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The nearest tools, best first, even where none fits: see `nothing_fits`
    pub hits: Vec<Hit>,
    /// True where even the best hit is too far off to be offered
    pub nothing_fits: bool,
    /// The categories of the nearest tools with their share, nearest first
    pub categories: Vec<(String, f32)>,
    /// Share of the query's words, by weight, that the visible tools know
    pub coverage: f32,
}

/// Finds tools for one caller.
pub struct Searcher {
    pub(crate) data: Arc<Data>,
    counted: Counted,
    all_visible: bool,
    /// How rare a piece is that so many tools have, for the usual numbers of tools
    rarities: Vec<f32>,
    /// By slot: what BM25 adds to a word's count, for the tool's length
    pub(crate) norms: Vec<f32>,
}

/// What was counted over the tools that a caller may see. Without the index it was counted in, so
/// that the index can grow; [`Index::grown`](crate::Index::grown) goes on from it.
pub struct Counted {
    /// Tools that were removed from the index before
    removed: u64,
    /// By slot: may the caller see it
    visible: Vec<bool>,
    /// The visible slots as runs
    runs: Vec<Range<usize>>,
    count: usize,
    /// Words of the visible tools, by field
    words: [u64; 4],
    /// By slot: how long the tool is, each field by its weight
    lengths: Vec<f32>,
    /// By piece: in how many visible tools it occurs
    piece_tools: Box<[u16]>,
}

impl Counted {
    fn nothing(data: &Data) -> Counted {
        Counted {
            removed: data.removed(),
            visible: Vec::new(),
            runs: Vec::new(),
            count: 0,
            words: [0; 4],
            lengths: Vec::new(),
            piece_tools: vec![0; crate::model::PIECES].into(),
        }
    }

    /// Count the tools that came since.
    fn go_on(&mut self, data: &Data, mut may_see: impl FnMut(&str) -> bool) {
        for slot in self.visible.len()..data.tools.len() {
            let tool = data.tool(slot as u32);
            self.lengths.push(tool.map_or(0.0, length));
            let visible = tool.filter(|tool| may_see(&tool.id));
            self.visible.push(visible.is_some());
            let Some(tool) = visible else { continue };
            match self.runs.last_mut() {
                Some(run) if run.end == slot => run.end = slot + 1,
                _ => self.runs.push(slot..slot + 1),
            }
            self.count += 1;
            for (sum, length) in self.words.iter_mut().zip(tool.lengths) {
                *sum += u64::from(length);
            }
            for &piece in data.pieces.of(slot).0 {
                if let Some(tools) = self.piece_tools.get_mut(usize::from(piece)) {
                    *tools = tools.saturating_add(1);
                }
            }
        }
    }

    fn norms(&self) -> Vec<f32> {
        let words = self.words.iter().zip(FIELD_WEIGHTS);
        let total: f32 = words.map(|(words, weight)| *words as f32 * weight).sum();
        let average = (total / self.count.max(1) as f32).max(1.0);
        let lengths = self.lengths.iter();
        lengths
            .map(|length| K1 * (1.0 - B + B * length / average))
            .collect()
    }
}

fn length(tool: &Tool) -> f32 {
    let lengths = tool.lengths.iter().zip(FIELD_WEIGHTS);
    lengths.map(|(l, w)| f32::from(*l) * w).sum()
}

impl Searcher {
    pub(crate) fn new(data: Arc<Data>, may_see: impl FnMut(&str) -> bool) -> Searcher {
        let counted = Counted::nothing(&data);
        Searcher::grown(data, counted, may_see)
    }

    /// The same as a new one, for the price of the tools that came since. Where tools were removed
    /// all are counted again.
    pub(crate) fn grown(
        data: Arc<Data>,
        counted: Counted,
        may_see: impl FnMut(&str) -> bool,
    ) -> Searcher {
        let mut counted = match counted.removed == data.removed() {
            true => counted,
            false => Counted::nothing(&data),
        };
        counted.go_on(&data, may_see);
        let count = counted.count;
        Searcher {
            all_visible: count == counted.visible.len(),
            norms: counted.norms(),
            rarities: (0..=COMMON).map(|tools| rarity(count, tools)).collect(),
            counted,
            data,
        }
    }

    /// Let the index go, so that it can grow without being copied.
    pub fn counted(self) -> Counted {
        self.counted
    }

    /// How many tools the caller may see.
    pub fn len(&self) -> usize {
        self.counted.count
    }

    pub fn is_empty(&self) -> bool {
        self.counted.count == 0
    }

    pub(crate) fn sees(&self, slot: u32) -> bool {
        self.all_visible
            || self
                .counted
                .visible
                .get(slot as usize)
                .copied()
                .unwrap_or(false)
    }

    /// The visible slots as runs.
    pub(crate) fn runs(&self) -> &[Range<usize>] {
        &self.counted.runs
    }

    pub(crate) fn sees_all(&self) -> bool {
        self.all_visible
    }

    /// How rare a piece is among the visible tools: 1 for one that none has, 0 for one in all.
    pub(crate) fn rarity(&self, piece: u16) -> f32 {
        let tools = self
            .counted
            .piece_tools
            .get(usize::from(piece))
            .copied()
            .unwrap_or(0);
        match self.rarities.get(usize::from(tools)) {
            Some(rarity) => *rarity,
            None => rarity(self.counted.count, tools),
        }
    }

    /// The rarity of a piece will be asked for soon.
    pub(crate) fn soon(&self, piece: u16) {
        if let Some(tools) = self.counted.piece_tools.get(usize::from(piece)) {
            dot::soon(tools);
        }
    }

    pub(crate) fn visible_slots(&self) -> impl Iterator<Item = usize> {
        self.runs().iter().cloned().flatten()
    }

    /// The tools nearest to a query, best first.
    pub fn search(&self, text: &str, limit: usize) -> Found {
        let query = Query::of(text);
        if self.is_empty() || query.is_empty() {
            return Found {
                nothing_fits: true,
                ..Found::default()
            };
        }
        let scores = Scores::of(self, &query);
        let named = self.named(text);
        let order = ranked(self, &query, &scores, &named);
        let nothing_fits = match order.first() {
            None => true,
            Some(_) => named.is_empty() && fit::is_too_far(&standing(&order)),
        };
        let hits = order.iter().take(limit).filter_map(|candidate| {
            let tool = self.data.tool(candidate.slot)?;
            Some(hit(tool, candidate.score, &candidate.parts))
        });
        Found {
            hits: hits.collect(),
            nothing_fits,
            categories: self.categories(order.iter().map(|candidate| candidate.slot)),
            coverage: scores.coverage,
        }
    }

    /// The place of a tool in the ranking of all visible tools, from 1; none if the caller
    /// cannot see it.
    pub fn rank_of(&self, text: &str, id: &str) -> Option<usize> {
        let slot = self.data.slot(id).filter(|slot| self.sees(*slot))?;
        let query = Query::of(text);
        let scores = Scores::of(self, &query);
        let order = ranked(self, &query, &scores, &self.named(text));
        if let Some(place) = order.iter().position(|candidate| candidate.slot == slot) {
            return Some(place + 1);
        }
        // Beyond the candidates the first ranking stands; all of those lie before it.
        let own = scores.lists.base.get(slot as usize)?;
        let ahead = self.visible_slots().filter(|&other| {
            let tie = || {
                self.data
                    .tool(other as u32)
                    .is_some_and(|tool| *tool.id < *id)
            };
            let outside = order
                .iter()
                .all(|candidate| candidate.slot as usize != other);
            outside
                && (scores.lists.base[other] > *own || (scores.lists.base[other] == *own && tie()))
        });
        Some(order.len() + ahead.count() + 1)
    }

    /// The tools that got the second look, best first.
    #[cfg(feature = "eval")]
    pub(crate) fn candidates(
        &self,
        text: &str,
        lexicon: crate::query::Lexicon,
    ) -> Vec<crate::rank::Candidate> {
        let query = Query::read(text, lexicon);
        ranked(self, &query, &Scores::of(self, &query), &self.named(text))
    }

    /// How the best of all stands.
    #[cfg(feature = "eval")]
    pub(crate) fn standing(&self, text: &str) -> fit::Standing {
        let query = Query::of(text);
        let scores = Scores::of(self, &query);
        let order = ranked(self, &query, &scores, &[]);
        standing(&order)
    }

    #[cfg(feature = "eval")]
    pub(crate) fn id(&self, slot: u32) -> &str {
        self.data.tool(slot).map_or("", |tool| &tool.id)
    }

    /// Visible tools that the text names: those it is the id of, then the others, each by id.
    pub(crate) fn named(&self, text: &str) -> Vec<u32> {
        let text = text.trim();
        if text.is_empty() || text.len() > LONGEST_NAME {
            return Vec::new();
        }
        let form = exact_form(text);
        let mut named: Vec<(bool, &str, u32)> = self
            .data
            .named(&form)
            .iter()
            .filter(|slot| self.sees(**slot))
            .filter_map(|slot| {
                let tool = self.data.tool(*slot)?;
                Some((exact_form(&tool.id) != form, &*tool.id, *slot))
            })
            .collect();
        named.sort_unstable();
        named
            .into_iter()
            .map(|(_, _, slot)| slot)
            .take(MOST_NAMED)
            .collect()
    }

    fn categories(&self, slots: impl Iterator<Item = u32>) -> Vec<(String, f32)> {
        let mut counted: Vec<(&str, f32)> = Vec::new();
        let mut total = 0.0;
        for (place, slot) in slots.take(CATEGORY_TOOLS).enumerate() {
            let Some(tool) = self
                .data
                .tool(slot)
                .filter(|tool| !tool.category.is_empty())
            else {
                continue;
            };
            let weight = 1.0 / (place as f32 + 2.0).log2();
            total += weight;
            match counted
                .iter_mut()
                .find(|(name, _)| *name == &*tool.category)
            {
                Some((_, sum)) => *sum += weight,
                None => counted.push((&tool.category, weight)),
            }
        }
        counted.sort_by(|a, b| b.1.total_cmp(&a.1));
        counted.truncate(MOST_CATEGORIES);
        counted
            .into_iter()
            .map(|(name, sum)| (name.to_owned(), sum / total))
            .collect()
    }
}

/// How rare a piece is that so many of all tools have.
fn rarity(all: usize, with: u16) -> f32 {
    let all = all as f32;
    (1.0 + all / (f32::from(with) + 0.5)).ln() / (1.0 + all / 0.5).ln().max(f32::MIN_POSITIVE)
}

fn hit(tool: &Tool, score: f32, parts: &Parts) -> Hit {
    Hit {
        id: tool.id.to_string(),
        name: tool.name.to_string(),
        category: tool.category.to_string(),
        score,
        parts: ScoreParts {
            exact: parts.exact,
            keywords: parts.keywords,
            share: parts.share,
            vector: parts.cosine,
            head: parts.head,
            clause: parts.clause,
            query_side: parts.query_side,
            tool_side: parts.tool_side,
            name: parts.name,
        },
    }
}
