//! The way of a call: the whole pipeline around a tool that does nothing, against a loop written
//! by hand for Node with ajv and a timeout.

use std::cell::RefCell;
use std::fs;
use std::process::Command;
use std::rc::Rc;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Bench;
use super::measure::{Bar, Row};
use super::peers::{self, output};
use super::side::{Ask, Program};

const AJV: &str = "ajv@8";

/// Calls a round: long enough to drown the clock, short enough to take turns often.
const CALLS: usize = 20_000;

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let ours = Program::example(bench, "haft-runtime", "bench_pipeline")?;
    let node = node(bench)?;
    memory(bench)?;
    let row = |name: &str, kind: &str, wall_ns| Row {
        name: name.to_owned(),
        sides: [&ours, &node]
            .map(|program| Ask::side(program, &format!("{kind} {CALLS}")))
            .into(),
        peer: "node".to_owned(),
        bar: Bar {
            ratio: Some(1.0),
            wall_ns,
            ..Bar::default()
        },
    };
    let against = |name: &str, line: &str, floor: (&str, &str), bar: Bar| Row {
        name: name.to_owned(),
        sides: vec![Ask::side(&ours, line), Ask::named(&ours, floor.1, floor.0)],
        peer: floor.0.to_owned(),
        bar,
    };
    let within = |wall_ns: f64| Bar {
        ratio: None,
        wall_ns: Some(wall_ns),
        ..Bar::default()
    };
    Ok(vec![
        row("call, one by one", "single", Some(10_000.0)),
        row("call, in batches of 100", "batch", None),
        against(
            "resolve a name among 10,000 tools",
            "resolve 200000",
            ("hash map", "bare_map 200000"),
            within(1_000.0),
        ),
        against(
            "definitions of 10,000 tools, new caller",
            "definitions 1",
            ("writing the text", "bare_json 1"),
            within(50_000_000.0),
        ),
        against(
            "definitions of 10,000 tools, unchanged",
            "unchanged 1",
            ("writing the text", "bare_json 1"),
            within(5_000_000.0),
        ),
    ])
}

/// What 10,000 tools take, told by a process that has done nothing else.
fn memory(bench: &Bench) -> Result<()> {
    let program = Program::example(bench, "haft-runtime", "bench_pipeline")?;
    let told = program.borrow_mut().answer("memory")?;
    let kb = |key: &str| {
        told[key]
            .as_u64()
            .with_context(|| format!("no `{key}`: {told}"))
    };
    println!(
        "memory: {} KB before, {} KB for 10,000 tools, {} KB more for their definitions",
        kb("before_kb")?,
        kb("tools_kb")?,
        kb("definitions_kb")?
    );
    Ok(())
}

fn node(bench: &Bench) -> Result<Rc<RefCell<Program>>> {
    let folder = peers::npm(&bench.target.join("bench"), "ajv", &[AJV])?;
    let ajv = fs::read(folder.join("node_modules/ajv/package.json"))?;
    let ajv: Value = serde_json::from_slice(&ajv)?;
    let version = format!(
        "{}, ajv {}",
        output(Command::new("node").arg("--version"))?,
        ajv["version"].as_str().unwrap_or("unknown")
    );
    let mut command = Command::new("node");
    // The script finds ajv through the folder it is told, as it stands elsewhere itself.
    command
        .arg(bench.root.join("xtask/bench/pipeline.mjs"))
        .arg(&folder);
    Program::start("node", &version, command)
}
