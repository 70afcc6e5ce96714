//! `haft mcp`: haft's tools for MCP clients.

mod serve;
mod token;

use anyhow::Result;

use crate::cli;

pub(crate) fn run(command: cli::Mcp) -> Result<u8> {
    serve::run(command)
}
