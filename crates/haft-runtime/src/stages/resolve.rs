//! resolve: any accepted name leads to one tool, and so does an action that only one tool has. An
//! unknown name is answered with names that are near; nothing runs on a guess.

use std::sync::Arc;

use haft_core::ToolError;

use crate::flight::Flight;
use crate::visible;

/// Tools named where nothing is near and nothing can be searched.
const NAMED: usize = 15;

/// The tool's position in the view.
pub(crate) fn name(flight: &mut Flight<'_>) -> Result<usize, ToolError> {
    let asked = &flight.cx.tool;
    let index = flight
        .view
        .resolve(asked)
        .ok_or_else(|| unknown(flight, asked))?;
    let spec = flight.view.entry(index).spec();
    flight.cx.resolved(&spec.name);
    if let Some(most) = spec.max_result_chars {
        flight.cx.result_budget = flight.cx.result_budget.min(most);
    }
    flight.found = Some(index);
    flight.account |= spec.gives_account;
    Ok(index)
}

fn unknown(flight: &Flight<'_>, asked: &Arc<str>) -> ToolError {
    let view = flight.view;
    let shown: String = visible(asked).chars().take(100).collect();
    if let Some(bad) = view
        .snapshot()
        .quarantined()
        .iter()
        .find(|bad| *bad.name == **asked)
    {
        return ToolError::not_available(format!("tool `{shown}` is quarantined: {}", bad.reason));
    }
    let named = |tools: &[usize]| -> Vec<String> {
        let tools = tools.iter().take(NAMED);
        let names = tools.map(|&index| view.entry(index).spec().name.to_string());
        names.collect()
    };
    let error = ToolError::not_available(format!("Unknown tool: `{shown}`"));
    let several = named(view.with_action(asked));
    if !several.is_empty() {
        return error.hint(format!("several end in it: {}", quoted(&several)));
    }
    let near = if asked.len() <= 200 {
        view.near(asked)
    } else {
        Vec::new()
    };
    if !near.is_empty() {
        return error.hint(format!("did you mean {}?", quoted(&near)));
    }
    match view.of_module(asked) {
        siblings if !siblings.is_empty() => {
            error.hint(format!("tools of that module: {}", quoted(&siblings)))
        }
        _ if flight.session.is_discovering(view, &flight.cx) => {
            error.hint("say in `search_tools` what you want to do")
        }
        _ => {
            let some = quoted(&named(view.visible()));
            error.hint(format!("tools: {some}; `haft tools` lists all"))
        }
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
