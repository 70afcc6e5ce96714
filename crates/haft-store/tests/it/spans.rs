//! A long journal is looked up as a short one is: what is found by spans is what a look at every
//! record finds.

use std::sync::Arc;

use haft_core::Recorder;
use haft_store::{Filter, Journal, JournalLimits, Line};
use serde_json::json;

use crate::fixture::{BEFORE_6, Home, begin, block_on, caller, ending, intent, read};

const CALLS: usize = 3_500;
const FRAME: u64 = 4_096 + 24;

/// Calls of several sessions and tools; some have effects, one of them ends late and one never.
fn long() -> Home {
    let home = Home::new();
    let journal = home.journal();
    let mut late = None;
    for n in 0..CALLS {
        let name = match n {
            10 | 2_500 => "twice".to_owned(),
            n => format!("c{n}"),
        };
        let tool = match n {
            100 => "rare.tool",
            n => ["file.read", "file.write", "git.status"][n % 3],
        };
        let mut call = intent(&name, tool, json!({}));
        call.caller = Arc::new(caller(&format!("s{}", n % 7)));
        match n {
            50 => drop(block_on(journal.intend(call)).unwrap()),
            900 => {
                let seq = block_on(journal.intend(call.clone())).unwrap();
                late = Some((call, seq));
            }
            n if n % 200 == 7 => {
                let seq = block_on(journal.intend(call.clone())).unwrap();
                journal.ended(call, Some(seq), ending());
            }
            _ => journal.ended(call, None, ending()),
        }
        if let Some((call, seq)) = late.take_if(|_| n == 3_000) {
            journal.ended(call, Some(seq), ending());
        }
    }
    assert_eq!(journal.store().close(), 0);
    home
}

fn fits(filter: &Filter, line: &Line) -> bool {
    let tool = match filter.tool.as_deref() {
        Some("file.*") => line.tool.starts_with("file."),
        Some(tool) => line.tool == tool,
        None => true,
    };
    let is = |wanted: &Option<String>, have: &str| wanted.as_deref().is_none_or(|one| one == have);
    tool && is(&filter.session, &line.session)
        && is(&filter.call_id, &line.call_id)
        && filter.since.is_none_or(|since| line.time_us >= since)
        && filter.after.is_none_or(|after| line.seq > after)
}

fn filters(all: &[Line]) -> Vec<Filter> {
    let word = |word: &str| Some(word.to_owned());
    let middle = &all[all.len() / 2];
    let mut filters = Vec::new();
    for tool in [
        None,
        word("file.*"),
        word("rare.tool"),
        word("git.status"),
        word("no.tool"),
    ] {
        for session in [None, word("s3"), word("nobody")] {
            for (since, after) in [
                (None, None),
                (Some(middle.time_us), None),
                (None, Some(middle.seq)),
                (Some(i64::MAX), None),
            ] {
                for limit in [None, Some(5), Some(700)] {
                    filters.push(Filter {
                        tool: tool.clone(),
                        session: session.clone(),
                        since,
                        after,
                        limit,
                        ..Filter::default()
                    });
                }
            }
        }
    }
    for call in ["c77", "twice", "c3499", "c900", "nobody"] {
        for session in [None, word("s0")] {
            filters.push(Filter {
                call_id: word(call),
                session,
                ..Filter::default()
            });
        }
    }
    filters
}

#[track_caller]
fn check(journal: &Journal, calls: usize) {
    let all = journal.list(&Filter::default()).unwrap();
    assert_eq!(all.len(), calls);
    for filter in filters(&all) {
        let expected: Vec<&Line> = all.iter().filter(|line| fits(&filter, line)).collect();
        let skip = expected
            .len()
            .saturating_sub(filter.limit.unwrap_or(usize::MAX));
        let lines = journal.list(&filter).unwrap();
        let told = |line: &Line| serde_json::to_string(line).unwrap();
        let lines: Vec<String> = lines.iter().map(told).collect();
        let expected: Vec<String> = expected[skip..].iter().map(|line| told(line)).collect();
        assert_eq!(lines, expected, "{filter:?}");
    }
    let open = journal.open_calls().unwrap();
    let open: Vec<&str> = open.iter().map(|line| &*line.call_id).collect();
    assert_eq!(open, ["c50"]);
}

