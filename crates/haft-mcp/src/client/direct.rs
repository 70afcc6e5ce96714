//! A call of a tool on the lane: what it says of itself, and the rounds of a server that wants to
//! know more before it goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_core::{ToolContext, ToolResult};
use rmcp::ClientHandler;
use rmcp::model::{ErrorData, ProtocolVersion};
use rmcp::service::ServiceError;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::failure::unexpected;
use super::lane::Lane;
use super::remote::{Running, Service};
use super::result::{Answer, Kind};
use super::tool::RemoteCall;

/// How often a server may come back with questions.
const ROUNDS: u32 = 10;
/// A pause for a server that wants to be asked again and says nothing else.
const PAUSE: Duration = Duration::from_millis(50);

/// What a server wants before it goes on.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wanted {
    #[serde(default)]
    input_requests: BTreeMap<String, Value>,
    #[serde(default)]
    request_state: Option<String>,
}

/// What it gets when it is asked again.
#[derive(Default)]
struct Given {
    input_responses: Map<String, Value>,
    request_state: Option<String>,
}

/// What every request has to say of its client since 2026-07-28, as one object.
pub(super) fn about(service: &Service) -> Option<Box<RawValue>> {
    let info = service.peer().peer_info();
    let version = &info.as_ref()?.protocol_version;
    if *version < ProtocolVersion::V_2026_07_28 {
        return None;
    }
    let ours = service.service().get_info();
    to_raw_value(&json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": ours.client_info,
        "io.modelcontextprotocol/clientCapabilities": ours.capabilities,
    }))
    .ok()
}

/// The parameters of a call, put together by hand: most of it is the same each time.
fn params(
    (name, arguments): (&str, &Value),
    number: u64,
    about: Option<&RawValue>,
    given: &Given,
) -> serde_json::Result<Vec<u8>> {
    let mut params = Vec::with_capacity(512);
    params.extend_from_slice(b"{\"name\":");
    serde_json::to_writer(&mut params, name)?;
    params.extend_from_slice(b",\"arguments\":");
    serde_json::to_writer(&mut params, arguments)?;
    params.extend_from_slice(b",\"_meta\":{\"progressToken\":");
    serde_json::to_writer(&mut params, &number)?;
    match about {
        Some(about) => {
            params.push(b',');
            params.extend_from_slice(&about.get().as_bytes()[1..]);
        }
        None => params.push(b'}'),
    }
    if !given.input_responses.is_empty() {
        params.extend_from_slice(b",\"inputResponses\":");
        serde_json::to_writer(&mut params, &given.input_responses)?;
    }
    if let Some(state) = &given.request_state {
        params.extend_from_slice(b",\"requestState\":");
        serde_json::to_writer(&mut params, state)?;
    }
    params.push(b'}');
    Ok(params)
}

impl RemoteCall {
    /// Make the call on the lane, with as many rounds as the server wants.
    pub(super) async fn direct(
        &self,
        cx: &ToolContext,
        running: &Running,
        lane: &Lane,
        (name, call): (&str, u64),
    ) -> Result<ToolResult, ServiceError> {
        let about = running.asking.about.as_deref();
        let mut given = Given::default();
        for _ in 0..ROUNDS {
            let number = lane.number();
            running.shared.expects(call, number);
            let params = params((name, &self.args), number, about, &given).map_err(unexpected)?;
            let answer = lane.ask(number, "tools/call", &params).await?;
            let answer = answer.get();
            let said = Answer::read(answer)?;
            match said.kind() {
                Kind::Result => return Ok(said.output(self.server())),
                Kind::Other => return Err(ServiceError::UnexpectedResponse),
                Kind::Wants => {}
            }
            let wanted: Wanted = serde_json::from_str(answer).map_err(unexpected)?;
            if wanted.input_requests.is_empty() {
                tokio::time::sleep(PAUSE).await;
            }
            given = Given {
                request_state: wanted.request_state,
                ..Given::default()
            };
            for (key, request) in wanted.input_requests {
                let answer = self.given(cx, request).await?;
                given.input_responses.insert(key, answer);
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_of_a_call_are_json_whatever_it_says() {
        let check = |about: Option<Value>, given: Given, expected: Value| {
            let about = about.map(|about| to_raw_value(&about).unwrap());
            let said = ("a \"b\"\n", &json!({"x": "ü\u{1}"}));
            let params = params(said, 7, about.as_deref(), &given).unwrap();
            let read: Value = serde_json::from_slice(&params).unwrap();
            assert_eq!(read, expected);
        };
        let said =
            |meta: Value| json!({"name": "a \"b\"\n", "arguments": {"x": "ü\u{1}"}, "_meta": meta});
        let with_token = json!({"progressToken": 7});
        check(None, Given::default(), said(with_token.clone()));
        let about = json!({"io.modelcontextprotocol/clientInfo": {"name": "haft"}});
        let mut meta = about.clone();
        meta["progressToken"] = json!(7);
        check(Some(about), Given::default(), said(meta));
        let mut expected = said(with_token);
        expected["inputResponses"] = json!({"k": {"action": "decline"}});
        expected["requestState"] = json!("s\"");
        let given = Given {
            input_responses: Map::from_iter([("k".to_owned(), json!({"action": "decline"}))]),
            request_state: Some("s\"".to_owned()),
        };
        check(None, given, expected);
    }
}
