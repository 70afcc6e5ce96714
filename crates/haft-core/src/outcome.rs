//! The answer to a call. A failed tool is an answer too.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{Annotations, CallTag, ErrorBody, ErrorCode, ToolError};

/// A piece of content, in the shape MCP gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        annotations: Option<Box<Annotations>>,
    },
    Image {
        /// Base64
        data: String,
        #[serde(rename = "mimeType")]
        mime_type: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        annotations: Option<Box<Annotations>>,
    },
    Audio {
        /// Base64
        data: String,
        #[serde(rename = "mimeType")]
        mime_type: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        annotations: Option<Box<Annotations>>,
    },
    /// A resource that comes with the answer: `uri`, and `text` or `blob`
    Resource {
        resource: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        annotations: Option<Box<Annotations>>,
    },
    /// The address of a resource, with its name and what else is known of it
    ResourceLink {
        #[serde(flatten)]
        link: Map<String, Value>,
    },
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text {
            text: text.into(),
            annotations: None,
        }
    }

    /// Bytes as base64.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Block::Image {
            data: data.into(),
            mime_type: mime_type.into(),
            annotations: None,
        }
    }

    pub fn resource(resource: Value) -> Self {
        Block::Resource {
            resource,
            annotations: None,
        }
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Block::Text { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// What a tool gives back. One word wide, because it is handed on from stage to stage.
#[derive(Debug, Default)]
pub struct Output(Box<OutputBody>);

/// `error` is set when the tool did its work and the work failed, as a command with a bad exit
/// code: content and structured then tell what happened.
#[derive(Debug, Default)]
pub struct OutputBody {
    pub content: Vec<Block>,
    pub structured: Option<Value>,
    pub error: Option<ToolError>,
    /// The whole result, if the tool kept it itself because it was too large to hold
    pub handle: Option<String>,
    /// Somebody else wrote a part of it, whatever the tool says of itself
    pub untrusted: bool,
    /// How many of the first blocks are ours although others wrote a part of the answer
    pub ours: usize,
    /// Notes stand in it, which may be forgotten
    pub forgettable: bool,
    /// Characters of the whole result, where `handle` holds more than `content`
    pub total_chars: Option<usize>,
}

impl Output {
    pub fn blocks(content: Vec<Block>) -> Self {
        let mut body = Box::<OutputBody>::default();
        body.content = content;
        Output(body)
    }

    pub fn text(text: impl Into<String>) -> Self {
        Output::blocks(vec![Block::text(text)])
    }

    pub fn structured(value: Value) -> Self {
        Output::default().and_structured(value)
    }

    /// Nothing but what went wrong.
    pub fn failed(error: ToolError) -> Self {
        Output::default().but_failed(error)
    }

    pub fn into_body(self) -> OutputBody {
        *self.0
    }

    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.content.push(Block::text(text));
        self
    }

    #[must_use]
    pub fn and_structured(mut self, value: Value) -> Self {
        self.structured = Some(value);
        self
    }

    #[must_use]
    pub fn untrusted_if(mut self, untrusted: bool) -> Self {
        self.untrusted = untrusted;
        self
    }

    /// Somebody else wrote the blocks after the first few.
    #[must_use]
    pub fn untrusted_after(mut self, ours: usize) -> Self {
        self.untrusted = true;
        self.ours = ours;
        self
    }

    #[must_use]
    pub fn forgettable_if(mut self, forgettable: bool) -> Self {
        self.forgettable = forgettable;
        self
    }

    #[must_use]
    pub fn but_failed(mut self, error: ToolError) -> Self {
        self.error = Some(error);
        self
    }
}

impl Deref for Output {
    type Target = OutputBody;

    fn deref(&self) -> &OutputBody {
        &self.0
    }
}

impl DerefMut for Output {
    fn deref_mut(&mut self) -> &mut OutputBody {
        &mut self.0
    }
}

/// The answer that leaves the pipeline. One word wide as well: a batch collects many.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Outcome(Box<OutcomeBody>);

/// Its call's id and tool read as its own.
#[derive(Debug, Clone, Serialize)]
pub struct OutcomeBody {
    pub ok: bool,
    #[serde(flatten, serialize_with = "tool_and_id")]
    pub call: Arc<CallTag>,
    pub content: Vec<Block>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    pub meta: Meta,
}

/// What is known about the call besides its answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Meta {
    pub duration_ms: f64,
    /// Characters of the whole result, before anything was cut
    pub total_chars: usize,
    pub truncated: bool,
    pub reduced: bool,
    /// Where the whole result can be read
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// In a dry run: what policy would say
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would: Option<String>,
    /// Somebody else wrote it, or a part of it
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// Notes stand in it, which may be forgotten
    #[serde(skip)]
    pub forgettable: bool,
    /// How many secrets were masked
    #[serde(skip_serializing_if = "is_zero")]
    pub masked: usize,
}

fn tool_and_id<S: Serializer>(call: &CallTag, serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = serializer.serialize_map(Some(2))?;
    fields.serialize_entry("tool", &call.tool)?;
    fields.serialize_entry("call_id", &call.call_id)?;
    fields.end()
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl Outcome {
    /// The answer to something that never became a call.
    pub fn refused(tool: impl Into<Arc<str>>, id: impl Into<Arc<str>>, error: ToolError) -> Self {
        let call = CallTag {
            call_id: id.into(),
            session: "".into(),
            tool: tool.into(),
        };
        Outcome::from(OutcomeBody {
            ok: false,
            call: Arc::new(call),
            content: Vec::new(),
            structured: None,
            error: Some(error.into_body()),
            meta: Meta::default(),
        })
    }

    pub fn into_body(self) -> OutcomeBody {
        *self.0
    }

    /// The text blocks, one after the other.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(Block::as_text).collect();
        texts.join("\n")
    }

    /// How the call went, in the words of the document behind the meta-tools: `success`, `data`,
    /// `error`. The data is what programs read, where there is such a thing, else the text.
    pub fn account(&self) -> Map<String, Value> {
        let text = || self.content.iter().any(|block| block.as_text().is_some());
        let data = match &self.structured {
            Some(structured) => structured.clone(),
            None if text() => self.text().into(),
            None => Value::Null,
        };
        let error = serde_json::to_value(&self.error).unwrap_or_default();
        Map::from_iter([
            ("success".to_owned(), self.ok.into()),
            ("data".to_owned(), data),
            ("error".to_owned(), error),
        ])
    }

    pub fn code(&self) -> Option<ErrorCode> {
        self.error.as_ref().map(|error| error.code)
    }
}

impl From<OutcomeBody> for Outcome {
    fn from(body: OutcomeBody) -> Self {
        Outcome(Box::new(body))
    }
}

impl Deref for Outcome {
    type Target = OutcomeBody;

    fn deref(&self) -> &OutcomeBody {
        &self.0
    }
}

impl Deref for OutcomeBody {
    type Target = CallTag;

    fn deref(&self) -> &CallTag {
        &self.call
    }
}

impl DerefMut for Outcome {
    fn deref_mut(&mut self) -> &mut OutcomeBody {
        &mut self.0
    }
}
