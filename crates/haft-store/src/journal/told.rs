//! A call as its record tells it: without secrets, and with a digest where somebody's content was.

use std::borrow::Cow;
use std::path::Path;

use haft_core::{Ending, ErrorCode, Intent, Private, Repeat};
use serde_json::Value;

use super::Inner;
use super::body::{Body, EffectsText};
use super::keys;

/// How a call ended. One that was never begun did not happen for certain.
pub(super) fn state(ending: &Ending, begun: bool, dry_run: bool) -> &'static str {
    match ending.code {
        None if dry_run => "dry",
        None => "ok",
        Some(ErrorCode::Uncertain) if !begun => "failed",
        Some(ErrorCode::Denied) => "denied",
        Some(ErrorCode::Cancelled) => "cancelled",
        Some(ErrorCode::Uncertain) => "uncertain",
        Some(_) => "failed",
    }
}

/// The body of a record, with nothing secret in it.
pub(super) fn told(inner: &Inner, intent: &Intent) -> Body {
    let caller = &intent.caller;
    let (args, masked_args, private) = arguments(inner, intent);
    let mut body = Body {
        agent: caller
            .agent
            .as_deref()
            .map(|agent| name(inner, agent).into_owned()),
        provider: caller.provider.as_deref().map(str::to_owned),
        identity: match serde_json::to_value(caller.identity) {
            Ok(Value::String(identity)) => Some(identity),
            _ => None,
        },
        profile: intent.profile.clone(),
        autonomy: intent.autonomy.map(str::to_owned),
        workspace: Some(caller.workspace.to_string_lossy().into_owned()),
        process: Some(inner.process.clone()),
        repeat: Some(repeat(intent.repeat).to_owned()),
        dry_run: intent.dry_run,
        key: intent
            .key
            .as_deref()
            .map(|key| name(inner, key).into_owned()),
        work: intent.key.is_some().then(|| keys::work(inner, intent)),
        args,
        masked_args,
        private,
        ..Body::default()
    };
    let secrets = match body.masked_args {
        0 => Vec::new(),
        _ => secrets(&intent.args, body.args.as_ref()),
    };
    let mut hidden = 0;
    let mut keep = |text: String| {
        let kept = without(text.clone(), &secrets);
        hidden += usize::from(kept != text);
        let mut value = Value::String(kept);
        hidden += (inner.mask)(&mut value);
        match value {
            Value::String(text) => text,
            _ => String::new(),
        }
    };
    if let Some(effects) = &intent.effects {
        let (text, whole) = EffectsText::of(effects, &mut keep);
        body.hidden = !whole;
        body.effects = Some(text);
    }
    let path = |path: &Path| path.to_string_lossy().into_owned();
    for (folder, word, to) in &intent.resolved {
        let resolved = (keep(path(folder)), keep(word.clone()), keep(path(to)));
        body.resolved.push(resolved);
    }
    body.hidden |= hidden > 0;
    if let Some(ruling) = &intent.ruling {
        let plain = |text: &String| masked(inner, &without(text.clone(), &secrets));
        body.rules = ruling.rules.iter().filter_map(plain).collect();
        body.reason = plain(&ruling.reason);
        body.remember = ruling.remember.as_ref().and_then(plain);
        body.policy = Some(ruling.policy.clone());
        body.answer = ruling.answer.map(str::to_owned);
        body.exposed = ruling.exposed.as_ref().and_then(plain);
    }
    body
}

/// A name that somebody gave, without a secret in it. A digest stands for one, so that two stay two;
/// it may be a session's name again.
pub(super) fn name<'a>(inner: &Inner, text: &'a str) -> Cow<'a, str> {
    match (inner.mask)(&mut Value::from(text)) {
        0 => text.into(),
        _ => format!("masked-{}", inner.key.digest(text)).into(),
    }
}

/// The same for a tool's name, which may be anything where there is no such tool. Ours have small
/// letters alone.
pub(super) fn tool_name<'a>(inner: &Inner, tool: &'a str) -> Cow<'a, str> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'.' | b'_');
    match tool.bytes().all(plain) {
        true => tool.into(),
        false => name(inner, tool),
    }
}

