//! `haft mcp disable` and `enable`: a server, or one of its tools, off and on again.

use anyhow::{Result, bail};

use crate::home::Home;
use crate::servers;
use crate::terminal::fail::Failed;
use crate::terminal::print;

pub(super) fn run(name: &str, tool: Option<&str>, on: bool) -> Result<u8> {
    let home = Home::locate()?;
    servers::change(&home, |all| {
        let Some(server) = all.get_mut(name) else {
            bail!(Failed {
                message: format!("no server of this name was added: `{name}`"),
                hint: Some(
                    "one of the config has `disabled` and `disabled_tools` there".to_owned()
                ),
            });
        };
        match tool {
            None => server.disabled = !on,
            Some(tool) => {
                server.disabled_tools.retain(|off| off != tool);
                if !on {
                    server.disabled_tools.push(tool.to_owned());
                }
            }
        }
        Ok(())
    })?;
    let what = tool.map_or_else(|| name.to_owned(), |tool| format!("{name}.{tool}"));
    print::line(&format!("{}: {what}", if on { "on" } else { "off" }));
    Ok(0)
}
