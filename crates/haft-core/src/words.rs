//! What is said of a tool to those who are to call it. Built-in tools derive it from their types,
//! which takes a while, and most calls look at one tool only: it is made at the first look.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use serde::{Serialize, Serializer};
use serde_json::Value;

#[derive(Debug, Clone, Default, Serialize)]
pub struct Words {
    pub description: String,
    pub input_schema: Value,
    /// Other spellings of its parameters: theirs to ours; `*` is every key that is none
    pub parameter_aliases: BTreeMap<String, String>,
    /// Of those spellings, the ones that count from elsewhere, and from where: what is to be taken
    /// away, as a number or as the parameter that has it
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameter_bases: BTreeMap<String, String>,
}

#[derive(Clone)]
pub(crate) struct Lazily {
    made: OnceLock<Words>,
    make: fn() -> Words,
}

impl Lazily {
    pub(crate) fn later(make: fn() -> Words) -> Self {
        Lazily {
            made: OnceLock::new(),
            make,
        }
    }

    pub(crate) fn get(&self) -> &Words {
        self.made.get_or_init(self.make)
    }

    pub(crate) fn is_made(&self) -> bool {
        self.made.get().is_some()
    }

    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Words)) {
        let mut words = self.made.take().unwrap_or_else(self.make);
        change(&mut words);
        self.made = OnceLock::from(words);
    }
}

impl From<Words> for Lazily {
    fn from(words: Words) -> Self {
        Lazily {
            made: OnceLock::from(words),
            make: Words::default,
        }
    }
}

impl fmt::Debug for Lazily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl Serialize for Lazily {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}
