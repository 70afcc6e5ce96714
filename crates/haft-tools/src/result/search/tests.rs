use std::io::{BufReader, Cursor};

use super::*;

fn query(from: u64, to: Option<u64>, regex: &str, context: usize, budget: usize) -> Query {
    Query {
        from,
        to,
        regex: (!regex.is_empty()).then(|| Regex::new(regex).unwrap()),
        context,
        budget,
    }
}

fn run(input: impl Read, query: &Query) -> Found {
    search(&mut BufReader::new(input), query, &CancelToken::new()).unwrap()
}

#[test]
fn what_is_shown() {
    let numbers: String = (1..=20).map(|n| format!("line {n}\r\n")).collect();
    let check = |query: Query, expected: &str| {
        let found = run(Cursor::new(&numbers), &query);
        assert_eq!(found.text, expected, "{query:?}");
    };
    check(query(2, Some(3), "", 0, 999), "2\tline 2\n3\tline 3");
    check(query(20, None, "", 0, 999), "20\tline 20");
    check(query(21, None, "", 0, 999), "");
    check(query(1, None, "", 0, 20), "1\tline 1\n2\tline 2");
    check(query(1, None, "", 0, 6), "1\tl…");
    check(
        query(1, None, "line 7$", 1, 999),
        "6-line 6\n7:line 7\n8-line 8",
    );
    check(
        query(1, None, "[37]$", 0, 999),
        "3:line 3\n--\n7:line 7\n--\n13:line 13\n--\n17:line 17",
    );
    check(
        query(1, None, "e [34]$", 1, 999),
        "2-line 2\n3:line 3\n4:line 4\n5-line 5",
    );
    check(
        query(8, Some(12), "1", 0, 999),
        "10:line 10\n11:line 11\n12:line 12",
    );
    check(query(1, None, "nothing", 2, 999), "");
}

#[test]
fn what_is_said_about_the_rest() {
    let numbers: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    let plain = run(Cursor::new(&numbers), &query(5, None, "", 0, 20));
    assert_eq!(
        (plain.first, plain.last, plain.next),
        (Some(5), Some(6), Some(7))
    );
    let some = run(Cursor::new(&numbers), &query(1, None, "line", 0, 30));
    assert_eq!((some.matches, some.lines, some.unshown), (Some(20), 3, 17));
    assert_eq!(some.match_lines, (1..=20).collect::<Vec<u64>>());
}

/// A hundred megabytes that are never in memory: as many lines as asked for, one of them special.
struct Haystack {
    line: u64,
    lines: u64,
    needle: u64,
    pending: Cursor<Vec<u8>>,
}

impl Read for Haystack {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.pending.read(buffer)?;
        if read > 0 || self.line == self.lines {
            return Ok(read);
        }
        self.line += 1;
        let text = if self.line == self.needle {
            "the needle is here\n".to_owned()
        } else {
            format!("{:08} {}\n", self.line, "hay ".repeat(1022))
        };
        self.pending = Cursor::new(text.into_bytes());
        self.pending.read(buffer)
    }
}

#[test]
fn a_needle_in_a_hundred_megabytes_takes_little_room() {
    let haystack = Haystack {
        line: 0,
        lines: 25_000,
        needle: 12_345,
        pending: Cursor::default(),
    };
    let found = run(haystack, &query(1, None, "needle", 2, 80_000));
    assert_eq!(found.match_lines, [12_345]);
    assert!(found.text.contains("12345:the needle is here"));
    assert!(found.text.len() < 4096, "{} bytes", found.text.len());
}

#[test]
fn a_needle_in_one_endless_line_is_shown_with_its_surroundings() {
    let check = |before: usize| {
        let line = format!("{}needle{}", "x".repeat(before), "y".repeat(1 << 20));
        let found = run(Cursor::new(&line), &query(1, None, "needle", 2, 80_000));
        assert_eq!((found.matches, found.lines), (Some(1), 1), "{before}");
        assert!(found.text.contains("xneedley"), "{before}: {}", found.text);
        assert!(
            found.text.len() < 400,
            "{before}: {} bytes",
            found.text.len()
        );
    };
    let piece = PIECE as usize;
    check(10);
    check(piece - 3);
    check(piece);
    check(piece - 200);
    check(2 * piece + 7);
}

#[test]
fn characters_are_never_split() {
    let check = |line: &str, part: Range<usize>, limit: usize, expected: &str| {
        assert_eq!(clip(line, part, limit), expected);
    };
    check("äöü", 0..0, 3, "äöü");
    check("äöüß", 0..0, 3, "ä…");
    check("ääääääääääXää", 20..21, 9, "…äääXää");
    check("ääääääääääXäääääääää", 20..21, 9, "…äääXäää…");
}
