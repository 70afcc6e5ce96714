//! `cargo xtask bench`: every claim of speed as a ratio taken in one run. The sides of a row take
//! turns, A B C A B C, so that a slow minute of the machine hits all of them alike.

mod gateways;
mod mcp;
mod measure;
mod peers;
mod pipeline;
mod search;
mod shell;
mod side;
mod start;
mod store;
mod table;
mod tree;
mod undo;

use std::fs;

use anyhow::{Context, Result, bail};

use crate::workspace::cargo_metadata;
use measure::Row;

/// Where peers are installed and what they may need to know.
pub(crate) struct Bench {
    pub(crate) root: std::path::PathBuf,
    pub(crate) target: std::path::PathBuf,
}

/// A group of rows that share their sides.
type Rows = (&'static str, fn(&Bench) -> Result<Vec<Row>>);

/// One line a group.
const ROWS: &[Rows] = &[
    ("pipeline", pipeline::rows),
    ("start", start::rows),
    ("search", search::rows),
    ("shell", shell::rows),
    ("undo", undo::rows),
    ("store", store::rows),
    ("mcp", mcp::rows),
];

const ROUNDS: usize = 11;

#[derive(Debug, PartialEq, Eq)]
struct Options {
    rounds: usize,
    only: Option<String>,
    json: Option<String>,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Options {
            rounds: ROUNDS,
            only: None,
            json: None,
        };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let value = *words
                .next()
                .with_context(|| format!("`{word}` needs a value"))?;
            match word {
                "--rounds" => {
                    options.rounds = value.parse().context("`--rounds` needs a number")?;
                }
                "--only" => options.only = Some(value.to_owned()),
                "--json" => options.json = Some(value.to_owned()),
                _ => bail!("unknown option: `{word}`"),
            }
        }
        if options.rounds == 0 {
            bail!("`--rounds` needs at least one");
        }
        Ok(options)
    }
}

/// Measure and print; true when every bar was held.
pub(crate) fn run(words: &[&str]) -> Result<bool> {
    let options = Options::parse(words)?;
    let metadata = cargo_metadata(&["--no-deps", "--offline"])?;
    let path = |key: &str| metadata[key].as_str().unwrap_or_default().into();
    let bench = Bench {
        root: path("workspace_root"),
        target: path("target_directory"),
    };
    let mut results = Vec::new();
    for (group, rows) in ROWS {
        if options.only.as_deref().is_some_and(|only| only != *group) {
            continue;
        }
        let rows = rows(&bench).with_context(|| format!("rows of `{group}` cannot run"))?;
        for row in rows {
            results.push(row.measure(options.rounds));
        }
    }
    if results.is_empty() {
        bail!(
            "no rows of that name: `{}`",
            options.only.unwrap_or_default()
        );
    }
    print!("{}", table::text(&results));
    if let Some(file) = options.json {
        fs::write(
            &file,
            format!("{:#}\n", table::json(&results, options.rounds)),
        )
        .with_context(|| format!("cannot write `{file}`"))?;
    }
    Ok(results.iter().all(|result| result.missed().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let options = Options::parse(&["--rounds", "3", "--json", "a.json"]).unwrap();
        assert_eq!(
            (options.rounds, options.json.as_deref()),
            (3, Some("a.json"))
        );
        for wrong in [&["--rounds"][..], &["--rounds", "0"], &["--fast", "1"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
