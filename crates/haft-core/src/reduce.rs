//! Reducers shorten one tool's output before it is cut to the budget: deterministic, no model,
//! nothing important lost. They stand beside the tool they serve.

use serde_json::Value;

use crate::Output;

/// What a reducer may look at besides the output.
#[derive(Debug, Clone, Copy)]
pub struct ReduceContext<'a> {
    pub args: &'a Value,
    /// How many turns the session has had
    pub turn: u64,
}

pub trait Reducer: Send + Sync {
    /// The canonical name of the tool, exactly.
    fn tool(&self) -> &str;

    /// A shorter output, or none to leave it as it is.
    fn reduce(&self, output: &Output, cx: ReduceContext<'_>) -> Option<Output>;
}
