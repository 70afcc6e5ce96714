//! Tools as models are told of them, in the shapes of the providers, stable byte for byte until
//! a tool changes.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use haft_core::{Repeat, Source, ToolSpec};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Entry, Snapshot, lean};

/// A tool that may run for longer than this can be called as a task.
const LONG: Duration = Duration::from_secs(60);
const MAY_BE_TASK: Execution = Execution {
    task_support: "optional",
};

/// How MCP clients may run a tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Execution {
    task_support: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Anthropic,
    OpenAi,
    Mcp,
}

/// The definitions of one view.
pub struct Definitions {
    items: Vec<Definition>,
    shown: Vec<Shown>,
    json: OnceLock<Arc<str>>,
}

/// One tool in one shape; serialises to what the provider wants.
pub struct Definition {
    entry: Arc<Entry>,
    shape: Shape,
    form: Form,
}

/// How much of a tool is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Full,
    /// Name and one line; the schema takes anything
    Brief,
    /// As much as a call needs, for what is all that a client of MCP is shown
    Lean,
}

/// A tool by its position, and how much of it is told.
pub(crate) type Shown = (usize, Form);

/// Characters of a line about a tool.
const LINE: usize = 120;

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
    /// Characters of a tool's whole definition, in the shape that most providers take.
    pub(crate) fn size(entry: &Arc<Entry>) -> u64 {
        let definition = Definition {
            entry: entry.clone(),
            shape: Shape::OpenAi,
            form: Form::Full,
        };
        let text = serde_json::to_string(&definition).unwrap_or_default();
        text.chars().count() as u64
    }

    fn description(&self) -> Cow<'_, str> {
        let whole = &self.entry.spec().description;
        match self.form {
            Form::Full => Cow::Borrowed(whole),
            Form::Brief => Cow::Owned(first_line(whole)),
            Form::Lean => Cow::Owned(lean::description(whole)),
        }
    }

    fn schema(&self) -> Schema<'_> {
        match self.form {
            Form::Full => Schema::Whole(self.entry.schema().text()),
            Form::Brief => Schema::Anything { kind: "object" },
            Form::Lean => Schema::Lean(lean::schema(self.entry.schema().text().get())),
        }
    }

    /// The name the model uses.
    pub fn api_name(&self) -> &str {
        self.entry.api_name()
    }

    pub(crate) fn spec(&self) -> &ToolSpec {
        self.entry.spec()
    }

    pub(crate) fn source(&self) -> &Source {
        self.entry.source()
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
                map.serialize_entry("description", &self.description())?;
                map.serialize_entry("input_schema", &self.schema())?;
                if spec.eager_input_streaming {
                    map.serialize_entry("eager_input_streaming", &true)?;
                }
            }
            Shape::OpenAi => {
                map.serialize_entry("type", "function")?;
                map.serialize_entry("function", &Function(self))?;
            }
            Shape::Mcp => {
                map.serialize_entry("name", self.api_name())?;
                if !spec.title.is_empty() && self.form != Form::Lean {
                    map.serialize_entry("title", &spec.title)?;
                }
                map.serialize_entry("description", &self.description())?;
                map.serialize_entry("inputSchema", &self.schema())?;
                if let (Some(schema), Form::Full) = (&spec.output_schema, self.form) {
                    map.serialize_entry("outputSchema", schema)?;
                }
                match self.form {
                    Form::Lean => {
                        if let Some(hints) = lean::annotations(spec) {
                            map.serialize_entry("annotations", &hints)?;
                        }
                    }
                    _ => map.serialize_entry("annotations", &Annotations::of(spec))?,
                }
                if spec.timeout.is_some_and(|timeout| timeout > LONG) {
                    map.serialize_entry("execution", &MAY_BE_TASK)?;
                }
            }
        }
        map.end()
    }
}

/// The schema of a definition.
#[derive(Serialize)]
#[serde(untagged)]
enum Schema<'a> {
    Whole(&'a RawValue),
    Lean(Value),
    Anything {
        #[serde(rename = "type")]
        kind: &'static str,
    },
}

/// The first sentence of a description, on one line.
pub(crate) fn first_line(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.find(". ").unwrap_or(line.len());
    let line = line[..end].trim_end_matches('.');
    match line.char_indices().nth(LINE - 1) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}

struct Function<'a>(&'a Definition);

impl Serialize for Function<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("name", self.0.api_name())?;
        map.serialize_entry("description", &self.0.description())?;
        map.serialize_entry("parameters", &self.0.schema())?;
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
            open_world_hint: spec.output_is_untrusted && !spec.closed_world,
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
        shown: Vec<Shown>,
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
            .map(|&(index, form)| Definition {
                entry: snapshot.entries()[index].clone(),
                shape,
                form: match (form, shape) {
                    (Form::Lean, Shape::Anthropic | Shape::OpenAi) => Form::Full,
                    _ => form,
                },
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
