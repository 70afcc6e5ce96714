//! Forms on the terminal: what a model or a running tool wants to know. Nobody has to answer: an
//! empty line leaves a field out, or declines where the field is needed.

use std::fs::File;
use std::io::{BufRead, BufReader, Lines, Write};

use anstream::AutoStream;
use haft_core::OWN_WORDS;
use serde_json::{Map, Value, json};

/// Fields of one form that are asked.
const MOST_FIELDS: usize = 100;

/// What came of a field.
enum Said {
    Value(Value),
    /// None of its values, and other words are welcome
    OtherWords(String),
    Nothing,
}

/// Somebody at a terminal.
struct Table {
    out: AutoStream<File>,
    lines: Lines<BufReader<File>>,
}

/// The form filled in, or declined; none when the terminal is gone.
pub(super) fn fill_in(form: &Value, read: File, write: File) -> Option<Value> {
    let mut table = Table {
        out: AutoStream::auto(write),
        lines: BufReader::new(read).lines(),
    };
    table.say("\n\u{1b}[33ma question to you\u{1b}[0m (an empty answer declines)\n");
    for line in text(&form["message"]).lines() {
        table.say(&format!("  {line}\n"));
    }
    let schema = &form["requestedSchema"];
    let required = schema["required"].as_array();
    let mut content = Map::new();
    let fields = schema["properties"].as_object();
    let is_field = |name: &str| fields.is_some_and(|fields| fields.contains_key(name));
    for (name, field) in fields.into_iter().flatten().take(MOST_FIELDS) {
        if name.strip_suffix(OWN_WORDS).is_some_and(is_field) {
            continue;
        }
        let needed = required.is_some_and(|names| names.iter().any(|other| other == name));
        let other = Some(format!("{name}{OWN_WORDS}")).filter(|other| is_field(other));
        match table.field(name, field, &form["message"], other.is_some())? {
            Said::Value(value) => {
                content.insert(name.clone(), value);
            }
            Said::OtherWords(text) => {
                content.extend(other.map(|other| (other, text.into())));
            }
            Said::Nothing if needed => return Some(json!({"action": "decline"})),
            Said::Nothing => {}
        }
    }
    Some(json!({"action": "accept", "content": content}))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

impl Table {
    fn say(&mut self, text: &str) {
        let _ = write!(self.out, "{text}").and_then(|()| self.out.flush());
    }

    /// What is said to a field; none when the terminal is gone.
    fn field(&mut self, name: &str, field: &Value, message: &Value, open: bool) -> Option<Said> {
        let question = text(&field["description"]);
        // A form of one question says it only once.
        if !question.is_empty() && !text(message).starts_with(question) {
            self.say(&format!("  {}\n", question.replace('\n', "\n    ")));
        }
        let choices = choices(field);
        for (at, choice) in choices.iter().enumerate() {
            self.say(&format!("    {}. {}\n", at + 1, choice.replace('\n', " ")));
        }
        let title = field["title"]
            .as_str()
            .unwrap_or(match question.is_empty() {
                true => name,
                false => "answer",
            });
        let prompt = format!("  {}{}: ", title.replace('\n', " "), kind(field, open));
        loop {
            self.say(&prompt);
            let line = self.lines.next()?.ok()?;
            if line.trim().is_empty() {
                return Some(Said::Nothing);
            }
            if let Some(value) = value(line.trim(), field) {
                return Some(Said::Value(value));
            }
            if open {
                return Some(Said::OtherWords(line.trim().to_owned()));
            }
            self.say("  that is none of its values\n");
        }
    }
}

/// What a field offers.
fn choices(field: &Value) -> Vec<&str> {
    let listed = match field["type"].as_str() {
        Some("array") => &field["items"]["enum"],
        _ => &field["enum"],
    };
    let listed = listed.as_array().into_iter().flatten();
    listed.filter_map(Value::as_str).collect()
}

fn kind(field: &Value, open: bool) -> &'static str {
    match (field["type"].as_str(), choices(field).is_empty()) {
        (Some("boolean"), _) => " (yes or no)",
        (Some("integer" | "number"), _) => " (number)",
        (Some("array"), false) if open => " (numbers of your choice, or your own words)",
        (Some("array"), false) => " (numbers of your choice)",
        (_, false) if open => " (number of your choice, or your own words)",
        (_, false) => " (number of your choice)",
        _ => "",
    }
}

