//! Outcomes for people, and JSON for programs.

use std::io::{IsTerminal, Write};

use anyhow::Result;
use haft_core::{Block, Outcome};
use serde::Serialize;

use super::{fail, print};

/// One JSON document on standard output, indented where a person reads it.
pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    let mut text = if std::io::stdout().is_terminal() {
        escaped(&serde_json::to_string_pretty(value)?)
    } else {
        serde_json::to_string(value)?
    };
    text.push('\n');
    Ok(print::raw(text.as_bytes())?)
}

/// The same JSON, with what would hide or repaint text on a terminal spelled out as JSON does.
fn escaped(json: &str) -> String {
    if haft_runtime::visible(json) == json {
        return json.to_owned();
    }
    let mut shown = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        let mut room = [0; 4];
        let alone: &str = c.encode_utf8(&mut room);
        match haft_runtime::visible(alone) == alone {
            true => shown.push(c),
            false => c
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| shown.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    shown
}

pub(crate) fn heading(outcome: &Outcome) {
    let mark = if outcome.ok {
        "\u{1b}[32mok\u{1b}[0m"
    } else {
        "\u{1b}[31mfailed\u{1b}[0m"
    };
    print::line(&format!(
        "{} {} {mark}",
        print::bold(&outcome.call_id),
        outcome.tool
    ));
}

/// The content on standard output, the error on standard error. What was shown while the call
/// ran is not shown again.
pub(crate) fn outcome(outcome: &Outcome, shown_live: bool) -> Result<()> {
    if !shown_live {
        for block in &outcome.content {
            match block {
                Block::Text { text, .. } => print_text(text)?,
                Block::Image {
                    data, mime_type, ..
                } => {
                    print_text(&format!(
                        "[{mime_type} image, {} base64 characters]",
                        data.len()
                    ))?;
                }
                Block::Audio {
                    data, mime_type, ..
                } => {
                    print_text(&format!(
                        "[{mime_type} audio, {} base64 characters]",
                        data.len()
                    ))?;
                }
                Block::Resource { resource, .. } => print_text(&resource.to_string())?,
                Block::ResourceLink { link } => {
                    print_text(&serde_json::to_string(link).unwrap_or_default())?;
                }
            }
        }
    }
    if let Some(would) = &outcome.meta.would {
        fail::notice(&format!("dry run: policy would {would}"));
    }
    if let Some(handle) = outcome
        .meta
        .handle
        .as_ref()
        .filter(|_| !outcome.meta.truncated)
    {
        fail::notice(&format!(
            "the whole result: haft call result.read --set handle={handle}"
        ));
    }
    if let Some(error) = &outcome.error {
        fail::error(
            &format!("{} ({})", error.message, error.code),
            error.hint.as_deref(),
        );
    }
    Ok(())
}

/// A tool's text: byte for byte into a pipe; on a terminal without what would repaint it.
fn print_text(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let shown = if out.is_terminal() {
        haft_runtime::visible(text)
    } else {
        text.to_owned()
    };
    let written = out
        .write_all(shown.as_bytes())
        .and_then(|()| match text.ends_with('\n') {
            true => Ok(()),
            false => out.write_all(b"\n"),
        });
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides_in_json_and_it_says_the_same() {
        let value = serde_json::json!({"a": "x\u{202e}y\u{9b}\u{e0041}", "b": "plain \u{e4}\n"});
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = escaped(&text);
        assert_eq!(haft_runtime::visible(&shown), shown);
        assert!(shown.contains("x\\u202ey\\u009b\\udb40\\udc41"), "{shown}");
        let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, value);
    }
}
