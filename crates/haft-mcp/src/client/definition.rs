//! A server's own words about its tools, and what we make of them. Nothing in them is trusted:
//! hints raise the risk, they do not lower it unless the owner said so.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use haft_core::{Repeat, Risk, Source, ToolSpec};
use haft_runtime::{mask, visible};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::remote::RemoteSpec;
use super::words::Words;

/// Bytes of one definition; a longer one is a fault or an attack on the model's attention.
pub(super) const LARGEST: usize = 256 * 1024;
const DESCRIPTION: usize = 16 * 1024;
/// Characters that are kept of what a server says of itself as a whole.
const INSTRUCTIONS: usize = 4_000;
/// Bytes that are kept of definitions whose tools are not listed any more.
const GONE: usize = 4 * 1024 * 1024;

/// What a server offered when it was last looked at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// What it says of itself as a whole
    #[serde(default)]
    pub(super) instructions: Option<String>,
    /// Tools as the server describes them now
    #[serde(default)]
    pub(super) tools: Vec<Words>,
    /// Definitions that a person has agreed to, where the server has changed them since
    #[serde(default)]
    pub(super) agreed: BTreeMap<String, Words>,
    /// Definitions that were agreed to, of tools that the server does not list now
    #[serde(default)]
    pub(super) gone: BTreeMap<String, Words>,
    /// More of them went than are kept: a name that is not known may have been one of them
    #[serde(default)]
    pub(super) forgot: bool,
    #[serde(default)]
    pub(super) resources: Vec<Words>,
    #[serde(default)]
    pub(super) templates: Vec<Words>,
    #[serde(default)]
    pub(super) prompts: Vec<Words>,
    #[serde(default)]
    pub(super) left_out: Vec<LeftOut>,
}

/// Something that a server lists and that cannot be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LeftOut {
    /// The list that it stands in
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) reason: String,
}

/// What a server says of itself.
#[derive(Debug, Default)]
pub(super) struct Offered {
    pub(super) left_out: Vec<LeftOut>,
    pub(super) instructions: Option<String>,
    pub(super) tools: Vec<Words>,
    pub(super) resources: Vec<Words>,
    pub(super) templates: Vec<Words>,
    pub(super) prompts: Vec<Words>,
}

impl Manifest {
    /// The server describes itself anew. What it changed is noted until a person agrees; `ours` are
    /// the tools that we have beside its own, whose names it may take for another thing.
    pub(super) fn renewed(&self, offered: Offered, ours: &[Words]) -> Manifest {
        let mut known: BTreeMap<_, _> = self.distinct().into_iter().collect();
        known.extend(self.gone.iter().map(by_name));
        known.extend(self.agreed.iter().map(by_name));
        let ours: BTreeMap<_, _> = ours
            .iter()
            .filter_map(|ours| Some((ours.name()?, ours)))
            .collect();
        let nothing = Words::default();
        let mut agreed = BTreeMap::new();
        for (name, tool) in distinct(&offered.tools) {
            let before = known.remove(&name).or(ours.get(&name).copied());
            let before = before.or(self.forgot.then_some(&nothing));
            if let Some(before) = before.filter(|before| *before != tool) {
                agreed.insert(name.into_owned(), before.clone());
            }
        }
        let mut bytes = 0;
        let listed_no_more = known.len();
        let gone: BTreeMap<_, _> = known
            .into_iter()
            .take_while(|(name, words)| {
                bytes += name.len() + words.len();
                bytes <= GONE
            })
            .map(|(name, words)| (name.into_owned(), words.clone()))
            .collect();
        Manifest {
            instructions: offered.instructions.as_deref().and_then(tidied),
            tools: offered.tools,
            agreed,
            forgot: self.forgot || gone.len() < listed_no_more,
            gone,
            resources: offered.resources,
            templates: offered.templates,
            prompts: offered.prompts,
            left_out: offered.left_out,
        }
    }

    /// Tools by name, the first of each: a second one is not what anybody asked for.
    pub(super) fn distinct(&self) -> Vec<(Cow<'_, str>, &Words)> {
        distinct(&self.tools)
    }

    /// A tool as the server describes it.
    pub(super) fn tool(&self, name: &str) -> Option<&Words> {
        let is_it = |tool: &&Words| tool.name().is_some_and(|its| its == name);
        self.tools.iter().find(is_it)
    }
}

/// What a server says of itself as a whole, as anybody may read it: nothing in it is hidden, and no
/// secret that it was given stands in it.
fn tidied(instructions: &str) -> Option<String> {
    let text: String = instructions.trim().chars().take(INSTRUCTIONS).collect();
    (!text.is_empty()).then(|| visible(&mask(&text).text))
}

fn distinct(tools: &[Words]) -> Vec<(Cow<'_, str>, &Words)> {
    let mut seen = HashSet::new();
    tools
        .iter()
        .filter_map(|tool| Some((tool.name()?, tool)))
        .filter(|(name, _)| seen.insert(name.clone()))
        .collect()
}

fn by_name<'a>((name, words): (&'a String, &'a Words)) -> (Cow<'a, str>, &'a Words) {
    (Cow::Borrowed(name), words)
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
    let name = tool["name"].as_str().filter(|name| !name.is_empty())?;
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
    hinted(&mut spec, server, &tool["annotations"]);
    spec.idle_timeout = Some(server.timeout);
    spec.timeout = Some(server.timeout.max(Duration::from_secs(600)));
    Some(spec)
}

