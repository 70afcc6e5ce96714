//! Reading the journal: one line a call, newest last. Every record that is shown is compared with
//! its hash first, so that a changed one is never passed on as if it were good.

use serde::Serialize;
use serde_json::Value;

use super::Journal;
use super::append::{ACCEPTED, base, hash_at};
use super::body::Body;
use super::chain::{COLUMNS, Hash, Link, genesis};
use super::spans::{self, AnyOf, Ends};
use super::told::name;
use crate::{Cell, Row, StoreError, Tx, paths};

/// Records held at once while all are looked at.
const AT_ONCE: usize = 4_096;

/// Which calls are meant.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// A tool's name; `*` stands for anything
    pub tool: Option<String>,
    pub session: Option<String>,
    pub call_id: Option<String>,
    /// Microseconds since 1970
    pub since: Option<i64>,
    /// Records after this one only
    pub after: Option<i64>,
    /// The newest so many
    pub limit: Option<usize>,
}

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Ok,
    Dry,
    Denied,
    Failed,
    Cancelled,
    /// Its process is alive and it has not ended
    Running,
    /// Nobody knows whether it happened
    Uncertain,
    /// Not a call: something that the journal says about itself
    Note,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Dry => "dry",
            State::Denied => "denied",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
            State::Running => "running",
            State::Uncertain => "uncertain",
            State::Note => "note",
        }
    }

    fn of(text: &str) -> State {
        match text {
            "ok" => State::Ok,
            "dry" => State::Dry,
            "denied" => State::Denied,
            "cancelled" => State::Cancelled,
            "uncertain" => State::Uncertain,
            _ => State::Failed,
        }
    }
}

/// One call, from its first record and its last.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    pub seq: i64,
    /// RFC 3339
    pub time: String,
    pub call_id: String,
    pub tool: String,
    pub session: String,
    pub agent: Option<String>,
    pub node: Option<String>,
    pub verdict: Option<String>,
    pub state: State,
    pub duration_ms: Option<f64>,
    pub cost: Option<f64>,
    pub tokens: Option<u64>,
    #[serde(flatten)]
    pub body: Body,
    #[serde(skip)]
    pub time_us: i64,
}

impl Journal {
    /// The calls that a filter means, oldest first.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Line>, StoreError> {
        self.noticed(self.store.read(|tx| {
            let mut filter = filter.clone();
            // As it was written down.
            let session = filter.session.as_deref();
            filter.session = session.map(|session| name(&self.inner, session).into_owned());
            if let Some(since) = filter.since {
                // Nothing before it is looked at.
                let after = spans::since(tx, since)? - 1;
                filter.after = Some(filter.after.map_or(after, |given| given.max(after)));
            }
            let tools = match &filter.tool {
                Some(pattern) if pattern.contains('*') => {
                    let mut tools = spans::tools(tx)?;
                    tools.retain(|tool| matches(pattern, tool));
                    Some(tools.into_iter().collect())
                }
                tool => tool.clone().map(|tool| vec![tool]),
            };
            let mut lines = select(tx, &filter, tools.as_deref())?;
            lines.reverse();
            finish(tx, &mut lines)?;
            Ok(lines)
        }))
    }

    /// Every call since a time, oldest first, as its first record tells it. A few thousand are
    /// held at once, however many there are.
    pub fn each(
        &self,
        since: Option<i64>,
        mut look: impl FnMut(Line) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM journal WHERE seq > $1 AND time >= $2 \
             AND kind IN ('call', 'intent') ORDER BY seq"
        );
        let mut last = match since {
            Some(since) => self.store.read(|tx| spans::since(tx, since))? - 1,
            None => 0,
        };
        loop {
            let lines = self.noticed(self.store.read(|tx| {
                let values = [last.into(), since.unwrap_or(i64::MIN).into()];
                collect(tx, &sql, &values, AT_ONCE)
            }))?;
            let Some(newest) = lines.last() else {
                return Ok(());
            };
            last = newest.seq;
            lines.into_iter().try_for_each(&mut look)?;
        }
    }

    /// The number of the newest record.
    pub fn newest(&self) -> Result<i64, StoreError> {
        self.store.read(|tx| {
            let newest = tx.first_int("SELECT max(seq) FROM journal", &[])?;
            Ok(newest.unwrap_or(0))
        })
    }

    /// The calls that begin with these records, as they stand now.
    pub fn calls(&self, seqs: &[i64]) -> Result<Vec<Line>, StoreError> {
        self.noticed(self.store.read(|tx| by_seqs(tx, seqs)))
    }
}

/// What a record has to say of itself.
struct Clauses<'a> {
    sql: String,
    values: Vec<Cell<'a>>,
}

impl<'a> Clauses<'a> {
    fn new(filter: &'a Filter, tools: Option<&'a [String]>) -> Self {
        let mut clauses = Clauses {
            sql: format!("SELECT {COLUMNS} FROM journal WHERE kind <> 'outcome'"),
            values: Vec::new(),
        };
        if let Some(tools) = tools {
            let places: Vec<String> = tools
                .iter()
                .map(|tool| clauses.place(tool.as_str().into()))
                .collect();
            let places = places.join(", ");
            clauses.sql.push_str(&format!(" AND tool IN ({places})"));
        }
        clauses.add("session =", filter.session.as_deref().into());
        clauses.add("call_id =", filter.call_id.as_deref().into());
        clauses.add("time >=", filter.since.into());
        clauses.add("seq >", filter.after.into());
        clauses
    }

