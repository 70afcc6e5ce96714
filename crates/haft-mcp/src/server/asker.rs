//! The person behind an MCP client. Approvals become forms, and what a running tool wants to know
//! becomes a request of the matching kind. Before 2026-07-28 both are requests to the client; since
//! then the client gets them as the result of its own request and comes back with the answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::{Answer, BoxFuture, Inquiry, InquiryKind, Person, Question};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::connection::Connection;
use super::outbox::Outbox;
use crate::wire::Capabilities;

/// The key of an approval among the inputs a client is asked for.
pub(super) const APPROVAL: &str = "approval";

/// How the client is reached while its request is being served.
pub(super) enum Way {
    /// Requests go out beside, and answers come back on the connection
    Request {
        connection: Arc<Connection>,
        outbox: Arc<Outbox>,
    },
    /// The client is told with the result, and comes back
    Result,
}

pub(super) struct Asker {
    capabilities: Capabilities,
    way: Way,
    /// The request that everything here is bound to
    request: blake3::Hash,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The digest that a person has answered, and how
    granted: Option<([u8; 32], Answer)>,
    question: Option<Question>,
    open: Vec<Open>,
    /// Requests to the client that it has not answered
    asking: usize,
    /// The client asks how the call stands: questions wait for it
    is_task: bool,
    missing: Map<String, Value>,
    refused: bool,
}

struct Open {
    inquiry: Inquiry,
    answer: oneshot::Sender<Value>,
}

/// What the client has to bring before its request can go on.
pub(super) enum Wanted {
    /// A yes, bound to this digest
    Approval([u8; 32], Value),
    /// Answers for a call that waits
    Answers(Map<String, Value>),
}

impl Asker {
    pub(super) fn new(capabilities: Capabilities, way: Way, request: blake3::Hash) -> Self {
        Asker {
            capabilities,
            way,
            request,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A person has answered the question with this digest.
    pub(super) fn grant(&self, digest: [u8; 32], answer: Answer) {
        self.state().granted = Some((digest, answer));
    }

    pub(super) fn request(&self) -> blake3::Hash {
        self.request
    }

    /// Something was needed that the client has not declared.
    pub(super) fn missing(&self) -> Option<Value> {
        let missing = std::mem::take(&mut self.state().missing);
        (!missing.is_empty()).then_some(Value::Object(missing))
    }

    /// A question came up and nobody could be asked.
    pub(super) fn refused(&self) -> bool {
        self.state().refused
    }

    /// The question that ended the call, if one did.
    pub(super) fn question(&self) -> Option<Wanted> {
        let question = self.state().question.take()?;
        let digest = self.digest(&question);
        Some(Wanted::Approval(
            digest,
            input_request(InquiryKind::Elicitation, &approval_form(&question)),
        ))
    }

    /// From now on the client asks how the call stands, and a question need not end it.
    pub(super) fn go_on_as_task(&self) {
        self.state().is_task = true;
    }

    /// Whether the call waits for answers.
    pub(super) fn is_waiting(&self) -> bool {
        let state = self.state();
        !state.open.is_empty() || state.asking > 0
    }

    /// Ask the client by a request, and remember meanwhile that it is asked.
    async fn request_of(
        &self,
        connection: &Connection,
        outbox: &Outbox,
        method: &str,
        params: &Value,
    ) -> Option<Value> {
        self.state().asking += 1;
        let asked = Asked(self);
        let answer = connection.ask(outbox, method, params).await;
        drop(asked);
        answer
    }

    /// Put something among what the client has to bring, and wait for it.
    async fn opened(&self, inquiry: Inquiry) -> Option<Value> {
        let (answer, answered) = oneshot::channel();
        self.state().open.push(Open { inquiry, answer });
        answered.await.ok()
    }

    pub(super) fn wanted(&self) -> Wanted {
        let state = self.state();
        Wanted::Answers(
            state
                .open
                .iter()
                .map(|open| {
                    let request = input_request(open.inquiry.kind, &open.inquiry.params);
                    (open.inquiry.key.clone(), request)
                })
                .collect(),
        )
    }

    /// Hand in the client's answers. What was not answered, or not properly, stays open.
    pub(super) fn deliver(&self, mut answers: Map<String, Value>) {
        let mut state = self.state();
        let open = std::mem::take(&mut state.open);
        for one in open {
            match answers.remove(&one.inquiry.key) {
                Some(answer) if fits(&one.inquiry, &answer) => {
                    // A call that no longer waits has been cancelled.
                    let _ = one.answer.send(answer);
                }
                _ => state.open.push(one),
            }
        }
    }

    /// Exactly this question about exactly this request; its id is new each time.
    fn digest(&self, question: &Question) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.request.as_bytes());
        for part in [
            &question.tool,
            &question.summary,
            question.detail.as_ref().unwrap_or(&String::new()),
            &question.reason,
            question.rule.as_ref().unwrap_or(&String::new()),
        ] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        *hasher.finalize().as_bytes()
    }

    fn can(&self, kind: InquiryKind) -> bool {
        match kind {
            InquiryKind::Elicitation => self.capabilities.elicitation,
            InquiryKind::Sampling => self.capabilities.sampling,
            InquiryKind::Roots => self.capabilities.roots,
        }
    }
}

