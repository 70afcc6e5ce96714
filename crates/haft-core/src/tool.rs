//! A typed face for authors, an erased face for the registry, one small adapter between. The
//! arguments are the tool: struct doc = description, field docs = parameter docs, types = schema.

use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    BoxFuture, Call, Effects, Output, Power, Repeat, ToolContext, ToolError, ToolSpec, Words,
    parameter_aliases, tool_schema,
};

pub type ToolResult = Result<Output, ToolError>;

/// A tool as its author writes it: the struct of its arguments.
pub trait Tool: DeserializeOwned + JsonSchema + Send + Sync + 'static {
    const NAME: &'static str;

    /// What happens when a call is made twice.
    const REPEAT: Repeat = Repeat::Unsafe;

    /// It implements `preview`.
    const HAS_PREVIEW: bool = false;

    /// It implements `verify`.
    const HAS_VERIFY: bool = false;

    /// Finding out what a call touches takes its time, because folders are walked. It is then
    /// done under the call's deadline, and has to heed the cancel token.
    const SURVEYS: bool = false;

    /// The only handle it may touch; `()` for none.
    type Power: Power;

    /// Add what the types do not say: aliases, tags, risk, examples.
    fn describe(spec: ToolSpec) -> ToolSpec {
        spec
    }

    /// Why it cannot be called now, if so.
    fn unavailable(_power: &Self::Power) -> Option<String> {
        None
    }

    /// The call that this one is only another way to make, if so: that one goes on in its place,
    /// under its own name and by its own rules.
    fn stands_for(&self) -> Option<Result<Call, ToolError>> {
        None
    }

    /// The arguments themselves ask for a dry run.
    fn rehearses(&self) -> bool {
        false
    }

    /// What a call with these arguments touches. Where a tool does not say, a reading one
    /// touches nothing that matters and any other one could touch anything.
    fn effects(&self, power: &Self::Power, cx: &ToolContext) -> Result<Effects, ToolError> {
        let _ = (power, cx);
        Ok(match Self::REPEAT {
            Repeat::Read => Effects::none(),
            _ => Effects::anything(),
        })
    }

    fn run(self, power: &Self::Power, cx: &ToolContext) -> impl Future<Output = ToolResult> + Send;

    /// What a call would do, without doing it.
    fn preview(
        self,
        power: &Self::Power,
        cx: &ToolContext,
    ) -> impl Future<Output = ToolResult> + Send {
        let _ = (power, cx);
        async { Err(ToolError::not_available("this tool has no preview")) }
    }

    /// Whether an interrupted call with these arguments happened.
    fn verify(
        self,
        power: &Self::Power,
        cx: &ToolContext,
    ) -> impl Future<Output = Result<bool, ToolError>> + Send {
        let _ = (power, cx);
        async { Err(ToolError::not_available("this tool cannot tell")) }
    }
}

/// A tool as the registry holds it. MCP and node tools implement this directly.
pub trait DynTool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Why it cannot be called now, if so.
    fn unavailable(&self, cx: &ToolContext) -> Option<String>;

    /// Parse arguments that already fit the schema.
    fn prepare(&self, args: &Value) -> Result<Box<dyn Prepared>, ToolError>;
}

/// One call with its arguments parsed.
pub trait Prepared: Send + Sync {
    /// The call that this one is only another way to make, if so.
    fn stands_for(&self) -> Option<Result<Call, ToolError>> {
        None
    }

    /// The arguments themselves ask for a dry run.
    fn rehearses(&self) -> bool {
        false
    }

    fn effects(&self, cx: &ToolContext) -> Result<Effects, ToolError>;

    /// Do it. Whoever drives this looks at it again when the call is cancelled or its time is up.
    fn run<'a>(self: Box<Self>, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult>;

    fn preview<'a>(self: Box<Self>, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult>;

    fn verify<'a>(self: Box<Self>, cx: &'a ToolContext) -> BoxFuture<'a, Result<bool, ToolError>>;
}

/// What a type says of itself.
fn words<T: Tool>() -> Words {
    let mut schema = tool_schema::<T>();
    let description = schema
        .as_object_mut()
        .and_then(|object| object.shift_remove("description"))
        .and_then(|text| text.as_str().map(str::to_owned))
        .unwrap_or_default();
    let (parameter_aliases, parameter_bases) = parameter_aliases(&mut schema);
    Words {
        description,
        parameter_aliases,
        parameter_bases,
        input_schema: schema,
    }
}

/// Erase a typed tool.
pub fn typed<T: Tool>() -> Arc<dyn DynTool> {
    let mut spec = ToolSpec::described_later(T::NAME, words::<T>);
    spec.capabilities = T::Power::CAPABILITIES.to_vec();
    spec.repeat = T::REPEAT;
    spec.has_preview = T::HAS_PREVIEW;
    spec.has_verify = T::HAS_VERIFY;
    spec.surveys = T::SURVEYS;
    Arc::new(Typed::<T> {
        spec: T::describe(spec),
        tool: PhantomData,
    })
}

struct Typed<T> {
    spec: ToolSpec,
    tool: PhantomData<fn() -> T>,
}

impl<T: Tool> DynTool for Typed<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn unavailable(&self, cx: &ToolContext) -> Option<String> {
        match power_of::<T>(cx) {
            Ok(power) => T::unavailable(power),
            Err(error) => Some(error.into_body().message),
        }
    }

    fn prepare(&self, args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        match T::deserialize(args) {
            Ok(tool) => Ok(Box::new(TypedCall(tool))),
            Err(_) => Err(misfit::<T>(args)),
        }
    }
}

/// Where the arguments do not fit the type. Keeping track of that costs more than parsing, so it
/// is looked for only when it is needed.
fn misfit<T: Tool>(args: &Value) -> ToolError {
    match serde_path_to_error::deserialize::<_, T>(args) {
        Err(error) => {
            let path = error.path().to_string();
            ToolError::input_invalid(format!("`{path}`: {}", error.into_inner()))
        }
        Ok(_) => ToolError::input_invalid("the arguments do not fit"),
    }
}

struct TypedCall<T>(T);

impl<T: Tool> Prepared for TypedCall<T> {
    fn stands_for(&self) -> Option<Result<Call, ToolError>> {
        self.0.stands_for()
    }

    fn rehearses(&self) -> bool {
        self.0.rehearses()
    }

    fn effects(&self, cx: &ToolContext) -> Result<Effects, ToolError> {
        self.0.effects(power_of::<T>(cx)?, cx)
    }

    fn run<'a>(self: Box<Self>, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move { self.0.run(power_of::<T>(cx)?, cx).await })
    }

    fn preview<'a>(self: Box<Self>, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move { self.0.preview(power_of::<T>(cx)?, cx).await })
    }

    fn verify<'a>(self: Box<Self>, cx: &'a ToolContext) -> BoxFuture<'a, Result<bool, ToolError>> {
        Box::pin(async move { self.0.verify(power_of::<T>(cx)?, cx).await })
    }
}

fn power_of<T: Tool>(cx: &ToolContext) -> Result<&T::Power, ToolError> {
    cx.caller
        .powers
        .get::<T::Power>()
        .ok_or_else(|| ToolError::not_available("the power this tool needs is not there"))
}