/// What stands for a secret that is known from elsewhere.
const MASKED: &str = "[masked]";
/// Shorter words are in many others.
const SHORTEST: usize = 4;

/// The words of the arguments that are not there any more once they are masked. What a secret is
/// often shows only beside the word before it, and parts of a command are written down alone as well.
fn secrets(args: &Value, masked: Option<&Value>) -> Vec<String> {
    let mut left = String::new();
    each_string(masked.unwrap_or(&Value::Null), &mut |text| {
        left.push_str(text);
        left.push('\n');
    });
    let apart = |letter: char| letter.is_whitespace() || "\"'`=:,;@&|()[]{}<>".contains(letter);
    let mut found = Vec::new();
    each_string(args, &mut |text| {
        let words = text.split(char::is_whitespace).chain(text.split(apart));
        let gone = words.filter(|word| word.len() >= SHORTEST && !left.contains(word));
        found.extend(gone.map(str::to_owned));
    });
    // A longer one first: it may hold another.
    found.sort_by_key(|word| std::cmp::Reverse(word.len()));
    found.dedup();
    found
}

fn each_string(value: &Value, look: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => look(text),
        Value::Array(items) => items.iter().for_each(|item| each_string(item, look)),
        Value::Object(fields) => fields.values().for_each(|field| each_string(field, look)),
        _ => {}
    }
}

fn without(mut text: String, secrets: &[String]) -> String {
    for secret in secrets {
        if text.contains(secret) {
            text = text.replace(secret, MASKED);
        }
    }
    text
}

fn masked(inner: &Inner, text: &str) -> Option<String> {
    let mut value = Value::from(text);
    (inner.mask)(&mut value);
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn repeat(repeat: Repeat) -> &'static str {
    match repeat {
        Repeat::Read => "read",
        Repeat::Idempotent => "idempotent",
        Repeat::Keyed => "keyed",
        Repeat::Unsafe => "unsafe",
    }
}

/// The arguments without secrets, and with a digest where they are somebody's content.
fn arguments(inner: &Inner, intent: &Intent) -> (Option<Value>, usize, bool) {
    if intent.args.is_null() {
        return (None, 0, false);
    }
    let mut args = Value::clone(&intent.args);
    let mut private = false;
    let mut hide = |value: &mut Value| {
        let text = match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.to_string(),
        };
        let (chars, digest) = (text.chars().count(), inner.key.digest(&text));
        *value = format!("[{chars} chars, {digest}]").into();
        private = true;
    };
    match &intent.private {
        Private::Everything => each_text(&mut args, &mut hide),
        Private::Named(names) => {
            for name in names {
                each_named(&mut args, name, &mut hide);
            }
        }
    }
    let count = (inner.mask)(&mut args);
    (Some(args), count, private)
}

/// The argument of this name; of `list[].name` the one in each item.
fn each_named(args: &mut Value, name: &str, change: &mut impl FnMut(&mut Value)) {
    match name.split_once("[].") {
        None => args.get_mut(name).into_iter().for_each(change),
        Some((list, name)) => {
            let items = args.get_mut(list).and_then(Value::as_array_mut);
            let named = items.into_iter().flatten();
            named.filter_map(|item| item.get_mut(name)).for_each(change);
        }
    }
}

fn each_text(value: &mut Value, change: &mut impl FnMut(&mut Value)) {
    match value {
        Value::String(_) => change(value),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| each_text(field, change)),
        _ => {}
    }
}

pub(super) fn add_ending(inner: &Inner, body: &mut Body, ending: &Ending) {
    body.code = ending.code.map(|code| code.as_str().to_owned());
    body.message = ending.message.clone();
    body.chars = Some(ending.chars);
    body.shown = Some(ending.shown);
    body.masked = ending.masked;
    body.reduced = ending.reduced;
    body.truncated = ending.truncated;
    body.handle = ending.handle.clone();
    body.same_as = ending.same_as.clone();
    body.text = ending.text.as_deref().and_then(|text| masked(inner, text));
    body.result = ending.digest.map(|digest| inner.key.digest(digest));
}
