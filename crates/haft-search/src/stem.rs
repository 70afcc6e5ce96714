//! A light stemmer for English: plural and verb endings, nothing that changes what a word is
//! about. Words with letters outside a–z are left alone.

/// The word without its ending.
pub(crate) fn stem(word: &str) -> &str {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    let word = singular(word);
    for ending in ["ing", "ed"] {
        if let Some(root) = word.strip_suffix(ending)
            && root.len() >= 3
            && has_vowel(root)
        {
            return bare(undouble(root));
        }
    }
    bare(word)
}

fn singular(word: &str) -> &str {
    if let Some(root) = word.strip_suffix("ies")
        && root.len() >= 3
    {
        // `cities` and `city` meet at `cit`, as `bare` cuts the y.
        return &word[..root.len() + 1];
    }
    for ending in ["sses", "shes", "ches", "xes", "zes"] {
        if word.ends_with(ending) {
            return &word[..word.len() - 2];
        }
    }
    if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        return word;
    }
    word.strip_suffix('s').unwrap_or(word)
}

/// Without a last `e`, `y` or `i`, so that `create`, `creating` and `city`, `cities` meet.
fn bare(word: &str) -> &str {
    match word.as_bytes() {
        [.., b'e' | b'y' | b'i'] if word.len() > 3 => &word[..word.len() - 1],
        _ => word,
    }
}

fn undouble(word: &str) -> &str {
    match word.as_bytes() {
        [.., a, b] if a == b && !matches!(b, b'l' | b's' | b'z') => &word[..word.len() - 1],
        _ => word,
    }
}

fn has_vowel(word: &str) -> bool {
    word.bytes()
        .any(|byte| matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_meet() {
        let check = |words: &str| {
            let stems: Vec<&str> = words.split(' ').map(stem).collect();
            assert!(
                stems.windows(2).all(|pair| pair[0] == pair[1]),
                "{words}: {stems:?}"
            );
        };
        check("file files filed filing");
        check("create creates created creating");
        check("city cities");
        check("stop stops stopped stopping");
        check("search searches searching");
        check("process processes processing");
        check("index indexes indexing");
        check("copy copies copied copying");
    }

    #[test]
    fn other_words_stay_apart() {
        assert_ne!(stem("status"), stem("state"));
        assert_eq!(stem("string"), "string");
        assert_eq!(stem("фаилы"), "фаилы");
        assert_eq!(stem("gas"), "gas");
    }
}
