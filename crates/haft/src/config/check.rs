//! Holds a config's tree against the schema of the typed structs and says everything that is
//! wrong with it, each with its place. The schema comes from the structs, so a new key needs no
//! line here.

use std::sync::LazyLock;

use haft_core::{ConstraintKind, Module, canonical_module};
use serde_json::{Map, Value, json};

use super::error::{Place, Problem};
use super::later;
use super::sections::Config;
use super::tree::{Kind, Node};

/// Constraint keys that every module takes.
const UNIVERSAL_CONSTRAINTS: [&str; 2] = ["allowed_actions", "blocked_actions"];

/// More mistakes than this are no help to anybody.
const MOST_PROBLEMS: usize = 20;

/// Other words for a level of autonomy, which the schema of the type does not tell: (theirs, ours).
const OTHER_LEVELS: [(&str, &str); 2] = [("conservative", "supervised"), ("guided", "standard")];

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = haft_core::tool_schema::<Config>();
    add_other_levels(&mut schema);
    schema
});

/// The config's JSON Schema, without `$ref`.
pub(super) fn schema() -> &'static Value {
    &SCHEMA
}

fn add_other_levels(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Array(forms)) = object.get_mut("oneOf") {
                for (theirs, ours) in OTHER_LEVELS {
                    if forms.iter().any(|form| form["const"] == ours) {
                        let description = format!("The same as {ours}");
                        forms.push(json!({
                            "description": description, "type": "string", "const": theirs,
                        }));
                    }
                }
            }
            object.values_mut().for_each(add_other_levels);
        }
        Value::Array(items) => items.iter_mut().for_each(add_other_levels),
        _ => {}
    }
}

/// Everything wrong with a config, in the order of the file.
pub(super) fn problems(root: &Node, modules: &[Module]) -> Vec<Problem> {
    let mut check = Check {
        path: Vec::new(),
        found: Vec::new(),
    };
    if let Kind::Scalar(_) | Kind::List(_) = root.kind {
        let message = format!("a config is a map of keys, found {}", root.kind_name());
        return vec![Problem::new(root.place, message)];
    }
    check.value(root, schema());
    check.modules(root, modules);
    let mut found = check.found;
    found.sort_by_key(Problem::place);
    found.dedup_by_key(|problem| problem.place());
    found.truncate(MOST_PROBLEMS);
    found
}

/// Rename module blocks to the names that haft uses: `filesystem` is `file`.
pub(super) fn rename_modules(root: &mut Node) {
    let modules = root
        .get_mut("tools")
        .and_then(|tools| tools.get_mut("modules"));
    if let Some(Node {
        kind: Kind::Map(entries),
        ..
    }) = modules
    {
        for (key, _) in entries {
            key.name = canonical_module(&key.name).to_owned();
        }
    }
}

struct Check<'a> {
    path: Vec<&'a str>,
    found: Vec<Problem>,
}

impl<'a> Check<'a> {
    fn value(&mut self, node: &'a Node, schema: &Value) {
        if node.kind == Kind::Null {
            return;
        }
        let forms = forms(schema);
        let Some(form) = forms.iter().copied().find(|form| fits(node, form)) else {
            let mut expected: Vec<&str> = forms.iter().map(|form| expected(form)).collect();
            expected.dedup();
            let hint = format!(
                "expected {}, found {}",
                expected.join(" or "),
                node.kind_name()
            );
            let message = format!("wrong type for `{}`", self.dotted());
            self.found
                .push(Problem::new(node.place, message).hint(hint));
            return;
        };
        match &node.kind {
            Kind::Map(entries) => {
                for (key, value) in entries {
                    self.path.push(&key.name);
                    self.entry(key.place, value, form);
                    self.path.pop();
                }
            }
            Kind::List(items) => {
                for item in items {
                    if item.kind == Kind::Null {
                        let message = format!("empty entry in `{}`", self.dotted());
                        self.found.push(Problem::new(item.place, message));
                    } else if let Some(schema) = form.get("items") {
                        self.value(item, schema);
                    }
                }
            }
            Kind::Scalar(value) => self.scalar(node, value, &forms),
            Kind::Null => {}
        }
    }

    /// One key of a map; its name is the last of the path.
    fn entry(&mut self, place: Place, value: &'a Node, schema: &Value) {
        let empty = Map::new();
        let properties = schema
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let name = self.path.last().copied().unwrap_or_default();
        if later::is_key(&self.path) {
            let what = format!("`{}`", self.dotted());
            self.found.push(Problem::early(place, &what));
        } else if let Some(schema) = properties.get(name) {
            self.value(value, schema);
        } else {
            match schema.get("additionalProperties") {
                Some(Value::Bool(false)) => {
                    let message = format!("unknown key `{}`", name);
                    let valid = properties.keys().map(String::as_str);
                    self.found
                        .push(Problem::new(place, message).meant(name, valid));
                }
                Some(schema) => self.value(value, schema),
                None => {}
            }
        }
    }