/// What a server's hints make of its tool. One that is not there means the worst.
fn hinted(spec: &mut ToolSpec, server: &RemoteSpec, hints: &Value) {
    let trusted = server.trust_annotations;
    let reads = hints["readOnlyHint"] == true;
    let destroys = !reads && hints["destructiveHint"] != false;
    let closed = hints["openWorldHint"] == false;
    spec.risk = match destroys {
        true => Risk::High,
        false if trusted && reads && closed => Risk::Low,
        false => Risk::Medium,
    };
    spec.irreversible = destroys;
    spec.closed_world = trusted && closed;
    spec.repeat = match trusted {
        true if reads => Repeat::Read,
        true if hints["idempotentHint"] == true => Repeat::Idempotent,
        _ => Repeat::Unsafe,
    };
    let name = &server.name;
    let told = match (reads, closed) {
        (true, true) => None,
        (true, false) => Some(format!("the MCP server `{name}` may reach other places")),
        (false, true) => Some(format!(
            "whatever the MCP server `{name}` does, within itself by its own word"
        )),
        (false, false) => Some(format!(
            "whatever the MCP server `{name}` does, in other places too"
        )),
    };
    spec.side_effects = told.into_iter().collect();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::connect::{HttpServer, Way};
    use super::*;

    fn words(name: &str, description: &str) -> Words {
        Words::of(&json!({"name": name, "description": description})).unwrap()
    }

    fn listing(tools: &[(&str, &str)]) -> Offered {
        Offered {
            tools: tools.iter().map(|(name, text)| words(name, text)).collect(),
            ..Offered::default()
        }
    }

    #[test]
    fn a_tool_is_compared_with_what_was_agreed_last() {
        let check = |lists: &[&[(&str, &str)]], changed: &[&str]| {
            let mut manifest = Manifest::default();
            for list in lists {
                manifest = manifest.renewed(listing(list), &[words("read", "ours")]);
            }
            let found: Vec<_> = manifest.agreed.keys().collect();
            assert_eq!(found, changed, "{lists:?}");
        };
        let (a, other, more) = (("a", "does good"), ("a", "does harm"), ("b", "more"));
        check(&[&[a]], &[]);
        check(&[&[a], &[other]], &["a"]);
        check(&[&[a], &[other], &[a]], &[]);
        check(&[&[a], &[more], &[other]], &["a"]);
        check(&[&[a], &[], &[], &[a]], &[]);
        check(&[&[a], &[other], &[], &[other]], &["a"]);
        // A second one of a name is nobody's, and changes nothing.
        check(&[&[a, other], &[a, other]], &[]);
        // A name that we used is not the server's to fill.
        check(&[&[a], &[a, ("read", "theirs")]], &["read"]);
    }

    #[test]
    fn hints_spare_a_question_only_where_they_are_trusted() {
        let check = |hints: Value, trusted: bool, expected: (Risk, Repeat, bool), told: &str| {
            let server = RemoteSpec {
                name: "s".into(),
                identity: String::new(),
                way: Way::Http(HttpServer::default()),
                timeout: Duration::from_secs(1),
                idle: Duration::from_secs(1),
                disabled_tools: Vec::new(),
                trust_annotations: trusted,
            };
            let tool = json!({"name": "t", "annotations": hints, "inputSchema": {}});
            let spec = spec(&server, tool).unwrap();
            let found = (spec.risk, spec.repeat, spec.closed_world);
            assert_eq!(found, expected, "{hints} {trusted}");
            let effects = spec.side_effects.join("");
            assert!(effects.contains(told), "{hints}: {effects}");
            assert_eq!(effects.is_empty(), told.is_empty(), "{hints}: {effects}");
        };
        let (reads, closed) = (
            json!({"readOnlyHint": true}),
            json!({"openWorldHint": false}),
        );
        let both = json!({"readOnlyHint": true, "openWorldHint": false});
        use Repeat::{Read, Unsafe};
        use Risk::{High, Low, Medium};
        for trusted in [false, true] {
            check(json!({}), trusted, (High, Unsafe, false), "other places");
            let odd = json!({"openWorldHint": "false"});
            check(odd, trusted, (High, Unsafe, false), "other places");
        }
        check(closed.clone(), false, (High, Unsafe, false), "its own word");
        check(closed, true, (High, Unsafe, true), "its own word");
        check(reads.clone(), false, (Medium, Unsafe, false), "may reach");
        check(reads, true, (Medium, Read, false), "may reach");
        check(both.clone(), false, (Medium, Unsafe, false), "");
        check(both, true, (Low, Read, true), "");
    }

    #[test]
    fn who_hides_a_change_among_many_is_asked_about_all() {
        let filler = "x".repeat(GONE / 4);
        let names: Vec<String> = (0..5).map(|n| format!("f{n}")).collect();
        let mut first: Vec<_> = names
            .iter()
            .map(|n| (n.as_str(), filler.as_str()))
            .collect();
        first.push(("work", "does good"));
        let manifest = Manifest::default().renewed(listing(&first), &[]);
        let manifest = manifest.renewed(listing(&[]), &[]);
        assert!(manifest.forgot && manifest.gone.len() < first.len());
        let manifest = manifest.renewed(listing(&[("work", "does harm")]), &[]);
        assert!(manifest.agreed.contains_key("work"));
    }
}
