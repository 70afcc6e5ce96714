//! Text that is shown while it comes in, without its secrets. A program writes when it likes, so a
//! secret may come in two pieces: an unfinished word waits for its end, and what came before is
//! looked at again, because it may name what follows.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::{CallTag, EventKind};

use crate::secrets;

/// Bytes of an unfinished word that wait; as long as the longest token that any rule knows.
const HELD: usize = 2_048;
/// Bytes that are looked at again.
const CONTEXT: usize = 8 << 10;
/// Calls that are in the middle of a word. More than that never told their end.
const OPEN: usize = 1_024;

/// Masks what calls say while they run.
#[derive(Debug, Default)]
pub struct LiveText {
    open: Mutex<HashMap<Arc<str>, Speech>>,
    /// Some call has spoken, so that ends have to be looked at
    used: AtomicBool,
}

impl LiveText {
    /// What may be shown at this event, if anything: of progress what is complete, at the end of
    /// a call what was still waiting.
    pub fn shown(&self, call: &CallTag, kind: &EventKind) -> Option<String> {
        let text = match kind {
            EventKind::Progress {
                text, piece: true, ..
            } => self.more(&call.call_id, text),
            EventKind::Progress { text, .. } => secrets::mask(text).text.into_owned(),
            EventKind::End { .. } if self.used.load(Ordering::Relaxed) => {
                let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                open.remove(&call.call_id)?.rest()
            }
            _ => return None,
        };
        (!text.is_empty()).then_some(text)
    }

    fn more(&self, call: &Arc<str>, text: &str) -> String {
        self.used.store(true, Ordering::Relaxed);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= OPEN && !open.contains_key(call) {
            open.clear();
        }
        open.entry(call.clone()).or_default().more(text)
    }
}

/// What one call has said of late.
#[derive(Debug, Default)]
struct Speech {
    text: String,
    /// Bytes of it that were shown
    shown: usize,
}

impl Speech {
    fn more(&mut self, text: &str) -> String {
        self.text.push_str(text);
        let end = self.text.len() - unfinished(&self.text[self.shown..]);
        self.show_to(end)
    }

    fn rest(mut self) -> String {
        self.show_to(self.text.len())
    }

    fn show_to(&mut self, end: usize) -> String {
        let masked = secrets::mask_part(&self.text, self.shown..end);
        self.shown = end;
        if self.shown > 2 * CONTEXT {
            let from = self.text.floor_char_boundary(self.shown - CONTEXT);
            self.text.drain(..from);
            self.shown -= from;
        }
        masked
    }
}

/// Bytes of the word that a text ends with. What has no letter or digit is no part of a secret
/// (dots that tell of progress), and what is too long is no word.
fn unfinished(text: &str) -> usize {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    match word.len() <= HELD && word.contains(char::is_alphanumeric) {
        true => word.len(),
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> CallTag {
        CallTag {
            call_id: "c".into(),
            session: "s".into(),
            tool: "t".into(),
        }
    }

    /// What is shown of pieces, each on its own.
    fn shown(pieces: &[&str]) -> Vec<String> {
        let live = LiveText::default();
        let said = pieces.iter().map(|text| EventKind::Progress {
            text: (*text).to_owned(),
            piece: true,
            measure: None,
        });
        let end = EventKind::End {
            ok: true,
            code: None,
            duration_us: 0,
            chars: 0,
        };
        said.chain([end])
            .filter_map(|kind| live.shown(&call(), &kind))
            .collect()
    }

    #[test]
    fn a_secret_in_pieces_is_hidden_however_it_is_cut() {
        let token = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
        let text = format!("the token is {token} and\npassword: h0rse-Battery-9staple\nthe end");
        let whole = secrets::mask(&text).text.into_owned();
        assert!(
            !whole.contains(&token) && !whole.contains("Battery"),
            "{whole}"
        );
        for size in 1..text.len() {
            let pieces: Vec<&str> = text
                .as_bytes()
                .chunks(size)
                .map(|piece| std::str::from_utf8(piece).unwrap())
                .collect();
            let shown = shown(&pieces).concat();
            assert_eq!(shown, whole, "in pieces of {size}");
        }
    }

    #[test]
    fn a_private_key_that_comes_line_by_line_is_hidden() {
        let body = "MIIEpAIBAAKCAQEA7bq9cXhRzKs4PyMZ0qWnTtVu8Ej5LdFgHk3Jp2RsXwYaBcDe";
        let begin = format!("-----BEGIN {} KEY-----\n", "PRIVATE");
        let mut pieces = vec![begin.as_str()];
        let line = format!("{body}\n");
        pieces.extend([line.as_str(); 20]);
        let end = format!("-----END {} KEY-----\n", "PRIVATE");
        pieces.push(&end);
        let shown = shown(&pieces).concat();
        assert!(!shown.contains(&body[10..30]), "{shown}");
        assert!(shown.contains("-----BEGIN"), "{shown}");
    }

    #[test]
    fn nothing_waits_that_need_not() {
        assert_eq!(shown(&["one ", "two", " three"]), ["one ", "two ", "three"]);
        assert_eq!(shown(&["..", ".."]), ["..", ".."]);
        let long = "x".repeat(HELD + 1);
        assert_eq!(shown(&[&long, "y"]), [long.as_str(), "y"]);
        let live = LiveText::default();
        let line = EventKind::Progress {
            text: "a whole message".to_owned(),
            piece: false,
            measure: None,
        };
        assert_eq!(live.shown(&call(), &line).unwrap(), "a whole message");
    }
}
