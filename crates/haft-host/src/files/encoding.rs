//! Text that is not UTF-8: which encoding it lies in, and back again. What cannot come back byte
//! for byte is not taken for text, so an edit never changes what it did not touch.

use chardetng::EncodingDetector;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How a text lies on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextForm {
    encoding: &'static Encoding,
}

impl Default for TextForm {
    fn default() -> Self {
        TextForm { encoding: UTF_8 }
    }
}

impl TextForm {
    /// The name of the encoding, where it is not UTF-8.
    pub(super) fn foreign(&self) -> Option<&'static str> {
        (self.encoding != UTF_8).then(|| self.encoding.name())
    }

    /// The bytes of a text in this form; the character that has none there, if one has not.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u8>, char> {
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
        _ => {
            let mut detector = EncodingDetector::new();
            detector.feed(&bytes, true);
            detector.guess(None, false)
        }
    };
    let (text, broken) = encoding.decode_with_bom_removal(&bytes);
    let form = TextForm { encoding };
    if broken || form.encode(&text).as_deref() != Ok(bytes.as_slice()) {
        return Err(bytes);
    }
    Ok((text.into_owned(), form))
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
        let japanese = b"\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x83\x65\x83\x4c\x83\x58\x83\x67\n";
        check(japanese, "日本語のテキスト\n", Some("Shift_JIS"));
        for binary in [&b"\x7fELF\xff\x00\x01"[..], b"\xff\xfea", b"\x80\x01\x02"] {
            assert_eq!(decode(binary.to_vec()).unwrap_err(), binary);
        }
    }

    #[test]
    fn what_an_encoding_lacks_is_named() {
        let (_, form) = decode(b"caf\xe9\n".to_vec()).unwrap();
        assert_eq!(form.encode("café ✓"), Err('✓'));
    }
}
