//! A short way through the schema check. Nearly every tool's schema is an object of plain fields;
//! for those a yes can be given by one walk over the arguments. It never says yes where the full
//! check would say no, and its no means only that the full check has to decide.

use serde_json::{Map, Value};

/// Keywords that say nothing about validity.
const ANNOTATIONS: &[&str] = &[
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "x-aliases",
];
/// Drafts that mean the same by the keywords looked at here.
const DRAFTS: &[&str] = &[
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-07/schema",
];
/// Formats that name a width, not a grammar.
const WIDTHS: &[&str] = &[
    "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "float",
    "double",
];
/// Whole numbers up to here are the same as floating point numbers.
const EXACT: u64 = 1 << 53;

/// What a value has to be.
pub(super) enum Plain {
    Anything,
    Null,
    Boolean,
    Text {
        min: usize,
        max: usize,
    },
    OneOf(Vec<String>),
    /// Numbers beyond are left to the full check
    Whole {
        min: i64,
        max: i64,
    },
    Number {
        min: f64,
        max: f64,
    },
    List {
        items: Box<Plain>,
        min: usize,
        max: usize,
    },
    Object(Fields),
    Either(Vec<Plain>),
}

pub(super) struct Fields {
    known: Vec<Field>,
    required: usize,
    /// Fields that are not listed may be there too
    open: bool,
}

struct Field {
    name: String,
    value: Plain,
    /// `null` will do as well
    nullable: bool,
    required: bool,
}

impl Plain {
    /// None where the schema says anything that is not plain.
    pub(super) fn of(schema: &Value) -> Option<Plain> {
        let schema = match schema {
            Value::Bool(true) => return Some(Plain::Anything),
            Value::Object(schema) => schema,
            _ => return None,
        };
        match schema.get("type") {
            None if only(schema, &["enum"]) => match schema.get("enum") {
                Some(words) => texts(words).map(Plain::OneOf),
                None => Some(Plain::Anything),
            },
            None if only(schema, &["oneOf"]) => constants(schema.get("oneOf")?).map(Plain::OneOf),
            None => None,
            Some(Value::String(kind)) => Plain::of_type(kind, schema),
            // Keywords of one type do not touch values of another.
            Some(Value::Array(kinds)) if !schema.contains_key("enum") => kinds
                .iter()
                .map(|kind| {
                    let kind = kind.as_str()?;
                    Plain::of_type(kind, &of_this_type(kind, schema))
                })
                .collect::<Option<_>>()
                .map(Plain::Either),
            Some(_) => None,
        }
    }

    fn of_type(kind: &str, schema: &Map<String, Value>) -> Option<Plain> {
        let count = |key: &str, usual: usize| match schema.get(key) {
            None => Some(usual),
            Some(number) => usize::try_from(number.as_u64()?).ok(),
        };
        match kind {
            "null" if only(schema, &["type"]) => Some(Plain::Null),
            "boolean" if only(schema, &["type"]) => Some(Plain::Boolean),
            "string" if only(schema, &["type", "enum"]) && schema.contains_key("enum") => {
                texts(schema.get("enum")?).map(Plain::OneOf)
            }
            "string" if only(schema, &["type", "minLength", "maxLength"]) => Some(Plain::Text {
                min: count("minLength", 0)?,
                max: count("maxLength", usize::MAX)?,
            }),
            "integer" if only(schema, &["type", "format", "minimum", "maximum"]) => {
                let bound = |key: &str, usual| match schema.get(key) {
                    None => Some(usual),
                    Some(number) => number.as_i64(),
                };
                is_width(schema.get("format")).then_some(())?;
                Some(Plain::Whole {
                    min: bound("minimum", i64::MIN)?,
                    max: bound("maximum", i64::MAX)?,
                })
            }
            "number" if only(schema, &["type", "format", "minimum", "maximum"]) => {
                let bound = |key: &str, usual| match schema.get(key) {
                    None => Some(usual),
                    Some(number) => number.as_f64(),
                };
                is_width(schema.get("format")).then_some(())?;
                Some(Plain::Number {
                    min: bound("minimum", f64::NEG_INFINITY)?,
                    max: bound("maximum", f64::INFINITY)?,
                })
            }
            "array" if only(schema, &["type", "items", "minItems", "maxItems"]) => {
                let items = match schema.get("items") {
                    None => Plain::Anything,
                    Some(items) => Plain::of(items)?,
                };
                Some(Plain::List {
                    items: Box::new(items),
                    min: count("minItems", 0)?,
                    max: count("maxItems", usize::MAX)?,
                })
            }
            "object" => Fields::of(schema).map(Plain::Object),
            _ => None,
        }
    }

    /// The same without `null`, and whether that was one of two. Most optional fields are such.
    fn or_null(self) -> (Plain, bool) {
        match self {
            Plain::Either(kinds) => match <[Plain; 2]>::try_from(kinds) {
                Ok([kind, Plain::Null] | [Plain::Null, kind]) => (kind, true),
                Ok(kinds) => (Plain::Either(kinds.into()), false),
                Err(kinds) => (Plain::Either(kinds), false),
            },
            plain => (plain, false),
        }
    }

