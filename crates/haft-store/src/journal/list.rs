//! Reading the journal: one line a call, newest last. Every record that is shown is compared with
//! its hash first, so that a changed one is never passed on as if it were good.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::Journal;
use super::append::{ACCEPTED, base, hash_at};
use super::body::Body;
use super::chain::{COLUMNS, Hash, Link, genesis};
use crate::{Cell, Row, StoreError, Tx, paths};

/// So many records newer than a time are looked up by time; more are looked through in order.
const FEW: i64 = 20_000;

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
            if let Some(since) = filter.since {
                bound(tx, since, &mut filter)?;
            }
            let mut lines = Vec::new();
            match &filter.tool {
                Some(pattern) if pattern.contains('*') => {
                    for tool in tools(tx)?.iter().filter(|tool| matches(pattern, tool)) {
                        lines.extend(select(tx, &filter, Some(tool))?);
                    }
                    lines.sort_by_key(|line: &Line| std::cmp::Reverse(line.seq));
                }
                tool => lines = select(tx, &filter, tool.as_deref())?,
            }
            lines.truncate(filter.limit.unwrap_or(usize::MAX));
            lines.reverse();
            for line in &mut lines {
                finish(tx, line)?;
            }
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
        let mut last = 0;
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

    /// Calls that were about to happen and of which no end is known, oldest first.
    pub fn open_calls(&self) -> Result<Vec<Line>, StoreError> {
        self.noticed(self.store.read(|tx| {
            let sql = format!(
                "SELECT {COLUMNS} FROM journal AS open WHERE kind = 'intent' AND NOT EXISTS \
                 (SELECT 1 FROM journal AS done WHERE done.intent = open.seq) ORDER BY seq"
            );
            let mut lines = collect(tx, &sql, &[], usize::MAX)?;
            for line in &mut lines {
                finish(tx, line)?;
            }
            Ok(lines)
        }))
    }
}

/// Where few records are newer than a time, nothing before the first of them is looked at.
fn bound(tx: &mut dyn Tx, since: i64, filter: &mut Filter) -> Result<(), StoreError> {
    let (mut count, mut least) = (0, i64::MAX);
    tx.each(
        "SELECT seq FROM journal WHERE time >= $1 LIMIT $2",
        &[since.into(), (FEW + 1).into()],
        &mut |row| {
            count += 1;
            least = least.min(row.cell(0)?.int().unwrap_or(0));
            Ok(true)
        },
    )?;
    if count <= FEW {
        let after = least.saturating_sub(1);
        filter.after = Some(filter.after.map_or(after, |given| given.max(after)));
    }
    Ok(())
}

/// Every tool that was ever called, by one look at the index for each.
fn tools(tx: &mut dyn Tx) -> Result<BTreeSet<String>, StoreError> {
    let mut tools = BTreeSet::new();
    let mut last = String::new();
    while let Some(next) = tx.first_text(
        "SELECT tool FROM journal WHERE tool > $1 ORDER BY tool LIMIT 1",
        &[last.as_str().into()],
    )? {
        last.clone_from(&next);
        tools.insert(next);
    }
    Ok(tools)
}

fn select(tx: &mut dyn Tx, filter: &Filter, tool: Option<&str>) -> Result<Vec<Line>, StoreError> {
    // A session has far fewer calls than a tool. Joined to nothing, the column is not looked up in
    // its index.
    let by_tool = match (&filter.session, &filter.call_id) {
        (None, None) => "tool =",
        _ => "tool || '' =",
    };
    let clauses: [(&str, Cell<'_>); 5] = [
        (by_tool, tool.into()),
        ("session =", filter.session.as_deref().into()),
        ("call_id =", filter.call_id.as_deref().into()),
        ("time >=", filter.since.into()),
        ("seq >", filter.after.into()),
    ];
    let mut sql = format!("SELECT {COLUMNS} FROM journal WHERE kind <> 'outcome'");
    let mut values = Vec::new();
    for (clause, value) in clauses.into_iter().filter(|(_, value)| !value.is_null()) {
        values.push(value);
        sql.push_str(&format!(" AND {clause} ${}", values.len()));
    }
    sql.push_str(" ORDER BY seq DESC");
    collect(tx, &sql, &values, filter.limit.unwrap_or(usize::MAX))
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
    for (before, seq, check) in hashes {
        let found = match before {
            0 => Some(genesis()),
            before => match hash_at(tx, before)? {
                Some(hash) => Some(hash),
                None => base(tx)?
                    .filter(|(at, _)| *at == before)
                    .map(|(_, hash)| hash),
            },
        };
        if !found.is_some_and(|hash| check(&hash)) && seq >= accepted(tx)? {
            return Err(changed(seq));
        }
    }
    Ok(lines)
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
fn line(row: &dyn Row) -> Result<(Line, (i64, i64, Check)), StoreError> {
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
    Ok((line, (link.seq - 1, link.seq, check)))
}

/// A record of which nothing can be said but that it is there.
fn unreadable(row: &dyn Row) -> Result<(Line, (i64, i64, Check)), StoreError> {
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
    Ok((line, (seq - 1, seq, Box::new(|_| false))))
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

/// Add how a call ended, if that is known.
pub(super) fn finish(tx: &mut dyn Tx, line: &mut Line) -> Result<(), StoreError> {
    if line.state != State::Running {
        return Ok(());
    }
    let sql = format!("SELECT {COLUMNS} FROM journal WHERE intent = $1 ORDER BY seq DESC");
    let Some(end) = collect(tx, &sql, &[line.seq.into()], 1)?.pop() else {
        let process = line.body.process.as_deref().unwrap_or_default();
        if !paths::is_alive(process) {
            line.state = State::Uncertain;
        }
        return Ok(());
    };
    line.state = end.state;
    line.duration_ms = end.duration_ms;
    let mut whole = serde_json::to_value(&line.body).unwrap_or_default();
    let more = serde_json::to_value(&end.body).unwrap_or_default();
    if let (Value::Object(whole), Value::Object(more)) = (&mut whole, more) {
        whole.extend(more);
    }
    line.body = serde_json::from_value(whole).unwrap_or_else(|_| line.body.clone());
    Ok(())
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
