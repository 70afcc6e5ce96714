//! Running a command: `shell.exec` of `true` beside a bare spawn of the same shell, with a small
//! and a large heap, shut in, and with much output.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::Result;

use super::Bench;
use super::measure::{Bar, Row};
use super::side::{Ask, Program};

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let small = Program::example(bench, "haft-tools", "bench_shell")?;
    let large = Program::example(bench, "haft-tools", "bench_shell")?;
    // A gigabyte held by the caller makes a fork dear and a spawn no dearer.
    Ask::side(&large, "heap 1024").round()?;
    let row = |name: &str, program: &Rc<RefCell<Program>>, ours: &str, bare: &str, bar| Row {
        name: name.to_owned(),
        sides: vec![
            Ask::side(program, ours),
            Ask::named(program, bare, "bare spawn"),
        ],
        peer: "bare spawn".to_owned(),
        bar,
    };
    let at_most = |ratio| Bar {
        ratio: Some(ratio),
        ..Bar::default()
    };
    let shut_in = Bar {
        wall_ns: Some(25_000_000.0),
        ..Bar::default()
    };
    Ok(vec![
        row(
            "shell.exec of `true`, shared",
            &small,
            "shared 100",
            "bare 100",
            at_most(1.2),
        ),
        row(
            "the same, holding 1 GB",
            &large,
            "shared 100",
            "bare 100",
            at_most(1.2),
        ),
        row(
            "shell.exec of `true`, sandboxed",
            &small,
            "sandboxed 40",
            "bare 40",
            shut_in,
        ),
        row(
            "shell.exec, 10 MB of output",
            &small,
            "output 5",
            "bare_output 5",
            at_most(1.5),
        ),
        row(
            "the same, in lines",
            &small,
            "lines 5",
            "bare_lines 5",
            at_most(1.5),
        ),
    ])
}
