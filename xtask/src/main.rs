//! Chores of the project, as `cargo xtask …`.

mod bench;
mod dist;
mod docs;
mod faults;
mod finding;
mod gate;
mod needs;
mod source;
mod tidy;
mod workspace;

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test    everything that must hold: format, clippy, build, tests, doc tests, tidy
  tidy    the rules of the house
  docs    write the generated pages under docs/
  dist    build the program as it is shipped
  order   find anew which functions most runs touch, for `dist`: [PROGRAM]
  crash   kill the store at every fsync, break every write: [--points all|N]
  powerloss  cut the power at random moments: [--images N]
  bench   the benchmark: [--rounds N] [--only WORD] [--json FILE]
  eval    search [--data DIR]… [--json] [--dump FILE]: how well tools are found";

fn main() -> ExitCode {
    if let Some(list) = dist::acting_as_linker() {
        return linked(&list);
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The compiler called us as its linker.
fn linked(list: &Path) -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    match dist::link(list, &arguments) {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the chore found everything as it should be.
fn run(arguments: &[String]) -> Result<bool> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["test"] => gate::run(),
        ["tidy"] => Ok(tidy::run()? == 0),
        ["docs"] => docs::write().map(|()| true),
        ["dist"] => dist::run(),
        ["order"] => dist::record(None),
        ["order", program] => dist::record(Some(program)),
        ["crash", ref options @ ..] => faults::crash::run(options),
        ["powerloss", ref options @ ..] => faults::powerloss::run(options),
        ["bench", ref options @ ..] => bench::run(options),
        ["eval", "search", ref options @ ..] => eval_search(options),
        _ => {
            eprintln!("{USAGE}");
            Ok(false)
        }
    }
}

/// The evaluation lives beside what it judges, behind a feature that no binary turns on.
fn eval_search(options: &[&str]) -> Result<bool> {
    let status = workspace::cargo()
        .args(["run", "--quiet", "--release", "-p", "haft-search"])
        .args(["--features", "eval", "--example", "eval", "--"])
        .args(options)
        .status()?;
    Ok(status.success())
}
