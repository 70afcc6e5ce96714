//! `haft backup` and `haft restore`: a copy of what lasts, and the way back.

use anyhow::{Result, bail};
use haft_store::Journal;

use crate::cli;
use crate::home::Home;
use crate::recording::{existing, failed};
use crate::terminal::{fail, print};

pub(crate) fn backup(command: &cli::Backup) -> Result<u8> {
    let home = Home::locate()?;
    let Some(journal) = existing(&home)? else {
        bail!(fail::Failed {
            message: "there is nothing to copy yet".to_owned(),
            hint: None,
        });
    };
    let bytes = journal.backup(&command.file).map_err(failed)?;
    print::line(&format!(
        "copied and proven: `{}`, {bytes} bytes",
        command.file.display()
    ));
    // What is missing must not be found out on the day that the copy is needed.
    fail::notice(
        "the copy holds the database alone: journal, notes, rules answered with \"always\". Whole results and what undo puts back (`blobs`), `journal.key`, the config and secrets are not in it: copy those from haft's home where you need them",
    );
    Ok(0)
}

pub(crate) fn restore(command: &cli::Restore) -> Result<u8> {
    let home = Home::locate()?;
    home.ensure()?;
    let had_a_key = home.path().join("journal.key").exists();
    let restored = match command.unproven {
        true => Journal::restore_unproven(home.path(), &command.file),
        false => Journal::restore(home.path(), &command.file),
    };
    let restored = restored.map_err(failed)?;
    print::line(&format!("restored from `{}`", command.file.display()));
    if let Some(aside) = restored.aside {
        print::line(&format!("what was there is kept: `{}`", aside.display()));
    }
    if let Some(seq) = restored.unproven {
        let why = match had_a_key {
            true => "the key of this home has not signed the copy",
            false => "this home had no `journal.key`, so a new one was made",
        };
        fail::notice(&format!(
            "{why}: what the copy says of calls before record {seq} is taken as it is, and is not proven"
        ));
    }
    let journal = existing(&home)?;
    let behind = journal.and_then(|journal| journal.verify().ok()?.err());
    if let Some(fault) = behind {
        fail::notice(&format!(
            "the copy is older than what was signed (record {}): go on from it with `haft journal accept`",
            fault.seq
        ));
    }
    Ok(0)
}
