//! The official MCP schemas, to hold messages against, and the official example messages.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

const SCHEMAS: [(&str, &str); 3] = [
    (
        "2025-06-18",
        include_str!("../data/mcp-schema/2025-06-18.schema.json"),
    ),
    (
        "2025-11-25",
        include_str!("../data/mcp-schema/2025-11-25.schema.json"),
    ),
    (
        "2026-07-28",
        include_str!("../data/mcp-schema/2026-07-28.schema.json"),
    ),
];

/// What a result may be, by the method that is answered.
const RESULTS: &[(&str, &[&str])] = &[
    ("initialize", &["InitializeResult"]),
    ("server/discover", &["DiscoverResult"]),
    ("tools/list", &["ListToolsResult"]),
    (
        "tools/call",
        &["CallToolResult", "InputRequiredResult", "CreateTaskResult"],
    ),
    ("resources/list", &["ListResourcesResult"]),
    ("resources/templates/list", &["ListResourceTemplatesResult"]),
    (
        "resources/read",
        &["ReadResourceResult", "InputRequiredResult"],
    ),
    ("prompts/list", &["ListPromptsResult"]),
    ("prompts/get", &["GetPromptResult", "InputRequiredResult"]),
    ("completion/complete", &["CompleteResult"]),
    ("subscriptions/listen", &["SubscriptionsListenResult"]),
    ("tasks/get", &["GetTaskResult"]),
    ("tasks/result", &["CallToolResult"]),
    ("tasks/list", &["ListTasksResult"]),
    ("tasks/cancel", &["CancelTaskResult"]),
    ("elicitation/create", &["ElicitResult"]),
    ("sampling/createMessage", &["CreateMessageResult"]),
    ("roots/list", &["ListRootsResult"]),
];

/// Holds messages against the schema of one revision.
#[derive(Clone, Copy)]
pub struct Checker {
    revision: &'static str,
    schema: &'static str,
}

impl Checker {
    /// # Panics
    /// When there is no schema of this revision.
    #[allow(clippy::expect_used)]
    pub fn of(revision: &str) -> Checker {
        let found = SCHEMAS.iter().find(|(known, _)| *known == revision);
        let (revision, schema) = found.expect("a revision with a schema");
        Checker { revision, schema }
    }

    /// A request or notification of a server.
    ///
    /// # Panics
    /// When it is not as the schema has it.
    pub fn server_says(self, message: &Value) {
        let kind = match message.get("id") {
            Some(_) => "ServerRequest",
            None => "ServerNotification",
        };
        self.check(kind, message);
    }

    /// A request or notification of a client.
    ///
    /// # Panics
    /// When it is not as the schema has it.
    pub fn client_says(self, message: &Value) {
        let kind = match message.get("id") {
            Some(_) => "ClientRequest",
            None => "ClientNotification",
        };
        self.check(kind, message);
    }

    /// The answer to a request of this method, by whichever side.
    ///
    /// # Panics
    /// When it is not as the schema has it.
    pub fn answers(self, method: &str, message: &Value) {
        if message.get("error").is_some() {
            let kind = match self.revision {
                "2025-06-18" => "JSONRPCError",
                _ => "JSONRPCErrorResponse",
            };
            return self.check(kind, message);
        }
        let kind = match self.revision {
            "2025-06-18" => "JSONRPCResponse",
            _ => "JSONRPCResultResponse",
        };
        self.check(kind, message);
        let result = &message["result"];
        let found = RESULTS.iter().find(|(known, _)| *known == method);
        let kinds = found.map_or(&["EmptyResult"][..], |(_, kinds)| kinds);
        let problems: Vec<String> = kinds
            .iter()
            .filter(|kind| self.has(kind))
            .map(|kind| self.problem(kind, result))
            .collect::<Option<_>>()
            .unwrap_or_default();
        assert!(
            problems.is_empty(),
            "{method} {}: {problems:?}\n{message:#}",
            self.revision
        );
    }

    /// A value against a definition of the schema.
    ///
    /// # Panics
    /// When it is not as the schema has it.
    pub fn check(self, kind: &str, value: &Value) {
        let problem = self.problem(kind, value);
        assert_eq!(problem, None, "{kind} {}\n{value:#}", self.revision);
    }

    /// Whether the schema has a definition.
    pub fn has(self, kind: &str) -> bool {
        self.definitions().1.get(kind).is_some()
    }

    /// What is wrong with a value.
    pub fn problem(self, kind: &str, value: &Value) -> Option<String> {
        let validator = self.validator(kind);
        let errors: Vec<String> = validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        (!errors.is_empty()).then(|| errors.join("; "))
    }

    #[allow(clippy::expect_used)]
    fn validator(self, kind: &str) -> Arc<Validator> {
        type Made = Mutex<HashMap<(&'static str, String), Arc<Validator>>>;
        static MADE: OnceLock<Made> = OnceLock::new();
        let mut made = MADE
            .get_or_init(Made::default)
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        made.entry((self.revision, kind.to_owned()))
            .or_insert_with(|| {
                let (place, definitions) = self.definitions();
                assert!(definitions.get(kind).is_some(), "no such type: {kind}");
                let whole: Value = serde_json::from_str(self.schema).expect("JSON");
                let schema = json!({
                    "$schema": whole["$schema"],
                    place: definitions,
                    "$ref": format!("#/{place}/{kind}"),
                });
                let built = jsonschema::options().offline().build(&schema);
                Arc::new(built.expect("a schema"))
            })
            .clone()
    }

    #[allow(clippy::expect_used)]
    fn definitions(self) -> (&'static str, Value) {
        let mut whole: Value = serde_json::from_str(self.schema).expect("JSON");
        let place = match whole.get("$defs") {
            Some(_) => "$defs",
            None => "definitions",
        };
        (place, whole[place].take())
    }
}

/// An official example message.
pub struct Example {
    /// The definition of the schema that it is an example of
    pub kind: String,
    pub name: String,
    pub value: Value,
}

/// The official example messages of 2026-07-28.
///
/// # Panics
/// When they cannot be read.
#[allow(clippy::expect_used)]
pub fn examples() -> Vec<Example> {
    let text = include_str!("../data/mcp-schema/examples-2026-07-28.jsonl");
    text.lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            Example {
                kind: text(&line["type"]),
                name: text(&line["name"]),
                value: line["value"].take(),
            }
        })
        .collect()
}
