//! What is said to a person when the store keeps them waiting.

use std::sync::OnceLock;

static TELL: OnceLock<fn(&str)> = OnceLock::new();

/// Where to say that something takes long. The first one who asks is told.
pub fn tell_when_long(tell: fn(&str)) {
    TELL.get_or_init(|| tell);
}

pub(crate) fn say(what: &str) {
    if let Some(tell) = TELL.get() {
        tell(what);
    }
}
