//! A time as callers write it.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// Any number of milliseconds that is not negative. A part of one counts as one, so that only what
/// says zero is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Milliseconds(pub(crate) u64);

impl Milliseconds {
    pub(crate) fn time(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

impl TryFrom<f64> for Milliseconds {
    type Error = &'static str;

    fn try_from(given: f64) -> Result<Self, Self::Error> {
        match given >= 0.0 {
            true => Ok(Milliseconds(given.ceil() as u64)),
            false => Err("must not be negative"),
        }
    }
}

impl JsonSchema for Milliseconds {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Milliseconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0})
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn any_number_of_them() {
        let check = |given: serde_json::Value, expected: Option<u64>| {
            let found: Option<Milliseconds> = from_value(given.clone()).ok();
            assert_eq!(found.map(|found| found.0), expected, "{given}");
        };
        check(json!(0), Some(0));
        check(json!(250), Some(250));
        check(json!(1500.5), Some(1501));
        check(json!(0.001), Some(1));
        check(json!(1e300), Some(u64::MAX));
        check(json!(-0.5), None);
        check(json!("250"), None);
    }
}
