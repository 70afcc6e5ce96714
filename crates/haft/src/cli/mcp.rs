//! The flags of `haft mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Seat;
use crate::clients::Client;

/// Serve the tools on standard input and output, or look after the servers whose tools haft uses.
/// Put `haft mcp` where a client wants the command of an MCP server.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) action: Option<McpAction>,
    /// Serve streamable HTTP at this address, path /mcp, instead; clients need the token
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<String>,
    /// A name by which clients may address haft on HTTP, beside those of this machine itself and the
    /// address it listens at; may be given several times
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// Tools that the client sees: names or patterns such as `file.*` and `mcp.SERVER.*`, separated
    /// by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// Tokens of the model's context; where the schemas do not fit, less of the tools is shown
    /// [default: as the config says, or enough for all: clients have means of their own]
    #[arg(long, value_name = "N")]
    pub(crate) context_window: Option<u64>,
    /// Show the meta-tools, with which the rest is found, in the place of all schemas
    #[arg(long)]
    pub(crate) discovery: bool,
    #[command(flatten)]
    pub(crate) seat: Seat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpAction {
    /// Add a server, after showing what would be run, and look at its tools
    Add(McpAdd),
    /// Switch off a server that was added or is in .mcp.json, or one of its tools
    Disable {
        /// Its name
        name: String,
        /// One of its tools, as the server calls it
        tool: Option<String>,
        /// Folder whose .mcp.json counts [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Switch it on again
    Enable {
        /// Its name
        name: String,
        /// One of its tools, as the server calls it
        tool: Option<String>,
        /// Folder whose .mcp.json counts [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Add the servers that an MCP client knows, after showing them
    Import {
        /// Whose config
        client: Client,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Put haft into the config of an MCP client, after showing what would be written
    Install {
        /// Whose config
        client: Client,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Take haft out of the config of an MCP client
    Uninstall {
        /// Whose config
        client: Client,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Remove a server that was added
    Remove {
        /// Its name
        name: String,
    },
    /// List servers with their tools and what these cost
    List {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
        /// Folder whose haft.yaml counts [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Start a server, look at its tools, and show what it says on its standard error
    Test {
        /// Its name
        name: String,
        /// Folder it runs in [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Log in at a server in the browser
    Login {
        /// Its name
        name: String,
        /// Folder whose haft.yaml counts [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Forget the login at a server
    Logout {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct McpAdd {
    /// Its name, as it stands in the names of its tools
    pub(crate) name: String,
    /// A variable it is to see; `${NAME}` is filled in when it starts
    #[arg(long, short, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// A header to send to a URL; `${NAME}` and `${secret:NAME}` are filled in when it is sent
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// The program and its arguments, or the URL of a server that is running
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
}
