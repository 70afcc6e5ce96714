//! One file a command.

mod backtest;
mod batch;
mod call;
mod completions;
mod config;
mod copies;
mod discover;
mod doctor;
mod gc;
mod inject;
mod journal;
mod mcp;
mod memory;
mod policy;
mod replay;
mod secret;
mod settle;
mod skills;
mod stats;
mod tools;
mod trust;
mod undo;

use anyhow::{Result, bail};
use haft_store::{Journal, StoreError};
use jiff::Timestamp;

use crate::cli::{
    self, Cli, Command, JournalAction, McpAction, MemoryAction, PolicyAction, SkillsAction,
};
use crate::exit;
use crate::home::Home;
use crate::terminal::fail::{self, Failed, Usage};

/// Run the command and give its exit code.
pub(crate) fn run(cli: Cli) -> Result<u8> {
    if speaks_for_a_person(&cli.command) && std::env::var_os(haft_host::CALL_VARIABLE).is_some() {
        bail!(Failed {
            message: "a command that haft runs cannot say what only a person may say".to_owned(),
            hint: Some("leave out `--yes`, or ask a person to do it".to_owned()),
        });
    }
    let doubted = shows_what_is_kept(&cli.command) && doubted()?;
    let code = dispatch(cli)?;
    // What is there was shown, and is not all.
    Ok(match doubted {
        true => code.max(exit::FAILED),
        false => code,
    })
}

/// Say what is wrong with the store, if something is.
fn doubted() -> Result<bool> {
    let home = Home::locate()?;
    let looked = match home.exists()? {
        true => Journal::check_at(home.path()),
        false => Ok(()),
    };
    match looked {
        Err(error @ StoreError::Damaged(_)) => {
            fail::error(&error.to_string(), error.hint());
            Ok(true)
        }
        _ => Ok(false),
    }
}

fn dispatch(cli: Cli) -> Result<u8> {
    match cli.command {
        Command::Tools(command) => tools::run(command),
        Command::Skills(command) => skills::run(command),
        Command::Call(command) => call::run(command),
        Command::Batch(command) => batch::run(command),
        Command::Mcp(command) => mcp::run(command),
        Command::Secret(command) => secret::run(command),
        Command::Undo(command) => undo::run(command),
        Command::Policy(command) => policy::run(command),
        Command::Config(command) => config::run(command),
        Command::Trust(command) => trust::run(command),
        Command::Completions(command) => completions::run(command),
        Command::Doctor(command) => doctor::run(command),
        Command::Journal(command) => journal::run(command),
        Command::Replay(command) => replay::run(&command),
        Command::Memory(command) => memory::run(command),
        Command::Stats(command) => stats::run(command),
        Command::Gc(command) => gc::run(&command),
        Command::Backup(command) => copies::backup(&command),
        Command::Restore(command) => copies::restore(&command),
    }
}

/// Whether a command shows what the store holds without a call, and leaves it as it is.
fn shows_what_is_kept(command: &Command) -> bool {
    match command {
        Command::Journal(command) => {
            matches!(command.action, None | Some(JournalAction::Show { .. }))
        }
        Command::Memory(command) => matches!(
            command.action,
            MemoryAction::List { .. } | MemoryAction::Export { .. }
        ),
        Command::Policy(command) => matches!(
            command.action,
            PolicyAction::Rules { action: None, .. } | PolicyAction::Backtest { .. }
        ),
        Command::Stats(_) | Command::Replay(_) => true,
        _ => false,
    }
}

/// Whether a command allows something, or answers a question in advance.
fn speaks_for_a_person(command: &Command) -> bool {
    match command {
        Command::Call(cli::Call { manner, .. })
        | Command::Batch(cli::Batch { manner, .. })
        | Command::Undo(cli::Undo { manner, .. }) => manner.yes,
        Command::Trust(command) => !command.revoke,
        Command::Skills(command) => matches!(command.action, Some(SkillsAction::Trust { .. })),
        Command::Policy(command) => matches!(command.action, PolicyAction::Allow { .. }),
        Command::Mcp(command) => matches!(
            command.action,
            Some(McpAction::Add { .. } | McpAction::Enable { .. } | McpAction::Import { .. })
        ),
        _ => false,
    }
}

/// Microseconds since 1970 of a time as people write it: `2h`, `7d`, a date, or RFC 3339.
pub(crate) fn since(given: Option<&str>) -> Result<Option<i64>> {
    let Some(given) = given else {
        return Ok(None);
    };
    let wrong = || {
        Usage(format!(
            "not a time: `{given}`; write `30m`, `2h`, `7d`, `2026-01-31` or `2026-01-31T12:00:00Z`"
        ))
    };
    let split = given.len() - given.chars().last().map_or(0, char::len_utf8);
    let (count, unit) = given.split_at(split);
    let seconds = match unit {
        "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3_600),
        "d" => Some(86_400),
        "w" => Some(7 * 86_400),
        _ => None,
    };
    if let (Some(seconds), Ok(count)) = (seconds, count.parse::<u32>()) {
        let back = i64::from(count) * seconds * 1_000_000;
        return Ok(Some(Timestamp::now().as_microsecond() - back));
    }
    let time = given
        .parse::<Timestamp>()
        .or_else(|_| format!("{given}T00:00:00Z").parse::<Timestamp>())
        .map_err(|_| wrong())?;
    Ok(Some(time.as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_write_them() {
        let now = Timestamp::now().as_microsecond();
        let near = |given: &str, back: i64| {
            let found = since(Some(given)).unwrap().unwrap();
            assert!(
                (now - back * 1_000_000 - found).abs() < 60_000_000,
                "{given}"
            );
        };
        near("0s", 0);
        near("30m", 1_800);
        near("2h", 7_200);
        near("7d", 604_800);
        let check = |given: &str, expected: i64| {
            assert_eq!(since(Some(given)).unwrap(), Some(expected), "{given}");
        };
        check("1970-01-02", 86_400_000_000);
        check("1970-01-01T00:00:01Z", 1_000_000);
        assert_eq!(since(None).unwrap(), None);
        for bad in ["", "h", "-1h", "soon", "2026-13-01", "1h30m", "5ü"] {
            assert!(since(Some(bad)).is_err(), "{bad}");
        }
    }
}
