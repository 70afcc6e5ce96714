//! What records are looked up by, worked out for a thousand of them at a time. An index that grows
//! with each record would put a page of its own into every commit, and the disk is waited for with
//! all of them; the records after the last span are few enough to be looked through.
//!
//! A span says which of its records are of a session or a tool, what their calls are named, when
//! they were written, which calls they end, and what figures they make together. Whatever is found
//! here is compared with the record itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::append::base;
use super::chain::{COLUMNS, Hash, Link};
use super::figures::Figures;
use super::key::Key;
use crate::{Cell, StoreError, Tx};

/// Records of a span. Part of what is written: places in a span are told from its end.
pub(super) const SPAN: i64 = 1_024;
/// Spans looked at with one query.
const AT_ONCE: i64 = 32;

pub(super) fn of_session(session: &str) -> String {
    format!("s {session}")
}

pub(super) fn of_tool(tool: &str) -> String {
    format!("t {tool}")
}

/// The last record that is in a span; all after it have to be looked through.
pub(super) fn newest(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    let last = tx.first_int("SELECT max(last) FROM journal_spans", &[])?;
    match last {
        Some(last) => Ok(last),
        None => Ok(base(tx)?.map_or(0, |(seq, _)| seq)),
    }
}

/// Put the records of an older haft into spans. Whoever counts them keeps the figures.
pub(crate) fn into_spans(tx: &mut dyn Tx) -> Result<(), StoreError> {
    let newest = tx.first_int("SELECT max(seq) FROM journal", &[])?;
    catch_up(tx, None, newest.unwrap_or(0), None).map(drop)
}

/// Put the records up to one into spans, as far as they fill them, and say where the last one ends.
/// One that is at hand need not be read. Without a key no figures are kept: nobody could tell whose
/// they are.
pub(super) fn catch_up(
    tx: &mut dyn Tx,
    key: Option<&Key>,
    upto: i64,
    mut at_hand: Option<Span>,
) -> Result<i64, StoreError> {
    let mut at = newest(tx)?;
    loop {
        let next = "SELECT min(seq) FROM journal WHERE seq > $1";
        let Some(first) = tx.first_int(next, &[at.into()])? else {
            return Ok(at);
        };
        let last = first.saturating_add(SPAN - 1);
        if last > upto {
            return Ok(at);
        }
        let span = match at_hand.take_if(|span| span.first == first) {
            Some(span) => span,
            None => Span::read(tx, first, last, key.is_some())?,
        };
        span.write(tx, key)?;
        at = last;
    }
}

/// The newest record is this one after all: what is said of later ones is not true any more.
pub(super) fn cut_off(tx: &mut dyn Tx, newest: i64) -> Result<(), StoreError> {
    let newest = [newest.into()];
    tx.run("DELETE FROM journal_spans WHERE last > $1", &newest)?;
    tx.run("DELETE FROM journal_words WHERE last > $1", &newest)?;
    tx.run("DELETE FROM journal_open WHERE seq > $1", &newest)?;
    tx.run("DELETE FROM journal_ends WHERE seq > $1", &newest)?;
    Ok(())
}

/// The records up to this one are gone.
pub(super) fn forget(tx: &mut dyn Tx, upto: i64) -> Result<(), StoreError> {
    let upto = [upto.into()];
    tx.run("DELETE FROM journal_spans WHERE last <= $1", &upto)?;
    tx.run("DELETE FROM journal_words WHERE last <= $1", &upto)?;
    tx.run("DELETE FROM journal_open WHERE seq <= $1", &upto)?;
    tx.run("DELETE FROM journal_ends WHERE intent <= $1", &upto)?;
    // The rest of a span makes other figures.
    let rest = "UPDATE journal_spans SET figures = NULL, seal = NULL WHERE first <= $1";
    tx.run(rest, &upto).map(drop)
}

/// What is to be said of a span.
pub(super) struct Span {
    first: i64,
    last: i64,
    oldest: i64,
    newest: i64,
    /// Places of the records of each
    sessions: BTreeMap<String, Vec<u8>>,
    tools: BTreeMap<String, Vec<u8>>,
    /// The beginning of a hash of each call's name, place by place
    calls: Vec<u8>,
    open: BTreeSet<i64>,
    /// Intents and the records that end them
    ends: Vec<(i64, i64)>,
    /// None where a record is not what was written
    figures: Option<Figures>,
}

