//! `haft completions`: a script that asks haft itself what completes a word.

use anyhow::{Context, Result, bail};
use clap_complete::env::Shells;

use crate::cli;
use crate::terminal::fail::Usage;

pub(crate) fn run(command: cli::Completions) -> Result<u8> {
    let shells = Shells::builtins();
    let Some(completer) = shells.completer(&command.shell) else {
        let names: Vec<&str> = shells.names().collect();
        bail!(Usage(format!(
            "no such shell: `{}`; one of {}",
            command.shell,
            names.join(", ")
        )));
    };
    let mut script = Vec::new();
    completer
        .write_registration("COMPLETE", "haft", "haft", "haft", &mut script)
        .context("the script could not be made")?;
    crate::terminal::print::raw(&script)?;
    Ok(0)
}
