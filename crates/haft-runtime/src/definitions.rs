//! Tools as models are told of them, in the shapes of the providers, stable byte for byte until
//! a tool changes.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haft_core::{Repeat, ToolSpec};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use crate::{Entry, Snapshot};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Anthropic,
    OpenAi,
    Mcp,
}

/// The definitions of one view.
pub struct Definitions {
    items: Vec<Definition>,
    shown: Vec<usize>,
    json: OnceLock<Arc<str>>,
}

/// One tool in one shape; serialises to what the provider wants.
pub struct Definition {
    entry: Arc<Entry>,
    shape: Shape,
}

impl Definitions {
    pub fn items(&self) -> &[Definition] {
        &self.items
    }

    /// The whole list as JSON, made once.
    pub fn json(&self) -> Arc<str> {
        self.json
            .get_or_init(|| serde_json::to_string(self).unwrap_or_default().into())
            .clone()
    }
}

impl Definition {
    /// The name the model uses.
    pub fn api_name(&self) -> &str {
        self.entry.api_name()
    }

    /// The name everything else uses.
    pub fn name(&self) -> &str {
        &self.entry.spec().name
    }
}

impl Serialize for Definitions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.items.len()))?;
        for item in &self.items {
            list.serialize_element(item)?;
        }
        list.end()
    }
}

impl Serialize for Definition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let spec = self.entry.spec();
        let mut map = serializer.serialize_map(None)?;
        match self.shape {
            Shape::Anthropic => {
                map.serialize_entry("name", self.api_name())?;
                map.serialize_entry("description", &spec.description)?;
                map.serialize_entry("input_schema", self.entry.schema())?;
                if spec.eager_input_streaming {
                    map.serialize_entry("eager_input_streaming", &true)?;
                }
            }
            Shape::OpenAi => {
                map.serialize_entry("type", "function")?;
                map.serialize_entry("function", &Function(&self.entry))?;
            }
            Shape::Mcp => {
                map.serialize_entry("name", self.api_name())?;
                if !spec.title.is_empty() {
                    map.serialize_entry("title", &spec.title)?;
                }
                map.serialize_entry("description", &spec.description)?;
                map.serialize_entry("inputSchema", self.entry.schema())?;
                if let Some(schema) = &spec.output_schema {
                    map.serialize_entry("outputSchema", schema)?;
                }
                map.serialize_entry("annotations", &Annotations::of(spec))?;
            }
        }
        map.end()
    }
}

struct Function<'a>(&'a Entry);

impl Serialize for Function<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("name", &**self.0.api_name())?;
        map.serialize_entry("description", &self.0.spec().description)?;
        map.serialize_entry("parameters", self.0.schema())?;
        map.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

impl Annotations {
    fn of(spec: &ToolSpec) -> Self {
        let read_only = spec.repeat == Repeat::Read;
        Annotations {
            read_only_hint: read_only,
            destructive_hint: !read_only && spec.risk == haft_core::Risk::High,
            idempotent_hint: matches!(spec.repeat, Repeat::Read | Repeat::Idempotent),
            open_world_hint: spec.output_is_untrusted,
        }
    }
}

/// The last list of each shape.
#[derive(Default)]
pub(crate) struct DefinitionCache {
    last: [Mutex<Option<Arc<Definitions>>>; 3],
}

impl DefinitionCache {
    /// The list of the tools at these positions, the last one if it is the same.
    pub(crate) fn get(
        &self,
        shape: Shape,
        shown: Vec<usize>,
        snapshot: &Snapshot,
    ) -> Arc<Definitions> {
        let mut last = self.last[shape as usize]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = last
            .as_ref()
            .filter(|definitions| definitions.shown == shown)
        {
            return same.clone();
        }
        let items = shown
            .iter()
            .map(|&index| Definition {
                entry: snapshot.entries()[index].clone(),
                shape,
            })
            .collect();
        let definitions = Arc::new(Definitions {
            items,
            shown,
            json: OnceLock::new(),
        });
        *last = Some(definitions.clone());
        definitions
    }
}
