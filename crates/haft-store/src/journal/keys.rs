//! Calls under a key of their caller's: the same key in the same session is the same piece of work,
//! and it is done once. Who was first is settled inside the writer's transaction.

use std::sync::Arc;

use haft_core::{Earlier, EarlierState, Intent, Repeat};
use serde_json::Value;

use super::list::{by_seq, finish};
use super::settle::close;
use super::told::name;
use super::{Inner, State, keyring};
use crate::{StoreError, Tx};

/// A digest of what is asked for: the tool and its arguments, in whatever order they are written.
pub(super) fn work(inner: &Inner, intent: &Intent) -> String {
    let mut text = intent.tool.to_string();
    spell(&intent.args, &mut text);
    inner.key.digest(text)
}

fn spell(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            text.push('{');
            for key in keys {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                spell(&map[key], text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                spell(item, text);
                text.push(',');
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

/// The newest call of a session under this key.
pub(super) fn find(
    tx: &mut dyn Tx,
    inner: &Inner,
    (session, key): (&str, &str),
    work: &str,
) -> Result<Option<Earlier>, StoreError> {
    let (session, key) = (name(inner, session), name(inner, key));
    let Some(seq) = keyring::find(tx, &session, &key)? else {
        return Ok(None);
    };
    let Some(mut line) = by_seq(tx, seq)? else {
        return Ok(None);
    };
    finish(tx, std::slice::from_mut(&mut line))?;
    Ok(Some(Earlier {
        seq,
        state: match line.state {
            State::Running => EarlierState::Running,
            State::Uncertain => EarlierState::Uncertain,
            State::Ok => EarlierState::Done,
            _ => EarlierState::NotDone,
        },
        same_work: line.body.work.as_deref() == Some(work),
        call_id: line.call_id,
        handle: line.body.handle,
    }))
}

/// Whether a call may begin under its key. One whose end nobody knows gives way to the same call
/// made again, unless that must not be done twice.
pub(super) fn check(
    tx: &mut dyn Tx,
    inner: &Arc<Inner>,
    intent: &Intent,
) -> Result<(), StoreError> {
    let Some(key) = &intent.key else {
        return Ok(());
    };
    keyring::check(tx, inner)?;
    let work = work(inner, intent);
    let earlier = find(tx, inner, (&intent.caller.session, key), &work)?;
    let Some(earlier) = earlier else {
        return Ok(());
    };
    match earlier.state {
        EarlierState::NotDone => Ok(()),
        EarlierState::Uncertain if intent.repeat != Repeat::Unsafe => {
            let how = format!("made again as call `{}`", intent.call_id);
            close(tx, inner, earlier.seq, "uncertain", &how).map(drop)
        }
        _ => Err(StoreError::Taken(earlier.call_id)),
    }
}

/// From now on this call is the one under its key.
pub(super) fn take(
    tx: &mut dyn Tx,
    inner: &Inner,
    intent: &Intent,
    seq: i64,
) -> Result<(), StoreError> {
    let Some(key) = &intent.key else {
        return Ok(());
    };
    let (session, key) = (name(inner, &intent.caller.session), name(inner, key));
    keyring::take(tx, inner, (&session, &key), seq)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_order_of_arguments_does_not_matter_and_everything_else_does() {
        let spelled = |value: Value| {
            let mut text = String::new();
            spell(&value, &mut text);
            text
        };
        let one = spelled(json!({"a": 1, "b": {"c": [1, "x"], "d": null}}));
        assert_eq!(
            one,
            spelled(json!({"b": {"d": null, "c": [1, "x"]}, "a": 1}))
        );
        for other in [
            json!({"a": 1, "b": {"c": [1, "x"]}}),
            json!({"a": "1", "b": {"c": [1, "x"], "d": null}}),
            json!({"a": 1, "b": {"c": ["x", 1], "d": null}}),
        ] {
            assert_ne!(one, spelled(other));
        }
    }
}
