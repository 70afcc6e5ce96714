//! Something in a server's own words, kept as the text it came as: taken apart it needs many times
//! the memory, and most of it is looked at once.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Words(Box<RawValue>);

/// Nothing was said.
impl Default for Words {
    fn default() -> Self {
        Words(RawValue::NULL.to_owned())
    }
}

impl Words {
    pub(super) fn of(said: &impl Serialize) -> Option<Self> {
        to_raw_value(said).ok().map(Words)
    }

    pub(super) fn len(&self) -> usize {
        self.0.get().len()
    }

    /// Its parts.
    pub(super) fn value(&self) -> Value {
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }

    /// What it calls itself.
    pub(super) fn name(&self) -> Option<Cow<'_, str>> {
        #[derive(Deserialize)]
        struct Named<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
        }
        let named: Named<'_> = serde_json::from_str(self.0.get()).ok()?;
        Some(named.name)
    }
}

/// The same said with other spaces or in another order is the same.
impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get() || self.value() == other.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_same_when_they_say_the_same() {
        let check = |one: &str, other: &str, same: bool| {
            let words = |text: &str| serde_json::from_str::<Words>(text).unwrap();
            assert_eq!(words(one) == words(other), same, "{one} {other}");
        };
        check(
            r#"{"name":"a","x":[1,2]}"#,
            r#"{ "x": [1, 2], "name": "a" }"#,
            true,
        );
        check(r#"{"x":[1,2]}"#, r#"{"x":[2,1]}"#, false);
        check(r#"{"x":null}"#, "{}", false);
    }

    #[test]
    fn a_name_is_read_out_of_the_text() {
        let check = |text: &str, expected: Option<&str>| {
            let words: Words = serde_json::from_str(text).unwrap();
            assert_eq!(words.name().as_deref(), expected, "{text}");
        };
        check(r#"{"inputSchema":{"name":1},"name":"a\u0062"}"#, Some("ab"));
        check(r#"{"name":7}"#, None);
        check(r#"{"title":"x"}"#, None);
        check("7", None);
    }
}
