//! A call as a model writes it into the arguments of another one.

use haft_core::Call;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Characters of a call's detail at most.
const DETAIL: usize = 80;

/// One call
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Action {
    /// Name of the tool
    #[schemars(extend("x-aliases" = ["tool_name", "tool"]))]
    #[schemars(length(min = 1, max = 256))]
    pub(super) name: String,
    /// Its parameters
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["arguments", "args", "*"]))]
    pub(super) params: Map<String, Value>,
    /// Words of your own for this call, repeated with its result
    #[serde(default)]
    pub(super) label: Option<String>,
}

impl Action {
    pub(super) fn call(&self) -> Call {
        Call::new(self.name.as_str(), Value::Object(self.params.clone()))
    }

    /// What tells this call from others of the same tool: the start of its first text.
    pub(super) fn detail(&self) -> Option<String> {
        let text = self.params.values().find_map(Value::as_str)?;
        let line = text.lines().next().unwrap_or_default();
        match line.char_indices().nth(DETAIL) {
            Some((end, _)) => Some(format!("{}…", &line[..end])),
            None => Some(line.to_owned()),
        }
    }
}
