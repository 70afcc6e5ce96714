//! New names from a regular expression: `$1` and its like, written as in most languages, so that
//! `$1_old` is the first group and then `_old`.

use haft_core::ToolError;
use regex::{Captures, Regex};

/// A replacement, read once.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Replacement(Vec<Part>);

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Group(usize),
}

impl Replacement {
    pub(super) fn parse(text: &str, regex: &Regex) -> Result<Self, ToolError> {
        let groups = regex.captures_len();
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(dollar) = rest.find('$') {
            push_text(&mut parts, &rest[..dollar]);
            let after = &rest[dollar + 1..];
            let (part, used) = match after.chars().next() {
                Some('$') => (Part::Text("$".to_owned()), 1),
                Some('&') => (Part::Group(0), 1),
                Some('{') => named(after, '}', regex)?,
                Some('<') => named(after, '>', regex)?,
                Some(digit) if digit.is_ascii_digit() => numbered(after, groups)?,
                _ => (Part::Text("$".to_owned()), 0),
            };
            match part {
                Part::Text(text) => push_text(&mut parts, &text),
                group => parts.push(group),
            }
            rest = &after[used..];
        }
        push_text(&mut parts, rest);
        Ok(Replacement(parts))
    }

    /// A name with its first match replaced; the same name where there is none.
    pub(super) fn put_into(&self, regex: &Regex, name: &str) -> String {
        let Some(found) = regex.captures(name) else {
            return name.to_owned();
        };
        let Some(whole) = found.get(0) else {
            return name.to_owned();
        };
        let middle = self.filled(&found);
        format!("{}{middle}{}", &name[..whole.start()], &name[whole.end()..])
    }

    fn filled(&self, found: &Captures<'_>) -> String {
        self.0
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::Group(group) => found.get(*group).map_or("", |group| group.as_str()),
            })
            .collect()
    }
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(before)) => before.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
}

/// One or two digits: two only where there are that many groups.
fn numbered(after: &str, groups: usize) -> Result<(Part, usize), ToolError> {
    let digits = after.bytes().take(2).take_while(u8::is_ascii_digit).count();
    for used in (1..=digits).rev() {
        if let Ok(group) = after[..used].parse::<usize>()
            && group < groups
        {
            return Ok((Part::Group(group), used));
        }
    }
    Err(no_group(&after[..1], groups))
}

fn named(after: &str, close: char, regex: &Regex) -> Result<(Part, usize), ToolError> {
    let groups = regex.captures_len();
    let end = after.find(close).ok_or_else(|| {
        ToolError::input_invalid(format!("`{close}` is missing after `${after}`"))
    })?;
    let name = &after[1..end];
    let by_name = regex.capture_names().position(|group| group == Some(name));
    let group = by_name.or_else(|| name.parse().ok().filter(|&group| group < groups));
    match group {
        Some(group) => Ok((Part::Group(group), end + 1)),
        None => Err(no_group(name, groups)),
    }
}

fn no_group(name: &str, groups: usize) -> ToolError {
    ToolError::input_invalid(format!("`pattern` has no group `{name}`")).hint(format!(
        "it has {}; put parentheses around what `${name}` should stand for",
        groups - 1
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_names() {
        let check = |pattern: &str, replacement: &str, name: &str, expected: &str| {
            let regex = Regex::new(pattern).unwrap();
            let new = match Replacement::parse(replacement, &regex) {
                Ok(replacement) => replacement.put_into(&regex, name),
                Err(error) => error.into_body().message,
            };
            assert_eq!(new, expected, "{pattern} {replacement} {name}");
        };
        check(r"(.*)\.txt", "$1.md", "a.txt", "a.md");
        check(r"(.*)\.txt", "$1_old.txt", "a.txt", "a_old.txt");
        check(r"(\d+)-(\w+)", "$2-$1", "12-ab.c", "ab-12.c");
        check("a", "b", "banana", "bbnana");
        check("x", "y", "banana", "banana");
        check(
            "(?<year>\\d{4})",
            "${year}-$<year>-${1}",
            "2024",
            "2024-2024-2024",
        );
        check("(a)", "$10$$$&", "a", "a0$a");
        check("a", "5$", "a", "5$");
        check("a", "$2", "a", "`pattern` has no group `2`");
        check("a", "${x}", "a", "`pattern` has no group `x`");
        check("a", "${x", "a", "`}` is missing after `${x`");
        check("(ü)", "$1$1", "ü", "üü");
    }
}
