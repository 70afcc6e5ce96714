//! Every tool that can be found. Adding one works out its vectors and words and touches nothing
//! else; removing one marks its place as free. Statistics that join tools are a searcher's
//! business, see [`Searcher`].

use std::collections::HashMap;
use std::sync::Arc;

use crate::doc::ToolDoc;
use crate::dot::{self, Coarse, Row, Wide};
use crate::entry::{Entry, Packed};
use crate::keywords::{Keywords, Posting};
use crate::query::WIDE;
use crate::searcher::{Counted, Searcher};

/// Free places are cleared away once there are this many and they are a third of all.
const CLEAR_AT: usize = 64;

/// What a search needs of one tool beside its vectors and postings.
#[derive(Debug, PartialEq)]
pub(crate) struct Tool {
    pub(crate) key: [u8; 16],
    pub(crate) id: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) category: Box<str>,
    pub(crate) exact: Vec<Box<str>>,
    pub(crate) lengths: [u16; 4],
}

/// The pieces of all tools in slot order, one after the other: a search reads those of its
/// candidates, and each hop to another place would make it wait.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Pieces {
    all: Vec<u16>,
    /// Where each tool's pieces end, and how many of them are its name's
    ends: Vec<(u32, u16)>,
}

impl Pieces {
    /// Add a tool's distinct pieces, the name's first.
    pub(crate) fn push(&mut self, pieces: &[u16], name: u16) {
        self.all.extend(pieces);
        self.ends
            .push((self.all.len() as u32, name.min(pieces.len() as u16)));
    }

    /// All pieces of a tool, and those of its name.
    pub(crate) fn of(&self, slot: usize) -> (&[u16], &[u16]) {
        let start = match slot.checked_sub(1).and_then(|before| self.ends.get(before)) {
            Some((end, _)) => *end,
            None => 0,
        };
        let own = self.ends.get(slot).and_then(|(end, name)| {
            let pieces = self.all.get(start as usize..*end as usize)?;
            Some((pieces, &pieces[..usize::from(*name)]))
        });
        own.unwrap_or_default()
    }

    fn keep(&mut self, slots: &[Option<u32>]) {
        let mut kept = Pieces::default();
        for slot in (0..slots.len()).filter(|slot| slots[*slot].is_some()) {
            let (pieces, name) = self.of(slot);
            kept.push(pieces, name.len() as u16);
        }
        *self = kept;
    }
}

/// Vectors of the same kind of all tools, in slot order.
#[derive(Clone, Default)]
pub(crate) struct Vectors {
    pub(crate) rows: Vec<Row>,
    pub(crate) scales: Vec<f32>,
}

impl Vectors {
    fn push(&mut self, packed: &Packed) {
        self.rows.push(packed.row);
        self.scales.push(packed.scale);
    }

    /// Likeness of a row and a query's vector.
    pub(crate) fn alike(&self, at: usize, query: &Wide) -> f32 {
        let mut dot = [0];
        dot::all(&self.rows[at..=at], std::slice::from_ref(query), &mut dot);
        dot[0] as f32 * self.scales[at] / WIDE
    }
}

/// The index's content; searchers share it.
#[derive(Clone, Default)]
pub(crate) struct Data {
    /// None where a tool was removed
    pub(crate) tools: Vec<Option<Arc<Tool>>>,
    pub(crate) pieces: Pieces,
    pub(crate) whole: Vectors,
    /// The rows of `whole` with half their bits
    pub(crate) coarse: Vec<Coarse>,
    pub(crate) head: Vectors,
    pub(crate) keywords: Keywords,
    by_id: HashMap<Box<str>, u32>,
    exact: HashMap<Box<str>, Vec<u32>>,
    /// How many were removed so far
    removed: u64,
}

/// What [`Index::update`] did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    pub added: usize,
    pub removed: usize,
    pub kept: usize,
}

/// The tools that can be found. Cheap to clone; searchers keep what they were made from, so a
/// list that changes during a search does not disturb it.
#[derive(Clone, Default)]
pub struct Index {
    data: Arc<Data>,
}

impl Index {
    pub fn new() -> Index {
        Index::default()
    }

    /// Add a tool, or put it in the place of the one with its id. A tool that is there already
    /// with the same text costs a hash; false then.
    pub fn add(&mut self, doc: &ToolDoc) -> bool {
        if let Some(tool) = self.data.by_id(&doc.id) {
            if tool.key == doc.key() {
                return false;
            }
            self.remove(&doc.id);
        }
        let entry = Entry::of(doc);
        Arc::make_mut(&mut self.data).insert(entry);
        true
    }

    /// Remove a tool; false if there is none with this id.
    pub fn remove(&mut self, id: &str) -> bool {
        if !self.contains(id) {
            return false;
        }
        Arc::make_mut(&mut self.data).remove(id);
        true
    }