impl Person for Asker {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async move {
            if !self.capabilities.elicitation {
                self.state().refused = true;
                return None;
            }
            match &self.way {
                Way::Request { connection, outbox } => {
                    let form = approval_form(question);
                    let method = method(InquiryKind::Elicitation);
                    let answer = self.request_of(connection, outbox, method, &form).await?;
                    Some(decision(&answer))
                }
                Way::Result if self.state().is_task => {
                    let inquiry = Inquiry {
                        key: question.id.clone(),
                        kind: InquiryKind::Elicitation,
                        params: approval_form(question),
                    };
                    Some(decision(&self.opened(inquiry).await?))
                }
                Way::Result => {
                    let digest = self.digest(question);
                    let mut state = self.state();
                    match state.granted.take() {
                        Some((granted, answer)) if granted == digest => Some(answer),
                        _ => {
                            state.question = Some(question.clone());
                            None
                        }
                    }
                }
            }
        })
    }

    fn inquire<'a>(&'a self, inquiry: &'a Inquiry) -> BoxFuture<'a, Option<Value>> {
        Box::pin(async move {
            if !self.can(inquiry.kind) {
                let name = capability(inquiry.kind);
                self.state().missing.insert(name.into(), json!({}));
                return None;
            }
            match &self.way {
                Way::Request { connection, outbox } => {
                    let method = method(inquiry.kind);
                    self.request_of(connection, outbox, method, &inquiry.params)
                        .await
                }
                Way::Result => self.opened(inquiry.clone()).await,
            }
        })
    }
}

/// A request to the client, until it is answered or given up.
struct Asked<'a>(&'a Asker);

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.0.state().asking -= 1;
    }
}

fn method(kind: InquiryKind) -> &'static str {
    match kind {
        InquiryKind::Elicitation => "elicitation/create",
        InquiryKind::Sampling => "sampling/createMessage",
        InquiryKind::Roots => "roots/list",
    }
}

fn capability(kind: InquiryKind) -> &'static str {
    match kind {
        InquiryKind::Elicitation => "elicitation",
        InquiryKind::Sampling => "sampling",
        InquiryKind::Roots => "roots",
    }
}

fn input_request(kind: InquiryKind, params: &Value) -> Value {
    let mut params = params.clone();
    if let (InquiryKind::Elicitation, Value::Object(params)) = (kind, &mut params) {
        params.entry("mode").or_insert_with(|| "form".into());
    }
    json!({"method": method(kind), "params": params})
}

/// What the person sees, and what they can say.
fn approval_form(question: &Question) -> Value {
    let mut message = format!(
        "`{}` needs your approval: {}\n\n{}",
        question.tool, question.reason, question.summary
    );
    if let Some(detail) = &question.detail {
        message.push_str("\n\n");
        message.push_str(detail);
    }
    let mut choices = vec!["once", "no"];
    let mut names = vec!["Allow this call".to_owned(), "Refuse".to_owned()];
    if let Some(rule) = &question.rule {
        choices.insert(1, "always");
        names.insert(1, format!("Always allow: {rule}"));
    }
    json!({
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": {
                    "type": "string",
                    "title": "Decision",
                    "description": "What haft may do",
                    "enum": choices,
                    "enumNames": names,
                },
            },
            "required": ["decision"],
        },
    })
}

/// Anything but a clear yes is a no.
pub(super) fn decision(answer: &Value) -> Answer {
    if answer["action"] != "accept" {
        return Answer::No;
    }
    match answer["content"]["decision"].as_str() {
        Some("once") => Answer::Yes,
        Some("always") => Answer::Always,
        _ => Answer::No,
    }
}

/// Whether an answer is one at all: forms that were accepted are filled in as asked.
fn fits(inquiry: &Inquiry, answer: &Value) -> bool {
    match inquiry.kind {
        InquiryKind::Sampling => answer["content"].is_object() || answer["content"].is_array(),
        InquiryKind::Roots => answer["roots"].is_array(),
        InquiryKind::Elicitation => match answer["action"].as_str() {
            Some("decline" | "cancel") => true,
            Some("accept") => filled_in(&inquiry.params["requestedSchema"], &answer["content"]),
            _ => false,
        },
    }
}

/// Every required field is there, and every field that is there has its type.
fn filled_in(schema: &Value, content: &Value) -> bool {
    let empty = Map::new();
    let given = content.as_object().unwrap_or(&empty);
    let required = schema["required"].as_array().into_iter().flatten();
    let all_there = required
        .filter_map(Value::as_str)
        .all(|name| given.contains_key(name));
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let all_fit = given.iter().all(|(name, value)| {
        match properties
            .get(name)
            .and_then(|property| property["type"].as_str())
        {
            Some("string") => value.is_string(),
            Some("integer") => value.is_i64() || value.is_u64(),
            Some("number") => value.is_number(),
            Some("boolean") => value.is_boolean(),
            Some("array") => value.is_array(),
            _ => true,
        }
    });
    all_there && all_fit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_counts() {
        let check = |answer: Value, expected: Answer| assert_eq!(decision(&answer), expected);
        let accept = |content: Value| json!({"action": "accept", "content": content});
        check(accept(json!({"decision": "once"})), Answer::Yes);
        check(accept(json!({"decision": "always"})), Answer::Always);
        check(accept(json!({"decision": "no"})), Answer::No);
        check(accept(json!({"decision": true})), Answer::No);
        check(accept(json!({})), Answer::No);
        check(json!({"action": "accept"}), Answer::No);
        check(
            json!({"action": "decline", "content": {"decision": "once"}}),
            Answer::No,
        );
        check(json!({"action": "cancel"}), Answer::No);
        check(json!({}), Answer::No);
    }

    #[test]
    fn forms_are_filled_in_as_asked() {
        let schema = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name"],
        });
        let check = |content: Value, expected: bool| {
            assert_eq!(filled_in(&schema, &content), expected, "{content}");
        };
        check(json!({"name": "a"}), true);
        check(json!({"name": "a", "age": 3}), true);
        check(json!({"name": "a", "age": "3"}), false);
        check(json!({"age": 3}), false);
        check(json!({}), false);
        check(Value::Null, false);
    }
}
