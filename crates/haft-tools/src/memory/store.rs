//! `memory.store`: keep a note.

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_store::NewNote;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::power::{Memory, told};
use super::told::{ScopeName, changes, trust_in};

/// Keep a note for later: a fact, a way of doing something, the state of a project, something
/// learned. A note that is there already is not kept twice. Other sessions find it by meaning, in
/// any language.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Store {
    /// The note, in words that make sense without this conversation
    #[schemars(extend("x-aliases" = ["content", "note", "fact", "value", "memory"]))]
    text: String,
    /// Where it belongs: `knowledge` (if not given), `methods`, `project-state`, `learnings`, or a
    /// name of your own
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["category", "type", "key"]))]
    namespace: Option<String>,
    /// For whom it is; if not given, `user` where that is open and else `project`; `project` for
    /// `project-state`
    #[serde(default)]
    scope: Option<ScopeName>,
    /// Where it comes from, if not from the user or yourself: a page, a file, a mail. Such a note
    /// is marked as not trusted
    #[serde(default)]
    source: Option<String>,
}

impl Tool for Store {
    const NAME: &'static str = "memory.store";
    const REPEAT: Repeat = Repeat::Idempotent;
    type Power = Memory;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Keep a note")
            .aliases(&["memory_store", "remember", "store_memory", "save_memory"])
            .tags(&["memory", "remember", "note", "save", "fact"])
            .side_effects(&["Adds a note to memory"])
            .private(&["text", "source"])
            .risk(Risk::Low)
            .forgettable()
            .example(
                "Remember a preference",
                json!({"text": "The user writes British English", "namespace": "knowledge"}),
                json!({"stored": true, "namespace": "knowledge"}),
            )
    }

    fn unavailable(power: &Memory) -> Option<String> {
        power.closed()
    }

    fn effects(&self, power: &Memory, cx: &ToolContext) -> Result<Effects, ToolError> {
        let scope = self.scope.map(Into::into);
        Ok(changes(&power.shelf(
            cx,
            self.namespace.as_deref(),
            scope,
        )?))
    }

    async fn run(self, power: &Memory, cx: &ToolContext) -> ToolResult {
        let shelf = power.shelf(cx, self.namespace.as_deref(), self.scope.map(Into::into))?;
        let (namespace, scope) = (shelf.namespace.clone(), shelf.scope);
        let note = NewNote {
            shelf,
            text: self.text,
            trust: trust_in(self.source.as_deref()),
            source: self.source,
        };
        let (id, stored) = power
            .notes()?
            .add(note)
            .await
            .map_err(|error| told(&error))?;
        let said = match stored {
            true => format!("kept as note {id} in {namespace}"),
            false => format!("it was there already, as note {id}"),
        };
        Ok(Output::text(said).and_structured(
            json!({"id": id, "stored": stored, "namespace": namespace, "scope": scope}),
        ))
    }
}
