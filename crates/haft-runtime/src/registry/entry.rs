//! One registered tool with what was compiled for it.

use std::sync::{Arc, OnceLock};

use haft_core::{DynTool, Source, ToolContext};

use super::schema::Schema;

pub struct Entry {
    tool: Arc<dyn DynTool>,
    api_name: Arc<str>,
    /// Of its arguments
    schema: OnceLock<Schema>,
    /// What its structured answers have to be, where somebody else promises it
    output: Option<Schema>,
    source: Source,
}

impl Entry {
    pub(super) fn new(
        tool: Arc<dyn DynTool>,
        api_name: Arc<str>,
        schema: Option<Schema>,
        output: Option<Schema>,
        plugin: Option<&str>,
    ) -> Self {
        let source = match plugin {
            Some(id) => Source::Plugin(id.to_owned()),
            None => tool.spec().source.clone(),
        };
        Entry {
            tool,
            api_name,
            schema: schema.map(OnceLock::from).unwrap_or_default(),
            output,
            source,
        }
    }

    pub(crate) fn tool(&self) -> &dyn DynTool {
        &*self.tool
    }

    /// The name as providers accept it; no other tool has it.
    pub fn api_name(&self) -> &Arc<str> {
        &self.api_name
    }

    pub fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn schema(&self) -> &Schema {
        self.schema
            .get_or_init(|| Schema::of_type(&self.tool.spec().input_schema))
    }

    pub(crate) fn output_schema(&self) -> Option<&Schema> {
        self.output.as_ref()
    }

    /// Why it cannot be called now: a backend that is missing, or the tool's own word.
    pub fn unavailable(&self, cx: &ToolContext) -> Option<String> {
        for capability in &self.tool.spec().capabilities {
            let backend = capability.backend();
            let powers = &cx.caller.powers;
            if !powers.has(backend) {
                let missing = || format!("needs the `{backend}` backend for `{capability}`");
                return Some(powers.why_not(backend).map_or_else(missing, str::to_owned));
            }
        }
        self.tool.unavailable(cx)
    }
}
