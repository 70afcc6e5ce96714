//! Shortens what commands say: `git status` to counts and its first entries, test runs to their
//! summary and failures, installs to what was added and what went wrong, and whatever is long
//! to its beginning and end. Which command it was is only believed where the whole line is that
//! one command; lines that tell of an error stay in every case.

mod commands;
mod status;

use haft_core::{Output, ReduceContext, Reducer};

use super::story::HEAD;
use crate::lines::{Gaps, Lines, is_mark, text_of};
use commands::{Known, recognise};

/// Output up to this size is left alone if it is of no known command.
const LONG: usize = 8 << 10;
const TAIL: usize = 20;
const ERRORS: usize = 100;

/// Below this many lines nothing is worth leaving out.
const FEW: usize = 20;

/// Characters of `tail`, as without reducing.
const TAIL_CHARS: usize = 4_000;

pub(super) struct ShellReducer;

impl Reducer for ShellReducer {
    fn tool(&self) -> &str {
        "shell.exec"
    }

    fn reduce(&self, output: &Output, cx: ReduceContext<'_>) -> Option<Output> {
        let command = cx.args.get("command")?.as_str()?;
        let known = recognise(command);
        let before = text_of(output);
        let mut structured = output.structured.clone()?;
        let cut = structured["truncated"] == true;
        // Counting what is not all there would mislead.
        let known = known.filter(|known| !cut || *known != Known::GitStatus);
        let failed = output.error.is_some();
        let text = shorter(&before, known, failed)?;
        if cut {
            // The text tells of the beginning too, which `output` no longer holds.
            structured["tail"] = last_chars(&text, TAIL_CHARS).into();
            structured["output"] = text.clone().into();
        } else if let Some(whole) = structured["output"].as_str()
            && let Some(reduced) = shorter(whole, known, failed)
        {
            structured["tail"] = last_chars(&reduced, TAIL_CHARS).into();
            structured["output"] = reduced.into();
        }
        Some(Output::text(text).and_structured(structured))
    }
}

/// A shorter text, where there is one.
fn shorter(text: &str, known: Option<Known>, failed: bool) -> Option<String> {
    let by_command = match known {
        // A status that failed is an error message.
        Some(Known::GitStatus) if !failed => status::reduce(text),
        Some(Known::Tests) => without_passing(text),
        Some(Known::Install) => installed(text),
        _ => None,
    };
    let reduced = match by_command {
        Some(reduced) if reduced.len() > LONG => head_and_tail(&reduced).or(Some(reduced)),
        Some(reduced) => Some(reduced),
        None if text.len() > LONG => head_and_tail(text),
        None => None,
    };
    reduced.filter(|reduced| reduced.len() < text.len())
}

fn without_passing(text: &str) -> Option<String> {
    let mut lines = Lines::of(text);
    if lines.count() <= FEW {
        return None;
    }
    let (mut passing, mut building) = (0, 0);
    lines.keep_where(|line| match commands::noise(line) {
        Some(commands::Noise::Passed) => {
            passing += 1;
            false
        }
        Some(commands::Noise::Progress) => {
            building += 1;
            false
        }
        None => true,
    });
    lines.keep_last(1);
    lines.keep_errors(ERRORS);
    lines.keep_where(is_mark);
    if lines.dropped() < FEW / 2 {
        return None;
    }
    let note =
        format!("[test run; left out: {passing} lines of what passed, {building} of progress]\n");
    Some(format!("{note}{}", lines.text(Gaps::Silent)))
}

fn installed(text: &str) -> Option<String> {
    let mut lines = Lines::of(text);
    if lines.count() <= FEW {
        return None;
    }
    lines.keep_where(commands::is_install_news);
    lines.keep_last(3);
    lines.keep_errors(ERRORS);
    lines.keep_where(is_mark);
    if lines.dropped() < FEW / 2 {
        return None;
    }
    let note = format!(
        "[install; {} lines of progress left out]\n",
        lines.dropped()
    );
    Some(format!("{note}{}", lines.text(Gaps::Silent)))
}

fn head_and_tail(text: &str) -> Option<String> {
    let mut lines = Lines::of(text);
    lines.keep_first(HEAD);
    lines.keep_last(TAIL);
    lines.keep_errors(ERRORS);
    lines.keep_where(is_mark);
    let reduced = lines.text(Gaps::Marked);
    (reduced.len() < text.len()).then_some(reduced)
}

fn last_chars(text: &str, count: usize) -> &str {
    match text.char_indices().rev().nth(count.saturating_sub(1)) {
        Some((at, _)) => &text[at..],
        None => text,
    }
}

#[cfg(test)]
mod tests;
