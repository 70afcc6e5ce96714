//! A tool that is only another way to make one call.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    BoxFuture, Call, DynTool, Effects, Prepared, ToolContext, ToolError, ToolResult, ToolSpec,
};

/// A tool whose calls give way to `target`, called with `fixed` arguments and those it was given.
pub fn shortcut(spec: ToolSpec, target: &str, fixed: Map<String, Value>) -> Arc<dyn DynTool> {
    Arc::new(Shortcut {
        spec,
        target: target.into(),
        fixed,
    })
}

struct Shortcut {
    spec: ToolSpec,
    target: Arc<str>,
    fixed: Map<String, Value>,
}

impl DynTool for Shortcut {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn unavailable(&self, _cx: &ToolContext) -> Option<String> {
        None
    }

    fn prepare(&self, args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        let mut all = args.as_object().cloned().unwrap_or_default();
        all.extend(self.fixed.clone());
        Ok(Box::new(GivesWay(Call::new(
            self.target.clone(),
            Value::Object(all),
        ))))
    }
}

struct GivesWay(Call);

fn never() -> ToolError {
    ToolError::failed("the call did not give way to its tool")
}

impl Prepared for GivesWay {
    fn stands_for(&self) -> Option<Result<Call, ToolError>> {
        Some(Ok(self.0.clone()))
    }

    fn effects(&self, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::anything())
    }

    fn run<'a>(self: Box<Self>, _cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(std::future::ready(Err(never())))
    }

    fn preview<'a>(self: Box<Self>, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        self.run(cx)
    }

    fn verify<'a>(self: Box<Self>, _cx: &'a ToolContext) -> BoxFuture<'a, Result<bool, ToolError>> {
        Box::pin(std::future::ready(Err(never())))
    }
}
