//! The handle between a model and its tools. This is the binary: commands, config, and the one
//! place where everything is wired.

mod backtest;
mod cli;
mod clients;
mod commands;
mod completing;
mod config;
mod gc;
mod home;
mod kept;
mod recorded;
mod recording;
mod remembered;
mod secrets;
mod servers;
mod skills;
mod terminal;
mod trust;
mod wiring;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use clap_complete::CompleteEnv;

use crate::cli::Cli;
use crate::terminal::fail;

/// Calls are many small allocations; this allocator takes about a quarter off their price.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What `haft` exits with.
mod exit {
    pub(crate) const FAILED: u8 = 1;
    pub(crate) const USAGE: u8 = 2;
    pub(crate) const INTERRUPTED: u8 = 130;
}

fn main() -> ExitCode {
    // Started by ourselves to end what is left when we die; it knows no commands.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == wiring::GUARDIAN)
    {
        haft_host::guardian_main();
        return ExitCode::SUCCESS;
    }
    // Started by ourselves to run a command away from our terminal.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == wiring::SESSION)
    {
        let error = haft_host::session_main(std::env::args_os().skip(2));
        fail::error(&format!("cannot start the command: {error}"), None);
        return ExitCode::from(127);
    }
    // Started by ourselves to run a command whose changes are noted.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == wiring::WATCHED)
    {
        let error = haft_host::watched_main(std::env::args_os().skip(2));
        fail::error(&format!("cannot start the command: {error}"), None);
        return ExitCode::from(127);
    }
    // Started by ourselves to shut a command in; it must have no thread but this one.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == wiring::LAUNCHER)
    {
        haft_host::launcher_main(std::env::args_os().skip(2));
    }
    // Started by ourselves to do parts of calls; it ends when its input does.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == wiring::WORKER)
    {
        return match haft_host::worker_main() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                fail::error(&format!("the worker cannot go on: {error}"), None);
                ExitCode::from(exit::FAILED)
            }
        };
    }
    CompleteEnv::with_factory(Cli::command).complete();
    let cli = Cli::parse();
    let code = match commands::run(cli) {
        Ok(code) => code,
        Err(error) => fail::report(&error),
    };
    // Threads that wait for a person's answer must not hold us up.
    std::process::exit(code.into());
}
