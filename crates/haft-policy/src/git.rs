//! What a line of git does to the files of its work tree.

use crate::named::{Named, Use, as_named, given, here, plain};
use crate::outputs::values;
use crate::shell::{Word, has_letter, has_long};

/// What git changes in its work tree, and what it shows of it.
const WRITES: &[&str] = &[
    "checkout",
    "switch",
    "restore",
    "reset",
    "clean",
    "stash",
    "apply",
    "am",
    "merge",
    "rebase",
    "pull",
    "cherry-pick",
    "revert",
    "rm",
    "mv",
    "checkout-index",
    "read-tree",
    "submodule",
    "worktree",
    "bisect",
    "sparse-checkout",
];
const READS: &[&str] = &[
    "diff",
    "show",
    "grep",
    "archive",
    "blame",
    "annotate",
    "cat-file",
    "format-patch",
    "whatchanged",
    "difftool",
    "diff-files",
    "diff-index",
    "diff-tree",
];

/// What git is told to do, and the words after that.
pub(crate) fn action<'k, 'a>(known: &'k [&'a Word]) -> Option<(&'a Word, &'k [&'a Word])> {
    let mut at = 0;
    while let Some(word) = known.get(at) {
        match word.text.as_str() {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env"
            | "--attr-source" => at += 2,
            text if text.starts_with('-') => at += 1,
            _ => break,
        }
    }
    let (action, rest) = known.get(at..)?.split_first()?;
    Some((action, rest))
}

/// What its words name.
pub(crate) fn named<'a>(known: &[&'a Word]) -> Vec<Named<'a>> {
    let Some((action, rest)) = action(known) else {
        return Vec::new();
    };
    let action = action.text.as_str();
    let mut found = given("git", rest, Use::Mentions);
    let writes = WRITES.contains(&action);
    let shows = has_letter(rest.iter().copied(), &['p', 'u'])
        || has_long(rest.iter().copied(), &["--patch"]);
    let patch = action == "log" && shows;
    let reads = READS.contains(&action) || patch;
    let letter = match action {
        "archive" | "format-patch" => "o",
        _ => "",
    };
    let written = values(rest, letter, &["--output", "--output-directory"], "").into_iter();
    found.extend(written.map(|(word, text)| as_named(word, text, Use::WritesFile)));
    if !writes && !reads {
        return found;
    }
    let dashes = rest.iter().position(|word| word.text == "--");
    let paths: &[&'a Word] = match dashes {
        Some(at) => &rest[at + 1..],
        None if matches!(action, "rm" | "mv" | "restore") => rest,
        None => &[],
    };
    let (sure, walk) = match writes {
        true => (Use::WritesFile, Use::WalksWriting),
        false => (Use::Reads, Use::WalksReading),
    };
    let named: Vec<&'a Word> = plain(paths).collect();
    for &word in &named {
        found.push(as_named(word, &word.text, sure));
        found.push(as_named(word, &word.text, walk));
    }
    if reads {
        // `git show HEAD:secret/k`
        let after_colon = rest.iter().filter_map(|word| {
            let (_, path) = word.text.split_once(':')?;
            Some(as_named(word, path, Use::Reads))
        });
        found.extend(after_colon);
    }
    if named.is_empty() {
        found.push(here(walk));
    }
    found
}
