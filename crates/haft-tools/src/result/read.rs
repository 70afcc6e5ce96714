//! Reads kept results in parts. Finding the lines is left to `search`; this file checks what was
//! asked for and says what is known about the rest.

use haft_core::{Nature, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec};
use haft_host::KeptResults;
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::search::{self, Found, Query};

/// Characters left for what we say about the result ourselves.
const NOTICE: usize = 300;
/// Characters that the mark around the words of others takes.
const MARK: usize = 220;

const DEFAULT_CONTEXT: u64 = 2;

/// Read a long result that was only shown in part, by the handle that came with it: a range of
/// lines, the lines that match a regex, or both.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    /// Handle of the result, such as `r_…`
    #[schemars(extend("x-aliases" = ["id", "result"]))]
    handle: String,
    /// Lines to read, 1-based and inclusive: `10-20`, `10-`, `-20` or `10`
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["range"]))]
    lines: Option<String>,
    /// Show only lines that match this regular expression
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["pattern", "search"]))]
    regex: Option<String>,
    /// Lines to show around each match, 2 if not given
    #[serde(default)]
    #[schemars(range(max = 100))]
    context: Option<u64>,
}

impl Tool for Read {
    const NAME: &'static str = "result.read";
    const REPEAT: Repeat = Repeat::Read;
    type Power = KeptResults;

    fn describe(spec: ToolSpec) -> ToolSpec {
        let mut spec = spec
            .titled("Read a kept result")
            .aliases(&["read_result", "recall_tool_result"])
            .tags(&["result", "output", "truncated", "handle", "more", "search"])
            .risk(Risk::Low)
            .example(
                "Find a line in a long result",
                json!({"handle": "r_00000000000000000000000000000001", "regex": "error", "context": 0}),
                json!({"matches": 1, "match_lines": [3]}),
            )
            .example(
                "Read two lines",
                json!({"handle": "r_00000000000000000000000000000001", "lines": "2-3"}),
                json!({"lines": 2, "first": 2, "last": 3}),
            );
        spec.always_include = true;
        spec
    }

    async fn run(self, results: &KeptResults, cx: &ToolContext) -> ToolResult {
        let (from, to) = parse_range(self.lines.as_deref())?;
        let ours = match Nature::told_by(&self.handle).untrusted {
            true => NOTICE + MARK,
            false => NOTICE,
        };
        let query = Query {
            from,
            to,
            regex: self.regex.as_deref().map(compile).transpose()?,
            context: self.context.unwrap_or(DEFAULT_CONTEXT) as usize,
            budget: cx.result_budget.saturating_sub(ours).max(NOTICE),
        };
        let cancel = cx.cancel.clone();
        let found = results
            .read(&cx.caller.session, &self.handle, move |input| {
                search::search(input, &query, &cancel)
            })
            .await?;
        Ok(output(&self.handle, found))
    }
}

fn output(handle: &str, found: Found) -> Output {
    let mut structured = json!({
        "handle": handle,
        "content": found.text,
        "lines": found.lines,
        "first": found.first,
        "last": found.last,
        "next": found.next.map(|line| format!("{line}-")),
    });
    if let Some(matches) = found.matches {
        structured["matches"] = matches.into();
        structured["match_lines"] = found.match_lines.into();
    }
    let mut text = found.text;
    if text.is_empty() {
        text.push_str(match found.matches {
            Some(_) => "[no line matches]",
            None => "[no such lines]",
        });
        // What was looked for may stand in what was not kept.
        if let Some(cut) = &found.cut {
            text.push_str(&format!("\n{cut}"));
        }
    }
    if found.unshown > 0 {
        text.push_str(&format!(
            "\n[{} more matching lines not shown; narrow the regex or give `lines`]",
            found.unshown
        ));
    }
    if let Some(next) = found.next {
        text.push_str(&format!("\n[goes on: read `lines` `{next}-`]"));
    }
    let nature = Nature::told_by(handle);
    Output::text(text)
        .and_structured(structured)
        .untrusted_if(nature.untrusted)
        .forgettable_if(nature.forgettable)
}

fn compile(pattern: &str) -> Result<Regex, ToolError> {
    RegexBuilder::new(pattern)
        .size_limit(1 << 20)
        .dfa_size_limit(4 << 20)
        .build()
        .map_err(|error| {
            ToolError::input_invalid(format!("`regex` cannot be used: {error}"))
                .hint("escape special characters with `\\\\` to find them as they are")
        })
}

/// The first and last line asked for.
fn parse_range(lines: Option<&str>) -> Result<(u64, Option<u64>), ToolError> {
    let Some(lines) = lines else {
        return Ok((1, None));
    };
    let bad = || {
        ToolError::input_invalid(format!(
            "`lines` is not a range of lines: `{}`",
            lines.chars().take(40).collect::<String>()
        ))
        .hint("write `10-20`, `10-`, `-20` or `10`; the first line is 1")
    };
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| bad());
    let (from, to) = match lines.trim().split_once('-') {
        None => {
            let line = number(lines)?;
            (line, Some(line))
        }
        Some(("", to)) => (1, Some(number(to)?)),
        Some((from, "")) => (number(from)?, None),
        Some((from, to)) => (number(from)?, Some(number(to)?)),
    };
    if from == 0 || to.is_some_and(|to| to < from) {
        return Err(bad());
    }
    Ok((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let check = |lines: &str, expected: Option<(u64, Option<u64>)>| {
            assert_eq!(parse_range(Some(lines)).ok(), expected, "{lines}");
        };
        check("10-20", Some((10, Some(20))));
        check(" 10 - 20 ", Some((10, Some(20))));
        check("10-", Some((10, None)));
        check("-20", Some((1, Some(20))));
        check("7", Some((7, Some(7))));
        check("0-3", None);
        check("5-4", None);
        check("-", None);
        check("a-b", None);
        check("1-2-3", None);
        check("", None);
    }
}
