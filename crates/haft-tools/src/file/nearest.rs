//! When the text of an edit is not in the file: where it nearly is, and what differs. Only for
//! telling; nothing is ever replaced by likeness.

use std::collections::HashMap;
use std::fmt::Write;

/// Larger files are not searched for likeness.
const TEXT_LIMIT: usize = 8 << 20;
const PLACES: usize = 3;
const LINES_SHOWN: usize = 8;
const LINE_CHARS: usize = 200;

/// Least likeness of two lines that is worth telling.
const LIKE: f64 = 0.5;

/// A way to see lines alike, and what to say when that is what it took.
type View = (&'static str, fn(&str) -> String);

/// From the strictest to the most forgiving.
const VIEWS: &[View] = &[
    ("the line ends differ", |line| {
        line.trim_end_matches('\r').to_owned()
    }),
    ("whitespace at the end of a line differs", |line| {
        line.trim_end().to_owned()
    }),
    ("the indentation differs", |line| line.trim().to_owned()),
    ("the whitespace differs", collapsed),
    ("upper and lower case differ", |line| {
        collapsed(line).to_lowercase()
    }),
];

/// Where the text nearly is, with what differs, or the lines most like its own.
pub(super) fn nearest(text: &str, search: &str) -> Option<String> {
    if text.len() > TEXT_LIMIT {
        return None;
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let wanted: Vec<&str> = search.trim_end_matches('\n').split('\n').collect();
    for (reason, view) in VIEWS {
        let places = places(&lines, &wanted, *view);
        if !places.is_empty() {
            return Some(described(&lines, &places, wanted.len(), reason));
        }
    }
    let places = alike(&lines, &wanted);
    (!places.is_empty()).then(|| described(&lines, &places, 1, "only alike"))
}

/// Lines at which the wanted ones begin when both are seen through `view`.
fn places(lines: &[&str], wanted: &[&str], view: fn(&str) -> String) -> Vec<usize> {
    let wanted: Vec<String> = wanted.iter().map(|line| view(line)).collect();
    if wanted.iter().all(String::is_empty) || wanted.len() > lines.len() {
        return Vec::new();
    }
    let seen: Vec<String> = lines.iter().map(|line| view(line)).collect();
    seen.windows(wanted.len())
        .enumerate()
        .filter(|(_, window)| fits(window, &wanted))
        .map(|(start, _)| start)
        .take(PLACES)
        .collect()
}

/// The text may start and end within a line.
fn fits(window: &[String], wanted: &[String]) -> bool {
    match (window, wanted) {
        ([line], [only]) => line.contains(only.as_str()),
        ([first, middle @ .., last], [want_first, want_middle @ .., want_last]) => {
            first.ends_with(want_first.as_str())
                && middle == want_middle
                && last.starts_with(want_last.as_str())
        }
        _ => false,
    }
}

/// The lines most like the longest wanted one, best first.
fn alike(lines: &[&str], wanted: &[&str]) -> Vec<usize> {
    let Some(target) = wanted
        .iter()
        .map(|line| line.trim())
        .max_by_key(|line| line.len())
    else {
        return Vec::new();
    };
    let target: String = target.chars().take(LINE_CHARS).collect();
    let target_pairs = pairs(&target);
    let mut scored: Vec<(f64, usize)> = lines
        .iter()
        .enumerate()
        .map(|(number, line)| {
            let start: String = line.trim().chars().take(LINE_CHARS).collect();
            (likeness(&target_pairs, &pairs(&start)), number)
        })
        .filter(|(score, _)| *score >= LIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored
        .into_iter()
        .take(PLACES)
        .map(|(_, number)| number)
        .collect()
}

fn pairs(line: &str) -> HashMap<(char, char), usize> {
    let mut counts = HashMap::new();
    for pair in line.chars().zip(line.chars().skip(1)) {
        *counts.entry(pair).or_insert(0) += 1;
    }
    counts
}

/// The share of letter pairs that two lines have in common (Dice's measure).
fn likeness(a: &HashMap<(char, char), usize>, b: &HashMap<(char, char), usize>) -> f64 {
    let total = a.values().sum::<usize>() + b.values().sum::<usize>();
    if total == 0 {
        return 0.0;
    }
    let common: usize = a
        .iter()
        .map(|(pair, count)| (*count).min(b.get(pair).copied().unwrap_or(0)))
        .sum();
    2.0 * common as f64 / total as f64
}

fn described(lines: &[&str], places: &[usize], length: usize, reason: &str) -> String {
    let mut told =
        format!("nearest in the file ({reason}; `\\t` tab, `\\r` CR, `·` space at the end):");
    for &start in places {
        let end = lines.len().min(start + length.min(LINES_SHOWN));
        for (number, line) in lines.iter().enumerate().take(end).skip(start) {
            // Writing to a string cannot fail.
            let _ = write!(told, "\n{}\t{}", number + 1, visible(line));
        }
    }
    told
}

fn visible(line: &str) -> String {
    let clipped: String = line.chars().take(LINE_CHARS).collect();
    let kept = clipped.trim_end_matches([' ', '\r']);
    let end = clipped[kept.len()..].replace(' ', "·");
    format!("{kept}{end}")
        .replace('\t', "\\t")
        .replace('\r', "\\r")
}

fn collapsed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