    /// Yes, or the full check has to decide.
    #[inline]
    pub(super) fn accepts(&self, value: &Value) -> bool {
        match (self, value) {
            (Plain::Anything, _)
            | (Plain::Null, Value::Null)
            | (Plain::Boolean, Value::Bool(_)) => true,
            (Plain::Text { min, max }, Value::String(text)) => {
                // A character takes one to four bytes: most lengths need no counting.
                let bytes = text.len();
                let long = bytes / 4 >= *min || (*min <= 1 && bytes >= *min);
                long && bytes <= *max || (*min..=*max).contains(&text.chars().count())
            }
            (Plain::OneOf(words), Value::String(text)) => words.iter().any(|word| word == text),
            (Plain::Whole { min, max }, Value::Number(number)) => {
                let fits = |number| (*min..=*max).contains(&number);
                number.as_i64().is_some_and(fits)
            }
            (Plain::Number { min, max }, Value::Number(number)) => {
                let exact = match number.as_i64() {
                    Some(whole) => whole.unsigned_abs() <= EXACT,
                    None => number.is_f64(),
                };
                let fits = |number| (*min..=*max).contains(&number);
                exact && number.as_f64().is_some_and(fits)
            }
            _ => self.accepts_parts(value),
        }
    }

    /// The same for what has parts. Apart, so that the rest needs no call.
    #[inline(never)]
    fn accepts_parts(&self, value: &Value) -> bool {
        match (self, value) {
            (Plain::List { items, min, max }, Value::Array(values)) => {
                (*min..=*max).contains(&values.len())
                    && values.iter().all(|value| items.accepts(value))
            }
            (Plain::Object(fields), Value::Object(given)) => fields.accept(given),
            (Plain::Either(kinds), value) => kinds.iter().any(|kind| kind.accepts(value)),
            _ => false,
        }
    }
}

impl Field {
    fn accepts(&self, value: &Value) -> bool {
        self.value.accepts(value) || self.nullable && value.is_null()
    }
}

impl Fields {
    fn of(schema: &Map<String, Value>) -> Option<Fields> {
        let keywords = ["type", "properties", "required", "additionalProperties"];
        let open = match schema.get("additionalProperties") {
            None | Some(Value::Bool(true)) => true,
            Some(Value::Bool(false)) => false,
            Some(_) => return None,
        };
        if !only(schema, &keywords) {
            return None;
        }
        let required = match schema.get("required") {
            None => Vec::new(),
            Some(names) => texts(names)?,
        };
        let mut known = Vec::new();
        match schema.get("properties") {
            None => {}
            Some(Value::Object(properties)) => {
                for (name, value) in properties {
                    let (value, nullable) = Plain::of(value)?.or_null();
                    known.push(Field {
                        name: name.clone(),
                        value,
                        nullable,
                        required: required.contains(name),
                    });
                }
            }
            Some(_) => return None,
        }
        let listed = known.iter().filter(|field| field.required).count();
        // A field may be required without being listed, or twice.
        (listed == required.len()).then_some(Fields {
            known,
            required: listed,
            open,
        })
    }

    fn accept(&self, given: &Map<String, Value>) -> bool {
        let mut found = 0;
        // Models write fields in the schema's order, mostly.
        let mut next = 0;
        for (name, value) in given {
            let is_it = |field: &Field| field.name == *name;
            let place = match self.known.get(next).is_some_and(is_it) {
                true => Some(next),
                false => self.known.iter().position(is_it),
            };
            match place.map(|place| (place, &self.known[place])) {
                Some((place, field)) if field.accepts(value) => {
                    found += usize::from(field.required);
                    next = place + 1;
                }
                None if self.open => {}
                _ => return false,
            }
        }
        found == self.required
    }
}

/// Whether the schema says nothing besides these keywords and annotations.
fn only(schema: &Map<String, Value>, keywords: &[&str]) -> bool {
    schema.iter().all(|(key, value)| match key.as_str() {
        "$schema" => value.as_str().is_some_and(|draft| DRAFTS.contains(&draft)),
        key => keywords.contains(&key) || ANNOTATIONS.contains(&key),
    })
}

/// The part of a schema for several types that binds one of them.
fn of_this_type(kind: &str, schema: &Map<String, Value>) -> Map<String, Value> {
    let foreign: &[&str] = match kind {
        "null" | "boolean" => &["minLength", "maxLength", "minimum", "maximum", "format"],
        "string" => &["minimum", "maximum"],
        "integer" | "number" => &["minLength", "maxLength"],
        _ => &[],
    };
    let mut schema = schema.clone();
    schema.retain(|key, _| !foreign.contains(&key.as_str()));
    schema
}

fn texts(list: &Value) -> Option<Vec<String>> {
    let texts = list.as_array()?.iter();
    texts.map(|text| text.as_str().map(str::to_owned)).collect()
}

