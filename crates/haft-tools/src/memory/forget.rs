//! `memory.forget`: notes that are gone for good.

use haft_core::{
    Effects, ErrorCode, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_store::{Note, Scope};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::power::{Memory, told};
use super::told::{ScopeName, everything, line, no_such, uri};

/// Forget notes for good: by number, or all of a namespace. Nothing of them is left in haft's
/// store, its index or its log; copies made before still have them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Forget {
    /// Number of one note
    #[serde(default)]
    id: Option<i64>,
    /// Numbers of several notes
    #[serde(default)]
    ids: Vec<i64>,
    /// Forget every note of this namespace that you can see, and what was there before
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["category"]))]
    namespace: Option<String>,
    /// Of the namespace only what is for this scope
    #[serde(default)]
    scope: Option<ScopeName>,
}

impl Forget {
    fn numbers(&self) -> Vec<i64> {
        let mut ids: Vec<i64> = self.ids.iter().copied().chain(self.id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The notes that are meant and that this caller sees; what was replaced is forgotten too.
    fn seen(&self, power: &Memory, cx: &ToolContext) -> Result<Vec<Note>, ToolError> {
        let ids = self.numbers();
        if self.namespace.is_some() != ids.is_empty() {
            return Err(ToolError::input_invalid(
                "give either `id`, `ids` or `namespace`",
            ));
        }
        let found = power
            .notes()?
            .even_replaced(&ids, self.namespace.as_deref());
        let mut found = found.map_err(|error| told(&error))?;
        let scope: Option<Scope> = self.scope.map(Into::into);
        found.retain(|note| power.sees(cx, note));
        found.retain(|note| scope.is_none_or(|scope| note.scope == scope));
        Ok(found)
    }

    fn meant(&self, power: &Memory, cx: &ToolContext) -> Result<Vec<Note>, ToolError> {
        let seen = self.seen(power, cx)?;
        let is_seen = |id: &i64| seen.iter().any(|note| note.id == *id);
        match self.numbers().iter().find(|id| !is_seen(id)) {
            Some(missing) => Err(no_such(*missing)),
            None => Ok(seen),
        }
    }
}

impl Tool for Forget {
    const NAME: &'static str = "memory.forget";
    const REPEAT: Repeat = Repeat::Idempotent;
    const HAS_PREVIEW: bool = true;
    type Power = Memory;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Forget notes")
            .aliases(&["memory_forget", "forget", "delete_memory"])
            .tags(&["memory", "forget", "delete", "erase"])
            .side_effects(&["Erases notes; this cannot be undone"])
            .risk(Risk::High)
            .irreversible()
            .forgettable()
            .example(
                "An empty namespace",
                json!({"namespace": "learnings"}),
                json!({"forgotten": 0}),
            )
    }

    fn unavailable(power: &Memory) -> Option<String> {
        power.closed()
    }

    fn effects(&self, power: &Memory, cx: &ToolContext) -> Result<Effects, ToolError> {
        let seen = self.seen(power, cx)?;
        let mut places: Vec<(Scope, &str)> = match &self.namespace {
            // All that it may come upon: a note may be added before it runs.
            Some(namespace) => {
                let scopes = power.scopes(cx, namespace, self.scope.map(Into::into))?;
                scopes
                    .into_iter()
                    .map(|scope| (scope, &**namespace))
                    .collect()
            }
            None => seen
                .iter()
                .map(|note| (note.scope, note.namespace.as_str()))
                .collect(),
        };
        places.sort_unstable();
        places.dedup();
        let mut effects = Effects::none().removing_if(true);
        for (scope, namespace) in &places {
            effects = effects.writes(uri(*scope, namespace));
        }
        // Of a note that is not there only traces can go.
        Ok(match places.is_empty() {
            true => effects.writes(everything()),
            false => effects,
        })
    }

    async fn run(self, power: &Memory, cx: &ToolContext) -> ToolResult {
        let (ids, missing) = match self.meant(power, cx) {
            Ok(notes) => (notes.iter().map(|note| note.id).collect(), None),
            // An earlier call may have had to leave traces of it in the log.
            Err(error) if error.code == ErrorCode::NotAvailable => (Vec::new(), Some(error)),
            Err(error) => return Err(error),
        };
        let forgotten = power.notes()?.forget(ids).await;
        let forgotten = forgotten.map_err(|error| told(&error))?;
        if let Some(missing) = missing {
            return Err(missing);
        }
        Ok(Output::text(format!("{forgotten} notes are forgotten"))
            .and_structured(json!({ "forgotten": forgotten })))
    }

    async fn preview(self, power: &Memory, cx: &ToolContext) -> ToolResult {
        let notes = self.meant(power, cx)?;
        let lines: Vec<String> = notes.iter().map(line).collect();
        Ok(Output::text(format!(
            "would forget {} notes\n{}",
            notes.len(),
            lines.join("\n")
        ))
        .and_structured(json!({ "would_forget": notes.len() })))
    }
}
