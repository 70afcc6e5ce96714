//! Entries in YAML. There is no editor for it that keeps what it does not touch, so lines are put
//! in and taken out, and what came of it is read again: it must say the same but for the entry.

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use super::{Entry, HOME, NAME, not_understood};

pub(super) const LIST: &str = "extensions";

pub(super) fn with_entry(text: &str, entry: &Entry) -> Result<String> {
    let text = match without_entry(text)? {
        Some(without) => without,
        None => text.to_owned(),
    };
    let before = parsed(&text)?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let heading = lines.iter().position(|line| is_heading(line));
    let new = match heading {
        Some(at) => {
            let indent = lines[at + 1..].iter().find_map(|line| indent(line));
            let block = block(indent.filter(|&width| width > 0).unwrap_or(2), entry);
            let (head, tail) = lines.split_at(at + 1);
            let end = if lines[at].ends_with('\n') { "" } else { "\n" };
            [&head.concat(), end, &block, &tail.concat()].concat()
        }
        None if before.contains_key(LIST) => {
            bail!(not_understood(format!("`{LIST}` is not a block of lines")));
        }
        None => {
            let end = if text.is_empty() || text.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            format!("{text}{end}{LIST}:\n{}", block(2, entry))
        }
    };
    expect_same(&before, &new)?;
    Ok(new)
}

pub(super) fn without_entry(text: &str) -> Result<Option<String>> {
    let mut before = parsed(text)?;
    let Some(list) = before.get_mut(LIST).and_then(Value::as_object_mut) else {
        return Ok(None);
    };
    if list.remove(NAME).is_none() {
        return Ok(None);
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let found = lines
        .iter()
        .position(|line| is_heading(line))
        .and_then(|at| {
            let is_ours = |line: &&str| line.trim_end().trim_start() == format!("{NAME}:");
            let start = at + 1 + lines[at + 1..].iter().position(is_ours)?;
            let width = indent(lines[start])?;
            let deeper = |line: &&str| indent(line).is_none_or(|more| more > width);
            let mut end = start
                + 1
                + lines[start + 1..]
                    .iter()
                    .take_while(|line| deeper(line))
                    .count();
            // Empty lines and comments behind it belong to what comes next.
            while end > start + 1 && indent(lines[end - 1]).is_none() {
                end -= 1;
            }
            Some([lines[..start].concat(), lines[end..].concat()].concat())
        });
    let Some(new) = found else {
        bail!(not_understood(format!("`{LIST}` is not a block of lines")));
    };
    expect_same(&before, &new)?;
    Ok(Some(new))
}

fn block(width: usize, entry: &Entry) -> String {
    let quoted = |text: &str| json!(text).to_string();
    let args: Vec<String> = entry.args.iter().map(|arg| quoted(arg)).collect();
    let home = entry.home.as_ref();
    let home = home.map(|home| format!("envs: {{{HOME}: {}}}", quoted(home)));
    let fields = [
        "enabled: true".to_owned(),
        "type: stdio".to_owned(),
        format!("name: {NAME}"),
        format!("cmd: {}", quoted(&entry.command)),
        format!("args: [{}]", args.join(", ")),
        "timeout: 300".to_owned(),
    ];
    let pad = " ".repeat(width);
    let mut block = format!("{pad}{NAME}:\n");
    for field in fields.into_iter().chain(home) {
        block.push_str(&format!("{pad}{pad}{field}\n"));
    }
    block
}

fn is_heading(line: &str) -> bool {
    let rest = line
        .strip_prefix(LIST)
        .and_then(|rest| rest.strip_prefix(':'));
    rest.is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('#'))
}

/// How far a line stands in; none for an empty one and for a comment.
fn indent(line: &str) -> Option<usize> {
    let text = line.trim_start_matches(' ');
    let says = !text.trim().is_empty() && !text.starts_with('#');
    says.then(|| line.len() - text.len())
}

/// Nothing but our entry may differ. A list that holds nothing else says nothing.
fn expect_same(before: &Map<String, Value>, text: &str) -> Result<()> {
    let plain = |map: &Map<String, Value>| {
        let mut map = map.clone();
        let list = map.get_mut(LIST).and_then(Value::as_object_mut);
        if let Some(list) = list {
            list.remove(NAME);
        }
        if map
            .get(LIST)
            .is_some_and(|list| list.is_null() || *list == json!({}))
        {
            map.remove(LIST);
        }
        map
    };
    match plain(before) == plain(&parsed(text)?) {
        true => Ok(()),
        false => bail!(not_understood("another entry would change")),
    }
}

pub(super) fn read(text: &str) -> Result<Value> {
    parsed(text).map(Value::Object)
}

fn parsed(text: &str) -> Result<Map<String, Value>> {
    match serde_saphyr::from_str::<Value>(text)
        .map_err(|error| not_understood(error.without_snippet()))?
    {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        _ => bail!(not_understood("it holds no mapping")),
    }
}
