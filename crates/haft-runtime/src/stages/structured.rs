//! Structured content within a budget: long strings and lists are cut and say so; what still does
//! not fit is replaced by a note. It never pretends to be whole.

use serde_json::{Value, json};

/// Shortest limit for one string before giving up on strings.
const SHORTEST: usize = 64;

/// Make the value fit; true if anything was cut.
pub(super) fn fit(value: &mut Value, budget: usize, handle: Option<&str>) -> bool {
    let size = size(value);
    if size <= budget {
        return false;
    }
    let mut limit = budget / 2;
    while limit >= SHORTEST {
        let mut smaller = value.clone();
        cut(&mut smaller, limit);
        if self::size(&smaller) <= budget {
            mark(&mut smaller);
            *value = smaller;
            return true;
        }
        limit /= 2;
    }
    *value = json!({ "truncated": true, "total_chars": size, "handle": handle });
    true
}

fn mark(value: &mut Value) {
    if let Value::Object(object) = value {
        object.insert("truncated".into(), true.into());
    }
}

/// Strings to `limit` characters; lists to as many items as that leaves room for.
fn cut(value: &mut Value, limit: usize) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(limit) {
                let total = text.chars().count();
                text.truncate(end);
                text.push_str(&format!("\n[truncated — {total} chars total]"));
            }
        }
        Value::Array(items) => {
            let mut used = 0;
            let fitting = items
                .iter()
                .take_while(|item| {
                    used += size(item);
                    used <= limit.max(SHORTEST)
                })
                .count();
            items.truncate(fitting.max(1));
            items.iter_mut().for_each(|item| cut(item, limit));
        }
        Value::Object(object) => object.values_mut().for_each(|value| cut(value, limit)),
        _ => {}
    }
}

/// Characters of the value as JSON, near enough, without building it.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Value::Object(object) => {
            object
                .iter()
                .map(|(key, value)| key.len() + size(value) + 4)
                .sum::<usize>()
                + 2
        }
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_content_says_so() {
        let mut small = json!({"a": 1});
        assert!(!fit(&mut small, 100, None));
        let mut long = json!({"status": "completed", "output": "x".repeat(10_000), "exitCode": 0});
        assert!(fit(&mut long, 1_000, None));
        assert_eq!(long["status"], "completed");
        assert_eq!(long["exitCode"], 0);
        assert_eq!(long["truncated"], true);
        assert!(
            long["output"]
                .as_str()
                .unwrap()
                .ends_with("[truncated — 10000 chars total]")
        );
        let mut list = json!({"entries": (0..5_000).collect::<Vec<_>>()});
        assert!(fit(&mut list, 1_000, None));
        assert!(list["truncated"] == true && size(&list) <= 1_000);
        let mut wide: Value = (0..1_000).map(|n| (format!("key{n}"), json!(n))).collect();
        assert!(fit(&mut wide, 1_000, Some("r_1")));
        assert_eq!(wide["handle"], "r_1");
    }
}
