//! Tokens whose mark is so short that it stands in ordinary text, or that stands in their middle.
//! Counting the characters around it is cheaper than running a pattern at each.

use std::ops::Range;

use super::assignment::{ends_word, skip, skip_back, starts_word};
use super::judge::{entropy, is_stand_in, is_word};

/// Airtable: `pat`, 14 letters or digits, a dot, 64 hex digits.
pub(super) fn find_airtable(text: &[u8], start: usize, _end: usize) -> Option<Range<usize>> {
    let dot = skip(text, start, 18, |byte| byte.is_ascii_alphanumeric());
    let end = skip(text, dot + 1, 65, |byte| byte.is_ascii_hexdigit());
    let formed = dot - start == 17 && text.get(dot) == Some(&b'.') && end - dot == 65;
    accept(text, start..end, formed, 3.0)
}

/// HashiCorp Vault until 1.9: `s.` and 24 letters or digits, not letters alone.
pub(super) fn find_old_vault(text: &[u8], start: usize, _end: usize) -> Option<Range<usize>> {
    let end = skip(text, start + 2, 25, |byte| byte.is_ascii_alphanumeric());
    let formed = end - start == 26 && text[start..end].iter().any(u8::is_ascii_digit);
    accept(text, start..end, formed, 3.5)
}

/// Twilio: `SK` and 32 hex digits.
pub(super) fn find_twilio(text: &[u8], start: usize, _end: usize) -> Option<Range<usize>> {
    let end = skip(text, start + 2, 33, |byte| byte.is_ascii_hexdigit());
    let formed = end - start == 34 && text[start..].starts_with(b"SK");
    accept(text, start..end, formed, 3.0)
}

/// Telegram: the number of the bot, then `:A` and 34 more characters. In an address the word
/// `bot` stands before the number.
pub(super) fn find_telegram(text: &[u8], start: usize, _end: usize) -> Option<Range<usize>> {
    let number = skip_back(text, start, 17, |byte| byte.is_ascii_digit());
    let end = skip(text, start + 1, 36, |byte| is_word(byte) || byte == b'-');
    let bot = text[..number].ends_with(b"bot");
    let formed = (8..=16).contains(&(start - number)) && end - start == 36;
    let apart = bot || starts_word(text, number);
    accept(text, start + 1..end, formed && apart, 3.0).map(|value| number..value.end)
}

/// Facebook: the number of the app, 15 or 16 digits, a bar (or its escape), 27 to 40 characters.
pub(super) fn find_facebook(text: &[u8], _start: usize, end: usize) -> Option<Range<usize>> {
    let bar = end - 1;
    let number = skip_back(text, bar, 17, |byte| byte.is_ascii_digit());
    let value_end = skip(text, end, 41, |byte| is_word(byte) || byte == b'-');
    let formed = (15..=16).contains(&(bar - number)) && (27..=40).contains(&(value_end - end));
    accept(text, number..value_end, formed, 3.0)
}

fn accept(text: &[u8], range: Range<usize>, formed: bool, bits: f32) -> Option<Range<usize>> {
    if !formed || !ends_word(text, range.end) {
        return None;
    }
    let value = &text[range.clone()];
    let apart = starts_word(text, range.start) || text[range.start - 1] == b':';
    (apart && entropy(value) >= bits && !is_stand_in(value)).then_some(range)
}
