//! Lays one config over another: scalars replace, maps merge by key, lists grow. A list that
//! defines something as a whole is replaced, because half of two definitions is neither.

use serde_json::Value;

/// Lists that say what something is, so that the upper file's list stands alone; `*` stands for
/// any one name. What refuses or asks is not among them: it only ever grows.
const DEFINITIONS: &[&str] = &[
    "agents.*.toolPolicy.allow",
    "mcp.servers.*.args",
    "providers.*.allow",
    "tools.groups.*",
    "tools.modules.*.constraints.allowed_*",
    "tools.profiles.*.allow",
];

/// The `upper` file laid over the `lower` one. Both are what the files say and nothing more, so
/// that a list given as empty is told from one that is not given.
pub(super) fn over(lower: &Value, upper: &Value) -> Value {
    let mut merged = lower.clone();
    merge(&mut merged, upper, &mut Vec::new());
    merged
}

fn merge<'a>(lower: &mut Value, upper: &'a Value, path: &mut Vec<&'a str>) {
    match (lower, upper) {
        (Value::Object(lower), Value::Object(upper)) => {
            for (key, value) in upper {
                path.push(key);
                match lower.get_mut(key) {
                    Some(below) => merge(below, value, path),
                    None => {
                        lower.insert(key.clone(), value.clone());
                    }
                }
                path.pop();
            }
        }
        (Value::Array(lower), Value::Array(upper)) if !is_definition(path) => {
            for item in upper {
                if !lower.contains(item) {
                    lower.push(item.clone());
                }
            }
        }
        (lower, upper) => *lower = upper.clone(),
    }
}

fn is_definition(path: &[&str]) -> bool {
    DEFINITIONS.iter().any(|known| {
        let mut parts = known.split('.');
        path.iter().all(|name| {
            parts
                .next()
                .is_some_and(|part| match part.strip_suffix('*') {
                    Some(start) => name.starts_with(start),
                    None => part == *name,
                })
        }) && parts.next().is_none()
    })
}
