//! A YAML document as a tree in which every key and value knows its line and column. Errors about
//! what a config says are found on this tree, so that they can point at the place; the typed
//! structs come after. Everything that makes a small file expensive is refused here.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{DefaultMessageFormatter, Error, MessageFormatter, Options, Spanned};

use super::error::{Place, Problem};

/// Deeper than any config needs, and far from the end of the stack.
const MAX_DEPTH: usize = 24;

/// Keys and values in one file.
const MAX_NODES: usize = 20_000;

/// Nodes that aliases may repeat in total; more is an alias bomb.
const MAX_REPEATED: usize = 2_000;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) kind: Kind,
}

/// A key of a map and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub(super) place: Place,
    pub(super) name: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Null,
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

impl Node {
    /// The tree of a document; an empty document is an empty map.
    pub(super) fn parse(text: &str) -> Result<Node, Problem> {
        serde_saphyr::from_str_with_options::<Spanned<Kind>>(text, options())
            .map(node)
            .map_err(|error| problem(error.without_snippet()))
    }

    /// Without places, as the typed structs read it. A key with nothing behind it counts as not
    /// given: people comment out the lines below a heading.
    pub(super) fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Scalar(value) => value.clone(),
            Kind::List(items) => items.iter().map(Node::to_value).collect(),
            Kind::Map(entries) => entries
                .iter()
                .filter(|(_, node)| node.kind != Kind::Null)
                .map(|(key, node)| (key.name.clone(), node.to_value()))
                .collect(),
        }
    }

    /// Where a word stands, as a value or as a key.
    pub(super) fn find(&self, word: &str) -> Option<Place> {
        match &self.kind {
            Kind::Null => None,
            Kind::Scalar(value) => (value.as_str() == Some(word)).then_some(self.place),
            Kind::List(items) => items.iter().find_map(|item| item.find(word)),
            Kind::Map(entries) => entries.iter().find_map(|(key, node)| {
                let here = (key.name == word).then_some(key.place);
                here.or_else(|| node.find(word))
            }),
        }
    }

    /// The value under a key, if this is a map that has it.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        match &self.kind {
            Kind::Map(entries) => entries
                .iter()
                .find(|(key, _)| key.name == name)
                .map(|(_, node)| node),
            _ => None,
        }
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        match &mut self.kind {
            Kind::Map(entries) => entries
                .iter_mut()
                .find(|(key, _)| key.name == name)
                .map(|(_, node)| node),
            _ => None,
        }
    }

    /// What a person calls this kind of value.
    pub(super) fn kind_name(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "nothing",
            Kind::Scalar(Value::Bool(_)) => "a boolean",
            Kind::Scalar(Value::Number(_)) => "a number",
            Kind::Scalar(_) => "text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_documents: 1,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_REPEATED,
            max_replay_stack_depth: 8,
        },
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}

fn node(spanned: Spanned<Kind>) -> Node {
    Node {
        place: place(&spanned.referenced),
        kind: spanned.value,
    }
}

fn place(location: &serde_saphyr::Location) -> Place {
    Place {
        line: location.line(),
        column: location.column(),
    }
}

fn problem(error: &Error) -> Problem {
    // Inside an alias the place of use is the one to mend; the cause is one level down.
    let mut cause = error;
    while let Error::AliasError { error, .. } = cause {
        cause = error;
    }
    let message = match cause {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("key `{}` is given twice", key)
        }
        Error::DuplicateMappingKey { key: None, .. } => "key is given twice".to_owned(),
        Error::MergeKeyNotAllowed { .. } => "merge keys (`<<`) are not taken".to_owned(),
        Error::MultipleDocuments { .. } => MANY_DOCUMENTS.to_owned(),
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            "alias stands inside its own anchor".to_owned()
        }
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => ALIAS_BOMB.to_owned(),
        Error::Budget { breach, .. } => over_budget(breach),
        other => match DefaultMessageFormatter.format_message(other).as_ref() {
            "recursion limit exceeded" => too_deep(),
            said => format!("not valid YAML: {}", said),
        },
    };
    match error.location() {
        Some(location) => Problem::new(place(&location), message),
        None => Problem::somewhere(message),
    }
}

const MANY_DOCUMENTS: &str = "a config is one document, and a second one begins";
const ALIAS_BOMB: &str = "aliases repeat too much";

fn over_budget(breach: &BudgetBreach) -> String {
    match breach {
        BudgetBreach::Documents { .. } => MANY_DOCUMENTS.to_owned(),
        BudgetBreach::Depth { .. } => too_deep(),
        BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. } => {
            format!("too many entries: more than {MAX_NODES}")
        }
        BudgetBreach::Aliases { .. } | BudgetBreach::AliasAnchorRatio { .. } => {
            ALIAS_BOMB.to_owned()
        }
        _ => "too large to read".to_owned(),
    }
}

fn too_deep() -> String {
    format!("nested too deeply: more than {MAX_DEPTH} levels")
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    // No key takes a number this large, so losing its last digits changes no answer.
    fn visit_i128<E>(self, value: i128) -> Result<Kind, E> {
        Ok(Kind::Scalar((value as f64).into()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Kind, E> {
        Ok(Kind::Scalar((value as f64).into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Kind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<Spanned<Kind>>()? {
            items.push(node(item));
        }
        Ok(Kind::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Kind, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let key = Key {
                place: place(&key.referenced),
                name: key.value,
            };
            entries.push((key, node(map.next_value()?)));
        }
        Ok(Kind::Map(entries))
    }
}
