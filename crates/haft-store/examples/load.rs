//! A load for the fault tests: `load run HOME MODE COUNT` does pieces of work and says on standard
//! output what was acknowledged; `load check HOME…` says what is there afterwards, a line a home.
//!
//! MODE is `good`, where whoever waits for a commit makes it; `apart`, where the store's thread does;
//! or one of three faults that the tests must notice: `normal` does not wait for the disk,
//! `effect-first` acts before it writes down that it will, `word-first` says that it is done before
//! it is. The journal is filled first, so that a span of its records is full in the midst of the work.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use haft_core::{Caller, Ending, Intent, Recorder, Repeat};
use haft_store::{Durability, Filter, Journal, JournalConfig};
use serde_json::{Value, json};

/// So many that some of the work's own are the last of a span of 1,024.
const FILL: u64 = 1_012;

fn caller() -> Caller {
    Caller::alone("load", "/")
}

fn intent(call_id: String, repeat: Repeat) -> Intent {
    Intent {
        call_id: call_id.into(),
        tool: "load.step".into(),
        caller: Arc::new(caller()),
        profile: None,
        autonomy: None,
        args: Arc::new(json!({"text": "x".repeat(300)})),
        private: haft_core::Private::Named(Vec::new()),
        effects: None,
        resolved: Vec::new(),
        repeat,
        dry_run: false,
        ruling: None,
        key: None,
    }
}

fn journal(home: &Path, boot: Option<&str>) -> Journal {
    Journal::open(JournalConfig {
        home: home.to_owned(),
        mask: |_| 0,
        boot: boot.map(str::to_owned),
    })
    .expect("a journal")
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["run", home, mode, count] => run(Path::new(home), mode, count.parse().expect("a number")),
        ["check", ref homes @ ..] => homes.iter().for_each(|home| {
            println!("{}", check(Path::new(home)));
        }),
        _ => panic!("usage: load run HOME MODE COUNT | load check HOME…"),
    }
}

/// Records before the work, by the store's thread in every mode: what may take long is left to it.
fn fill(journal: &Journal, engine: &tokio::runtime::Runtime) {
    for n in 0..FILL {
        let mut call = intent(format!("fill {n}"), Repeat::Read);
        call.args = Arc::new(Value::Null);
        journal.ended(call, None, Ending::default());
    }
    let filled = journal.store().write(Durability::Process, |_| Ok(()));
    // Where the disk fails, what follows tells.
    let _ = engine.block_on(filled.done());
}

fn run(home: &Path, mode: &str, count: u64) {
    let journal = journal(home, None);
    let engine = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    fill(&journal, &engine);
    let acknowledge = |what: &str, n: u64| {
        // One write: whoever counts outside sees it whole or not at all.
        let line = format!("{what} {n}\n");
        std::io::stdout().write_all(line.as_bytes()).unwrap();
        std::io::stdout().flush().unwrap();
    };
    let effect = |n: u64| {
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(home.join("effects"))
            .unwrap();
        file.write_all(format!("{n}\n").as_bytes()).unwrap();
        file.sync_data().unwrap();
    };
    for n in 0..count {
        match n % 3 {
            0 => {
                let durability = match mode {
                    "normal" => Durability::Process,
                    _ => Durability::Power,
                };
                if mode == "word-first" {
                    acknowledge("row", n);
                }
                let written = journal.store().write(durability, move |tx| {
                    let sql = "INSERT INTO blob_refs (owner, hash, time) VALUES ($1, $2, 0)";
                    tx.run(sql, &[n.to_string().as_str().into(), "row".into()])
                });
                let written = match mode {
                    "apart" => engine.block_on(written.done()),
                    _ => written.wait(),
                };
                if written.is_ok() {
                    acknowledge("row", n);
                }
            }
            1 if mode != "normal" => {
                if mode == "effect-first" {
                    effect(n);
                }
                if mode == "apart" {
                    // As when it is filled, and all that waits beside it.
                    journal.store().hand_over(|_| Ok(()));
                }
                let call = intent(n.to_string(), Repeat::Unsafe);
                let Ok(seq) = engine.block_on(journal.intend(call.clone())) else {
                    continue;
                };
                acknowledge("intent", n);
                if mode != "effect-first" {
                    effect(n);
                }
                journal.ended(call, Some(seq), Ending::default());
            }
            _ => journal.ended(intent(n.to_string(), Repeat::Read), None, Ending::default()),
        }
    }
    journal.store().close();
}

/// What is there, as somebody finds it after the machine has started again.
fn check(home: &Path) -> Value {
    let journal = journal(home, Some("another start"));
    if let Err(error) = journal.store().ready() {
        return json!({"broken": error.to_string()});
    }
    let broken = match journal.verify() {
        Ok(Ok(_)) => Value::Null,
        Ok(Err(fault)) => json!(format!("record {}: {}", fault.seq, fault.what)),
        Err(error) => json!(error.to_string()),
    };
    let mut rows = Vec::new();
    let read = journal.store().read(|tx| {
        tx.each("SELECT owner FROM blob_refs", &[], &mut |row| {
            rows.extend(
                row.cell(0)?
                    .text()
                    .and_then(|text| text.parse::<u64>().ok()),
            );
            Ok(true)
        })
    });
    let lines = journal.list(&Filter::default());
    let intents: Vec<u64> = lines
        .iter()
        .flatten()
        .filter(|line| line.body.repeat.as_deref() == Some("unsafe"))
        .filter_map(|line| line.call_id.parse().ok())
        .collect();
    // It must also take new work.
    let engine = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let new = engine.block_on(journal.intend(intent("new".to_owned(), Repeat::Unsafe)));
    let refused = [
        read.err().map(|error| error.to_string()),
        lines.err().map(|error| error.to_string()),
        new.err().map(|error| error.into_body().message),
    ];
    let refused: Vec<String> = refused.into_iter().flatten().collect();
    let effects = std::fs::read_to_string(home.join("effects")).unwrap_or_default();
    let effects: Vec<u64> = effects
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect();
    json!({"broken": broken, "refused": refused, "rows": rows, "intents": intents, "effects": effects})
}
