//! Memory with 100,000 notes, timed. Reads commands on stdin, one a line, and answers each with one
//! line of JSON:
//!
//! - `search_p99 N`: the 99th of a hundred among N searches by meaning, for rare and for common
//!   words and for beginnings of words; `fts5_p99 N` the same words put to SQLite's full text search
//! - `store_adds N`: by how much storing a note takes longer than a bare insert that waits for the
//!   disk; `bare_store N` that insert

#![allow(clippy::expect_used)]

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::{Caller, DynTool, Powers, ToolContext};
use haft_store::{NewNote, Notes, Scope, Shelf, Store, Trust};
use haft_tools::{Memory, Reach};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

const NOTES: u64 = 100_000;
const AT_ONCE: u64 = 10_000;

const WORDS: &[&str] = &[
    "the",
    "project",
    "uses",
    "a",
    "server",
    "with",
    "database",
    "and",
    "tests",
    "run",
    "on",
    "every",
    "commit",
    "user",
    "prefers",
    "short",
    "answers",
    "deploy",
    "to",
    "staging",
    "before",
    "release",
    "config",
    "lives",
    "in",
    "folder",
    "service",
    "retries",
    "failed",
    "requests",
    "logs",
    "rotate",
    "daily",
    "build",
    "takes",
    "minutes",
    "cache",
    "is",
    "warm",
    "meeting",
    "notes",
    "about",
    "migration",
    "of",
    "billing",
    "team",
    "owns",
    "parser",
    "timeout",
    "value",
];

const QUERIES: &[&str] = &[
    "the project uses a server",
    "user prefers short answers",
    "the and of",
    "conf",
    "migr bill",
    "zanzibar",
    "who owns the parser",
    "wie lange dauert der Build",
    "note 4711",
    "tests run on every commit before the release to staging",
    // In every note, at the beginning of words of most, and all words that there are.
    "note",
    "not proj serv data",
    "project server database tests run commit user prefers short answers deploy staging release \
     config lives folder service retries failed requests logs rotate daily build takes minutes cache \
     warm meeting notes migration billing team owns parser timeout value",
];

/// The same texts in every run.
fn text(number: u64) -> String {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut words = vec![format!("note {number}:")];
    for _ in 0..14 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Small numbers far more often than large ones, as words are.
        let at = (state % 50).min((state >> 20) % 50);
        words.push(WORDS[at as usize].to_owned());
    }
    words.join(" ")
}

async fn fill(store: &Store) {
    let notes = Notes::new(store.clone());
    for from in (0..NOTES).step_by(AT_ONCE as usize) {
        let mut adding = JoinSet::new();
        for number in from..from + AT_ONCE {
            let notes = notes.clone();
            let note = NewNote {
                shelf: Shelf {
                    namespace: "knowledge".to_owned(),
                    scope: Scope::User,
                    owner: String::new(),
                },
                text: text(number),
                source: None,
                trust: Trust::User,
            };
            adding.spawn(async move { notes.add(note).await });
        }
        for added in adding.join_all().await {
            added.expect("a note");
        }
    }
}

struct Bench {
    _home: TempDir,
    bare: rusqlite::Connection,
    context: ToolContext,
    search: Arc<dyn DynTool>,
    store: Arc<dyn DynTool>,
    made: u64,
}

fn tool(name: &str) -> Arc<dyn DynTool> {
    let packs = haft_tools::packs();
    let mut tools = packs.iter().flat_map(|pack| &pack.tools);
    let found = tools.find(|tool| &*tool.spec().name == name);
    found.expect("a tool of this name").clone()
}

