//! Text that is not UTF-8: which encoding it lies in, and back again. What cannot come back byte
//! for byte is not taken for text, so an edit never changes what it did not touch. UTF-8 with a few
//! other bytes among it stays UTF-8: a character that no text holds stands for each of them.

use std::borrow::Cow;

use chardetng::EncodingDetector;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How a text lies on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextForm {
    encoding: &'static Encoding,
    /// The 1-based line with the first byte that is no UTF-8, in a text that is
    stray: Option<u64>,
}

/// What stands for the byte 0 that is no UTF-8, and so on; they begin at 0x80. From the end of what
/// is for private use.
const STAND_IN: u32 = 0x10_ff00;

impl Default for TextForm {
    fn default() -> Self {
        TextForm {
            encoding: UTF_8,
            stray: None,
        }
    }
}

impl TextForm {
    /// The name of the encoding, where it is not UTF-8.
    pub(super) fn foreign(&self) -> Option<&'static str> {
        match self.stray {
            Some(_) => Some("UTF-8 with some other bytes"),
            None => (self.encoding != UTF_8).then(|| self.encoding.name()),
        }
    }

    /// The text as it can be shown: what is no character is a replacement for one.
    pub(super) fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.stray {
            Some(_) => text.replace(|c| stray_byte(c).is_some(), "\u{fffd}").into(),
            None => text.into(),
        }
    }

    /// Why a text may not be found in it that seems to be there.
    pub(super) fn strangeness(&self) -> Option<String> {
        Some(match (self.stray, self.foreign()?) {
            (Some(line), _) => format!(
                "the file has bytes that are no UTF-8, the first in line {line}: they are shown as \
                 `\u{fffd}`, stay as they are and cannot be searched for"
            ),
            (None, encoding) => format!("the file is read as {encoding}"),
        })
    }

    /// The bytes of a text in this form; the character that has none there, if one has not.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u8>, char> {
        if self.stray.is_some() {
            let mut bytes = Vec::with_capacity(text.len());
            for c in text.chars() {
                match stray_byte(c) {
                    Some(byte) => bytes.push(byte),
                    None => bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
                }
            }
            return Ok(bytes);
        }
        if self.encoding == UTF_8 {
            return Ok(text.as_bytes().to_vec());
        }
        if self.encoding == UTF_16LE || self.encoding == UTF_16BE {
            let bytes = |unit: u16| match self.encoding == UTF_16LE {
                true => unit.to_le_bytes(),
                false => unit.to_be_bytes(),
            };
            let marked = std::iter::once(0xfeff).chain(text.encode_utf16());
            return Ok(marked.flat_map(bytes).collect());
        }
        let (bytes, _, unmappable) = self.encoding.encode(text);
        if !unmappable {
            return Ok(bytes.into_owned());
        }
        let missing = |c: &char| self.encoding.encode(c.encode_utf8(&mut [0; 4])).2;
        Err(text
            .chars()
            .find(missing)
            .unwrap_or(char::REPLACEMENT_CHARACTER))
    }
}

/// The text in these bytes, or the bytes again where they are no text.
pub(super) fn decode(bytes: Vec<u8>) -> Result<(String, TextForm), Vec<u8>> {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Ok((text, TextForm::default())),
        Err(error) => error.into_bytes(),
    };
    let encoding = match bytes.as_slice() {
        [0xff, 0xfe, ..] => UTF_16LE,
        [0xfe, 0xff, ..] => UTF_16BE,
        _ if bytes.iter().any(|&byte| is_binary(byte)) => return Err(bytes),
        _ if let Some(found) = mostly_utf8(&bytes) => return Ok(found),
        _ => {
            let mut detector = EncodingDetector::new();
            detector.feed(&bytes, true);
            detector.guess(None, false)
        }
    };
    let (text, broken) = encoding.decode_with_bom_removal(&bytes);
    let form = TextForm {
        encoding,
        stray: None,
    };
    if broken || form.encode(&text).as_deref() != Ok(bytes.as_slice()) {
        return Err(bytes);
    }
    Ok((text.into_owned(), form))
}