    /// Make the index hold exactly these tools, working out only what is new.
    pub fn update<'a>(&mut self, docs: impl IntoIterator<Item = &'a ToolDoc>) -> Changes {
        let mut changes = Changes::default();
        let mut wanted = HashMap::new();
        for doc in docs {
            wanted.insert(doc.id.as_str(), doc);
        }
        let gone: Vec<Box<str>> = self
            .data
            .tools
            .iter()
            .flatten()
            .filter(|tool| !wanted.contains_key(&*tool.id))
            .map(|tool| tool.id.clone())
            .collect();
        for id in gone {
            self.remove(&id);
            changes.removed += 1;
        }
        // Sorted, so that the same tools make the same bytes whatever order they came in.
        let mut wanted: Vec<&ToolDoc> = wanted.into_values().collect();
        wanted.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        for doc in wanted {
            if self.add(doc) {
                changes.added += 1;
            } else {
                changes.kept += 1;
            }
        }
        changes
    }

    /// Keep only the tools whose id passes.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        let tools = self.data.tools.iter().flatten();
        let gone: Vec<Box<str>> = tools
            .filter(|tool| !keep(&tool.id))
            .map(|tool| tool.id.clone())
            .collect();
        for id in gone {
            self.remove(&id);
        }
    }

    pub fn contains(&self, id: &str) -> bool {
        self.data.by_id.contains_key(id)
    }

    pub fn len(&self) -> usize {
        self.data.by_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A searcher over every tool.
    pub fn searcher(&self) -> Searcher {
        self.view(|_| true)
    }

    /// A searcher for someone who may see only the tools whose id passes. Its results are those
    /// of an index that never held the others. Making one costs a walk over the tools, so keep
    /// it for as long as neither the index nor the caller's rights change.
    pub fn view(&self, visible: impl FnMut(&str) -> bool) -> Searcher {
        Searcher::new(Arc::clone(&self.data), visible)
    }

    /// The same view of this index after tools were added, without counting the others again.
    pub fn grown(&self, counted: Counted, visible: impl FnMut(&str) -> bool) -> Searcher {
        Searcher::grown(Arc::clone(&self.data), counted, visible)
    }

    pub(crate) fn data(&self) -> &Data {
        &self.data
    }

    pub(crate) fn from_data(data: Data) -> Index {
        Index {
            data: Arc::new(data),
        }
    }
}

impl Data {
    pub(crate) fn tool(&self, slot: u32) -> Option<&Tool> {
        self.tools.get(slot as usize)?.as_deref()
    }

    pub(crate) fn removed(&self) -> u64 {
        self.removed
    }

    fn by_id(&self, id: &str) -> Option<&Tool> {
        self.tool(*self.by_id.get(id)?)
    }

    pub(crate) fn slot(&self, id: &str) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    /// Tools that a name means when typed whole.
    pub(crate) fn named(&self, exact_form: &str) -> &[u32] {
        self.exact.get(exact_form).map_or(&[], Vec::as_slice)
    }

    fn insert(&mut self, entry: Entry) {
        let slot = self.tools.len() as u32;
        for (word, count) in &entry.words {
            let count = *count;
            self.keywords.add(word, Posting { slot, count });
        }
        self.whole.push(&entry.whole);
        self.coarse.push(dot::coarse(&entry.whole.row));
        self.head.push(&entry.head);
        self.pieces.push(&entry.pieces, entry.name_pieces);
        self.place(Tool {
            key: entry.key,
            id: entry.id,
            name: entry.name,
            category: entry.category,
            exact: entry.exact,
            lengths: entry.lengths,
        });
    }

    /// Put a tool at the end of the list; its vectors, pieces and words are the caller's business.
    pub(crate) fn place(&mut self, tool: Tool) {
        let slot = self.tools.len() as u32;
        self.by_id.insert(tool.id.clone(), slot);
        for name in &tool.exact {
            self.exact.entry(name.clone()).or_default().push(slot);
        }
        self.tools.push(Some(Arc::new(tool)));
    }

    fn remove(&mut self, id: &str) {
        let Some(slot) = self.by_id.remove(id) else {
            return;
        };
        let Some(tool) = self.tools.get_mut(slot as usize).and_then(Option::take) else {
            return;
        };
        self.removed += 1;
        for name in &tool.exact {
            if let Some(slots) = self.exact.get_mut(name) {
                slots.retain(|other| *other != slot);
                if slots.is_empty() {
                    self.exact.remove(name);
                }
            }
        }
        let free = self.tools.len() - self.by_id.len();
        if free >= CLEAR_AT && free * 3 >= self.tools.len() {
            self.clear_free();
        }
    }

    /// Close the gaps that removed tools left.
    pub(crate) fn clear_free(&mut self) {
        let mut next = 0;
        let slots: Vec<Option<u32>> = self
            .tools
            .iter()
            .map(|tool| {
                tool.is_some().then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        for vectors in [&mut self.whole, &mut self.head] {
            keep(&mut vectors.rows, &slots);
            keep(&mut vectors.scales, &slots);
        }
        keep(&mut self.coarse, &slots);
        self.pieces.keep(&slots);
        self.keywords.renumber(&slots);
        for slot in self
            .by_id
            .values_mut()
            .chain(self.exact.values_mut().flatten())
        {
            *slot = slots
                .get(*slot as usize)
                .copied()
                .flatten()
                .unwrap_or(*slot);
        }
        self.tools.retain(Option::is_some);
    }
}

fn keep<T>(list: &mut Vec<T>, slots: &[Option<u32>]) {
    let mut places = slots.iter();
    list.retain(|_| places.next().is_some_and(Option::is_some));
}