    fn place(&mut self, value: Cell<'a>) -> String {
        self.values.push(value);
        format!("${}", self.values.len())
    }

    fn add(&mut self, clause: &str, value: Cell<'a>) {
        if !value.is_null() {
            let place = self.place(value);
            self.sql.push_str(&format!(" AND {clause} {place}"));
        }
    }
}

/// The newest calls that a filter means, newest first.
fn select(
    tx: &mut dyn Tx,
    filter: &Filter,
    tools: Option<&[String]>,
) -> Result<Vec<Line>, StoreError> {
    let limit = filter.limit.unwrap_or(usize::MAX);
    if tools.is_some_and(<[String]>::is_empty) {
        return Ok(Vec::new());
    }
    let anything = filter.session.is_none() && filter.call_id.is_none() && tools.is_none();
    // Those that are in no span are looked through, and all where nothing tells them apart.
    let newest = spans::newest(tx)?;
    let mut late = Clauses::new(filter, tools);
    if !anything {
        late.add("seq >", newest.into());
    }
    late.sql.push_str(" ORDER BY seq DESC");
    let mut lines = collect(tx, &late.sql, &late.values, limit)?;
    if anything || lines.len() >= limit {
        return Ok(lines);
    }
    let mut one = Clauses::new(filter, tools);
    one.add("seq =", newest.into());
    let mut look = |tx: &mut dyn Tx, seq: i64| -> Result<bool, StoreError> {
        if let Some(place) = one.values.last_mut() {
            *place = seq.into();
        }
        lines.extend(collect(tx, &one.sql, &one.values, 1)?);
        Ok(lines.len() < limit)
    };
    if let Some(call_id) = &filter.call_id {
        for seq in spans::of_call(tx, call_id)? {
            if !look(tx, seq)? {
                break;
            }
        }
        return Ok(lines);
    }
    let session = filter.session.iter().map(|name| spans::of_session(name));
    let tools = tools.map(|tools| AnyOf::new(tools.iter().map(|tool| spans::of_tool(tool))));
    let mut words: Vec<AnyOf> = tools.into_iter().collect();
    if filter.session.is_some() {
        words.insert(0, AnyOf::new(session));
    }
    let mut at = newest;
    let first = filter.after.unwrap_or(i64::MIN);
    while let Some(seq) = spans::common(tx, &mut words, at)?.filter(|seq| *seq > first) {
        if !look(tx, seq)? {
            break;
        }
        at = seq - 1;
    }
    Ok(lines)
}

