//! The power to keep and find notes. The store is opened when it is first needed; which notes a
//! caller reaches is settled here, for every tool alike.

use std::sync::{Arc, Mutex, PoisonError};

use haft_core::{Capability, Power, ToolContext, ToolError};
use haft_store::{Note, Notes, Scope, Shelf, Store, StoreError};

use super::index::{Found, NoteIndex};
use crate::Reach;

/// Namespaces that are always there; others come with their first note.
pub(super) const NAMESPACES: [&str; 4] = ["knowledge", "methods", "project-state", "learnings"];
const LONGEST_NAMESPACE: usize = 64;

/// Opens the store, or says why it cannot.
pub type OpenStore = Arc<dyn Fn() -> Result<Store, StoreError> + Send + Sync>;

#[derive(Clone)]
pub struct Memory {
    open: OpenStore,
    reach: Reach,
    index: Arc<Mutex<NoteIndex>>,
}

impl Power for Memory {
    const CAPABILITIES: &'static [Capability] = &[Capability::StorageMemory];
}

impl Memory {
    pub fn new(open: OpenStore, reach: Reach) -> Self {
        Memory {
            open,
            reach,
            index: Arc::default(),
        }
    }

    /// Why there is no memory here, if so.
    pub(super) fn closed(&self) -> Option<String> {
        (self.reach == Reach::Nothing).then(|| "an air-gapped caller has no memory".to_owned())
    }

    pub(super) fn notes(&self) -> Result<Notes, ToolError> {
        (self.open)().map(Notes::new).map_err(|error| told(&error))
    }

    /// Whether a caller may see what is for this scope and owner.
    fn reaches(&self, cx: &ToolContext, scope: Scope, owner: &str) -> bool {
        let near = match self.reach {
            Reach::All => true,
            Reach::Own => scope != Scope::User,
            Reach::Nothing => false,
        };
        near && self.owner(cx, scope).is_ok_and(|own| own == owner)
    }

    /// A note of which nobody knows for whom it is says nothing but that, and to everybody:
    /// somebody has to forget it.
    pub(super) fn sees(&self, cx: &ToolContext, note: &Note) -> bool {
        note.placeless || self.reaches(cx, note.scope, &note.owner)
    }

    fn owner(&self, cx: &ToolContext, scope: Scope) -> Result<String, ToolError> {
        Ok(match scope {
            Scope::User => String::new(),
            Scope::Session => cx.caller.session.to_string(),
            Scope::Project => cx.caller.workspace.to_string_lossy().into_owned(),
            Scope::Agent => match &cx.caller.agent {
                Some(agent) => agent.to_string(),
                None => {
                    return Err(ToolError::input_invalid("this caller has no agent name")
                        .hint("use the scope `session` or `project`"));
                }
            },
        })
    }

    /// The shelf that is meant.
    pub(super) fn shelf(
        &self,
        cx: &ToolContext,
        namespace: Option<&str>,
        scope: Option<Scope>,
    ) -> Result<Shelf, ToolError> {
        let namespace = checked(namespace.unwrap_or(NAMESPACES[0]))?;
        let scope = scope.unwrap_or(match (namespace.as_str(), self.reach) {
            ("project-state", _) | (_, Reach::Own) => Scope::Project,
            _ => Scope::User,
        });
        let owner = self.owner(cx, scope)?;
        if !self.reaches(cx, scope, &owner) {
            return Err(ToolError::denied(format!(
                "the scope `{}` is not open at this isolation level",
                scope.as_str()
            )));
        }
        Ok(Shelf {
            namespace,
            scope,
            owner,
        })
    }

    /// The scopes that are meant, of those that are open to this caller.
    pub(super) fn scopes(
        &self,
        cx: &ToolContext,
        namespace: &str,
        scope: Option<Scope>,
    ) -> Result<Vec<Scope>, ToolError> {
        checked(namespace)?;
        if scope.is_some() {
            return Ok(vec![self.shelf(cx, Some(namespace), scope)?.scope]);
        }
        let open = |scope: &Scope| {
            let owner = self.owner(cx, *scope);
            owner.is_ok_and(|owner| self.reaches(cx, *scope, &owner))
        };
        Ok(Scope::ALL.into_iter().filter(open).collect())
    }

    /// Every note this caller sees, nearest scope first, oldest first within it.
    pub(super) async fn visible(
        &self,
        cx: &ToolContext,
        namespace: Option<&str>,
    ) -> Result<Vec<Note>, ToolError> {
        let notes = self.notes()?;
        let all = away(move || notes.after(0)).await?;
        let mut seen: Vec<Note> = all
            .into_iter()
            .filter(|note| self.sees(cx, note))
            .filter(|note| namespace.is_none_or(|namespace| note.namespace == namespace))
            .collect();
        seen.sort_by_key(|note| (note.scope, note.id));
        Ok(seen)
    }

    /// The notes nearest to a query that this caller sees.
    pub(super) async fn search(
        &self,
        cx: &ToolContext,
        query: String,
        namespace: Option<String>,
        limit: usize,
        keywords_only: bool,
    ) -> Result<Vec<(Note, Found)>, ToolError> {
        let notes = self.notes()?;
        let index = self.index.clone();
        let owners: Vec<(Scope, String)> = Scope::ALL
            .into_iter()
            .filter_map(|scope| Some((scope, self.owner(cx, scope).ok()?)))
            .filter(|(scope, owner)| self.reaches(cx, *scope, owner))
            .collect();
        away(move || {
            let found = {
                let mut index = index.lock().unwrap_or_else(PoisonError::into_inner);
                index.refresh(&notes)?;
                index.search(&query, &owners, namespace.as_deref(), limit, keywords_only)
            };
            let ids: Vec<i64> = found.iter().map(|found| found.id).collect();
            let notes = notes.get(&ids)?;
            let with = |note: Note| {
                let found = found.iter().find(|found| found.id == note.id)?;
                Some((note, found.clone()))
            };
            Ok(notes.into_iter().filter_map(with).collect())
        })
        .await
    }
}

/// Work that reads the disk, off the threads that must not wait.
async fn away<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(|error| told(&error)),
        Err(error) => Err(ToolError::failed("reading notes broke off").caused_by(error)),
    }
}

pub(super) fn told(error: &StoreError) -> ToolError {
    let failed = ToolError::failed(error.to_string());
    match error.hint() {
        Some(hint) => failed.hint(hint),
        None => failed,
    }
}

/// The namespace that a heading means.
pub fn namespace_of(heading: &str) -> String {
    if let Ok(namespace) = checked(heading.trim()) {
        return namespace;
    }
    let words = heading.split(|c: char| !c.is_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let name: String = words.join("-").chars().take(LONGEST_NAMESPACE).collect();
    match name.is_empty() {
        true => NAMESPACES[0].to_owned(),
        false => name,
    }
}

/// A namespace as it may be written.
pub fn checked(namespace: &str) -> Result<String, ToolError> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let good = !namespace.is_empty()
        && namespace.chars().count() <= LONGEST_NAMESPACE
        && namespace.chars().all(plain);
    if good {
        return Ok(namespace.to_owned());
    }
    let shown: String = namespace.chars().take(80).collect();
    Err(
        ToolError::input_invalid(format!("not a namespace: `{shown}`")).hint(format!(
            "1 to {LONGEST_NAMESPACE} letters, digits, `-`, `_`, `.` or `/`, such as {}",
            NAMESPACES.map(|name| format!("`{name}`")).join(", ")
        )),
    )
}
