//! `haft mcp disable` and `enable`: a server, or one of its tools, off and on again.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::servers::open;
use crate::servers::{self, From, switched};
use crate::terminal::fail::{self, Failed};
use crate::terminal::print;
use crate::wiring::House;

pub(super) fn run(
    name: &str,
    tool: Option<&str>,
    on: bool,
    workspace: Option<PathBuf>,
) -> Result<u8> {
    let mut house = open(workspace)?;
    let configured = servers::all(&house.home, &mut house.loaded)?;
    let Some((server, from)) = configured.get(name) else {
        bail!(Failed {
            message: format!("no such MCP server: `{}`", name.escape_debug()),
            hint: Some("list them with `haft mcp list`".to_owned()),
        });
    };
    let is_off = |tool: &str| server.disabled_tools.iter().any(|off| off == tool);
    if let Some(tool) = tool.filter(|tool| !is_off(tool)) {
        expect_tool(&house, name, tool)?;
    }
    match from {
        From::Config => bail!(Failed {
            message: format!("`{name}` stands in the config"),
            hint: Some("it has `disabled` and `disabled_tools` there".to_owned()),
        }),
        From::Added => servers::change(&house.home, |all| {
            if let Some(server) = all.get_mut(name) {
                match tool {
                    None => server.disabled = !on,
                    Some(tool) => {
                        server.disabled_tools.retain(|off| off != tool);
                        if !on {
                            server.disabled_tools.push(tool.to_owned());
                        }
                    }
                }
            }
            Ok(())
        })?,
        From::Project => {
            let workspace = &house.loaded.workspace;
            switched::change(&house.home, workspace, name, |off| match (tool, on) {
                (None, on) => off.server = !on,
                (Some(tool), true) => drop(off.tools.remove(tool)),
                (Some(tool), false) => drop(off.tools.insert(tool.to_owned())),
            })?;
            expect_done(&mut house, name, tool, on)?;
        }
    }
    let what = tool.map_or_else(|| name.to_owned(), |tool| format!("{name}.{tool}"));
    print::line(&format!("{}: {what}", if on { "on" } else { "off" }));
    Ok(0)
}

/// What is off in the project's own file stays off: that is not ours to change.
fn expect_done(house: &mut House, name: &str, tool: Option<&str>, on: bool) -> Result<()> {
    let configured = servers::all(&house.home, &mut house.loaded)?;
    let is_off = configured.get(name).is_some_and(|(server, _)| match tool {
        None => server.disabled,
        Some(tool) => server.disabled_tools.iter().any(|off| off == tool),
    });
    match on && is_off {
        true => bail!(Failed {
            message: "it is off in `.mcp.json` itself".to_owned(),
            hint: Some("switch it on there".to_owned()),
        }),
        false => Ok(()),
    }
}

/// A name that no tool has would switch off nothing.
fn expect_tool(house: &House, name: &str, tool: &str) -> Result<()> {
    let Some(tools) = house.fleet.tools(name) else {
        fail::notice(&format!(
            "nobody has looked at `{name}` yet, so it may have no such tool: see `haft mcp test {name}`"
        ));
        return Ok(());
    };
    if tools.iter().any(|known| known == tool) {
        return Ok(());
    }
    let nearest = tools
        .iter()
        .min_by_key(|known| strsim::osa_distance(known, tool));
    bail!(Failed {
        message: format!("`{name}` has no such tool: `{}`", tool.escape_debug()),
        hint: nearest.map(|nearest| format!("the nearest is `{}`", nearest.escape_debug())),
    })
}
