//! An entry of a client's config as `.mcp.json` would have it: other clients have other names for
//! the same, and places to be filled in of their own. What cannot be carried over is told.

use serde_json::{Map, Value, json};

use super::Client;

/// Fields that mean the same under another name.
const RENAMED: [(&str, &str); 4] = [
    ("cmd", "command"),
    ("envs", "env"),
    ("uri", "url"),
    ("http_headers", "headers"),
];

/// Lists of the tools that are on; here only those that are off can be named.
const CHOSEN: [&str; 2] = ["enabled_tools", "available_tools"];

/// A server that a client knows.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) entry: Value,
    /// What a person has to know, or to do, for it to work here as it does there
    pub(crate) notes: Vec<String>,
}

impl Known {
    pub(super) fn of(client: Client, name: &str, entry: &Value) -> Known {
        let mut known = Known {
            name: name.to_owned(),
            entry: entry.clone(),
            notes: Vec::new(),
        };
        if let Value::Object(fields) = &mut known.entry {
            shared_form(client, fields, &mut known.notes);
        }
        known
    }
}

fn shared_form(client: Client, fields: &mut Map<String, Value>, notes: &mut Vec<String>) {
    for (theirs, shared) in RENAMED {
        if let Some(value) = fields.shift_remove(theirs) {
            fields.entry(shared).or_insert(value);
        }
    }
    if let Some(Value::String(name)) = fields.shift_remove("bearer_token_env_var") {
        put(
            fields,
            "headers",
            "Authorization",
            format!("Bearer ${{{name}}}"),
        );
    }
    if let Some(Value::Object(headers)) = fields.shift_remove("env_http_headers") {
        for (header, name) in &headers {
            let name = name.as_str().unwrap_or_default();
            put(fields, "headers", header, format!("${{{name}}}"));
        }
    }
    for name in names(fields.shift_remove("env_vars")) {
        put(fields, "env", &name, format!("${{{name}:-}}"));
    }
    for name in names(fields.shift_remove("env_keys")) {
        put(fields, "env", &name, format!("secret:{name}"));
        notes.push(wanted(&name, client));
    }
    let seconds = match client {
        Client::Goose => fields.shift_remove("timeout"),
        _ => fields.shift_remove("tool_timeout_sec"),
    };
    if let Some(seconds) = seconds.as_ref().and_then(Value::as_f64) {
        let most = 86_400_000.0;
        let milliseconds = (seconds * 1_000.0).clamp(1.0, most) as u64;
        fields.insert("timeout_ms".to_owned(), json!(milliseconds));
    }
    for list in CHOSEN {
        if !names(fields.shift_remove(list)).is_empty() {
            notes.push(format!(
                "`{list}` is not taken over: all its tools are on here until `haft mcp disable NAME TOOL`"
            ));
        }
    }
    if fields.contains_key("envFile") {
        notes.push("`envFile` is not read here: give the variables with `env`".to_owned());
    }
    if matches!(client, Client::Vscode | Client::Cursor) {
        for value in fields.values_mut() {
            in_places(value, client, notes);
        }
    }
    notes.dedup();
}

fn wanted(name: &str, client: Client) -> String {
    format!(
        "`{name}` is kept by {}: hand it on with `haft secret set {name}`",
        client.as_str()
    )
}

/// Words of a list, or the names of its objects.
fn names(list: Option<Value>) -> Vec<String> {
    let list = list.as_ref().and_then(Value::as_array);
    let words = list.into_iter().flatten();
    words
        .filter_map(|word| word.as_str().or_else(|| word["name"].as_str()))
        .map(str::to_owned)
        .collect()
}

fn put(fields: &mut Map<String, Value>, group: &str, key: &str, value: String) {
    let group = fields.entry(group).or_insert_with(|| json!({}));
    if let Value::Object(group) = group {
        group.entry(key).or_insert(value.into());
    }
}

/// `${env:NAME}`, `${input:NAME}` and the like in all texts, as haft fills them in.
fn in_places(value: &mut Value, client: Client, notes: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains("${") => *text = placed(text, client, notes),
        Value::Array(items) => {
            for item in items {
                in_places(item, client, notes);
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                in_places(field, client, notes);
            }
        }
        _ => {}
    }
}

fn placed(text: &str, client: Client, notes: &mut Vec<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, behind)) = after.split_once('}') else {
            break;
        };
        out.push_str(before);
        rest = behind;
        match inside.split_once(':') {
            Some(("env", name)) => out.push_str(&format!("${{{name}}}")),
            Some(("input", name)) => {
                out.push_str(&format!("${{secret:{name}}}"));
                notes.push(wanted(name, client));
            }
            // Servers run in the workspace.
            None if inside == "workspaceFolder" => out.push('.'),
            None if inside == "userHome" => out.push_str("${HOME}"),
            _ => out.push_str(&format!("${{{inside}}}")),
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(client: Client, theirs: Value, expected: Value, noted: &[&str]) {
        let known = Known::of(client, "x", &theirs);
        assert_eq!(known.entry, expected, "{client:?}");
        assert_eq!(known.notes.len(), noted.len(), "{:?}", known.notes);
        for (note, part) in known.notes.iter().zip(noted) {
            assert!(note.contains(part), "{note}");
        }
    }

    #[test]
    fn entries_of_all_clients_say_the_same_here() {
        check(
            Client::Codex,
            json!({"url": "https://a.example", "http_headers": {"X": "1"},
                "env_http_headers": {"Y": "YY"}, "bearer_token_env_var": "TOK",
                "tool_timeout_sec": 1.5, "enabled": false}),
            json!({"url": "https://a.example", "enabled": false, "timeout_ms": 1500,
                "headers": {"X": "1", "Authorization": "Bearer ${TOK}", "Y": "${YY}"}}),
            &[],
        );
        check(
            Client::Codex,
            json!({"command": "a", "env_vars": ["A", {"name": "B"}], "enabled_tools": ["t"]}),
            json!({"command": "a", "env": {"A": "${A:-}", "B": "${B:-}"}}),
            &["enabled_tools"],
        );
        check(
            Client::Goose,
            json!({"cmd": "a", "envs": {"A": "b"}, "env_keys": ["K"], "timeout": 300, "available_tools": []}),
            json!({"command": "a", "env": {"A": "b", "K": "secret:K"}, "timeout_ms": 300_000}),
            &["haft secret set K"],
        );
        check(
            Client::Vscode,
            json!({"command": "a", "args": ["${workspaceFolder}/x", "${input:key}", "${env:E}-${userHome}"],
                "envFile": ".env"}),
            json!({"command": "a", "args": ["./x", "${secret:key}", "${E}-${HOME}"], "envFile": ".env"}),
            &["envFile", "haft secret set key"],
        );
        check(
            Client::ClaudeCode,
            json!({"command": "a", "args": ["${A:-b}"]}),
            json!({"command": "a", "args": ["${A:-b}"]}),
            &[],
        );
    }
}