/// An answer as the field wants it, if it is one.
fn value(answer: &str, field: &Value) -> Option<Value> {
    let choices = choices(field);
    let pick = |word: &str| {
        let by_number = word.parse::<usize>().ok().and_then(|at| at.checked_sub(1));
        let by_number = by_number.and_then(|at| choices.get(at).copied());
        by_number.or_else(|| choices.iter().copied().find(|choice| *choice == word))
    };
    match field["type"].as_str() {
        Some("boolean") => match answer.to_lowercase().as_str() {
            "y" | "yes" | "true" | "on" => Some(true.into()),
            "n" | "no" | "false" | "off" => Some(false.into()),
            _ => None,
        },
        Some("integer") => answer.parse::<i64>().ok().map(Value::from),
        Some("number") => {
            let whole = answer.parse::<i64>().map(Value::from);
            whole
                .or_else(|_| answer.parse::<f64>().map(Value::from))
                .ok()
        }
        Some("array") => {
            let words = answer.split([',', ' ']).filter(|word| !word.is_empty());
            let picked: Option<Vec<&str>> = words.map(pick).collect();
            picked
                .or_else(|| pick(answer).map(|one| vec![one]))
                .map(Value::from)
        }
        _ if !choices.is_empty() => pick(answer).map(Value::from),
        _ => Some(answer.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Seek;

    use super::*;

    #[test]
    fn fields_take_what_they_are_for() {
        let check = |field: Value, answer: &str, want: Value| {
            let have = value(answer, &field).unwrap_or_default();
            assert_eq!(have, want, "{answer} for {field}");
        };
        let one = || json!({"type": "string", "enum": ["red", "dark green", "blue"]});
        check(one(), "2", json!("dark green"));
        check(one(), "blue", json!("blue"));
        check(one(), "0", Value::Null);
        check(one(), "4", Value::Null);
        let many = || json!({"type": "array", "items": {"enum": ["red", "dark green"]}});
        check(many(), "1, 2", json!(["red", "dark green"]));
        check(many(), "dark green", json!(["dark green"]));
        check(many(), "1 5", Value::Null);
        check(json!({"type": "number"}), "3", json!(3));
        check(json!({"type": "number"}), "3.5", json!(3.5));
        check(json!({"type": "integer"}), "3.5", Value::Null);
        check(json!({"type": "boolean"}), "Yes", json!(true));
        check(json!({"type": "boolean"}), "perhaps", Value::Null);
        check(json!({"type": "string"}), "7 or so", json!("7 or so"));
    }
    #[test]
    fn an_answer_in_other_words_goes_into_the_field_beside() {
        let form = json!({
            "message": "Which colour?",
            "requestedSchema": {
                "properties": {
                    "a": {"type": "string", "enum": ["red", "blue"], "description": "Which colour?"},
                    "a_other": {"type": "string"},
                    "b": {"type": "string"},
                },
                "required": ["b"],
            },
        });
        let check = |typed: &str, want: Value| {
            let mut keys = tempfile::tempfile().unwrap();
            keys.write_all(typed.as_bytes()).unwrap();
            keys.rewind().unwrap();
            let have = fill_in(&form, keys, tempfile::tempfile().unwrap());
            assert_eq!(have.unwrap_or_default(), want, "{typed:?}");
        };
        let accepted = |content: Value| json!({"action": "accept", "content": content});
        check("2\nx\n", accepted(json!({"a": "blue", "b": "x"})));
        check("pale\nx\n", accepted(json!({"a_other": "pale", "b": "x"})));
        check("\nx\n", accepted(json!({"b": "x"})));
        check("1\n\n", json!({"action": "decline"}));
        check("1\n", Value::Null);
    }
}
