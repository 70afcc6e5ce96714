//! `docs/tools.md`: every tool with its names, parameters and examples.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::workspace::{array, text};

pub(crate) fn page(tools: &Value) -> Result<String> {
    let tools = tools
        .as_array()
        .context("`haft tools --json` did not answer with an array")?;
    let mut page = String::from(
        "# Tools\n\nWritten by `cargo xtask docs` from `haft tools --json`; do not edit.\n",
    );
    let mut module = "";
    for tool in tools {
        if text(&tool["module"]) != module {
            module = text(&tool["module"]);
            write!(page, "\n## {module}\n")?;
        }
        one_tool(&mut page, tool)?;
    }
    Ok(page)
}

fn one_tool(page: &mut String, tool: &Value) -> Result<()> {
    write!(
        page,
        "\n### `{}`\n\n{}\n",
        text(&tool["name"]),
        text(&tool["description"])
    )?;
    write!(
        page,
        "\n- risk: {}; repeat: {}\n",
        text(&tool["risk"]),
        text(&tool["repeat"])
    )?;
    for (key, label) in [
        ("aliases", "also called"),
        ("capabilities", "needs"),
        ("side_effects", "effects"),
        ("tags", "tags"),
    ] {
        let quote = key != "side_effects";
        let words: Vec<String> = array(&tool[key])
            .iter()
            .map(|word| {
                if quote {
                    format!("`{}`", text(word))
                } else {
                    text(word).to_owned()
                }
            })
            .collect();
        if !words.is_empty() {
            writeln!(page, "- {label}: {}", words.join(", "))?;
        }
    }
    parameters(page, tool)?;
    for example in array(&tool["examples"]) {
        write!(
            page,
            "\n{}:\n\n```json\n{}\n```\n\nanswers with\n\n```json\n{}\n```\n",
            text(&example["title"]),
            example["args"],
            example["expect"]
        )?;
    }
    Ok(())
}

fn parameters(page: &mut String, tool: &Value) -> Result<()> {
    let schema = &tool["input_schema"];
    let Some(properties) = schema["properties"]
        .as_object()
        .filter(|all| !all.is_empty())
    else {
        page.push_str("- no parameters\n");
        return Ok(());
    };
    page.push_str("\n| parameter | type | |\n|---|---|---|\n");
    for (name, property) in properties {
        let required = array(&schema["required"]).iter().any(|key| key == name);
        let mut about = text(&property["description"]).replace('\n', " ");
        if let Some(default) = property.get("default").filter(|value| !value.is_null()) {
            write!(about, " (default `{default}`)")?;
        }
        let aliases: Vec<String> = tool["parameter_aliases"]
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(_, ours)| text(ours) == name)
            .map(|(theirs, _)| match theirs.as_str() {
                "*" => "every other key".to_owned(),
                theirs => format!("`{theirs}`"),
            })
            .collect();
        if !aliases.is_empty() {
            write!(about, " (also {})", aliases.join(", "))?;
        }
        writeln!(
            page,
            "| `{name}`{} | {} | {} |",
            if required { " (required)" } else { "" },
            cell(&type_of(property)),
            cell(about.trim())
        )?;
    }
    Ok(())
}

/// A bar inside a table cell would end it.
fn cell(written: &str) -> String {
    written.replace('|', "\\|")
}

fn type_of(property: &Value) -> String {
    if let Some(values) = property["enum"].as_array() {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        return values.join(" or ");
    }
    match &property["type"] {
        Value::String(name) if name == "array" => {
            format!("array of {}", type_of(&property["items"]))
        }
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names: Vec<&str> = names.iter().map(text).collect();
            names.join(" or ")
        }
        _ => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_is_shown_whole() {
        let tools = json!([{
            "name": "file.read", "module": "file", "description": "Read a file.",
            "risk": "low", "repeat": "read", "aliases": ["Read"],
            "capabilities": ["filesystem.read"], "side_effects": [], "tags": [],
            "parameter_aliases": {"file_path": "path"},
            "input_schema": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "File | folder"},
                    "modes": {"type": "array", "items": {"enum": ["a", "b"]}, "default": ["a"]},
                },
                "required": ["path"],
            },
            "examples": [{"title": "The head", "args": {"path": "a"}, "expect": {"lines": 1}}],
        }]);
        let expected = "\
# Tools

Written by `cargo xtask docs` from `haft tools --json`; do not edit.

## file

### `file.read`

Read a file.

- risk: low; repeat: read
- also called: `Read`
- needs: `filesystem.read`

| parameter | type | |
|---|---|---|
| `path` (required) | string | File \\| folder (also `file_path`) |
| `modes` | array of `\"a\"` or `\"b\"` | (default `[\"a\"]`) |

The head:

```json
{\"path\":\"a\"}
```

answers with

```json
{\"lines\":1}
```
";
        assert_eq!(page(&tools).unwrap(), expected);
    }

    #[test]
    fn no_list_is_an_error() {
        assert!(page(&json!({})).is_err());
    }
}