    fn scalar(&mut self, node: &Node, value: &Value, forms: &[&Value]) {
        let words: Vec<&str> = forms.iter().flat_map(|form| words(form)).collect();
        if let Value::String(word) = value {
            if !words.is_empty() && !words.contains(&word.as_str()) {
                let message = format!("unknown value for `{}`: `{}`", self.dotted(), word);
                self.found
                    .push(Problem::new(node.place, message).meant(word, words.into_iter()));
            }
            return;
        }
        let bound = |key| forms.iter().find_map(|form| form.get(key)?.as_f64());
        let number = value.as_f64().unwrap_or_default();
        let limit = match (bound("minimum"), bound("maximum")) {
            (Some(least), _) if number < least => format!("at least {least}"),
            (_, Some(most)) if number > most => format!("at most {most}"),
            _ => return,
        };
        let message = format!("value out of range for `{}`: `{value}`", self.dotted());
        let hint = format!("expected {limit}");
        self.found
            .push(Problem::new(node.place, message).hint(hint));
    }

    /// Module blocks: names that exist, each once, with constraints the module knows.
    fn modules(&mut self, root: &'a Node, modules: &[Module]) {
        let blocks = root.get("tools").and_then(|tools| tools.get("modules"));
        let Some(Kind::Map(blocks)) = blocks.map(|node| &node.kind) else {
            return;
        };
        for (index, (key, block)) in blocks.iter().enumerate() {
            let name = canonical_module(&key.name);
            let earlier = blocks[..index]
                .iter()
                .find(|(earlier, _)| canonical_module(&earlier.name) == name);
            if let Some((earlier, _)) = earlier {
                let message = format!(
                    "module `{name}` is given twice, as `{}` and as `{}`",
                    earlier.name, key.name
                );
                self.found.push(Problem::new(key.place, message));
            }
            match modules.iter().find(|module| module.name == name) {
                Some(module) => self.constraints(block, module),
                None if later::is_module(name) => {
                    let what = format!("module `{name}`");
                    self.found.push(Problem::early(key.place, &what));
                }
                None => {
                    let message = format!("unknown module `{}`", key.name);
                    let valid = modules.iter().map(|module| module.name);
                    self.found
                        .push(Problem::new(key.place, message).meant(&key.name, valid));
                }
            }
        }
    }

    fn constraints(&mut self, block: &'a Node, module: &Module) {
        let given = block.get("constraints").map(|node| &node.kind);
        let Some(Kind::Map(given)) = given else {
            return;
        };
        for (key, value) in given {
            let declared = module
                .constraints
                .iter()
                .find(|declared| declared.name == key.name);
            let kind = match declared {
                Some(declared) => declared.kind,
                None if UNIVERSAL_CONSTRAINTS.contains(&key.name.as_str()) => {
                    ConstraintKind::StringList
                }
                None => {
                    let message =
                        format!("module `{}` has no constraint `{}`", module.name, key.name);
                    let declared = module.constraints.iter().map(|declared| declared.name);
                    let valid = declared.chain(UNIVERSAL_CONSTRAINTS);
                    self.found
                        .push(Problem::new(key.place, message).meant(&key.name, valid));
                    continue;
                }
            };
            self.path = vec!["tools", "modules", module.name, "constraints", &key.name];
            self.value(value, &constraint_schema(kind));
            self.path.clear();
        }
    }

    fn dotted(&self) -> String {
        self.path.join(".")
    }
}

/// The forms that a value may have: the alternatives of the schema, or the schema itself.
fn forms(schema: &Value) -> Vec<&Value> {
    let alternatives = ["anyOf", "oneOf"]
        .into_iter()
        .find_map(|key| schema.get(key)?.as_array());
    match alternatives {
        Some(alternatives) => alternatives.iter().flat_map(forms).collect(),
        None => vec![schema],
    }
}

fn fits(node: &Node, form: &Value) -> bool {
    match (&node.kind, type_of(form)) {
        (_, None) => true,
        (Kind::Map(_), Some(kind)) => kind == "object",
        (Kind::List(_), Some(kind)) => kind == "array",
        (Kind::Scalar(Value::String(_)), Some(kind)) => kind == "string",
        (Kind::Scalar(Value::Bool(_)), Some(kind)) => kind == "boolean",
        (Kind::Scalar(number), Some("integer")) => number.is_i64() || number.is_u64(),
        (Kind::Scalar(_), Some(kind)) => kind == "number",
        (Kind::Null, _) => true,
    }
}

/// The schema's type; none where any value will do.
fn type_of(form: &Value) -> Option<&str> {
    match form.get("type").and_then(Value::as_str) {
        None if !words(form).is_empty() => Some("string"),
        found => found,
    }
}

/// The words that a form allows, if it is a choice of words.
fn words(form: &Value) -> Vec<&str> {
    let listed = form.get("enum").and_then(Value::as_array);
    let single = form.get("const");
    listed
        .into_iter()
        .flatten()
        .chain(single)
        .filter_map(Value::as_str)
        .collect()
}

fn expected(form: &Value) -> &'static str {
    match type_of(form) {
        Some("object") => "a map",
        Some("array") => "a list",
        Some("string") => "text",
        Some("boolean") => "`true` or `false`",
        Some("integer") => "a whole number",
        Some("number") => "a number",
        _ => "a value",
    }
}

fn constraint_schema(kind: ConstraintKind) -> Value {
    match kind {
        ConstraintKind::String => json!({"type": "string"}),
        ConstraintKind::StringList => json!({"type": "array", "items": {"type": "string"}}),
        ConstraintKind::Integer => json!({"type": "integer"}),
        ConstraintKind::Boolean => json!({"type": "boolean"}),
    }
}
