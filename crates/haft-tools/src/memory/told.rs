//! Notes as they are told: each with where it belongs and how far it can be believed.

use haft_core::{Effects, Resource, ToolError};
use haft_store::{Note, Scope, Shelf, Trust};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// For whom a note is.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ScopeName {
    /// This session alone
    Session,
    /// This agent, in every session
    Agent,
    /// This workspace
    Project,
    /// The person haft works for, everywhere
    User,
}

impl From<ScopeName> for Scope {
    fn from(name: ScopeName) -> Scope {
        match name {
            ScopeName::Session => Scope::Session,
            ScopeName::Agent => Scope::Agent,
            ScopeName::Project => Scope::Project,
            ScopeName::User => Scope::User,
        }
    }
}

/// What somebody else wrote is not believed.
pub(super) fn trust_in(source: Option<&str>) -> Trust {
    match source {
        Some(_) => Trust::Untrusted,
        None => Trust::Agent,
    }
}

/// A source stands in quotes, and further lines of a text are set in, so that nothing a note says
/// passes for the beginning of another one.
pub(super) fn line(note: &Note) -> String {
    let from = note
        .source
        .as_deref()
        .map_or_else(String::new, |source| format!(", from {source:?}"));
    let doubt = match note.trust {
        Trust::Untrusted => ", not trusted",
        Trust::User | Trust::Agent => "",
    };
    format!(
        "[note {}, {}, {}{from}{doubt}] {}",
        note.id,
        note.namespace,
        note.scope.as_str(),
        note.text.replace('\n', "\n    ")
    )
}

pub(super) fn object(note: &Note) -> Value {
    json!({
        "id": note.id,
        "namespace": note.namespace,
        "scope": note.scope,
        "text": note.text,
        "source": note.source,
        "trust": note.trust,
    })
}

/// What a change of a shelf touches.
pub(super) fn changes(shelf: &Shelf) -> Effects {
    Effects::none().writes(uri(shelf.scope, &shelf.namespace))
}

pub(super) fn uri(scope: Scope, namespace: &str) -> Resource {
    Resource::Uri(format!("memory:{}/{namespace}", scope.as_str()))
}

/// Reading may look at every shelf.
pub(super) fn looks() -> Effects {
    Effects::none().reads(everything())
}

/// No shelf in particular.
pub(super) fn everything() -> Resource {
    Resource::Uri("memory:".to_owned())
}

pub(super) fn no_such(id: i64) -> ToolError {
    ToolError::not_available(format!("no such note: {id}"))
        .hint("find it with `memory.search` or `memory.list`")
}