impl Bench {
    async fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let store = Store::open(&home.path().join("haft.db"));
        store.ready().expect("a store");
        fill(&store).await;
        let bare = rusqlite::Connection::open(home.path().join("bare.db")).expect("a database");
        bare.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
             CREATE TABLE one (text TEXT); CREATE VIRTUAL TABLE found USING fts5(text); BEGIN",
        )
        .expect("tables");
        for number in 0..NOTES {
            bare.execute("INSERT INTO found VALUES (?1)", [text(number)])
                .expect("a row");
        }
        bare.execute_batch("COMMIT").expect("rows");
        let mut powers = Powers::none();
        let open = move || Ok(store.clone());
        powers.insert(Memory::new(Arc::new(open), Reach::All));
        let caller = Caller {
            powers: Arc::new(powers),
            ..Caller::alone("bench", "/")
        };
        Bench {
            _home: home,
            bare,
            context: ToolContext::new(
                "c".into(),
                "memory.search".into(),
                Arc::new(caller),
                80_000,
                false,
            ),
            search: tool("memory.search"),
            store: tool("memory.store"),
            made: 0,
        }
    }

    async fn call(&self, tool: &Arc<dyn DynTool>, args: Value) -> Duration {
        let start = Instant::now();
        let prepared = tool.prepare(&args).expect("arguments");
        let output = prepared.run(&self.context).await.expect("an answer");
        black_box(output);
        start.elapsed()
    }

    async fn search_p99(&self, count: usize) -> Value {
        let mut times = Vec::new();
        // Made ready by the first.
        self.call(&self.search, json!({"query": "first"})).await;
        for n in 0..count {
            let query = QUERIES[n % QUERIES.len()];
            let time = self.call(&self.search, json!({ "query": query })).await;
            times.push((time, query));
        }
        times.sort();
        let slowest = times.last().map(|(_, query)| *query);
        let mut answer = p99(times.into_iter().map(|(time, _)| time).collect());
        answer["slowest"] = slowest.into();
        answer
    }

    fn fts5_p99(&self, count: usize) -> Value {
        let mut times = Vec::new();
        for n in 0..count {
            let words = QUERIES[n % QUERIES.len()].split(' ');
            let query: Vec<String> = words.map(|word| format!("\"{word}\"*")).collect();
            let start = Instant::now();
            let mut select = self
                .bare
                .prepare_cached(
                    "SELECT text FROM found WHERE found MATCH ?1 ORDER BY bm25(found) LIMIT 10",
                )
                .expect("a statement");
            let rows = select.query_map([query.join(" OR ")], |row| row.get::<_, String>(0));
            black_box(rows.expect("rows").count());
            times.push(start.elapsed());
        }
        p99(times)
    }

    fn bare_insert(&self, text: &str) -> Duration {
        let start = Instant::now();
        let mut insert = self
            .bare
            .prepare_cached("INSERT INTO one VALUES (?1)")
            .expect("a statement");
        insert.execute([text]).expect("a row");
        start.elapsed()
    }

    async fn store_adds(&mut self, count: usize) -> Value {
        let mut adds = Vec::new();
        for _ in 0..count {
            self.made += 1;
            let text = format!("a new note, number {}", self.made);
            let bare = self.bare_insert(&text);
            let ours = self.call(&self.store, json!({ "text": text })).await;
            adds.push(ours.as_nanos() as f64 - bare.as_nanos() as f64);
        }
        adds.sort_by(f64::total_cmp);
        json!({"ns_per_call": adds[adds.len() / 2]})
    }

    fn bare_store(&self, count: usize) -> Value {
        let mut times: Vec<Duration> = (0..count).map(|_| self.bare_insert("a note")).collect();
        times.sort();
        json!({"ns_per_call": times[times.len() / 2].as_nanos() as f64})
    }
}

fn p99(mut times: Vec<Duration>) -> Value {
    times.sort();
    let at = (times.len() * 99 / 100).min(times.len().saturating_sub(1));
    json!({"ns_per_call": times[at].as_nanos() as f64})
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut bench = Bench::new().await;
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let mut words = line.split_whitespace();
        let command = words.next().unwrap_or_default();
        let count = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
        let answer = match command {
            "search_p99" => bench.search_p99(count).await,
            "fts5_p99" => bench.fts5_p99(count),
            "store_adds" => bench.store_adds(count).await,
            "bare_store" => bench.bare_store(count),
            other => json!({"error": format!("unknown command: `{other}`")}),
        };
        println!("{answer}");
        let _ = std::io::stdout().flush();
    }
}
