//! `git status` in its two formats: how many entries of which kind, and the first of each. It
//! only counts what is there; that a tree is clean is never concluded from what is missing.

use std::collections::BTreeMap;

use crate::lines::{Gaps, Lines};

/// Entries shown of each kind.
const SHOWN: usize = 5;
const ERRORS: usize = 20;

/// Shorter lists are left alone.
const FEW: usize = 20;

pub(super) fn reduce(text: &str) -> Option<String> {
    if Lines::of(text).count() <= FEW {
        return None;
    }
    short_format(text).or_else(|| long_format(text))
}

/// Two letters, a space and a path on each line.
fn short_format(text: &str) -> Option<String> {
    let mut lines = Lines::of(text);
    let all_fit = text
        .lines()
        .all(|line| line.starts_with("## ") || kind_of(line).is_some());
    if !all_fit {
        return None;
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    lines.keep_where(|line| match kind_of(line) {
        Some(kind) => {
            let count = counts.entry(kind).or_default();
            *count += 1;
            *count <= SHOWN
        }
        None => true,
    });
    Some(with_counts(&mut lines, &counts))
}

/// What a line of the short format says about its path.
fn kind_of(line: &str) -> Option<&'static str> {
    let (state, path) = line.split_at_checked(3)?;
    let mut letters = state.chars();
    let (index, tree, space) = (letters.next()?, letters.next()?, letters.next()?);
    let letter = |c: char| " MTADRCU?!".contains(c);
    if path.is_empty() || space != ' ' || !letter(index) || !letter(tree) {
        return None;
    }
    Some(match (index, tree) {
        (' ', ' ') => return None,
        ('?', '?') => "untracked",
        ('!', '!') => "ignored",
        ('U', _) | (_, 'U') | ('A', 'A') | ('D', 'D') => "unmerged",
        (' ', _) => "not staged",
        (_, ' ') => "staged",
        _ => "staged and changed again",
    })
}

/// Sections with a heading, their entries behind a tab.
fn long_format(text: &str) -> Option<String> {
    let mut lines = Lines::of(text);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut section = None;
    lines.keep_where(|line| {
        if let Some(kind) = heading(line) {
            section = Some(kind);
            return true;
        }
        match section {
            Some(kind) if line.starts_with('\t') => {
                let count = counts.entry(kind).or_default();
                *count += 1;
                *count <= SHOWN
            }
            // Advice on what to type next.
            _ => !line.starts_with("  (use ") && !line.is_empty(),
        }
    });
    if counts.is_empty() {
        return None;
    }
    Some(with_counts(&mut lines, &counts))
}

fn heading(line: &str) -> Option<&'static str> {
    match line {
        "Changes to be committed:" => Some("staged"),
        "Changes not staged for commit:" => Some("not staged"),
        "Unmerged paths:" => Some("unmerged"),
        "Untracked files:" => Some("untracked"),
        "Ignored files:" => Some("ignored"),
        _ => None,
    }
}

fn with_counts(lines: &mut Lines<'_>, counts: &BTreeMap<&str, usize>) -> String {
    lines.keep_errors(ERRORS);
    let counts: Vec<String> = counts
        .iter()
        .map(|(kind, count)| format!("{kind}: {count}"))
        .collect();
    format!(
        "[git status, shortened; {}]\n{}",
        counts.join(", "),
        lines.text(Gaps::Marked)
    )
}