/// A text that is UTF-8 but for a few bytes: in any other encoding what looks like a character of
/// several bytes is rare, and what does not is everywhere.
fn mostly_utf8(bytes: &[u8]) -> Option<(String, TextForm)> {
    let (mut text, mut whole, mut stray) = (String::with_capacity(bytes.len()), 0, 0);
    let mut first = None;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if stray_byte(c).is_some() {
                return None;
            }
            whole += usize::from(!c.is_ascii());
            text.push(c);
        }
        for byte in chunk.invalid() {
            first.get_or_insert_with(|| text.matches('\n').count() as u64 + 1);
            stray += 1;
            text.push(char::from_u32(STAND_IN + u32::from(*byte))?);
        }
    }
    let form = TextForm {
        encoding: UTF_8,
        stray: first,
    };
    (whole > 0 && whole >= stray).then_some((text, form))
}

/// The byte that a character stands for, if it does.
fn stray_byte(c: char) -> Option<u8> {
    let byte = u32::from(c).checked_sub(STAND_IN)?;
    u8::try_from(byte).ok().filter(|byte| *byte >= 0x80)
}

/// Control characters that no text holds; escape sequences of terminals are left in.
fn is_binary(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b | 0x08)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_byte_for_byte() {
        let check = |bytes: &[u8], expected: &str, name: Option<&str>| {
            let (text, form) = decode(bytes.to_vec()).unwrap();
            assert_eq!((text.as_str(), form.foreign()), (expected, name));
            assert_eq!(form.encode(&text).unwrap(), bytes);
        };
        check("plain ü\n".as_bytes(), "plain ü\n", None);
        check("\u{feff}bom".as_bytes(), "\u{feff}bom", None);
        check(b"\xff\xfea\0\r\0\n\0", "a\r\n", Some("UTF-16LE"));
        check(b"\xfe\xff\0a\xd8\x3d\xde\x00", "a😀", Some("UTF-16BE"));
        check(b"caf\xe9 cr\xe8me\n", "café crème\n", Some("windows-1252"));
        let stray = Some("UTF-8 with some other bytes");
        check(b"a\n\xc3\xbc \xe9\n", "a\nü \u{10ffe9}\n", stray);
        check(
            b"\xe2\x9c\x93\xc3\xbc \xe2\x9c",
            "✓ü \u{10ffe2}\u{10ff9c}",
            stray,
        );
        let japanese = b"\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x83\x65\x83\x4c\x83\x58\x83\x67\n";
        check(japanese, "日本語のテキスト\n", Some("Shift_JIS"));
        for binary in [&b"\x7fELF\xff\x00\x01"[..], b"\xff\xfea", b"\x80\x01\x02"] {
            assert_eq!(decode(binary.to_vec()).unwrap_err(), binary);
        }
    }

    #[test]
    fn a_stray_byte_is_shown_and_told() {
        let (text, form) = decode(b"\xc3\xbc\n\xc3\xbc \xe9".to_vec()).unwrap();
        assert_eq!(form.shown(&text), "ü\nü \u{fffd}");
        let why = form.strangeness().unwrap();
        assert!(why.contains("no UTF-8, the first in line 2"), "{why}");
        // What stands for a byte already cannot do so.
        let taken = "ü \u{10ffe9} ".bytes().chain([0xe9]);
        let known = decode(taken.collect()).map(|(_, form)| form.stray);
        assert_ne!(known, Ok(Some(1)));
    }

    #[test]
    fn what_an_encoding_lacks_is_named() {
        let (_, form) = decode(b"caf\xe9\n".to_vec()).unwrap();
        assert_eq!(form.encode("café ✓"), Err('✓'));
    }
}
