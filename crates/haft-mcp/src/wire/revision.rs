//! Protocol revisions and what a request says about its client. From 2026-07-28 on every request
//! carries this itself; before, it was agreed on once, by `initialize`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Revision {
    /// Newest first.
    pub(crate) const SUPPORTED: [&'static str; 5] = [
        "2026-07-28",
        "2025-11-25",
        "2025-06-18",
        "2025-03-26",
        "2024-11-05",
    ];

    /// The newest that begins with `initialize`.
    pub(crate) const LAST_STATEFUL: Revision = Revision::V2025_11_25;

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "2024-11-05" => Revision::V2024_11_05,
            "2025-03-26" => Revision::V2025_03_26,
            "2025-06-18" => Revision::V2025_06_18,
            "2025-11-25" => Revision::V2025_11_25,
            "2026-07-28" => Revision::V2026_07_28,
            _ => return None,
        })
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// Every request stands alone and says what its client can do.
    pub(crate) fn is_stateless(self) -> bool {
        self >= Revision::V2026_07_28
    }
}

/// What a client can do for a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// Shows a form to a person
    pub(crate) elicitation: bool,
    pub(crate) sampling: bool,
    pub(crate) roots: bool,
    /// Knows calls as tasks, by the extension
    pub(crate) tasks: bool,
}

/// The extension for calls as tasks.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

impl Capabilities {
    pub(crate) fn of(value: &Value) -> Self {
        let elicitation = value.get("elicitation").and_then(Value::as_object);
        Capabilities {
            // An empty object means forms; one that names only `url` does not.
            elicitation: elicitation
                .is_some_and(|modes| modes.contains_key("form") || !modes.contains_key("url")),
            sampling: value.get("sampling").is_some_and(Value::is_object),
            roots: value.get("roots").is_some_and(Value::is_object),
            tasks: value["extensions"][TASKS].is_object(),
        }
    }
}

/// `_meta` of a request.
#[derive(Deserialize, Default)]
pub(crate) struct RequestMeta<'a> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion", borrow, default)]
    pub(crate) version: Option<Cow<'a, str>>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities", default)]
    pub(crate) capabilities: Option<Value>,
    #[serde(rename = "io.modelcontextprotocol/logLevel", borrow, default)]
    pub(crate) log_level: Option<Cow<'a, str>>,
    #[serde(rename = "progressToken", borrow, default)]
    pub(crate) progress_token: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_supported_revision_is_known_and_the_newest_comes_first() {
        let parsed: Vec<Revision> = Revision::SUPPORTED
            .iter()
            .map(|text| Revision::parse(text).unwrap())
            .collect();
        assert!(parsed.is_sorted_by(|a, b| a > b));
        for (revision, text) in parsed.iter().zip(Revision::SUPPORTED) {
            assert_eq!(revision.as_str(), text);
        }
        assert_eq!(Revision::parse("2027-01-01"), None);
    }

    #[test]
    fn elicitation_means_forms_unless_only_urls_are_named() {
        let check = |value: Value, expected: bool| {
            assert_eq!(Capabilities::of(&value).elicitation, expected, "{value}");
        };
        check(json!({}), false);
        check(json!({"elicitation": {}}), true);
        check(json!({"elicitation": {"form": {}}}), true);
        check(json!({"elicitation": {"url": {}}}), false);
        check(json!({"elicitation": {"url": {}, "form": {}}}), true);
    }
}