#[test]
fn what_is_looked_up_is_what_is_there() {
    let home = long();
    check(&home.journal(), CALLS);
    // The records of an older haft, which had indexes.
    home.sql(&format!("{BEFORE_6} PRAGMA user_version = 5"));
    let journal = home.journal();
    check(&journal, CALLS);
    assert!(journal.verify().unwrap().is_ok());
    // A call without an end stays, and all that came after it.
    let none = JournalLimits {
        since: i64::MAX,
        bytes: u64::MAX,
    };
    assert_eq!(
        journal.trim(&none).unwrap().count,
        50 + 1,
        "one has two records"
    );
    check(&journal, CALLS - 50);
    let dead = journal.open_calls().unwrap().remove(0);
    let settled = haft_store::Settled::DidNotHappen;
    assert!(journal.settle(&dead, settled, "a person").unwrap());
    assert!(!journal.settle(&dead, settled, "again").unwrap());
    assert!(journal.open_calls().unwrap().is_empty());
    let late = Filter {
        call_id: Some("c900".into()),
        ..Filter::default()
    };
    let late = journal.list(&late).unwrap().remove(0);
    assert_eq!(late.state, haft_store::State::Ok, "its end came much later");
}

/// Records that were cut off and accepted so are not looked up any more, and new ones in their places
/// are.
#[test]
fn what_was_cut_off_is_not_looked_up() {
    let home = long();
    home.sql("DELETE FROM journal WHERE seq > 900");
    let journal = home.journal();
    journal.accept("looked at").unwrap();
    for n in 0..200 {
        read(&journal, &format!("new{n}"));
    }
    let of = |tool: &str| Filter {
        tool: Some(tool.into()),
        session: Some("s".into()),
        ..Filter::default()
    };
    journal.store().caught_up().unwrap();
    assert_eq!(journal.list(&of("file.read")).unwrap().len(), 200);
    assert_eq!(journal.list(&of("git.status")).unwrap().len(), 0);
    assert!(journal.stats(None).unwrap().calls < 1_200);
}

#[test]
fn figures_of_spans_are_those_of_their_records() {
    let home = long();
    let figures = |since: Option<i64>| {
        let mut stats = home.journal().stats(since).unwrap();
        stats.bytes_on_disk = 0;
        serde_json::to_value(&stats).unwrap()
    };
    let middle = home.journal().list(&Filter::default()).unwrap()[1_500].time_us;
    let told = || [None, Some(middle), Some(i64::MAX)].map(figures);
    let kept = told();
    assert_eq!(kept[0]["calls"], CALLS);
    assert_eq!(kept[0]["uncertain"], 0, "this process lives");
    // Nobody without the key can make up others.
    home.sql("UPDATE journal_spans SET figures = replace(figures, '\"calls\":', '\"calls\":9')");
    assert_eq!(told(), kept);
    home.sql("UPDATE journal_spans SET figures = NULL, seal = NULL");
    assert_eq!(told(), kept, "counted anew");
    let db = rusqlite::Connection::open(home.db()).unwrap();
    let missing = "SELECT count(*) FROM journal_spans WHERE figures IS NULL";
    let missing: i64 = db.query_row(missing, [], |row| row.get(0)).unwrap();
    assert_eq!(missing, 0, "and kept");
    assert_eq!(told(), kept);
    home.sql("DELETE FROM journal_spans");
    assert_eq!(told(), kept);
}

/// What one process remembers of a span is of no use where another one wrote in between.
#[test]
fn two_who_write_in_turns_fill_the_same_spans() {
    const TURNS: usize = 1_100;
    let home = Home::new();
    let journals = [home.journal(), home.journal()];
    for n in 0..TURNS {
        let journal = &journals[usize::from(n % 3 == 0)];
        read(journal, &format!("a{n}"));
        begin(journal, &format!("b{n}"));
    }
    for journal in journals {
        assert_eq!(journal.store().close(), 0);
    }
    let journal = home.journal();
    assert!(journal.verify().unwrap().is_ok());
    for call in ["a0", "a400", "b1000", "b1099"] {
        let filter = Filter {
            call_id: Some(call.into()),
            ..Filter::default()
        };
        assert_eq!(journal.list(&filter).unwrap().len(), 1, "{call}");
    }
    let told = || journal.stats(None).unwrap().calls;
    assert_eq!(told(), TURNS as u64 * 2);
    home.sql("UPDATE journal_spans SET figures = NULL, seal = NULL");
    assert_eq!(told(), TURNS as u64 * 2);
    assert_eq!(journal.open_calls().unwrap().len(), TURNS);
}

/// The disk is waited for with every page of a commit.
#[test]
fn a_record_puts_few_pages_into_its_commit() {
    const CALLS: u64 = 60;
    let home = Home::new();
    let journal = home.journal();
    begin(&journal, "first");
    let log = home.path().join("haft.db-wal");
    let pages = || log.metadata().unwrap().len() / FRAME;
    let before = pages();
    for n in 0..CALLS {
        begin(&journal, &format!("c{n}"));
    }
    let each = (pages() - before) as f64 / CALLS as f64;
    // One that is written to, and now and then a new one with what leads to it.
    assert!(each < 2.0, "{each}");
}
