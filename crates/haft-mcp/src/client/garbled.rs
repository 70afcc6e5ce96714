//! Answers that are none: neither a result nor an error, or not even JSON. They would be waited for
//! until the deadline, so an error takes their place.

use rmcp::model::ServerJsonRpcMessage;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What that error says. These words are ours, also where a server uses them.
pub(super) const GARBLED: &str = "the answer is neither a result nor an error";

/// The error in the place of an answer that is none; nothing where a message can be understood, or
/// answers nobody.
pub(super) fn stand_in(message: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(default)]
        id: Option<Value>,
        #[serde(borrow, default)]
        method: Option<&'a RawValue>,
    }
    if message.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    let id = match serde_json::from_slice::<Envelope<'_>>(message) {
        Ok(envelope) if envelope.method.is_some() => None,
        Ok(envelope) => envelope.id.filter(|id| id.is_number() || id.is_string()),
        Err(_) => id_of_broken(message),
    }?;
    let understood = serde_json::from_slice::<ServerJsonRpcMessage>(message).is_ok();
    (!understood).then(|| {
        let error = json!({"code": -32603, "message": GARBLED});
        json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
    })
}

/// The id of what looks like an answer and is no JSON. What a server notes down of our requests has
/// a method, and what it says to people does not look so.
pub(super) fn id_of_broken(message: &[u8]) -> Option<Value> {
    let message = message.trim_ascii();
    let looks_whole = message.first() == Some(&b'{') && message.last() == Some(&b'}');
    let has_method = || message.windows(8).any(|part| part == b"\"method\"");
    (looks_whole && !has_method())
        .then(|| id_of(message, message))
        .flatten()
}

/// The id of an answer, by its two ends: before the result, or after it.
pub(super) fn id_of(head: &[u8], tail: &[u8]) -> Option<Value> {
    let head = String::from_utf8_lossy(head);
    let before = head.split("\"result\"").next().unwrap_or_default();
    let value = |text: &str| -> Option<Value> {
        let text = text.trim_start().strip_prefix(':')?;
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        values
            .next()?
            .ok()
            .filter(|id| id.is_number() || id.is_string())
    };
    let tail = String::from_utf8_lossy(tail);
    before
        .split_once("\"id\"")
        .and_then(|(_, rest)| value(rest))
        .or_else(|| tail.rsplit_once("\"id\"").and_then(|(_, rest)| value(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_that_is_none_is_replaced() {
        let check = |message: &[u8], id: Option<Value>| {
            let instead = stand_in(message);
            let instead = instead.map(|text| serde_json::from_str::<Value>(&text).unwrap());
            if let Some(instead) = &instead {
                assert_eq!(instead["error"]["message"], GARBLED);
            }
            let shown = String::from_utf8_lossy(message);
            assert_eq!(instead.map(|instead| instead["id"].clone()), id, "{shown}");
        };
        check(br#"{"jsonrpc":"2.0","id":3}"#, Some(json!(3)));
        check(
            br#"{"jsonrpc":"2.0","id":"a","error":"no"}"#,
            Some(json!("a")),
        );
        check(
            b"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"t\":\"\xff\"}}",
            Some(json!(4)),
        );
        check(br#"{"result":{"id":9},, "id":5}"#, Some(json!(5)));
        check(br#"{"jsonrpc":"2.0","id":3,"result":{}}"#, None);
        check(
            br#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"no"}}"#,
            None,
        );
        check(
            br#"{"jsonrpc":"2.0","id":3,"method":"ping","params":7}"#,
            None,
        );
        check(br#"{"jsonrpc":"2.0"}"#, None);
        check(br#"got {"id":3,"result":1}"#, None);
        check(br#"{"id":3,"method":"tools/call",,}"#, None);
        check(b"[1]", None);
    }
}
