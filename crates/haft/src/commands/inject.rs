//! `haft tools inject`: how much of the tools a model is shown, and why.

use anyhow::Result;
use haft_runtime::{Decision, InjectionMode};

use super::tools::USUAL_CONTEXT;
use crate::cli::ShapeName;
use crate::terminal::{print, show, table};
use crate::wiring::House;

pub(super) fn run(
    house: &House,
    as_json: bool,
    shape: Option<ShapeName>,
    window_is_told: bool,
) -> Result<u8> {
    if let Some(shape) = shape {
        let definitions = house.session.definitions(&house.runtime, shape.into());
        print::raw(definitions.json().as_bytes())?;
        print::raw(b"\n")?;
        return Ok(0);
    }
    let decision = house.session.decision(&house.runtime);
    if as_json {
        show::json(&decision)?;
        return Ok(0);
    }
    print::line(&format!(
        "{}: {}",
        print::bold(name(decision.mode)),
        reason(
            &decision,
            house.loaded.effective.runtime.tool_injection.is_some()
        )
    ));
    let rows = [
        ("budget", decision.budget),
        ("with schemas", decision.tool_tokens),
        ("a line each", decision.compact_tokens),
    ];
    table::print(
        &["", "tokens"],
        rows.map(|(what, tokens)| vec![what.to_owned(), tokens.to_string()]),
    );
    if !window_is_told {
        print::line(&format!(
            "for a context of {USUAL_CONTEXT} tokens: say how many there are with \
             `--context-window` or in the config. `haft mcp` shows all tools until one of them does",
        ));
    }
    Ok(0)
}

pub(super) fn name(mode: InjectionMode) -> &'static str {
    match mode {
        InjectionMode::Direct => "direct",
        InjectionMode::CompactDirect => "compact_direct",
        InjectionMode::Discovery => "discovery",
    }
}

fn reason(decision: &Decision, forced: bool) -> String {
    let tools = decision.tools;
    if forced {
        return format!("{tools} tools, as `runtime.tool_injection` says");
    }
    match decision.mode {
        InjectionMode::Direct => format!("{tools} tools fit with their schemas"),
        InjectionMode::CompactDirect => format!("{tools} tools fit with a line each"),
        InjectionMode::Discovery => format!("{tools} tools do not fit, they have to be found"),
    }
}