impl Span {
    /// One with nothing in it yet.
    pub(super) fn new(first: i64) -> Span {
        Span {
            first,
            last: first.saturating_add(SPAN - 1),
            oldest: i64::MAX,
            newest: i64::MIN,
            sessions: BTreeMap::new(),
            tools: BTreeMap::new(),
            calls: vec![0; SPAN as usize * NAME],
            open: BTreeSet::new(),
            ends: Vec::new(),
            figures: Some(Figures::default()),
        }
    }

    /// The same with its next record, as it was just written; none where it is full.
    pub(super) fn with(mut self, link: &Link<'_>) -> Option<Span> {
        if link.seq > self.last {
            return None;
        }
        self.oldest = self.oldest.min(link.time);
        self.newest = self.newest.max(link.time);
        if let Some(figures) = &mut self.figures {
            figures.count(link);
        }
        self.add(link);
        Some(self)
    }

    /// Figures only where they are kept: they cost a proof of every record.
    fn read(
        tx: &mut dyn Tx,
        first: i64,
        last: i64,
        with_figures: bool,
    ) -> Result<Span, StoreError> {
        let mut span = Span::new(first);
        if !with_figures {
            span.figures = None;
        }
        let mut before: Option<Hash> = super::list::hash_before(tx, first)?;
        let sql =
            format!("SELECT {COLUMNS} FROM journal WHERE seq >= $1 AND seq <= $2 ORDER BY seq");
        let mut bytes = Vec::new();
        tx.each(&sql, &[first.into(), last.into()], &mut |row| {
            let time = row.cell(1).ok().and_then(Cell::int).unwrap_or_default();
            span.oldest = span.oldest.min(time);
            span.newest = span.newest.max(time);
            let Ok((link, hash)) = Link::of(row) else {
                span.figures = None;
                before = None;
                return Ok(true);
            };
            span.figures = span.figures.take().and_then(|mut figures| {
                let holds = before.is_some_and(|before| link.after_in(&before, &mut bytes) == hash);
                figures.count(&link);
                holds.then_some(figures)
            });
            before = Some(hash);
            span.add(&link);
            Ok(true)
        })?;
        Ok(span)
    }

    fn add(&mut self, link: &Link<'_>) {
        match (link.kind, link.intent) {
            ("outcome", Some(intent)) => {
                self.ends.push((intent, link.seq));
                return;
            }
            ("intent", _) => drop(self.open.insert(link.seq)),
            _ => {}
        }
        let place = (link.seq - self.first) as u16;
        for (words, word) in [
            (&mut self.sessions, link.session),
            (&mut self.tools, link.tool),
        ] {
            match words.get_mut(word) {
                Some(places) => places.extend_from_slice(&place.to_le_bytes()),
                None => drop(words.insert(word.to_owned(), place.to_le_bytes().to_vec())),
            }
        }
        let at = usize::from(place) * NAME;
        self.calls[at..at + NAME].copy_from_slice(&name_of(link.call_id));
    }

    fn write(mut self, tx: &mut dyn Tx, key: Option<&Key>) -> Result<(), StoreError> {
        for (intent, seq) in &self.ends {
            tx.run(
                "INSERT INTO journal_ends (intent, seq) VALUES ($1, $2) \
                 ON CONFLICT (intent) DO UPDATE SET seq = excluded.seq",
                &[(*intent).into(), (*seq).into()],
            )?;
            if !self.open.remove(intent) {
                let ended = "DELETE FROM journal_open WHERE seq = $1";
                tx.run(ended, &[(*intent).into()])?;
            }
        }
        for seq in &self.open {
            let sql = "INSERT INTO journal_open (seq) VALUES ($1) ON CONFLICT (seq) DO NOTHING";
            tx.run(sql, &[(*seq).into()])?;
        }
        let sessions = self.sessions.iter();
        let sessions = sessions.map(|(session, places)| (of_session(session), places));
        let tools = self.tools.iter();
        let tools = tools.map(|(tool, places)| (of_tool(tool), places));
        for (word, places) in sessions.chain(tools) {
            tx.run(
                "INSERT INTO journal_words (word, last, places) VALUES ($1, $2, $3)",
                &[word.as_str().into(), self.last.into(), Cell::Blob(places)],
            )?;
        }
        tx.run(
            "INSERT INTO journal_spans (last, first, oldest, newest, calls) \
             VALUES ($1, $2, $3, $4, $5)",
            &[
                self.last.into(),
                self.first.into(),
                self.oldest.into(),
                self.newest.into(),
                Cell::Blob(&self.calls),
            ],
        )?;
        match (self.figures, key) {
            (Some(figures), Some(key)) => figures.keep(tx, key, self.last),
            _ => Ok(()),
        }
    }
}

