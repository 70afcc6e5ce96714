//! What one request says about itself: its revision, what its client can do, what it wants to
//! hear while it waits.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::{Capabilities, RequestMeta, Revision, RpcError};

/// Levels of log messages, least first.
pub(super) const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// What is known about a request before its method looks at it.
#[derive(Debug, Clone)]
pub(super) struct About {
    pub(super) revision: Revision,
    pub(super) capabilities: Capabilities,
    /// The client wants log messages of level info
    pub(super) log: bool,
    pub(super) progress_token: Option<Value>,
}

#[derive(Deserialize, Default)]
struct OnlyMeta<'a> {
    #[serde(rename = "_meta", borrow, default)]
    meta: Option<RequestMeta<'a>>,
}

/// What a client agreed on by `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agreed {
    pub(crate) revision: Revision,
    pub(crate) capabilities: Capabilities,
}

impl About {
    /// `stateless` is set where the transport already knows that the request has to speak for
    /// itself; `level` is what the client once asked for by `logging/setLevel`.
    pub(super) fn read(
        params: Option<&RawValue>,
        agreed: Option<Agreed>,
        stateless: bool,
        level: Option<u8>,
    ) -> Result<Self, RpcError> {
        let read: OnlyMeta<'_> = match params {
            // Most requests of older clients carry no `_meta` at all.
            Some(raw) if raw.get().contains("\"_meta\"") => serde_json::from_str(raw.get())
                .map_err(|error| RpcError::invalid_params(format!("`_meta`: {error}")))?,
            _ => OnlyMeta::default(),
        };
        let meta = read.meta.unwrap_or_default();
        let progress_token = match meta.progress_token.map(RawValue::get) {
            None => None,
            Some(raw) => match serde_json::from_str(raw) {
                Ok(token @ (Value::String(_) | Value::Number(_))) => Some(token),
                _ => {
                    return Err(RpcError::invalid_params(
                        "`progressToken` must be a string or a number",
                    ));
                }
            },
        };
        match (meta.version, agreed) {
            (None, Some(agreed)) if !stateless => Ok(About {
                revision: agreed.revision,
                capabilities: agreed.capabilities,
                log: level.is_some_and(|level| level <= 1),
                progress_token,
            }),
            (None, _) => Err(RpcError::malformed(
                "`_meta` lacks `io.modelcontextprotocol/protocolVersion`, and there was no `initialize`",
            )),
            (Some(version), _) => {
                let revision = Revision::parse(&version)
                    .filter(|revision| revision.is_stateless())
                    .ok_or_else(|| RpcError::unsupported_version(&version, &Revision::SUPPORTED))?;
                let capabilities = meta.capabilities.filter(Value::is_object).ok_or_else(|| {
                    RpcError::malformed(
                        "`_meta` lacks `io.modelcontextprotocol/clientCapabilities`",
                    )
                })?;
                let log = meta.log_level.is_some_and(|level| {
                    LEVELS.iter().position(|known| *known == level) <= Some(1)
                        && LEVELS.contains(&&*level)
                });
                Ok(About {
                    revision,
                    capabilities: Capabilities::of(&capabilities),
                    log,
                    progress_token,
                })
            }
        }
    }
}
