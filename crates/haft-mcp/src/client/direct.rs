//! A call of a tool on the lane: what it says of itself, and the rounds of a server that wants to
//! know more before it goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_core::ToolContext;
use rmcp::ClientHandler;
use rmcp::model::{ErrorData, ProtocolVersion};
use rmcp::service::ServiceError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::lane::Lane;
use super::remote::{Running, Service};
use super::tool::RemoteCall;

/// How often a server may come back with questions.
const ROUNDS: u32 = 10;
/// A pause for a server that wants to be asked again and says nothing else.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    name: &'a str,
    arguments: &'a Value,
    #[serde(rename = "_meta")]
    meta: Meta<'a>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    input_responses: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_state: Option<String>,
}

#[derive(Serialize)]
struct Meta<'a> {
    #[serde(rename = "progressToken")]
    progress_token: u64,
    #[serde(flatten)]
    about: &'a Map<String, Value>,
}

/// What a server wants before it goes on.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wanted {
    #[serde(default)]
    input_requests: BTreeMap<String, Value>,
    #[serde(default)]
    request_state: Option<String>,
}

/// What every request has to say of its client since 2026-07-28.
pub(super) fn about(service: &Service) -> Map<String, Value> {
    let info = service.peer().peer_info();
    let version = info.as_ref().map(|info| &info.protocol_version);
    let Some(version) = version.filter(|version| **version >= ProtocolVersion::V_2026_07_28) else {
        return Map::new();
    };
    let ours = service.service().get_info();
    let said = [
        ("protocolVersion", json!(version)),
        ("clientInfo", json!(ours.client_info)),
        ("clientCapabilities", json!(ours.capabilities)),
    ];
    said.map(|(key, value)| (format!("io.modelcontextprotocol/{key}"), value))
        .into_iter()
        .collect()
}

/// Whether it has what makes the result of a call.
fn is_result(answer: &Value) -> bool {
    let content = &answer["content"];
    let is_error = &answer["isError"];
    let says_something = content.is_array() || !answer["structuredContent"].is_null();
    says_something
        && (content.is_array() || content.is_null())
        && (is_error.is_boolean() || is_error.is_null())
}

impl RemoteCall {
    /// Make the call on the lane, with as many rounds as the server wants.
    pub(super) async fn direct(
        &self,
        cx: &ToolContext,
        running: &Running,
        lane: &Lane,
        (name, call): (&str, u64),
    ) -> Result<Value, ServiceError> {
        let mut input_responses = Map::new();
        let mut request_state = None;
        for _ in 0..ROUNDS {
            let number = lane.number();
            running.shared.expects(call, number);
            let params = Params {
                name,
                arguments: &self.args,
                meta: Meta {
                    progress_token: number,
                    about: &running.asking.about,
                },
                input_responses: std::mem::take(&mut input_responses),
                request_state: request_state.take(),
            };
            let answer = lane.ask(number, "tools/call", &params).await?;
            let answer: Value =
                serde_json::from_str(answer.get()).map_err(|_| ServiceError::UnexpectedResponse)?;
            let kind = &answer["resultType"];
            let wanted: Wanted = if kind == "input_required" {
                serde_json::from_value(answer).map_err(|_| ServiceError::UnexpectedResponse)?
            } else if (kind.is_null() || kind == "complete") && is_result(&answer) {
                return Ok(answer);
            } else {
                return Err(ServiceError::UnexpectedResponse);
            };
            if wanted.input_requests.is_empty() {
                tokio::time::sleep(PAUSE).await;
            }
            for (key, request) in wanted.input_requests {
                input_responses.insert(key, self.given(cx, request).await?);
            }
            request_state = wanted.request_state;
        }
        Err(ServiceError::InputRequiredRoundsExceeded {
            max_rounds: ROUNDS as usize,
        })
    }

    /// The answer to one of the server's questions: forms only, there is no model here to lend.
    async fn given(&self, cx: &ToolContext, mut request: Value) -> Result<Value, ServiceError> {
        if request["method"] != "elicitation/create" {
            let text = format!("nobody here answers {}", request["method"]);
            return Err(ServiceError::McpError(ErrorData::invalid_request(
                text, None,
            )));
        }
        let form = request["params"].take();
        if form["mode"] == "url" || form.get("url").is_some() {
            return Ok(json!({"action": "decline"}));
        }
        Ok(self.ask(cx, form).await)
    }
}
