//! Entries in TOML.

use anyhow::Result;
use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, value};

use super::{Entry, HOME, NAME, not_understood};

pub(super) const LIST: &str = "mcp_servers";

pub(super) fn with_entry(text: &str, entry: &Entry) -> Result<String> {
    let mut document = parsed(text)?;
    let servers = document.entry(LIST).or_insert_with(|| {
        let mut servers = Table::new();
        servers.set_implicit(true);
        Item::Table(servers)
    });
    let servers = servers
        .as_table_like_mut()
        .ok_or_else(|| not_understood(format!("`{LIST}` is no table")))?;
    if !servers.contains_key(NAME) {
        let mut ours = Table::new();
        if !text.is_empty() {
            ours.decor_mut().set_prefix("\n");
        }
        servers.insert(NAME, Item::Table(ours));
    }
    let ours = servers
        .get_mut(NAME)
        .and_then(Item::as_table_like_mut)
        .ok_or_else(|| not_understood(format!("`{LIST}.{NAME}` is no table")))?;
    ours.insert("command", value(&entry.command));
    ours.insert("args", value(entry.args.iter().collect::<Array>()));
    if let Some(home) = &entry.home {
        let env = ours
            .entry("env")
            .or_insert_with(|| value(InlineTable::new()));
        let env = env
            .as_table_like_mut()
            .ok_or_else(|| not_understood(format!("`{LIST}.{NAME}.env` is no table")))?;
        env.insert(HOME, value(home));
    }
    Ok(document.to_string())
}

pub(super) fn without_entry(text: &str) -> Result<Option<String>> {
    let mut document = parsed(text)?;
    let servers = document.get_mut(LIST).and_then(Item::as_table_like_mut);
    let removed = servers.and_then(|servers| servers.remove(NAME));
    Ok(removed.map(|_| document.to_string()))
}

pub(super) fn read(text: &str) -> Result<Value> {
    toml_edit::de::from_str(text).map_err(not_understood)
}

fn parsed(text: &str) -> Result<DocumentMut> {
    text.parse().map_err(not_understood)
}
