//! A model's own questions to a person. Whoever sits at the front end answers; nothing a model
//! writes here counts as an approval.

use std::time::Duration;

use haft_core::{
    CallTools, Effects, Exposure, Inquiry, InquiryKind, OWN_WORDS, Output, Tool, ToolContext,
    ToolError, ToolResult, ToolSpec,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

const TIMEOUT: u64 = 300;
const DEADLINE: Duration = Duration::from_secs(1_810);

/// The field for what the user made of the content.
const EDITED: &str = "edited_content";
const OTHERWISE: &str = "In other words";
const CHANGED: &str = "Changed to";

/// Ask the user something only they can know or decide: one question, several questions, or a
/// form. Choices are suggestions: the user may answer in other words. Say what you need it for,
/// and do not ask what a tool could find out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AskUser {
    /// The question
    #[serde(default)]
    #[schemars(length(min = 1, max = 4000))]
    question: Option<String>,
    /// Something to look at before answering: a draft, a plan; the user may change it
    #[serde(default)]
    content: Option<String>,
    /// Answers to choose from
    #[serde(default)]
    #[schemars(length(max = 50), extend("x-aliases" = ["options"]))]
    choices: Vec<String>,
    /// More than one may be chosen
    #[serde(default)]
    allow_multiple: bool,
    /// Several questions, asked one after the other
    #[serde(default)]
    #[schemars(length(max = 20))]
    questions: Vec<OneQuestion>,
    /// Fields to fill in
    #[serde(default)]
    #[schemars(length(max = 50))]
    form: Vec<OneField>,
    /// Seconds to wait for an answer, 300 if not given
    #[serde(default)]
    #[schemars(range(min = 10, max = 1800))]
    timeout: Option<u64>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneQuestion {
    /// The question
    #[schemars(length(min = 1, max = 4000))]
    question: String,
    /// A word or two to head it with
    #[serde(default)]
    header: Option<String>,
    /// Answers to choose from
    #[serde(default)]
    #[schemars(length(max = 50), extend("x-aliases" = ["choices"]))]
    options: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneField {
    /// Kind of field
    #[serde(rename = "type", default)]
    kind: FieldKind,
    /// Key of the answer
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// What the user reads
    #[serde(default)]
    label: Option<String>,
    /// What a select offers
    #[serde(default)]
    options: Vec<String>,
    /// It cannot be left empty
    #[serde(default)]
    required: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum FieldKind {
    Select,
    #[default]
    Text,
    Textarea,
    Checkbox,
    Toggle,
    Number,
}

impl AskUser {
    /// Every question in order: the single one, then the list.
    fn asked(&self) -> Vec<OneQuestion> {
        let first = self.question.iter().map(|question| OneQuestion {
            question: question.clone(),
            header: None,
            options: self.choices.clone(),
        });
        first.chain(self.questions.iter().cloned()).collect()
    }

    /// A form in the words of MCP, so that whoever is at the other end can show it.
    fn form(&self, asked: &[OneQuestion]) -> Result<Value, ToolError> {
        if asked.is_empty() && self.form.is_empty() {
            return Err(ToolError::input_invalid("nothing is asked")
                .hint("give `question`, `questions` or `form`"));
        }
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (at, one) in asked.iter().enumerate() {
            let many = self.allow_multiple && self.question.is_some() && at == 0;
            properties.insert(key(at), one.property(many));
            if one.options.is_empty() {
                required.push(key(at));
            } else {
                properties.insert(own_words(at), json!({"type": "string", "title": OTHERWISE}));
            }
        }
        if self.content.is_some() {
            properties.insert(
                EDITED.to_owned(),
                json!({"type": "string", "title": CHANGED}),
            );
        }
        for (at, field) in self.form.iter().enumerate() {
            if field.kind == FieldKind::Select && field.options.is_empty() {
                let message = format!("`form[{at}]`: a select without `options`");
                return Err(ToolError::input_invalid(message));
            }
            if properties.contains_key(&field.name) {
                let message = format!("`form[{at}]`: the name `{}` is taken", field.name);
                return Err(ToolError::input_invalid(message));
            }
            properties.insert(field.name.clone(), field.property());
            if field.required {
                required.push(field.name.clone());
            }
        }
        let head = match asked {
            [only] => only.question.as_str(),
            _ => "The model has some questions",
        };
        let message = match &self.content {
            Some(content) => format!("{head}\n\n{content}"),
            None => head.to_owned(),
        };
        Ok(json!({
            "mode": "form",
            "message": message,
            "requestedSchema": {
                "type": "object", "properties": properties, "required": required,
            },
        }))
    }
}

/// The name of a question's answer in the form.
fn key(at: usize) -> String {
    format!("answer_{}", at + 1)
}

/// The name of the answer in other words than those offered.
fn own_words(at: usize) -> String {
    format!("{}{OWN_WORDS}", key(at))
}

impl OneQuestion {
    fn property(&self, many: bool) -> Value {
        let mut property = match (self.options.is_empty(), many) {
            (true, _) => json!({"type": "string"}),
            (false, false) => json!({"type": "string", "enum": self.options}),
            (false, true) => json!({
                "type": "array", "items": {"type": "string", "enum": self.options},
            }),
        };
        if let Some(header) = &self.header {
            property["title"] = header.as_str().into();
        }
        property["description"] = self.question.as_str().into();
        property
    }
}

impl OneField {
    fn property(&self) -> Value {
        let mut property = match self.kind {
            FieldKind::Select => json!({"type": "string", "enum": self.options}),
            FieldKind::Text | FieldKind::Textarea => json!({"type": "string"}),
            FieldKind::Checkbox | FieldKind::Toggle => json!({"type": "boolean"}),
            FieldKind::Number => json!({"type": "number"}),
        };
        property["title"] = self.title().into();
        property
    }

    fn title(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.name)
    }
}

impl Tool for AskUser {
    const NAME: &'static str = "ask_user";
    type Power = CallTools;

    fn describe(spec: ToolSpec) -> ToolSpec {
        let mut spec = super::meta(spec, Exposure::WithoutTools)
            .titled("Ask the user")
            .example(
                "Let the user choose",
                json!({"question": "Which one shall I keep?", "choices": ["old.txt", "new.txt"]}),
                json!({"status": "approved"}),
            );
        spec.timeout = Some(DEADLINE);
        spec
    }

    fn effects(&self, _tools: &CallTools, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::none())
    }

    async fn run(self, tools: &CallTools, cx: &ToolContext) -> ToolResult {
        let asked = self.asked();
        let inquiry = Inquiry {
            key: "ask_user".to_owned(),
            kind: InquiryKind::Elicitation,
            params: self.form(&asked)?,
        };
        let patience = Duration::from_secs(self.timeout.unwrap_or(TIMEOUT));
        let Some(reply) = tools.inquire(inquiry, patience, cx).await else {
            return Err(ToolError::not_available("nobody is there to answer")
                .hint("go on without the answer, and say what you assumed"));
        };
        Ok(Output::structured(told(
            &asked,
            &self.form,
            self.content,
            &reply,
        )))
    }
}

fn told(asked: &[OneQuestion], form: &[OneField], content: Option<String>, reply: &Value) -> Value {
    let denied = |why: &str| json!({"status": "denied", "user_feedback": why});
    match reply["action"].as_str() {
        Some("accept") => {}
        Some("decline") => return denied("the user declined to answer"),
        _ => return denied("the user cancelled"),
    }
    let mut values = reply["content"].as_object().cloned().unwrap_or_default();
    let mut take = |name: &str| values.shift_remove(name).filter(|value| !is_empty(value));
    let answers: Vec<Value> = (0..asked.len())
        .map(|at| {
            let (chosen, other) = (take(&key(at)), take(&own_words(at)));
            other.or(chosen).unwrap_or_default()
        })
        .collect();
    // Without something to edit, a field of the form may have that name.
    let edited = content.and_then(|content| {
        let edited = take(EDITED)?;
        (edited.as_str() != Some(&content)).then_some(edited)
    });
    // Nothing counts that was not asked for.
    values.retain(|name, _| form.iter().any(|field| field.name == *name));
    let silent = !answers.is_empty() && answers.iter().all(Value::is_null);
    if silent && edited.is_none() && values.is_empty() {
        return denied("the user left it unanswered");
    }
    let questions = asked.iter().map(|one| one.question.as_str());
    let said = questions.zip(&answers);
    let filled = form
        .iter()
        .filter_map(|field| Some((field.title(), values.get(&field.name)?)));
    let user_response = match answers.as_slice() {
        [only] if values.is_empty() => plain(only),
        _ => said
            .chain(filled)
            .map(|(what, answer)| format!("{what}: {}", plain(answer)))
            .collect::<Vec<_>>()
            .join("\n"),
    };
    let raw_response = match asked {
        [] => Value::Object(values.clone()),
        _ => answers.into(),
    };
    let mut answer = json!({
        "status": "approved",
        "user_response": user_response,
        "raw_response": raw_response,
        "content_was_edited": edited.is_some(),
        EDITED: edited,
    });
    if !values.is_empty() {
        answer["form"] = Value::Object(values);
    }
    answer
}

/// Nothing said: a field that was left alone.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// An answer as one line of text.
fn plain(answer: &Value) -> String {
    match answer {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