/// The words of a choice in which each has its own description. A word that is there twice fits
/// more than one of them, so it fits none.
fn constants(choices: &Value) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    for choice in choices.as_array()? {
        let choice = choice.as_object()?;
        let text = choice.get("type").is_none_or(|kind| kind == "string");
        let word = choice.get("const")?.as_str()?;
        if !text || !only(choice, &["type", "const"]) || words.iter().any(|known| known == word) {
            return None;
        }
        words.push(word.to_owned());
    }
    Some(words)
}

fn is_width(format: Option<&Value>) -> bool {
    format.is_none_or(|format| {
        format
            .as_str()
            .is_some_and(|format| WIDTHS.contains(&format))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn a_schema() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!({"type": "null"})),
            Just(json!({"type": "boolean", "description": "a switch"})),
            (0..4u8, 0..6u8).prop_map(
                |(min, max)| json!({"type": "string", "minLength": min, "maxLength": max})
            ),
            Just(json!({"type": "string", "enum": ["a", "äb", ""]})),
            Just(json!({"enum": ["a", "b"]})),
            Just(json!({"oneOf": [{"const": "a"}, {"type": "string", "const": "b"}]})),
            Just(json!({"type": ["string", "null"], "minLength": 1})),
            Just(json!({"type": ["integer", "null"], "format": "uint32", "minimum": 0})),
            (-3..3i64, -3..3i64)
                .prop_map(|(min, max)| json!({"type": "integer", "minimum": min, "maximum": max})),
            (-3..3i64)
                .prop_map(|min| json!({"type": "number", "minimum": min, "format": "double"})),
            Just(json!({"type": "string", "pattern": "^a"})),
            Just(json!(true)),
            Just(json!({})),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let object = (
                proptest::collection::vec(("[a-d]", inner.clone()), 0..4),
                proptest::collection::vec("[a-e]", 0..3),
                proptest::option::of(any::<bool>()),
            )
                .prop_map(|(properties, required, additional)| {
                    let properties: Map<String, Value> = properties.into_iter().collect();
                    let mut schema = json!({"type": "object", "properties": properties, "required": required});
                    if let Some(additional) = additional {
                        schema["additionalProperties"] = additional.into();
                    }
                    schema
                });
            let list = (inner, 0..3u8, 0..4u8)
                .prop_map(|(items, min, max)| json!({"type": "array", "items": items, "minItems": min, "maxItems": max}));
            prop_oneof![object, list]
        })
    }

    fn a_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            "[aäb😀]{0,6}".prop_map(Value::from),
            (-4..4i64).prop_map(Value::from),
            Just(json!(u64::MAX)),
            (-4..4i8).prop_map(|n| json!(f64::from(n) / 2.0)),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec(("[a-e]", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn a_yes_is_the_full_checks_yes(schema in a_schema(), value in a_value()) {
            let Ok(full) = jsonschema::validator_for(&schema) else { return Ok(()) };
            let Some(plain) = Plain::of(&schema) else { return Ok(()) };
            prop_assert!(!plain.accepts(&value) || full.is_valid(&value));
        }
    }

    #[test]
    fn plain_arguments_need_no_second_look() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "limit": {"type": ["integer", "null"], "format": "uint32", "minimum": 1},
                "mode": {"type": "string", "enum": ["text", "binary"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "scope": {"description": "whose", "oneOf": [
                    {"type": "string", "const": "mine", "description": "mine alone"},
                    {"const": "ours"},
                ]},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        let plain = Plain::of(&schema).expect("a plain schema");
        let check = |value: Value, expected: bool| assert_eq!(plain.accepts(&value), expected);
        check(
            json!({"path": "a", "limit": 2, "mode": "text", "tags": ["x"]}),
            true,
        );
        check(json!({"tags": [], "limit": null, "path": "a"}), true);
        check(json!({"path": "a", "scope": "ours"}), true);
        check(json!({"path": "a", "scope": "yours"}), false);
        check(json!({"path": ""}), false);
        check(json!({"limit": 2}), false);
        check(json!({"path": "a", "pth": "b"}), false);
        check(json!({"path": "a", "limit": 0}), false);
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_full_check() {
        for schema in [
            json!({"type": "string", "pattern": "^a"}),
            json!({"type": "string", "format": "uri"}),
            json!({"$ref": "#/$defs/a"}),
            json!({"anyOf": [{"type": "string"}]}),
            json!({"oneOf": [{"const": "a"}, {"const": "a"}]}),
            json!({"oneOf": [{"const": "a"}, {"type": "string"}]}),
            json!({"oneOf": [{"type": "integer", "const": "a"}]}),
            json!({"type": "object", "required": ["a", "a"]}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "integer", "multipleOf": 2}),
            json!({"type": "string", "minLength": -1}),
            json!({"type": "object", "$schema": "https://example.com/other"}),
        ] {
            assert!(Plain::of(&schema).is_none(), "{schema}");
        }
    }
}
