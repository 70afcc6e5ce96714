//! `haft mcp`: haft's tools for MCP clients, and MCP servers whose tools haft uses.

mod serve;
mod servers;
mod token;

use anyhow::Result;

use crate::cli::{self, McpAction};

pub(crate) fn run(command: cli::Mcp) -> Result<u8> {
    match command.action {
        None => serve::run(command),
        Some(McpAction::Add {
            name,
            env,
            yes,
            command,
        }) => servers::add(&name, &env, yes, command),
        Some(McpAction::Remove { name }) => servers::remove(&name),
        Some(McpAction::List { json, workspace }) => servers::list(json, workspace),
        Some(McpAction::Test { name, workspace }) => servers::test(&name, workspace),
    }
}
