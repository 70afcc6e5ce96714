//! `memory.list`: what there is.

use std::collections::BTreeMap;

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_store::Note;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::power::{Memory, NAMESPACES};
use super::told::looks;

/// Characters of a note that a list shows.
const SHOWN: usize = 100;

/// List the notes there are, each by its number and its beginning; without a namespace, the
/// namespaces and how many notes each has.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    /// List the notes of this namespace
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["category"]))]
    namespace: Option<String>,
}

impl Tool for List {
    const NAME: &'static str = "memory.list";
    const REPEAT: Repeat = Repeat::Read;
    type Power = Memory;

    fn describe(spec: ToolSpec) -> ToolSpec {
        let mut spec = spec
            .titled("List notes")
            .aliases(&["memory_list", "list_memories"])
            .tags(&["memory", "list", "namespaces"])
            .risk(Risk::Low)
            .forgettable()
            .example(
                "Before anything was noted",
                json!({"namespace": "learnings"}),
                json!({"notes": []}),
            );
        spec.output_is_untrusted = true;
        spec
    }

    fn unavailable(power: &Memory) -> Option<String> {
        power.closed()
    }

    fn effects(&self, _power: &Memory, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(looks())
    }

    async fn run(self, power: &Memory, cx: &ToolContext) -> ToolResult {
        let notes = power.visible(cx, self.namespace.as_deref()).await?;
        if self.namespace.is_none() {
            let mut counts: BTreeMap<&str, usize> =
                NAMESPACES.iter().map(|name| (*name, 0)).collect();
            for note in &notes {
                *counts.entry(&note.namespace).or_default() += 1;
            }
            let lines: Vec<String> = counts
                .iter()
                .map(|(name, n)| format!("{n}\t{name}"))
                .collect();
            return Ok(Output::text(lines.join("\n")).and_structured(json!({"namespaces": counts})));
        }
        let lines: Vec<String> = notes
            .iter()
            .map(|note| format!("{}\t{}", note.id, beginning(note)))
            .collect();
        let text = match lines.is_empty() {
            true => "[no notes]".to_owned(),
            false => lines.join("\n"),
        };
        let objects: Vec<Value> = notes
            .iter()
            .map(|note| {
                json!({"id": note.id, "scope": note.scope, "beginning": beginning(note), "trust": note.trust})
            })
            .collect();
        Ok(Output::text(text).and_structured(json!({ "notes": objects })))
    }
}

fn beginning(note: &Note) -> String {
    let line: String = note.text.chars().take(SHOWN).collect();
    line.replace(['\n', '\r', '\t'], " ")
}