/// Bytes of a call's name that are kept: few others have the same.
const NAME: usize = 4;

fn name_of(call_id: &str) -> [u8; NAME] {
    let hash = blake3::hash(call_id.as_bytes());
    let [a, b, c, d, ..] = *hash.as_bytes();
    [a, b, c, d]
}

/// Records in spans that may be of a call, newest first.
pub(super) fn of_call(tx: &mut dyn Tx, call_id: &str) -> Result<Vec<i64>, StoreError> {
    let name = name_of(call_id);
    let mut found = Vec::new();
    let sql = "SELECT first, calls FROM journal_spans ORDER BY last DESC";
    tx.each(sql, &[], &mut |row| {
        let (first, calls) = (row.cell(0)?.int(), row.cell(1)?.blob());
        let names = calls.unwrap_or_default().chunks_exact(NAME);
        let places = names.enumerate().filter(|(_, other)| *other == name);
        let seqs: Vec<i64> = places
            .map(|(place, _)| first.unwrap_or_default() + place as i64)
            .collect();
        found.extend(seqs.into_iter().rev());
        Ok(true)
    })?;
    Ok(found)
}

/// The first record of the first span with one that is as young as this; all younger ones are there
/// or later.
pub(super) fn since(tx: &mut dyn Tx, time: i64) -> Result<i64, StoreError> {
    let sql = "SELECT first FROM journal_spans WHERE newest >= $1 ORDER BY last LIMIT 1";
    match tx.first_int(sql, &[time.into()])? {
        Some(first) => Ok(first),
        None => Ok(newest(tx)? + 1),
    }
}

/// Every tool that was ever called.
pub(super) fn tools(tx: &mut dyn Tx) -> Result<BTreeSet<String>, StoreError> {
    let mut tools = BTreeSet::new();
    let newest = newest(tx)?;
    let sql = "SELECT DISTINCT tool FROM journal WHERE seq > $1";
    tx.each(sql, &[newest.into()], &mut |row| {
        tools.extend(row.cell(0)?.text().map(str::to_owned));
        Ok(true)
    })?;
    // One look for each: a word stands there once for every span.
    let sql =
        "SELECT word FROM journal_words WHERE word > $1 AND word < 't!' ORDER BY word LIMIT 1";
    let mut last = of_tool("");
    while let Some(next) = tx.first_text(sql, &[last.as_str().into()])? {
        tools.extend(next.strip_prefix("t ").map(str::to_owned));
        last = next;
    }
    Ok(tools)
}

/// The records that end calls, those that are in no span at hand.
pub(super) struct Ends {
    late: HashMap<i64, i64>,
}

impl Ends {
    pub(super) fn new(tx: &mut dyn Tx) -> Result<Ends, StoreError> {
        let mut late = HashMap::new();
        let newest = newest(tx)?;
        let sql = "SELECT intent, seq FROM journal WHERE seq > $1 AND intent IS NOT NULL \
                   ORDER BY seq";
        tx.each(sql, &[newest.into()], &mut |row| {
            late.extend(row.cell(0)?.int().zip(row.cell(1)?.int()));
            Ok(true)
        })?;
        Ok(Ends { late })
    }

    /// The newest record that ends a call.
    pub(super) fn of(&self, tx: &mut dyn Tx, intent: i64) -> Result<Option<i64>, StoreError> {
        if let Some(seq) = self.late.get(&intent) {
            return Ok(Some(*seq));
        }
        let sql = "SELECT seq FROM journal_ends WHERE intent = $1";
        tx.first_int(sql, &[intent.into()])
    }

