//! What lasts: records against a bare insert, reading and proving a million of them, notes.

use anyhow::Result;

use super::Bench;
use super::measure::{Bar, Row};
use super::side::{Ask, Program};

/// A no-op call may cost so much more when it is written down.
const JOURNALLED_NS: f64 = 5_000.0;
const LISTING_NS: f64 = 20_000_000.0;
const FIGURES_NS: f64 = 500_000_000.0;
/// 200,000 records a second.
const PROOF_NS: f64 = 5_000.0;
const SEARCH_NS: f64 = 10_000_000.0;
const NOTE_NS: f64 = 1_000_000.0;

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let store = Program::example(bench, "haft-store", "bench_store")?;
    let pipeline = Program::example(bench, "haft-runtime", "bench_pipeline")?;
    let notes = Program::example(bench, "haft-tools", "bench_notes")?;
    let row =
        |name: &str, (program, ours): (_, &str), (peer, theirs): (&str, &str), bar: Bar| Row {
            name: name.to_owned(),
            sides: vec![Ask::side(program, ours), Ask::named(program, theirs, peer)],
            peer: peer.to_owned(),
            bar,
        };
    let ratio = |ratio: f64| Bar {
        ratio: Some(ratio),
        ..Bar::default()
    };
    let within = |wall_ns: f64| Bar {
        ratio: None,
        wall_ns: Some(wall_ns),
        ..Bar::default()
    };
    Ok(vec![
        row(
            "journal: what it adds to a call that does nothing",
            (&pipeline, "journal_adds 20000"),
            ("the call", "single 20000"),
            within(JOURNALLED_NS),
        ),
        row(
            "journal: a call with effects, on the disk",
            (&store, "durable 100"),
            ("rusqlite", "bare 100"),
            ratio(1.3),
        ),
        row(
            "journal: 64 at a time",
            (&store, "crowd 640"),
            ("one by one", "durable 100"),
            ratio(1.0 / 8.0),
        ),
        row(
            "journal: 100 calls listed of 1,000,000",
            (&store, "list 5"),
            ("rusqlite", "bare_list 5"),
            within(LISTING_NS),
        ),
        row(
            "journal: figures of 1,000,000",
            (&store, "stats 3"),
            ("rusqlite lists 100", "bare_list 5"),
            within(FIGURES_NS),
        ),
        row(
            "journal: proof of 1,000,000, a record",
            (&store, "verify 1"),
            ("rusqlite reads", "bare_scan 1"),
            within(PROOF_NS),
        ),
        row(
            "notes: search of 100,000, p99",
            (&notes, "search_p99 200"),
            ("FTS5", "fts5_p99 50"),
            within(SEARCH_NS),
        ),
        row(
            "notes: storing one, beyond the disk",
            (&notes, "store_adds 50"),
            ("rusqlite", "bare_store 50"),
            within(NOTE_NS),
        ),
    ])
}
