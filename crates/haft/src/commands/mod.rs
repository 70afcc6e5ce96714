//! One file a command.

mod batch;
mod call;
mod completions;
mod config;
mod discover;
mod doctor;
mod inject;
mod mcp;
mod policy;
mod tools;
mod trust;

use anyhow::Result;

use crate::cli::{Cli, Command};

/// Run the command and give its exit code.
pub(crate) fn run(cli: Cli) -> Result<u8> {
    match cli.command {
        Command::Tools(command) => tools::run(command),
        Command::Call(command) => call::run(command),
        Command::Batch(command) => batch::run(command),
        Command::Mcp(command) => mcp::run(command),
        Command::Policy(command) => policy::run(command),
        Command::Config(command) => config::run(command),
        Command::Trust(command) => trust::run(command),
        Command::Completions(command) => completions::run(command),
        Command::Doctor(command) => doctor::run(command),
    }
}
