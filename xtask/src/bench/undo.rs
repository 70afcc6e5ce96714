//! What keeping changes costs: the same calls without it, and a copy of the workspace made by
//! hand. Told and not barred: it is the price of a way back.

use anyhow::Result;

use super::Bench;
use super::measure::{Bar, Row};
use super::side::{Ask, Program};

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let program = Program::example(bench, "haft-tools", "bench_undo")?;
    let row = |name: &str, kept: &str, others: &[(&str, &str)]| {
        let mut sides = vec![Ask::side(&program, kept)];
        for (line, other) in others {
            sides.push(Ask::named(&program, line, other));
        }
        Row {
            name: name.to_owned(),
            sides,
            peer: "not kept".to_owned(),
            bar: Bar::default(),
        }
    };
    Ok(vec![
        row(
            "undo: file.write of 4 KB",
            "write 20",
            &[("plain_write 20", "not kept")],
        ),
        row(
            "undo: shell.exec of `true`",
            "true 50",
            &[("plain_true 50", "not kept")],
        ),
        row(
            "undo: shell.exec removing 1,000 of 10,000 files",
            "rm 2",
            &[("plain_rm 2", "not kept"), ("copy_rm 2", "cp -a first")],
        ),
    ])
}
