//! Entries in JSON, with or without comments.

use anyhow::Result;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

use super::{Entry, HOME, NAME, not_understood};

pub(super) fn with_entry(text: &str, list: &str, entry: &Entry) -> Result<String> {
    let root = parsed(text)?;
    let top = root
        .object_value_or_create()
        .ok_or_else(|| not_understood("it holds no object"))?;
    expect_one(&top, list)?;
    let servers = top
        .object_value_or_create(list)
        .ok_or_else(|| not_understood(format!("`{list}` is no object")))?;
    expect_one(&servers, NAME)?;
    let args = entry.args.iter().cloned().map(CstInputValue::String);
    let mut fields = vec![
        ("type".to_owned(), "stdio".into()),
        ("command".to_owned(), entry.command.clone().into()),
        ("args".to_owned(), CstInputValue::Array(args.collect())),
    ];
    if let Some(home) = &entry.home {
        let variable = (HOME.to_owned(), home.clone().into());
        fields.push(("env".to_owned(), CstInputValue::Object(vec![variable])));
    }
    let value = CstInputValue::Object(fields);
    match servers.get(NAME) {
        Some(old) => old.set_value(value),
        None => {
            servers.append(NAME, value);
        }
    }
    Ok(root.to_string())
}

pub(super) fn without_entry(text: &str, list: &str) -> Result<Option<String>> {
    let root = parsed(text)?;
    let Some(top) = root.object_value() else {
        return Ok(None);
    };
    expect_one(&top, list)?;
    let Some(servers) = top.object_value(list) else {
        return Ok(None);
    };
    expect_one(&servers, NAME)?;
    let Some(entry) = servers.get(NAME) else {
        return Ok(None);
    };
    entry.remove();
    Ok(Some(root.to_string()))
}

/// Of two fields of one name programs take one or the other: nobody knows which is meant.
fn expect_one(object: &CstObject, name: &str) -> Result<()> {
    let fields = object.properties();
    let same = fields
        .iter()
        .filter(|field| field.decoded_name().as_deref() == Some(name));
    match same.count() {
        0 | 1 => Ok(()),
        _ => Err(not_understood(format!("`{name}` stands in it twice"))),
    }
}

pub(super) fn read(text: &str) -> Result<Value> {
    Ok(parsed(text)?.to_serde_value().unwrap_or_default())
}

fn parsed(text: &str) -> Result<CstRootNode> {
    CstRootNode::parse(text, &ParseOptions::default()).map_err(not_understood)
}
