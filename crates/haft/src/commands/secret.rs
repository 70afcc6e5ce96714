//! `haft secret`: what `secret:NAME` in the config of MCP servers stands for. A value comes from
//! standard input, never from the command line, where others could read it, and is never printed.

use std::io::{IsTerminal, Read};

use anyhow::{Context, Result, bail};

use crate::cli::{self, SecretAction};
use crate::exit;
use crate::home::Home;
use crate::secrets::{self, LARGEST_VALUE};
use crate::terminal::fail::{self, Usage};
use crate::terminal::{print, show};

pub(crate) fn run(command: cli::Secret) -> Result<u8> {
    let home = Home::locate()?;
    match command.action {
        SecretAction::Set { name } => {
            secrets::check_name(&name)?;
            let value = given(&name)?;
            secrets::set(&home, &name, &value)?;
            print::line(&format!("set: {name}"));
        }
        SecretAction::List { json } => {
            let names = secrets::names(&home)?;
            if json {
                show::json(&names)?;
            } else {
                for name in names {
                    print::line(&name);
                }
            }
        }
        SecretAction::Remove { name } => {
            if !secrets::remove(&home, &name)? {
                fail::error(
                    &format!("no such secret: `{}`", name.escape_debug()),
                    Some("list them with `haft secret list`"),
                );
                return Ok(exit::FAILED);
            }
            print::line(&format!("removed: {name}"));
        }
    }
    Ok(0)
}

/// The value on standard input, without the line end that a terminal or `echo` adds.
fn given(name: &str) -> Result<String> {
    let stdin = std::io::stdin();
    let mut bytes = Vec::new();
    if stdin.is_terminal() {
        let line = haft_host::read_silently(&format!("value of {name}: "));
        bytes = line.context("cannot read the terminal")?.into_bytes();
    } else {
        stdin
            .lock()
            .take(LARGEST_VALUE as u64 + 3)
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
    }
    let Ok(mut value) = String::from_utf8(bytes) else {
        bail!(Usage("the value is not UTF-8".to_owned()));
    };
    if value.ends_with('\n') {
        value.pop();
        if value.ends_with('\r') {
            value.pop();
        }
    }
    if value.is_empty() {
        bail!(Usage("no value came on standard input".to_owned()));
    }
    if value.len() > LARGEST_VALUE {
        bail!(Usage(format!(
            "the value is larger than {LARGEST_VALUE} bytes"
        )));
    }
    Ok(value)
}
