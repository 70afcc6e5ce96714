//! The flags of `haft secret`.

use clap::{Args, Subcommand};

/// Values for `secret:NAME` in the config of MCP servers. They are kept encrypted, are never
/// printed, and are hidden in results.
#[derive(Debug, Args)]
pub(crate) struct Secret {
    #[command(subcommand)]
    pub(crate) action: SecretAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SecretAction {
    /// Keep a value, read from standard input
    Set {
        /// What it goes by, as in `secret:NAME`
        name: String,
    },
    /// List the names
    List {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget a value
    Remove {
        /// Its name
        name: String,
    },
}
