//! A tool given by a function.

use std::sync::Arc;

use haft_core::{
    BoxFuture, DynTool, Effects, Prepared, Repeat, Risk, ToolContext, ToolError, ToolResult,
    ToolSpec,
};
use serde_json::{Value, json};

type Script =
    Arc<dyn for<'a> Fn(Value, &'a ToolContext) -> BoxFuture<'a, ToolResult> + Send + Sync>;

pub(crate) struct Scripted {
    spec: ToolSpec,
    script: Script,
}

/// A tool without arguments.
pub(crate) fn tool(
    name: &str,
    description: &str,
    script: impl for<'a> Fn(Value, &'a ToolContext) -> BoxFuture<'a, ToolResult> + Send + Sync + 'static,
) -> Arc<dyn DynTool> {
    let schema = json!({"type": "object", "properties": {}});
    with_schema(name, description, schema, script)
}

pub(crate) fn with_schema(
    name: &str,
    description: &str,
    schema: Value,
    script: impl for<'a> Fn(Value, &'a ToolContext) -> BoxFuture<'a, ToolResult> + Send + Sync + 'static,
) -> Arc<dyn DynTool> {
    let mut spec = ToolSpec::new(name, description, schema).risk(Risk::Low);
    spec.repeat = Repeat::Read;
    Arc::new(Scripted {
        spec,
        script: Arc::new(script),
    })
}

impl DynTool for Scripted {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn unavailable(&self, _cx: &ToolContext) -> Option<String> {
        None
    }

    fn prepare(&self, args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        Ok(Box::new(Run {
            args: args.clone(),
            script: self.script.clone(),
        }))
    }
}

struct Run {
    args: Value,
    script: Script,
}

impl Prepared for Run {
    fn effects(&self, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::none())
    }

    fn run<'a>(self: Box<Self>, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        (self.script)(self.args, cx)
    }

    fn preview<'a>(self: Box<Self>, _cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async { Err(ToolError::not_available("no preview")) })
    }

    fn verify<'a>(self: Box<Self>, _cx: &'a ToolContext) -> BoxFuture<'a, Result<bool, ToolError>> {
        Box::pin(async { Err(ToolError::not_available("cannot tell")) })
    }
}
