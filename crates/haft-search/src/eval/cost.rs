//! What an index costs: time to build, to extend, to write and read, and memory.

use serde::Serialize;

use super::measure::timed;
use super::sets::index_of;
use crate::{Index, ToolDoc};

/// Tools of the catalogue that is measured, and tools that are added to it.
const TOOLS: usize = 10_000;
const ADDED: usize = 200;

/// Costs of one index; times in milliseconds of CPU.
#[derive(Debug, Clone, Serialize)]
pub struct Cost {
    pub tools: usize,
    /// Build from nothing, embedding included
    pub build_ms: f64,
    /// Add 200 more while a searcher holds the index
    pub add_200_ms: f64,
    /// Make a searcher over all of it
    pub view_ms: f64,
    pub write_ms: f64,
    pub read_ms: f64,
    /// Size of the written index
    pub bytes: usize,
    /// Growth of the process by the index, where the system tells
    pub memory_bytes: Option<u64>,
}

/// Measure with so many of these tools as there are, up to ten thousand.
pub(super) fn measure(pool: &[ToolDoc]) -> Option<Cost> {
    let tools = TOOLS.min(pool.len().checked_sub(ADDED)?);
    let (first, more) = (&pool[..tools], &pool[tools..tools + ADDED]);
    let before = resident();
    let (mut index, build) = timed(|| index_of(first));
    let after = resident();
    let (searcher, view) = timed(|| index.searcher());
    let (bytes, write) = timed(|| index.to_bytes());
    let (_, read) = timed(|| Index::from_bytes(&bytes));
    let ((), add) = timed(|| {
        for doc in more {
            index.add(doc);
        }
    });
    drop(searcher);
    Some(Cost {
        tools,
        build_ms: build / 1e3,
        add_200_ms: add / 1e3,
        view_ms: view / 1e3,
        write_ms: write / 1e3,
        read_ms: read / 1e3,
        bytes: bytes.len(),
        memory_bytes: after
            .zip(before)
            .map(|(after, before)| after.saturating_sub(before)),
    })
}

/// Memory of this process in use, from `/proc`.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("RssAnon:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
