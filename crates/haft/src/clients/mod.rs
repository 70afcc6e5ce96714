//! Programs that can use haft as their MCP server: where each keeps its config, and how an entry
//! for haft gets into it and out again. Nothing else in the file changes by a byte, and a file
//! that cannot be understood is left alone.

mod back;
mod file;
mod json;
mod line_ends;
mod shared;
mod toml;
mod yaml;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde_json::Value;

use crate::home::Home;
use crate::terminal::fail::Failed;
pub(crate) use back::Back;
pub(crate) use file::{Config, Written};
pub(crate) use shared::Known;

/// The name of haft's entry.
const NAME: &str = "haft";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    ClaudeCode,
    Codex,
    Cursor,
    Vscode,
    Goose,
}

/// The command that a client is to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    /// Where haft keeps its things, if that was chosen
    pub(crate) home: Option<String>,
}

/// The variable that says where haft keeps its things.
const HOME: &str = "HAFT_HOME";

impl Entry {
    /// This very program, by its whole path: a client may not have the same `PATH`. Nor need it
    /// have the variable that led to this home.
    pub(crate) fn ourselves(home: &Home) -> Result<Entry> {
        let chosen = set(HOME).map(|_| home.path().to_str());
        let chosen = chosen.map(|path| path.context("the path of haft's home is not text"));
        let exe = std::env::current_exe().context("the path of haft itself is not known")?;
        let command = exe
            .to_str()
            .context("the path of haft itself is not text")?;
        Ok(Entry {
            command: command.to_owned(),
            args: vec!["mcp".to_owned()],
            home: chosen.transpose()?.map(str::to_owned),
        })
    }
}

impl Client {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::Codex => "codex",
            Client::Cursor => "cursor",
            Client::Vscode => "vscode",
            Client::Goose => "goose",
        }
    }

    /// The file that holds for all projects of this person.
    pub(crate) fn config(self) -> Result<Config> {
        let path = match self {
            Client::ClaudeCode => match set("CLAUDE_CONFIG_DIR") {
                Some(folder) => folder.join(".claude.json"),
                None => home()?.join(".claude.json"),
            },
            Client::Codex => match set("CODEX_HOME") {
                Some(folder) => folder.join("config.toml"),
                None => home()?.join(".codex/config.toml"),
            },
            Client::Cursor => home()?.join(".cursor/mcp.json"),
            Client::Vscode if cfg!(target_os = "macos") => {
                home()?.join("Library/Application Support/Code/User/mcp.json")
            }
            Client::Vscode => settings()?.join("Code/User/mcp.json"),
            Client::Goose => settings()?.join("goose/config.yaml"),
        };
        Config::read(path)
    }

    /// The text with an entry for haft, which may be there already.
    pub(crate) fn with_entry(self, text: &str, entry: &Entry) -> Result<String> {
        line_ends::kept(text, |text| match self {
            Client::ClaudeCode | Client::Cursor => json::with_entry(text, "mcpServers", entry),
            Client::Vscode => json::with_entry(text, "servers", entry),
            Client::Codex => toml::with_entry(text, entry),
            Client::Goose => yaml::with_entry(text, entry),
        })
    }

    /// The text without it; none where there is no such entry.
    pub(crate) fn without_entry(self, text: &str) -> Result<Option<String>> {
        let mut was_there = false;
        let new = line_ends::kept(text, |text| {
            let new = match self {
                Client::ClaudeCode | Client::Cursor => json::without_entry(text, "mcpServers"),
                Client::Vscode => json::without_entry(text, "servers"),
                Client::Codex => toml::without_entry(text),
                Client::Goose => yaml::without_entry(text),
            }?;
            was_there = new.is_some();
            Ok(new.unwrap_or_else(|| text.to_owned()))
        })?;
        Ok(was_there.then_some(new))
    }
}

impl Client {
    /// The other servers that it knows, each as `.mcp.json` would have it.
    pub(crate) fn servers(self, text: &str) -> Result<Vec<Known>> {
        let (all, list) = match self {
            Client::ClaudeCode | Client::Cursor => (json::read(text)?, "mcpServers"),
            Client::Vscode => (json::read(text)?, "servers"),
            Client::Codex => (toml::read(text)?, toml::LIST),
            Client::Goose => (yaml::read(text)?, yaml::LIST),
        };
        let servers = all.get(list).and_then(Value::as_object);
        let others = servers
            .into_iter()
            .flatten()
            .filter(|(name, _)| *name != NAME);
        Ok(others
            .map(|(name, entry)| Known::of(self, name, entry))
            .collect())
    }
}

fn set(variable: &str) -> Option<PathBuf> {
    let value = std::env::var_os(variable)?;
    (!value.is_empty()).then(|| value.into())
}

fn home() -> Result<PathBuf> {
    match set("HOME") {
        Some(home) => Ok(home),
        None => bail!(Failed {
            message: "there is no home folder".to_owned(),
            hint: Some("set `HOME`".to_owned()),
        }),
    }
}

fn settings() -> Result<PathBuf> {
    match set("XDG_CONFIG_HOME") {
        Some(folder) => Ok(folder),
        None => Ok(home()?.join(".config")),
    }
}

fn not_understood(why: impl std::fmt::Display) -> anyhow::Error {
    Failed {
        message: format!("it is not understood, so it stays as it is: {why}"),
        hint: None,
    }
    .into()
}

#[cfg(test)]
mod tests;
