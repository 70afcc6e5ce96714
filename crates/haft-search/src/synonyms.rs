//! Words that mean much the same where tools are described. English verbs and nouns of the trade
//! and their short forms; what other words share is the model's business.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::stem::stem;

/// Groups of words, each of which also finds the others. Single words only.
#[rustfmt::skip]
const GROUPS: &[&[&str]] = &[
    &["delete", "remove", "erase", "unlink"],
    &["folder", "directory", "dir"],
    &["picture", "image", "photo", "pic"],
    &["fetch", "retrieve", "download"],
    &["modify", "edit", "alter"],
    &["execute", "run", "exec"],
    &["command", "cmd"],
    &["database", "db"],
    &["repository", "repo"],
    &["configuration", "config", "setting"],
    &["document", "doc"],
    &["documentation", "docs"],
    &["application", "app", "program"],
    &["environment", "env"],
    &["authenticate", "authentication", "auth"],
    &["password", "passphrase"],
    &["information", "info", "detail"],
    &["message", "msg"],
    &["mail", "email"],
    &["appointment", "meeting"],
    &["temperature", "temp"],
    &["translate", "translation"],
    &["transform", "convert", "conversion"],
    &["compress", "archive", "zip"],
    &["decompress", "extract", "unzip", "unpack"],
    &["purchase", "buy"],
    &["vehicle", "car", "automobile"],
    &["film", "movie"],
    &["song", "music", "track"],
    &["quote", "quotation"],
    &["duplicate", "copy"],
    &["rename", "move"],
    &["terminate", "kill", "stop"],
    &["launch", "start"],
    &["schedule", "plan"],
    &["compute", "calculate", "calculation"],
    &["weather", "forecast"],
    &["job", "task"],
    &["lookup", "search"],
    &["job", "employment", "vacancy"],
    &["holiday", "vacation"],
    &["physician", "doctor"],
    &["cost", "price"],
    &["lamp", "light"],
    &["parameter", "param", "argument", "arg"],
    &["statistic", "stats"],
    &["directory", "path"],
    &["container", "docker"],
    &["kubernetes", "k8s"],
    &["administrator", "admin"],
    &["maximum", "max"],
    &["minimum", "min"],
    &["average", "mean", "avg"],
];

/// Each word's synonyms, all in stemmed form; made at the first search.
static SYNONYMS: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let mut all: HashMap<&str, Vec<&str>> = HashMap::new();
    for group in GROUPS {
        for word in group.iter().map(|word| stem(word)) {
            let others = group
                .iter()
                .map(|other| stem(other))
                .filter(|other| *other != word);
            all.entry(word).or_default().extend(others);
        }
    }
    all
});

/// The synonyms of a word, both in stemmed form.
pub(crate) fn of(word: &str) -> &'static [&'static str] {
    SYNONYMS.get(word).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_one_word() {
        for entry in GROUPS.iter().copied().flatten() {
            assert!(
                entry
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()),
                "{entry}"
            );
        }
    }

    #[test]
    fn words_find_their_synonyms() {
        let check = |word: &str, want: &str| {
            assert_eq!(of(stem(word)).join(" "), want, "{word}");
        };
        check("deleting", "remov eras unlink");
        check("images", "pictur photo pic");
        check("banana", "");
    }
}