fn collect(
    tx: &mut dyn Tx,
    sql: &str,
    values: &[Cell<'_>],
    limit: usize,
) -> Result<Vec<Line>, StoreError> {
    let mut lines = Vec::new();
    let mut hashes = Vec::new();
    tx.each(sql, values, &mut |row| {
        if lines.len() >= limit {
            return Ok(false);
        }
        let (line, link) = match line(row) {
            Err(StoreError::Damaged(_)) => unreadable(row)?,
            read => read?,
        };
        lines.push(line);
        hashes.push(link);
        Ok(true)
    })?;
    for (seq, check) in hashes {
        let found = hash_before(tx, seq)?;
        if !found.is_some_and(|hash| check(&hash)) && seq >= accepted(tx)? {
            return Err(changed(seq));
        }
    }
    Ok(lines)
}

/// What stands before a record.
pub(super) fn hash_before(tx: &mut dyn Tx, seq: i64) -> Result<Option<Hash>, StoreError> {
    let before = match seq.checked_sub(1) {
        None => return Ok(None),
        Some(0) => return Ok(Some(genesis())),
        Some(before) => before,
    };
    Ok(match hash_at(tx, before)? {
        Some(hash) => Some(hash),
        None => base(tx)?
            .filter(|(at, _)| *at == before)
            .map(|(_, hash)| hash),
    })
}

pub(super) fn changed(seq: i64) -> StoreError {
    StoreError::Damaged(format!("record {seq} of the journal was changed"))
}

/// Before this record the owner has taken all as it is.
pub(super) fn accepted(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    let sql = "SELECT max(seq) FROM journal_marks WHERE kind = $1";
    Ok(tx.first_int(sql, &[ACCEPTED.into()])?.unwrap_or(0))
}

type Check = Box<dyn Fn(&Hash) -> bool>;

/// A line, and the way to compare its record with the one before it.
fn line(row: &dyn Row) -> Result<(Line, (i64, Check)), StoreError> {
    let (link, hash) = Link::of(row)?;
    let body: Body = serde_json::from_str(link.body)
        .map_err(|error| StoreError::Damaged(format!("record {}: {error}", link.seq)))?;
    let state = match (link.kind, link.state) {
        (_, Some(state)) => State::of(state),
        ("intent", None) => State::Running,
        _ => State::Note,
    };
    let owned = Owned::of(&link);
    let check: Check = Box::new(move |before| owned.link().after(before) == hash);
    let line = Line {
        seq: link.seq,
        time: time_text(link.time),
        call_id: link.call_id.to_owned(),
        tool: link.tool.to_owned(),
        session: link.session.to_owned(),
        agent: body.agent.clone(),
        node: None,
        verdict: link.verdict.map(str::to_owned),
        state,
        duration_ms: link.duration_us.map(millis),
        cost: None,
        tokens: None,
        body,
        time_us: link.time,
    };
    Ok((line, (link.seq, check)))
}

/// A record of which nothing can be said but that it is there.
fn unreadable(row: &dyn Row) -> Result<(Line, (i64, Check)), StoreError> {
    let seq = row.cell(0)?.int().unwrap_or_default();
    let time = match row.cell(1) {
        Ok(cell) => cell.int().unwrap_or_default(),
        Err(_) => 0,
    };
    let line = Line {
        seq,
        time: time_text(time),
        call_id: String::new(),
        tool: String::new(),
        session: String::new(),
        agent: None,
        node: None,
        verdict: None,
        state: State::Note,
        duration_ms: None,
        cost: None,
        tokens: None,
        body: Body {
            reason: Some("this record is damaged, and was accepted so by the owner".to_owned()),
            ..Body::default()
        },
        time_us: time,
    };
    Ok((line, (seq, Box::new(|_| false))))
}

/// A record on its own.
struct Owned {
    numbers: (i64, i64, Option<i64>, Option<i64>),
    texts: [String; 5],
    verdict: Option<String>,
    state: Option<String>,
}

impl Owned {
    fn of(link: &Link<'_>) -> Owned {
        Owned {
            numbers: (link.seq, link.time, link.intent, link.duration_us),
            texts: [link.kind, link.call_id, link.session, link.tool, link.body].map(str::to_owned),
            verdict: link.verdict.map(str::to_owned),
            state: link.state.map(str::to_owned),
        }
    }

    fn link(&self) -> Link<'_> {
        let (seq, time, intent, duration_us) = self.numbers;
        let [kind, call_id, session, tool, body] = &self.texts;
        Link {
            seq,
            time,
            kind,
            intent,
            call_id,
            session,
            tool,
            verdict: self.verdict.as_deref(),
            state: self.state.as_deref(),
            duration_us,
            body,
        }
    }
}

/// The call whose first record this is.
pub(super) fn by_seq(tx: &mut dyn Tx, seq: i64) -> Result<Option<Line>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM journal WHERE seq = $1 AND kind <> 'outcome'");
    Ok(collect(tx, &sql, &[seq.into()], 1)?.pop())
}

pub(super) fn by_seqs(tx: &mut dyn Tx, seqs: &[i64]) -> Result<Vec<Line>, StoreError> {
    let mut lines = Vec::new();
    for seq in seqs {
        lines.extend(by_seq(tx, *seq)?);
    }
    finish(tx, &mut lines)?;
    Ok(lines)
}

/// Add how calls ended, as far as that is known.
pub(super) fn finish(tx: &mut dyn Tx, lines: &mut [Line]) -> Result<(), StoreError> {
    let running = |line: &&mut Line| line.state == State::Running;
    if !lines.iter_mut().any(|line| running(&line)) {
        return Ok(());
    }
    let ends = Ends::new(tx)?;
    for line in lines.iter_mut().filter(running) {
        let end = match ends.of(tx, line.seq)? {
            Some(seq) => {
                let sql = format!("SELECT {COLUMNS} FROM journal WHERE seq = $1 AND intent = $2");
                collect(tx, &sql, &[seq.into(), line.seq.into()], 1)?.pop()
            }
            None => None,
        };
        match end {
            Some(end) => ended(line, &end),
            None => {
                let process = line.body.process.as_deref().unwrap_or_default();
                if !paths::is_alive(process) {
                    line.state = State::Uncertain;
                }
            }
        }
    }
    Ok(())
}

fn ended(line: &mut Line, end: &Line) {
    line.state = end.state;
    line.duration_ms = end.duration_ms;
    let mut whole = serde_json::to_value(&line.body).unwrap_or_default();
    let more = serde_json::to_value(&end.body).unwrap_or_default();
    if let (Value::Object(whole), Value::Object(more)) = (&mut whole, more) {
        whole.extend(more);
    }
    line.body = serde_json::from_value(whole).unwrap_or_else(|_| line.body.clone());
}

fn millis(us: i64) -> f64 {
    us as f64 / 1_000.0
}

fn time_text(us: i64) -> String {
    jiff::Timestamp::from_microsecond(us).map_or_else(|_| us.to_string(), |time| time.to_string())
}

/// Whether a name fits a pattern in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        };
        check("file.*", "file.read", true);
        check("file.*", "profile.read", false);
        check("*", "anything", true);
        check("*.read", "file.read", true);
        check("*.read", "file.readme", false);
        check("f*.r*d", "file.read", true);
        check("f*x*d", "file.read", false);
        check("a*a", "a", false);
        check("file.read", "file.read", true);
    }
}
