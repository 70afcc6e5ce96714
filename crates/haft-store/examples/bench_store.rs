//! The store, timed. Reads commands on stdin, one a line, and answers each with one line of JSON:
//!
//! - `durable N`: N records of calls with effects, one after the other, each on the disk before the
//!   next; `bare N` the same columns put in with nothing but rusqlite
//! - `crowd N`: N such records, 64 at a time
//! - `list N`: the newest 100 calls of one tool in one session, among 1,000,000; `bare_list N` the
//!   same rows by rusqlite
//! - `stats N`: the figures of the 1,000,000 records
//! - `migrate N`: how long the 1,000,000 records of version 5 of the tables take to become version 6
//! - `verify N`: the proof of the 1,000,000 records, per record; `bare_scan N` only reads them

#![allow(clippy::expect_used)]

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use haft_core::{Caller, Effects, Ending, Intent, Recorder, Repeat, Resource, Ruling};
use haft_store::{Durability, Filter, Journal, JournalConfig};
use serde_json::{Value, json};
use tempfile::TempDir;

/// As haft itself is built.
#[global_allocator]
static ALLOCATOR: haft_alloc::Mimalloc = haft_alloc::Mimalloc;

const ROWS: usize = 1_000_000;
const CROWD: usize = 64;
const COLUMNS: &str =
    "seq, time, kind, intent, call_id, session, tool, verdict, state, duration_us, body, hash";

fn caller(session: &str) -> Arc<Caller> {
    Arc::new(Caller {
        agent: Some("coder".into()),
        ..Caller::alone(session, "/home/someone/project")
    })
}

fn intent(call_id: String, tool: &str, caller: &Arc<Caller>) -> Intent {
    Intent {
        call_id: call_id.into(),
        tool: tool.into(),
        caller: caller.clone(),
        profile: None,
        autonomy: None,
        args: Arc::new(json!({"path": "src/main.rs", "content": "fn main() {}"})),
        private: haft_core::Private::Named(Vec::new()),
        effects: Some(Arc::new(
            Effects::none().writes(Resource::File("/home/someone/project/src/main.rs".into())),
        )),
        resolved: Vec::new(),
        repeat: Repeat::Idempotent,
        dry_run: false,
        ruling: Some(Ruling {
            verdict: "allow",
            rules: vec!["file.* (config.yaml)".into()],
            reason: "allowed by `file.*` (config.yaml)".into(),
            ..Ruling::default()
        }),
        key: None,
    }
}

fn journal(home: &Path) -> Journal {
    Journal::open(JournalConfig {
        home: home.to_owned(),
        mask: |_| 0,
        boot: None,
    })
    .expect("a journal")
}

struct Clock {
    wall: Instant,
    cpu: Duration,
}

impl Clock {
    fn start() -> Self {
        Clock {
            wall: Instant::now(),
            cpu: cpu(),
        }
    }

    fn per(&self, count: usize) -> Value {
        let each = |time: Duration| time.as_nanos() as f64 / count.max(1) as f64;
        json!({"ns_per_call": each(self.wall.elapsed()), "cpu_ns_per_call": each(cpu() - self.cpu)})
    }
}

/// Time on processors, of every thread.
fn cpu() -> Duration {
    let mut nanos = 0;
    for task in std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten()
    {
        let stat = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let first = stat.split_whitespace().next();
        nanos += first.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    }
    Duration::from_nanos(nanos)
}

struct Bench {
    _home: TempDir,
    journal: Journal,
    bare: rusqlite::Connection,
    caller: Arc<Caller>,
    made: usize,
}

impl Bench {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let journal = journal(home.path());
        journal.store().ready().expect("a store");
        let bare = rusqlite::Connection::open(home.path().join("bare.db")).expect("a database");
        bare.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
             CREATE TABLE journal ({COLUMNS}, PRIMARY KEY (seq))"
        ))
        .expect("a table");
        Bench {
            _home: home,
            journal,
            bare,
            caller: caller("bench"),
            made: 0,
        }
    }

    fn next(&mut self) -> Intent {
        self.made += 1;
        intent(format!("c{}", self.made), "file.write", &self.caller)
    }

    async fn durable(&mut self, count: usize) -> Value {
        let clock = Clock::start();
        for _ in 0..count {
            let intent = self.next();
            self.journal.intend(intent).await.expect("a record");
        }
        clock.per(count)
    }

    async fn crowd(&mut self, count: usize) -> Value {
        let rounds = count.div_ceil(CROWD);
        let clock = Clock::start();
        for _ in 0..rounds {
            let intents: Vec<Intent> = (0..CROWD).map(|_| self.next()).collect();
            // All are handed over before the first is waited for.
            let waiting: Vec<_> = intents
                .into_iter()
                .map(|intent| self.journal.intend(intent))
                .collect();
            for one in waiting {
                one.await.expect("a record");
            }
        }
        clock.per(rounds * CROWD)
    }

    fn bare(&mut self, count: usize) -> Value {
        let body = json!({"args": {"path": "src/main.rs"}, "more": "x".repeat(400)}).to_string();
        let clock = Clock::start();
        for _ in 0..count {
            self.made += 1;
            let seq = self.made as i64;
            self.bare
                .prepare_cached(
                    "INSERT INTO journal VALUES (?1, 1, 'intent', NULL, ?2, 'bench', \
                     'file.write', 'allow', NULL, NULL, ?3, ?4)",
                )
                .and_then(|mut insert| insert.execute((seq, format!("c{seq}"), &body, [0_u8; 32])))
                .expect("a row");
        }
        clock.per(count)
    }
}

