//! A server's own words about its tools, and what we make of them. Nothing in them is trusted:
//! hints raise the risk, they do not lower it unless the owner said so.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use haft_core::{Repeat, Risk, Source, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::remote::RemoteSpec;
use super::words::Words;

/// Bytes of one definition; a longer one is a fault or an attack on the model's attention.
pub(super) const LARGEST: usize = 256 * 1024;
const DESCRIPTION: usize = 16 * 1024;

/// What a server offered when it was last looked at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    #[serde(default)]
    pub(super) instructions: Option<String>,
    /// Tools as the server describes them now
    #[serde(default)]
    pub(super) tools: Vec<Words>,
    /// Definitions that a person has agreed to, where the server has changed them since
    #[serde(default)]
    pub(super) agreed: BTreeMap<String, Words>,
    #[serde(default)]
    pub(super) resources: Vec<Words>,
    #[serde(default)]
    pub(super) templates: Vec<Words>,
    #[serde(default)]
    pub(super) prompts: Vec<Words>,
}

/// What a server says of itself.
#[derive(Debug, Default)]
pub(super) struct Offered {
    pub(super) instructions: Option<String>,
    pub(super) tools: Vec<Words>,
    pub(super) resources: Vec<Words>,
    pub(super) templates: Vec<Words>,
    pub(super) prompts: Vec<Words>,
}

impl Manifest {
    /// The server describes itself anew. What it changed is noted until a person agrees.
    pub(super) fn renewed(&self, offered: Offered) -> Manifest {
        let mut agreed = BTreeMap::new();
        let known: HashMap<_, _> = self.distinct().into_iter().collect();
        for tool in &offered.tools {
            let Some(name) = tool.name() else {
                continue;
            };
            let known = self.agreed.get(&*name).or(known.get(&name).copied());
            if let Some(known) = known.filter(|known| *known != tool) {
                agreed.insert(name.into_owned(), known.clone());
            }
        }
        Manifest {
            instructions: offered.instructions,
            tools: offered.tools,
            agreed,
            resources: offered.resources,
            templates: offered.templates,
            prompts: offered.prompts,
        }
    }

    /// Tools by name, the first of each: a second one is not what anybody asked for.
    pub(super) fn distinct(&self) -> Vec<(Cow<'_, str>, &Words)> {
        let mut seen = HashSet::new();
        self.tools
            .iter()
            .filter_map(|tool| Some((tool.name()?, tool)))
            .filter(|(name, _)| seen.insert(name.clone()))
            .collect()
    }
}

/// What changed between two definitions, for a person to read.
pub(super) fn difference(old: &Value, new: &Value) -> String {
    let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    let (old, new) = (pretty(old), pretty(new));
    similar::TextDiff::from_lines(&old, &new)
        .unified_diff()
        .header("as agreed", "as it is now")
        .to_string()
}

/// The spec of a tool; none where the definition cannot be used at all.
pub(super) fn spec(server: &RemoteSpec, mut tool: Value) -> Option<ToolSpec> {
    let mut part = |key: &str| tool.get_mut(key).map(Value::take).unwrap_or_default();
    let (schema, output_schema) = (part("inputSchema"), part("outputSchema"));
    let name = tool["name"].as_str()?;
    let description: String = tool["description"]
        .as_str()
        .unwrap_or_default()
        .chars()
        .take(DESCRIPTION)
        .collect();
    let full = format!("mcp.{}.{name}", server.name);
    let mut spec = ToolSpec::new(full.as_str(), description, schema);
    spec.module = format!("mcp.{}", server.name);
    let title = tool["title"]
        .as_str()
        .or_else(|| tool["annotations"]["title"].as_str());
    spec.title = title.unwrap_or_default().chars().take(200).collect();
    spec.output_schema = Some(output_schema).filter(Value::is_object);
    spec.aliases = vec![format!("mcp:{}:{name}", server.name)];
    spec.source = Source::Mcp(server.name.clone());
    spec.output_is_untrusted = true;
    spec.tags = vec!["mcp".to_owned(), server.name.clone()];
    let hints = &tool["annotations"];
    let reads = hints["readOnlyHint"] == true;
    let destroys = !reads && hints["destructiveHint"] != false;
    spec.risk = if destroys { Risk::High } else { Risk::Medium };
    spec.irreversible = destroys;
    spec.repeat = match server.trust_annotations {
        true if reads => Repeat::Read,
        true if hints["idempotentHint"] == true => Repeat::Idempotent,
        _ => Repeat::Unsafe,
    };
    spec.side_effects = match reads {
        true => Vec::new(),
        false => vec![format!("whatever the MCP server `{}` does", server.name)],
    };
    spec.idle_timeout = Some(server.timeout);
    spec.timeout = Some(server.timeout.max(Duration::from_secs(600)));
    Some(spec)
}
