//! Tells a random value from a placeholder, a word, a path or a piece of code.
//!
//! Rules find candidates by shape; these tests keep the look-alikes of documentation and source
//! code out. All of them read the value once.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Words that only stand in a value somebody has yet to fill in, or has already hidden.
#[rustfmt::skip]
const STAND_INS: &[&str] = &[
    "example", "sample", "placeholder", "your", "changeme", "change-me", "change_me", "dummy",
    "fake", "redacted", "masked", "hidden", "replace", "insert", "xxxx", "****", "....", "####",
    "todo", "foobar", "lorem", "_here", "-here", "tokenhere", "keyhere", "notreal", "not-real",
    "not_real",
];

/// Values that are the whole of a made-up password or user.
#[rustfmt::skip]
const STAND_IN_VALUES: &[&str] = &[
    "password", "passwd", "pass", "pwd", "passphrase", "secret", "token", "key", "apikey",
    "api_key", "api-key", "user", "username", "test", "testing", "none", "null", "nil", "undefined",
    "true", "false", "string", "str", "text", "value", "xxx", "yyy", "zzz", "abc", "foo", "bar",
    "baz", "admin", "root", "guest", "required", "optional", "empty", "default", "mypassword",
    "mypass", "mysecret", "mytoken", "my-token", "my_token", "my-secret", "my_secret",
    "some-password", "credentials", "s3cr3t", "p4ssw0rd", "passw0rd", "p@ssw0rd", "p@ssword",
    "password1", "password123", "access_token", "auth_token", "bearer",
];

/// Keys that the makers of Firebase and Android publish in their own test suites and guides.
const PUBLISHED: &[&str] = &[
    "AIzaSyAnLA7NfeLquW1tJFpx_eQCxoX-oo6YyIs",
    "AIzaSyCkEhVjf3pduRDt6d1yKOMitrUEke8agEM",
    "AIzaSyDMAScliyLx7F0NPDEJi1QmyCgHIAODrlU",
    "AIzaSyD3asb-2pEZVqMkmL6M9N6nHZRR_znhrh0",
    "AIzayDNSXIbFmlXbIE6mCzDLQAqITYefhixbX4A",
    "AIzaSyAdOS2zB6NCsk1pCdZ4-P6GBdi_UUPwX7c",
    "AIzaSyASWm6HmTMdYWpgMnjRBjxcQ9CKctWmLd4",
    "AIzaSyANUvH9H9BsUccjsu2pCmEkOPjjaXeDQgY",
    "AIzaSyA5_iVawFQ8ABuTZNUdcwERLJv_a_p4wtM",
    "AIzaSyA4UrcGxgwQFTfaI3no3t7Lt1sjmdnP5sQ",
    "AIzaSyDSb51JiIcB6OJpwwMicseKRhhrOq1cS7g",
    "AIzaSyBF2RrAIm4a0mO64EShQfqfd2AFnzAvvuU",
    "AIzaSyBcE-OOIbhjyR83gm4r2MFCu4MJmprNXsw",
    "AIzaSyB8qGxt4ec15vitgn44duC5ucxaOi4FmqE",
    "AIzaSyA8vmApnrHNFE0bApF4hoZ11srVL_n0nvY",
];

/// Shannon entropy in bits a byte: 0 for one repeated byte, about 4 for random hex, 5 and more for
/// random letters and digits.
pub(super) fn entropy(value: &[u8]) -> f32 {
    let mut counts = [0u32; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    let total = value.len() as f32;
    let bits: f32 = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = *count as f32 / total;
            -share * share.log2()
        })
        .sum();
    bits
}

/// Whether the value stands where a secret would go without being one.
pub(super) fn is_stand_in(value: &[u8]) -> bool {
    if value.is_empty()
        || value == b"*"
        || value.starts_with(b"**")
        || value.ends_with(b"...")
        || is_reference(value)
    {
        return true;
    }
    longest_run(value) * 2 > value.len() && value.len() >= 5
        || has_sequence(value)
        || STAND_IN_VALUES
            .iter()
            .any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
        || PUBLISHED.iter().any(|key| value == key.as_bytes())
        || holds_stand_in_word(value)
}

/// `$NAME`, `${NAME}`, `$(command)`, `{{ name }}`, `<name>`, `%NAME%`: a value from elsewhere.
fn is_reference(value: &[u8]) -> bool {
    let holds = |open: &[u8], close: u8| {
        let opened = value.windows(open.len()).position(|part| part == open);
        opened.is_some_and(|at| value[at..].contains(&close))
    };
    match value {
        [b'{', .., b'}'] | [b'<', .., b'>'] | [b'[', .., b']'] => true,
        [b'$', name @ ..] | [b'%', name @ .., b'%']
            if !name.is_empty() && name.iter().all(|byte| is_word(*byte)) =>
        {
            true
        }
        [b'%', b's' | b'd', ..] => true,
        _ => holds(b"${", b'}') || holds(b"$(", b')') || holds(b"{{", b'}'),
    }
}

fn holds_stand_in_word(value: &[u8]) -> bool {
    static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(STAND_INS)
            .ok()
    });
    WORDS.as_ref().is_some_and(|words| words.is_match(value))
}

/// Length of the longest run of one byte.
fn longest_run(value: &[u8]) -> usize {
    value
        .chunk_by(|one, next| one == next)
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0)
}

