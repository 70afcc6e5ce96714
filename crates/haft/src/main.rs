//! The handle between a model and its tools. This is the binary: commands, config, and the one
//! place where everything is wired.

mod backtest;
mod cli;
mod clients;
mod commands;
mod completing;
mod config;
mod filing;
mod gc;
mod home;
mod kept;
mod offer;
mod recorded;
mod recording;
mod remembered;
mod secrets;
mod servers;
mod skills;
mod terminal;
mod trust;
mod wiring;

use std::ffi::OsStr;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::CompleteEnv;

use crate::cli::Cli;
use crate::terminal::fail;

#[global_allocator]
static ALLOCATOR: haft_alloc::Mimalloc = haft_alloc::Mimalloc;

/// What `haft` exits with.
mod exit {
    pub(crate) const FAILED: u8 = 1;
    pub(crate) const USAGE: u8 = 2;
    pub(crate) const INTERRUPTED: u8 = 130;
}

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1);
    if let Some(code) = first.as_deref().and_then(OsStr::to_str).and_then(hidden) {
        return code;
    }
    // While this is the only thread, and before anything is run.
    haft_host::hide_environment();
    CompleteEnv::with_factory(Cli::command).complete();
    let cli = Cli::typed();
    let code = match commands::run(cli) {
        Ok(code) => code,
        Err(error) => fail::report(&error),
    };
    // Threads that wait for a person's answer must not hold us up.
    haft_alloc::leave(code)
}

/// What we start ourselves as: none of it is for people, and none of it knows a command.
fn hidden(mode: &str) -> Option<ExitCode> {
    let rest = || std::env::args_os().skip(2);
    let unstarted = |error: std::io::Error| {
        fail::error(&format!("cannot start the command: {error}"), None);
        ExitCode::from(127)
    };
    Some(match mode {
        // Ends what is left when we die.
        wiring::GUARDIAN => {
            haft_host::guardian_main();
            ExitCode::SUCCESS
        }
        // Runs a command away from our terminal.
        wiring::SESSION => unstarted(haft_host::session_main(rest())),
        // Runs a command whose changes are noted.
        wiring::WATCHED => unstarted(haft_host::watched_main(rest())),
        // Shuts a command in; it must have no thread but this one.
        wiring::LAUNCHER => haft_host::launcher_main(rest()),
        // Does parts of calls; ends when its input does.
        wiring::WORKER => match haft_host::worker_main() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                fail::error(&format!("the worker cannot go on: {error}"), None);
                ExitCode::from(exit::FAILED)
            }
        },
        _ => return None,
    })
}
