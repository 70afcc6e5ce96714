//! Outcomes for people, and JSON for programs.

use std::io::{IsTerminal, Write};

use anyhow::Result;
use haft_core::{Block, Outcome};
use serde::Serialize;

use super::{fail, print};

/// One JSON document on standard output, indented where a person reads it.
pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    let mut text = if std::io::stdout().is_terminal() {
        serde_json::to_vec_pretty(value)?
    } else {
        serde_json::to_vec(value)?
    };
    text.push(b'\n');
    Ok(print::raw(&text)?)
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