/// Six letters or eight digits in the order of the alphabet, as typed to fill a field. Chance makes
/// such a run less than once in ten million keys.
fn has_sequence(value: &[u8]) -> bool {
    let follows = |one: &u8, next: &u8| {
        let (one, next) = (one.to_ascii_lowercase(), next.to_ascii_lowercase());
        one.is_ascii_alphanumeric() && (one + 1 == next || (one, next) == (b'9', b'0'))
    };
    value.chunk_by(follows).any(|run| {
        let needed = if run[0].is_ascii_digit() { 8 } else { 6 };
        run.len() >= needed
    })
}

/// Whether the value reads as names joined by punctuation (`self.cache_key_v2`, `REF_ID_9.xml`)
/// rather than as random characters. A word is letters, then at most four digits.
pub(super) fn reads_as_words(value: &[u8]) -> bool {
    value
        .split(|byte| !byte.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty())
        .all(|part| {
            let letters = part
                .iter()
                .take_while(|byte| byte.is_ascii_alphabetic())
                .count();
            let digits = &part[letters..];
            digits.len() <= 4
                && digits.iter().all(u8::is_ascii_digit)
                && is_pronounceable(&part[..letters])
                || part.len() <= 4 && part.iter().filter(|byte| byte.is_ascii_digit()).count() <= 1
        })
}

/// Whether an unquoted value reads as a name in code, where digits stand inside words too:
/// `nl80211_key_attributes`, `X509RequestOptions`, `win32api.RegOpenKey`.
pub(super) fn reads_as_code(value: &[u8]) -> bool {
    let joined = value.iter().any(|byte| matches!(byte, b'_' | b'.' | b':'));
    let camel = value
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let most_groups = match (joined, camel) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => return false,
    };
    if !value
        .iter()
        .all(|byte| is_word(*byte) || matches!(byte, b'.' | b':' | b'-'))
    {
        return false;
    }
    let mut in_words = 0;
    let readable = value
        .split(|byte| !byte.is_ascii_alphanumeric())
        .all(|part| {
            let mut groups = 0;
            let kind = |one: &u8, next: &u8| one.is_ascii_digit() == next.is_ascii_digit();
            let readable = part.chunk_by(kind).all(|group| {
                let digits = group[0].is_ascii_digit();
                groups += usize::from(digits);
                in_words += if digits || group.len() < 3 {
                    0
                } else {
                    group.len()
                };
                if digits {
                    group.len() <= 5
                } else {
                    group.len() <= 4 || is_pronounceable(group)
                }
            });
            readable && groups <= most_groups
        });
    readable && in_words * 2 >= value.len()
}

/// Letters that could be a word or a camel-case name: no long run of consonants, a vowel in each
/// longer part, no case that changes at every other letter.
pub(super) fn is_pronounceable(letters: &[u8]) -> bool {
    let is_vowel = |byte: &u8| {
        matches!(
            byte.to_ascii_lowercase(),
            b'a' | b'e' | b'i' | b'o' | b'u' | b'y'
        )
    };
    let upper = letters.iter().all(u8::is_ascii_uppercase);
    let consonants = letters.split(is_vowel).map(<[u8]>::len).max().unwrap_or(0);
    let mut parts = 0usize;
    let mut mute = false;
    for part in
        letters.chunk_by(|one, next| !(one.is_ascii_lowercase() && next.is_ascii_uppercase()))
    {
        parts += 1;
        mute |= part.len() >= 3 && !upper && !part.iter().any(is_vowel);
    }
    let short = letters.len() <= 6;
    parts * 4 <= letters.len() + 4 && (short || !mute) && (consonants <= 5 || upper && short)
}

/// `8-4-4-4-12` hex digits.
pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_from_random_values() {
        let stand_ins = [
            "",
            "xxxxxxxxxxxx",
            "AKIAIOSFODNN7EXAMPLE",
            "your-token-here",
            "${TOKEN}",
            "$TOKEN",
            "$(cat file)",
            "{{ token }}",
            "<token>",
            "[PASSWORD]",
            "%TOKEN%",
            "000000000000001",
            "sk-abcdefghij",
            "id-1234567890",
            "***1234",
            "changeme",
            "user${X}",
        ];
        for value in stand_ins {
            assert!(is_stand_in(value.as_bytes()), "{value}");
        }
        for value in [
            "q9Z2mX7pLw4TnB8s",
            "hunter2",
            "cr$3YYUFFyo",
            "0178528423316760",
            "a%b%c",
        ] {
            assert!(!is_stand_in(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn names_are_told_from_random_values() {
        for value in [
            "self.cache_key_v2",
            "NormalBrushGradient1",
            "XXH3_SECRET_SIZE",
            "a-b-c",
        ] {
            assert!(reads_as_words(value.as_bytes()), "{value}");
        }
        for value in [
            "Ed25519.Signatures",
            "nl80211_key_attributes",
            "X509RequestOptions",
            "win32api.RegOpenKey",
        ] {
            assert!(reads_as_code(value.as_bytes()), "{value}");
        }
        for value in ["ffokwrbhbjdchtnkfqnu", "q9Z2mX7pLw4TnB8s", "aBcQdEzRtY"] {
            assert!(!reads_as_words(value.as_bytes()), "{value}");
            assert!(!reads_as_code(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn entropy_grows_with_variety() {
        assert_eq!(entropy(b"aaaa"), 0.0);
        assert_eq!(entropy(b"abab"), 1.0);
        assert!(entropy(b"0123456789abcdef") > 3.9);
    }
}