/// A journal of a million calls, made once.
fn million() -> &'static (TempDir, Journal) {
    static MILLION: OnceLock<(TempDir, Journal)> = OnceLock::new();
    MILLION.get_or_init(|| {
        let home = tempfile::tempdir().expect("a folder");
        let journal = journal(home.path());
        let callers: Vec<Arc<Caller>> = (0..50).map(|n| caller(&format!("s{n}"))).collect();
        let tools = [
            "file.read",
            "file.grep",
            "shell.exec",
            "git.status",
            "file.list",
        ];
        for n in 0..ROWS {
            let intent = intent(format!("c{n}"), tools[n % 5], &callers[n / 7 % 50]);
            journal.ended(intent, None, Ending::default());
        }
        let written = journal.store().write(Durability::Power, |_| Ok(()));
        written.wait().expect("all of it");
        (home, journal)
    })
}

fn filter() -> Filter {
    Filter {
        tool: Some("shell.exec".to_owned()),
        session: Some("s7".to_owned()),
        limit: Some(100),
        ..Filter::default()
    }
}

fn list(count: usize) -> Value {
    let (_, journal) = million();
    let clock = Clock::start();
    for _ in 0..count {
        let lines = black_box(journal.list(&filter())).expect("lines");
        assert_eq!(lines.len(), 100);
    }
    clock.per(count)
}

fn bare_of_million() -> rusqlite::Connection {
    let (home, _) = million();
    rusqlite::Connection::open(Journal::file(home.path())).expect("a database")
}

fn bare_list(count: usize) -> Value {
    let bare = bare_of_million();
    // As somebody would have it who lists by session.
    bare.execute_batch("CREATE INDEX IF NOT EXISTS bare_session ON journal (session)")
        .expect("an index");
    let sql = format!(
        "SELECT {COLUMNS} FROM journal WHERE tool = 'shell.exec' AND session = 's7' \
         ORDER BY seq DESC LIMIT 100"
    );
    let clock = Clock::start();
    for _ in 0..count {
        let mut select = bare.prepare_cached(&sql).expect("a statement");
        let bodies = select
            .query_map([], |row| row.get::<_, String>(10))
            .expect("rows");
        assert_eq!(black_box(bodies.count()), 100);
    }
    clock.per(count)
}

fn stats(count: usize) -> Value {
    let (_, journal) = million();
    let clock = Clock::start();
    for _ in 0..count {
        let stats = black_box(journal.stats(None)).expect("figures");
        assert!(stats.calls >= ROWS as u64);
    }
    clock.per(count)
}

fn verify(count: usize) -> Value {
    let (_, journal) = million();
    let clock = Clock::start();
    for _ in 0..count {
        let verified = journal.verify().expect("a journal").expect("no fault");
        assert!(verified.records >= ROWS as u64);
    }
    clock.per(count * ROWS)
}

/// What version 5 had in the place of spans.
const BEFORE_6: &str = "DROP TABLE journal_spans; DROP TABLE journal_words; \
     DROP TABLE journal_ends; DROP TABLE journal_open; \
     CREATE INDEX journal_call ON journal (call_id); \
     CREATE INDEX journal_session ON journal (session); \
     CREATE INDEX journal_tool ON journal (tool); \
     CREATE INDEX journal_time ON journal (time); \
     CREATE INDEX journal_intent ON journal (intent) WHERE intent IS NOT NULL; \
     CREATE INDEX journal_open ON journal (kind) WHERE kind = 'intent'; \
     PRAGMA user_version = 5; PRAGMA wal_checkpoint(TRUNCATE)";

fn migrate(count: usize) -> Value {
    let (home, _) = million();
    let mut took = Duration::ZERO;
    for _ in 0..count {
        let copy = tempfile::tempdir().expect("a folder");
        for name in ["journal.key", "journal.head"] {
            std::fs::copy(home.path().join(name), copy.path().join(name)).expect("a copy");
        }
        let file = Journal::file(copy.path());
        let bare = bare_of_million();
        let into = format!("VACUUM INTO '{}'", file.display());
        bare.execute_batch(&into).expect("a copy");
        let bare = rusqlite::Connection::open(&file).expect("a database");
        bare.execute_batch("PRAGMA journal_mode = WAL")
            .expect("a log");
        bare.execute_batch(BEFORE_6).expect("an older version");
        drop(bare);
        let begun = Instant::now();
        let journal = journal(copy.path());
        journal.store().ready().expect("a store");
        took += begun.elapsed();
        let lines = journal.list(&filter()).expect("lines");
        assert_eq!(lines.len(), 100);
    }
    json!({"ns_per_call": took.as_nanos() as f64 / count.max(1) as f64})
}

fn bare_scan(count: usize) -> Value {
    let bare = bare_of_million();
    let clock = Clock::start();
    for _ in 0..count {
        let mut select = bare
            .prepare_cached(&format!("SELECT {COLUMNS} FROM journal ORDER BY seq"))
            .expect("a statement");
        let mut rows = select.query([]).expect("rows");
        let mut length = 0;
        while let Some(row) = rows.next().expect("a row") {
            length += row
                .get_ref(10)
                .expect("a body")
                .as_str()
                .expect("text")
                .len();
        }
        assert!(black_box(length) > ROWS);
    }
    clock.per(count * ROWS)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut bench = Bench::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let mut words = line.split_whitespace();
        let command = words.next().unwrap_or_default();
        let count = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
        let answer = match command {
            "durable" => bench.durable(count).await,
            "crowd" => bench.crowd(count).await,
            "bare" => bench.bare(count),
            "list" => list(count),
            "bare_list" => bare_list(count),
            "stats" => stats(count),
            "migrate" => migrate(count),
            "verify" => verify(count),
            "bare_scan" => bare_scan(count),
            other => json!({"error": format!("unknown command: `{other}`")}),
        };
        println!("{answer}");
        let _ = std::io::stdout().flush();
    }
}
