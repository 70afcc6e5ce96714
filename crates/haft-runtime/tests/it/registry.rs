//! Registering, replacing, finding, quarantining.

use std::sync::Arc;

use haft_core::{DynTool, Effects, Prepared, Source, ToolContext, ToolError, ToolResult, ToolSpec};
use haft_runtime::{RegisterError, Registry};
use serde_json::{Value, json};

pub(crate) struct Plain(pub(crate) ToolSpec);

impl DynTool for Plain {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn unavailable(&self, _cx: &ToolContext) -> Option<String> {
        None
    }

    fn prepare(&self, _args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        Ok(Box::new(Nothing))
    }
}

struct Nothing;

impl Prepared for Nothing {
    fn effects(&self, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::none())
    }

    fn run<'a>(self: Box<Self>, _cx: &'a ToolContext) -> haft_core::BoxFuture<'a, ToolResult> {
        Box::pin(async { Ok(haft_core::Output::text("ok")) })
    }

    fn preview<'a>(self: Box<Self>, cx: &'a ToolContext) -> haft_core::BoxFuture<'a, ToolResult> {
        self.run(cx)
    }

    fn verify<'a>(
        self: Box<Self>,
        _cx: &'a ToolContext,
    ) -> haft_core::BoxFuture<'a, Result<bool, ToolError>> {
        Box::pin(async { Ok(true) })
    }
}

pub(crate) fn plain(name: &str) -> ToolSpec {
    ToolSpec::new(name, "A tool", json!({"type": "object"}))
}

fn tool(spec: ToolSpec) -> Arc<dyn DynTool> {
    Arc::new(Plain(spec))
}

#[test]
fn a_name_is_registered_once_and_replaced_explicitly() {
    let registry = Registry::new();
    registry.register(tool(plain("a.b")), None).unwrap();
    let again = registry.register(tool(plain("a.b")), None);
    assert_eq!(again, Err(RegisterError::NameTaken("a.b".into())));
    let mut better = plain("a.b");
    better.reword(|words| words.description = "Better".into());
    registry.replace(tool(better), Some("plug")).unwrap();
    let entry = registry.get("a.b").unwrap();
    assert_eq!(entry.spec().description, "Better");
    assert_eq!(entry.source(), &Source::Plugin("plug".into()));
    registry.unregister("a.b").unwrap();
    assert!(!registry.has("a.b"));
    assert_eq!(
        registry.unregister("a.b"),
        Err(RegisterError::Unknown("a.b".into()))
    );
}

#[test]
fn a_batch_with_a_taken_name_registers_nothing() {
    let registry = Registry::new();
    let tools = ["a.a", "a.b", "a.a"].map(|name| tool(plain(name)));
    assert!(registry.register_all(tools).is_err());
    assert!(registry.list().is_empty());
}

#[test]
fn a_reader_keeps_its_snapshot() {
    let registry = Registry::new();
    registry.register(tool(plain("a.a")), None).unwrap();
    let before = registry.snapshot();
    registry.register(tool(plain("a.b")), None).unwrap();
    assert_eq!(before.entries().len(), 1);
    assert_eq!(registry.snapshot().entries().len(), 2);
}

#[test]
fn names_of_mcp_tools_and_api_forms() {
    let registry = Registry::new();
    let mut spec = plain("mcp.git-hub.create.issue");
    spec.source = Source::Mcp("git-hub".into());
    registry.register(tool(spec), None).unwrap();
    let long = format!("mcp.server.{}", "x".repeat(100));
    registry.register(tool(plain(&long)), None).unwrap();
    registry.register(tool(plain("a__b")), None).unwrap();
    registry.register(tool(plain("a.b")), None).unwrap();
    let snapshot = registry.snapshot();
    let resolved = |name: &str| {
        snapshot
            .resolve(name)
            .map(|i| snapshot.entries()[i].spec().name.to_string())
    };
    for name in [
        "mcp__git-hub__create.issue",
        "mcp:git-hub:create.issue",
        "MCP.Git-Hub.create.issue",
    ] {
        assert_eq!(
            resolved(name).as_deref(),
            Some("mcp.git-hub.create.issue"),
            "{name}"
        );
    }
    assert_eq!(
        resolved("a__b").as_deref(),
        Some("a__b"),
        "exact wins over the API form"
    );
    let api = registry.get("a.b").unwrap().api_name().to_string();
    assert_ne!(api, "a__b");
    assert_eq!(
        registry
            .get_by_api_name(&api)
            .unwrap()
            .spec()
            .name
            .to_string(),
        "a.b"
    );
    let api = registry.get(&long).unwrap().api_name().to_string();
    assert!(api.len() <= 64);
    assert_eq!(resolved(&api).as_deref(), Some(long.as_str()));
    assert_eq!(registry.by_source(&Source::Mcp("git-hub".into())).len(), 1);
    registry.unregister("a__b").unwrap();
    assert_eq!(registry.get("a.b").unwrap().spec().name.to_string(), "a.b");
    assert!(registry.get(&long).is_some());
}

#[test]
fn two_tools_cannot_share_an_alias() {
    let registry = Registry::new();
    registry
        .register(tool(plain("a.a").aliases(&["same"])), None)
        .unwrap();
    let taken = registry.register(tool(plain("a.b").aliases(&["same"])), None);
    assert!(
        matches!(taken, Err(RegisterError::AliasTaken { .. })),
        "{taken:?}"
    );
}

#[test]
fn a_bad_schema_quarantines_one_tool() {
    let mut deep = json!({"type": "object"});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    let bad = [
        json!({"type": "object", "properties": {"a": {"type": "nonsense"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1/x.json"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}),
        json!({"type": "object", "properties": {"a": {"pattern": "("}}}),
        json!({"type": "string"}),
        json!("object"),
        deep,
    ];
    let registry = Registry::new();
    for (n, schema) in bad.iter().enumerate() {
        let spec = ToolSpec::new(format!("bad.t{n}"), "Bad", schema.clone());
        registry.register(tool(spec), None).unwrap();
    }
    registry.register(tool(plain("good.t")), None).unwrap();
    let draft7 = json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": {"a": {"type": "array", "items": [{"type": "string"}]}},
    });
    registry
        .register(tool(ToolSpec::new("good.seven", "", draft7)), None)
        .unwrap();
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.entries().len(), 2, "{:?}", snapshot.quarantined());
    assert_eq!(snapshot.quarantined().len(), bad.len());
}
