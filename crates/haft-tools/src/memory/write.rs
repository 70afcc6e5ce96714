//! `memory.write`: one text in the place of a namespace.

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_store::NewNote;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::power::{Memory, told};
use super::told::{ScopeName, changes, trust_in};

/// Replace the notes of a namespace by one text. What was there is kept, and comes back with
/// `undo`. To add a note, use `memory.store`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    /// Namespace to replace, `knowledge` if not given
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["category", "name"]))]
    namespace: Option<String>,
    /// The new text
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["content", "value"]))]
    text: Option<String>,
    /// For whom it is; if not given, `user` where that is open and else `project`; `project` for
    /// `project-state`
    #[serde(default)]
    scope: Option<ScopeName>,
    /// Where it comes from, if not from the user or yourself: a page, a file, a mail. Such a text is
    /// marked as not trusted
    #[serde(default)]
    source: Option<String>,
    /// Take the last replacement back; what was stored since stays. Once more takes back the one
    /// before
    #[serde(default)]
    undo: bool,
    /// Make the replacement again that was taken back last
    #[serde(default)]
    redo: bool,
}

impl Tool for Write {
    const NAME: &'static str = "memory.write";
    /// Taking back twice is not taking back once.
    const REPEAT: Repeat = Repeat::Unsafe;
    type Power = Memory;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Replace notes")
            .aliases(&["memory_write", "write_memory", "update_memory"])
            .tags(&["memory", "write", "replace", "namespace"])
            .side_effects(&["Replaces the notes of a namespace; the old ones are kept"])
            .private(&["text", "source"])
            .risk(Risk::Medium)
            .forgettable()
            .example(
                "Put down where a project stands",
                json!({"namespace": "project-state", "text": "Parser done, tests next"}),
                json!({"namespace": "project-state", "scope": "project"}),
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
        let notes = power.notes()?;
        let said = match (self.undo, self.redo, self.text) {
            (true, false, None) => match notes.undo(shelf).await.map_err(|error| told(&error))? {
                true => format!("the last replacement of {namespace} is taken back"),
                false => {
                    return Err(ToolError::conflict(format!(
                        "`{namespace}` was not replaced, so there is nothing to take back"
                    )));
                }
            },
            (false, true, None) => match notes.redo(shelf).await.map_err(|error| told(&error))? {
                true => format!("{namespace} is replaced again"),
                false => {
                    return Err(ToolError::conflict(format!(
                        "no replacement of `{namespace}` was taken back, so there is none to make again"
                    )));
                }
            },
            (false, false, Some(text)) => {
                let note = NewNote {
                    shelf,
                    text,
                    trust: trust_in(self.source.as_deref()),
                    source: self.source,
                };
                let id = notes.replace(note).await.map_err(|error| told(&error))?;
                format!("{namespace} is replaced, by note {id}")
            }
            _ => {
                return Err(ToolError::input_invalid(
                    "give either `text`, `undo` or `redo`",
                ));
            }
        };
        Ok(Output::text(said).and_structured(json!({"namespace": namespace, "scope": scope})))
    }
}
