//! Errors of the protocol itself. A tool that fails is an answer, not one of these.

use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Box<Value>>,
    /// The request lacks what every request needs
    pub(crate) malformed: bool,
}

pub(crate) const PARSE: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
pub(crate) const INTERNAL: i64 = -32603;
pub(crate) const RESOURCE_NOT_FOUND: i64 = -32002;
pub(crate) const HEADER_MISMATCH: i64 = -32020;
pub(crate) const MISSING_CAPABILITY: i64 = -32021;
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        RpcError {
            code,
            message: message.into(),
            data: None,
            malformed: false,
        }
    }

    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        RpcError {
            malformed: true,
            ..RpcError::new(INVALID_PARAMS, message)
        }
    }

    pub(crate) fn with(mut self, data: Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        RpcError::new(INVALID_PARAMS, message)
    }

    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        RpcError::new(INVALID_REQUEST, message)
    }

    pub(crate) fn no_method(method: &str) -> Self {
        RpcError::new(METHOD_NOT_FOUND, format!("no such method: `{method}`"))
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        RpcError::new(INTERNAL, message)
    }

    /// The client has to declare more before this request can be served.
    pub(crate) fn needs_capability(missing: Value) -> Self {
        RpcError::new(
            MISSING_CAPABILITY,
            "this request needs a capability that the client has not declared",
        )
        .with(json!({ "requiredCapabilities": missing }))
    }

    pub(crate) fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        RpcError::new(
            UNSUPPORTED_VERSION,
            format!("protocol version not supported: `{requested}`"),
        )
        .with(json!({ "requested": requested, "supported": supported }))
    }

    pub(crate) fn to_value(&self) -> Value {
        match &self.data {
            Some(data) => json!({"code": self.code, "message": self.message, "data": data}),
            None => json!({"code": self.code, "message": self.message}),
        }
    }
}
