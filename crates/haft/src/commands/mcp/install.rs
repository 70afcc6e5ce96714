//! `haft mcp install` and `uninstall`: haft's entry in the config of an MCP client.

use anyhow::{Result, bail};
use haft_runtime::visible;

use crate::clients::{Back, Client, Config, Entry, Written};
use crate::exit;
use crate::home::Home;
use crate::terminal::ask;
use crate::terminal::fail::{self, Failed};
use crate::terminal::print;

/// A way back that is longer is none of ours.
const LARGEST: u64 = 64 << 20;

pub(super) fn install(client: Client, yes: bool) -> Result<u8> {
    let config = client.config()?;
    let home = Home::locate()?;
    let named = |error: anyhow::Error| error.context(config.path.display().to_string());
    let new = client
        .with_entry(&config.text, &Entry::ourselves(&home)?)
        .map_err(named)?;
    if new == config.text {
        print::line(&format!("already there: {}", config.path.display()));
        return Ok(0);
    }
    if !agreed(&config, &new, yes)? {
        return Ok(exit::FAILED);
    }
    let (told, old) = match config.replace(&new)? {
        Written::New => ("made", None),
        Written::Changed => ("changed", Some(&*config.text)),
    };
    print::line(&format!("{told}: {}", config.path.display()));
    home.ensure()?;
    home.write_json(&record(client), &Back::new(old, &new))?;
    Ok(0)
}

/// Where the way back is kept.
fn record(client: Client) -> String {
    format!("client-{}.json", client.as_str())
}

pub(super) fn uninstall(client: Client, yes: bool) -> Result<u8> {
    let config = client.config()?;
    let named = |error: anyhow::Error| error.context(config.path.display().to_string());
    let home = Home::locate()?;
    let name = record(client);
    let back = home.read(&name, LARGEST)?;
    let back = back.and_then(|bytes| serde_json::from_slice::<Back>(&bytes).ok());
    let was = back.and_then(|back| back.of(&config.text));
    let Some(without) = client.without_entry(&config.text).map_err(named)? else {
        print::line(&format!("not there: {}", config.path.display()));
        return Ok(0);
    };
    let new = was.unwrap_or(Some(without));
    if !agreed(&config, new.as_deref().unwrap_or_default(), yes)? {
        return Ok(exit::FAILED);
    }
    match new {
        Some(new) => {
            config.replace(&new)?;
        }
        None => std::fs::remove_file(&config.path)?,
    }
    home.remove(&name)?;
    print::line(&format!("taken out: {}", config.path.display()));
    Ok(0)
}

/// The file belongs to another program: whoever owns it sees what would change.
fn agreed(config: &Config, new: &str, yes: bool) -> Result<bool> {
    print::line(&format!(
        "{}:",
        print::bold(&config.path.display().to_string())
    ));
    for line in changed_lines(&config.text, new) {
        print::line(&visible(&line));
    }
    if yes {
        return Ok(true);
    }
    match ask::yes_or_no("write this?") {
        Some(true) => Ok(true),
        Some(false) => {
            fail::error("it stays as it is", None);
            Ok(false)
        }
        None => bail!(Failed {
            message: "nobody is there to agree".to_owned(),
            hint: Some("pass `--yes`".to_owned()),
        }),
    }
}

/// The lines between what both texts begin with and what both end with. Only these are shown:
/// the rest of such a file can hold anything, and be long.
fn changed_lines(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[same..], &new[same..]);
    let ends = old.iter().rev().zip(new.iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    let gone = old[..old.len() - end]
        .iter()
        .map(|line| format!("- {line}"));
    let come = new[..new.len() - end]
        .iter()
        .map(|line| format!("+ {line}"));
    gone.chain(come).collect()
}
