//! `haft mcp`: haft's tools for MCP clients, and MCP servers whose tools haft uses.

mod import;
mod install;
mod login;
mod serve;
mod servers;
mod switch;
mod token;

use anyhow::Result;

use crate::cli::{self, McpAction};

pub(crate) fn run(command: cli::Mcp) -> Result<u8> {
    match command.action {
        None => serve::run(command),
        Some(McpAction::Add(added)) => servers::add(added),
        Some(McpAction::Disable {
            name,
            tool,
            workspace,
        }) => switch::run(&name, tool.as_deref(), false, workspace),
        Some(McpAction::Enable {
            name,
            tool,
            workspace,
        }) => switch::run(&name, tool.as_deref(), true, workspace),
        Some(McpAction::Import { client, yes }) => import::run(client, yes),
        Some(McpAction::Install { client, yes }) => install::install(client, yes),
        Some(McpAction::Uninstall { client, yes }) => install::uninstall(client, yes),
        Some(McpAction::Remove { name }) => servers::remove(&name),
        Some(McpAction::List { json, workspace }) => servers::list(json, workspace),
        Some(McpAction::Test { name, workspace }) => servers::test(&name, workspace),
        Some(McpAction::Login { name, workspace }) => login::run(&name, workspace),
        Some(McpAction::Logout { name }) => login::out(&name),
    }
}
