//! The JSON Schema of a tool's arguments, from their Rust type, in the plain form that every
//! provider takes: no `$ref`, no `null` beside optional fields, no format hints of Rust numbers.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// Key under which a field lists its other spellings: `#[schemars(extend("x-aliases" = ["old"]))]`.
/// One that counts from elsewhere says from where: `"line - 1"`, or `"end - start"` for a length.
const ALIASES: &str = "x-aliases";

const TAKES_AWAY: &str = " - ";

/// Among the other spellings: whatever is no parameter of the tool belongs into this one, as in a
/// call whose parameters were written beside its name.
pub const EVERY_OTHER_KEY: &str = "*";

/// The schema of `T` as models see it. The type's own description is left to the caller.
pub fn tool_schema<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .into_generator();
    let mut schema = Schema::to_value(generator.into_root_schema_for::<T>());
    if let Value::Object(object) = &mut schema {
        object.remove("title");
        object.entry("type").or_insert_with(|| "object".into());
        object
            .entry("properties")
            .or_insert_with(|| Value::Object(Map::new()));
    }
    simplify(&mut schema);
    schema
}

/// Take the other spellings of parameters out of a schema: theirs to ours. Those of the objects
/// in a list are written with the list's name before them: `edits[].old` to `edits[].search`. The
/// second are those that count from elsewhere, with what is to be taken away.
pub fn parameter_aliases(
    schema: &mut Value,
) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let (mut aliases, mut bases) = (BTreeMap::new(), BTreeMap::new());
    collect_aliases(schema, "", &mut aliases);
    let counting: Vec<String> = aliases
        .keys()
        .filter(|alias| alias.contains(TAKES_AWAY))
        .cloned()
        .collect();
    for alias in counting {
        if let (Some((theirs, base)), Some(ours)) =
            (alias.split_once(TAKES_AWAY), aliases.remove(&alias))
        {
            aliases.insert(theirs.to_owned(), ours);
            bases.insert(theirs.to_owned(), base.to_owned());
        }
    }
    (aliases, bases)
}

fn collect_aliases(schema: &mut Value, prefix: &str, aliases: &mut BTreeMap<String, String>) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (name, property) in properties {
        if prefix.is_empty()
            && let Some(items) = property.get_mut("items")
        {
            collect_aliases(items, &format!("{name}[]."), aliases);
        }
        let listed = property
            .as_object_mut()
            .and_then(|object| object.shift_remove(ALIASES));
        let listed = listed
            .as_ref()
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        for alias in listed.filter_map(Value::as_str) {
            aliases.insert(format!("{prefix}{alias}"), format!("{prefix}{name}"));
        }
    }
}

fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object
                .get("format")
                .and_then(Value::as_str)
                .is_some_and(is_rust_format)
            {
                object.shift_remove("format");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".into(), only);
                }
            }
            drop_null_variant(object);
            if let Some(Value::Array(values)) = object.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            if object.get("default") == Some(&Value::Null) {
                object.shift_remove("default");
            }
            object.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

fn is_rust_format(format: &str) -> bool {
    matches!(
        format,
        "uint" | "uint8" | "uint16" | "uint32" | "uint64" | "int" | "int32" | "int64" | "double"
    )
}

/// `Option<Enum>` comes as `anyOf: [Enum, null]`: keep the enum.
fn drop_null_variant(object: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = object.get_mut("anyOf") else {
        return;
    };
    variants.retain(|variant| variant.get("type") != Some(&Value::from("null")));
    if let [Value::Object(only)] = variants.as_slice() {
        let only = only.clone();
        object.shift_remove("anyOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    #[serde(rename_all = "snake_case")]
    enum Speed {
        Slow,
        Fast,
    }

    /// Text that the tool carries
    #[derive(JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Args {
        /// Where to
        #[schemars(extend("x-aliases" = ["file_path"]))]
        path: std::path::PathBuf,
        #[serde(default)]
        #[schemars(extend("x-aliases" = ["last - 1"]))]
        limit: Option<u64>,
        #[serde(default)]
        speed: Option<Speed>,
        #[serde(default)]
        parts: Vec<Part>,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Part {
        #[schemars(extend("x-aliases" = ["old"]))]
        search: String,
    }

    #[test]
    fn schemas_are_plain() {
        let mut schema = tool_schema::<Args>();
        let (aliases, bases) = parameter_aliases(&mut schema);
        assert_eq!(bases, BTreeMap::from([("last".into(), "1".into())]));
        assert_eq!(
            aliases,
            BTreeMap::from([
                ("file_path".into(), "path".into()),
                ("last".into(), "limit".into()),
                ("parts[].old".into(), "parts[].search".into()),
            ])
        );
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "description": "Text that the tool carries",
                "properties": {
                    "path": {"description": "Where to", "type": "string"},
                    "limit": {"type": "integer", "minimum": 0},
                    "speed": {"type": "string", "enum": ["slow", "fast"]},
                    "parts": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"search": {"type": "string"}},
                            "required": ["search"],
                        },
                    },
                },
                "additionalProperties": false,
                "required": ["path"],
            })
        );
    }
}
