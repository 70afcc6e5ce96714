//! Cold start: one call from a fresh process, beside the smallest process there is.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::Bench;
use super::measure::{Bar, Row, Sample};
use super::side::{Side, build_haft};

/// Starts a round: process starts vary, and one tells little.
const STARTS: u32 = 10;

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let haft = build_haft(bench)?;
    let home = bench.target.join("bench/home");
    let mut call = Command::new(&haft);
    call.args(["call", "system.info", "--json"])
        .env("HAFT_HOME", &home)
        .current_dir(&bench.root);
    Ok(vec![Row {
        name: "`haft call`, cold".to_owned(),
        sides: vec![
            Starts::side("haft", call),
            Starts::side("true", Command::new("true")),
        ],
        peer: "true".to_owned(),
        bar: Bar {
            ratio: None,
            wall_ns: Some(30_000_000.0),
            ..Bar::default()
        },
    }])
}

/// A command started anew each time.
struct Starts {
    name: String,
    command: Command,
}

impl Starts {
    fn side(name: &str, mut command: Command) -> Box<dyn Side> {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Box::new(Starts {
            name: name.to_owned(),
            command,
        })
    }
}

impl Side for Starts {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        "as built or installed here"
    }

    fn round(&mut self) -> Result<Sample> {
        let started = Instant::now();
        for _ in 0..STARTS {
            let status = self
                .command
                .status()
                .with_context(|| format!("cannot start `{}`", self.name))?;
            if !status.success() {
                bail!("`{}` failed: {status}", self.name);
            }
        }
        Ok(Sample {
            wall_ns: started.elapsed().as_nanos() as f64 / f64::from(STARTS),
            cpu_ns: None,
        })
    }
}