    /// Calls that were about to happen and have no end, oldest first.
    pub(super) fn open(&self, tx: &mut dyn Tx) -> Result<Vec<i64>, StoreError> {
        let newest = newest(tx)?;
        let mut open = Vec::new();
        for (sql, from) in [
            (
                "SELECT seq FROM journal_open WHERE seq > $1 ORDER BY seq",
                0,
            ),
            (
                "SELECT seq FROM journal WHERE seq > $1 AND kind = 'intent' ORDER BY seq",
                newest,
            ),
        ] {
            tx.each(sql, &[from.into()], &mut |row| {
                open.extend(row.cell(0)?.int());
                Ok(true)
            })?;
        }
        open.retain(|seq| !self.late.contains_key(seq));
        Ok(open)
    }

    /// The first call up to this record whose end comes after it.
    pub(super) fn split(&self, tx: &mut dyn Tx, at: i64) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT min(intent) FROM journal_ends WHERE intent <= $1 AND seq > $1";
        let kept = tx.first_int(sql, &[at.into()])?;
        let late = self.late.iter();
        let late = late.filter(|(intent, seq)| **intent <= at && **seq > at);
        Ok(late.map(|(intent, _)| *intent).chain(kept).min())
    }
}

/// The records of one word, newest first.
struct Cursor {
    word: String,
    /// Those of spans that end before this are still to be fetched
    before: i64,
    /// Those at hand, the newest last
    seqs: Vec<i64>,
}

impl Cursor {
    /// The newest record that is no newer than this.
    fn seek(&mut self, tx: &mut dyn Tx, most: i64) -> Result<Option<i64>, StoreError> {
        loop {
            while let Some(seq) = self.seqs.last() {
                if *seq <= most {
                    return Ok(Some(*seq));
                }
                self.seqs.pop();
            }
            // A span that begins after it holds nothing of use.
            self.before = self.before.min(most.saturating_add(SPAN));
            let mut spans: Vec<(i64, Vec<u8>)> = Vec::new();
            tx.each(
                "SELECT last, places FROM journal_words WHERE word = $1 AND last < $2 \
                 ORDER BY last DESC LIMIT $3",
                &[
                    self.word.as_str().into(),
                    self.before.into(),
                    AT_ONCE.into(),
                ],
                &mut |row| {
                    let places = row.cell(1)?.blob().map(<[u8]>::to_vec);
                    spans.extend(row.cell(0)?.int().zip(places));
                    Ok(true)
                },
            )?;
            let Some((oldest, _)) = spans.last() else {
                return Ok(None);
            };
            self.before = *oldest;
            for (last, places) in spans.iter().rev() {
                let first = last - (SPAN - 1);
                let places = places.chunks_exact(2);
                self.seqs.extend(
                    places.map(|place| first + i64::from(u16::from_le_bytes([place[0], place[1]]))),
                );
            }
        }
    }
}

/// Records in spans that are of any of some words.
pub(super) struct AnyOf(Vec<Cursor>);

impl AnyOf {
    pub(super) fn new(words: impl IntoIterator<Item = String>) -> AnyOf {
        let cursor = |word| Cursor {
            word,
            before: i64::MAX,
            seqs: Vec::new(),
        };
        AnyOf(words.into_iter().map(cursor).collect())
    }

    fn seek(&mut self, tx: &mut dyn Tx, most: i64) -> Result<Option<i64>, StoreError> {
        let mut newest = None;
        for cursor in &mut self.0 {
            newest = newest.max(cursor.seek(tx, most)?);
        }
        Ok(newest)
    }
}

/// The newest record, no newer than this, that all agree on.
pub(super) fn common(
    tx: &mut dyn Tx,
    all: &mut [AnyOf],
    most: i64,
) -> Result<Option<i64>, StoreError> {
    let mut at = most;
    loop {
        let mut agreed = true;
        for one in all.iter_mut() {
            match one.seek(tx, at)? {
                None => return Ok(None),
                Some(seq) => {
                    agreed &= seq == at;
                    at = seq;
                }
            }
        }
        if agreed {
            return Ok(Some(at));
        }
    }
}
