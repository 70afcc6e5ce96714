//! A word that the shell matches against the names it finds: `g*/f`. Nobody here knows what it
//! will find, so the question is what it could: whether some name fits both the word and a rule.
//! Reads too much rather than too little: `[…]` counts as `*`, and what `..` leads to from there
//! is anything.

use std::path::Path;

use crate::tokens::{Token, escape, meet, tokens};

/// Longer words are not looked through; they could be anything.
const MAX_WORD: usize = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob {
    tokens: Vec<Token>,
    /// As written
    pub(crate) text: String,
}

/// How names that begin with a dot are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// As shells do it unless they are told otherwise: only where the dot is written
    Spelled,
    Found,
}

/// Where the first part with a wildcard begins.
fn wild_from(word: &str) -> usize {
    let wild = word.find(is_wild).unwrap_or(word.len());
    word[..wild].rfind('/').map_or(0, |slash| slash + 1)
}

impl Glob {
    /// The word, in front of whose first wild part `resolve` is asked where it leads.
    pub(crate) fn new(word: &str, hidden: Hidden, resolve: impl Fn(&str) -> String) -> Self {
        let anything = || Glob {
            tokens: vec![Token::Everything],
            text: word.to_owned(),
        };
        if word.len() > MAX_WORD {
            return anything();
        }
        let (before, after) = word.split_at(wild_from(word));
        let base = match before {
            "" => resolve("."),
            before => resolve(before),
        };
        let mut pattern = tokens(&escape(base.trim_end_matches('/'))).unwrap_or_default();
        for part in after.split('/').filter(|part| !matches!(*part, "" | ".")) {
            if part == ".." {
                return anything();
            }
            if pattern.last() != Some(&Token::Folders) {
                pattern.push(Token::One('/'));
            }
            if part == "**" {
                // Some shells go through folders with it.
                pattern.push(Token::Folders);
                continue;
            }
            if hidden == Hidden::Spelled && part.starts_with(is_wild) {
                pattern.push(Token::Shown);
            }
            pattern.extend(named(part));
        }
        if pattern.last() == Some(&Token::Folders) {
            pattern.push(Token::Everything);
        }
        Glob {
            tokens: pattern,
            text: word.to_owned(),
        }
    }

    /// The folder in which names are looked for, as written.
    pub(crate) fn folder(&self) -> &str {
        match wild_from(&self.text) {
            0 => ".",
            start => &self.text[..start],
        }
    }

    /// Whether it could name one path that this pattern means.
    pub(crate) fn names(&self, pattern: &[Token]) -> bool {
        meet(&self.tokens, pattern)
    }

    /// Whether it could name a folder with such a path below it.
    pub(crate) fn holds(&self, pattern: &[Token]) -> bool {
        let mut below = self.tokens.clone();
        below.extend([Token::One('/'), Token::Everything]);
        meet(&below, pattern)
    }

    /// Whether it could name a folder of which this pattern means everything.
    pub(crate) fn is_held(&self, pattern: &[Token]) -> bool {
        let mut folder = self.tokens.clone();
        folder.push(Token::One('/'));
        pattern.last() == Some(&Token::Everything) && meet(&folder, pattern)
    }

    /// The same below a folder, in lower case: a word that starts elsewhere stays as it is.
    pub(crate) fn below(&self, folder: &Path) -> Glob {
        let prefix = tokens(&escape(&folder.to_string_lossy())).unwrap_or_default();
        let rest = self.tokens.strip_prefix(&prefix[..]);
        let lower = |token: &Token| match token {
            Token::One(c) => Token::One(c.to_ascii_lowercase()),
            other => other.clone(),
        };
        Glob {
            tokens: rest.unwrap_or(&self.tokens).iter().map(lower).collect(),
            text: self.text.clone(),
        }
    }

    /// Nothing can be told of what it finds.
    pub(crate) fn is_anything(&self) -> bool {
        self.tokens == [Token::Everything]
    }

    pub(crate) fn could_be(&self, patterns: &[Vec<Token>]) -> bool {
        patterns.iter().any(|pattern| self.names(pattern))
    }

    /// Whether it could name this path, something below it or something above.
    pub(crate) fn reaches(&self, path: &Path) -> bool {
        let mut exact = tokens(&escape(&path.to_string_lossy())).unwrap_or_default();
        if self.names(&exact) || self.holds(&exact) {
            return true;
        }
        exact.extend([Token::One('/'), Token::Everything]);
        self.names(&exact)
    }
}

pub(crate) fn is_wild(c: char) -> bool {
    matches!(c, '*' | '?' | '[')
}

/// One name of the word.
fn named(part: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let class = part
        .find('[')
        .map(|open| (open, part.rfind(']').unwrap_or(open).max(open)));
    for (at, c) in part.char_indices() {
        match (c, class) {
            (_, Some((open, _))) if at == open => found.push(Token::Star),
            (_, Some((open, close))) if at > open && at <= close => {}
            ('*', _) if found.last() == Some(&Token::Star) => {
                found.pop();
                found.push(Token::Everything);
            }
            ('*', _) => found.push(Token::Star),
            ('?', _) => found.push(Token::Any),
            (c, _) => found.push(Token::One(c)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(word: &str) -> Glob {
        Glob::new(word, Hidden::Spelled, |path| {
            let path = path.trim_start_matches("./").trim_end_matches('/');
            match path {
                path if word.starts_with('/') => path.to_owned(),
                "." | "" => "/w".to_owned(),
                path => format!("/w/{path}"),
            }
        })
    }

    #[test]
    fn what_a_word_could_find() {
        let check = |word: &str, pattern: &str, expected: [bool; 3]| {
            let pattern = tokens(pattern).unwrap();
            let glob = glob(word);
            let got = [
                glob.names(&pattern),
                glob.holds(&pattern),
                glob.is_held(&pattern),
            ];
            assert_eq!(got, expected, "{word} {pattern:?}");
        };
        check("g*/f", "/w/gen/**", [true, true, true]);
        check("g*", "/w/gen/**", [false, true, true]);
        check("*.log", "/w/gen/**", [false, false, false]);
        check("./g*/f", "/w/gen/f", [true, false, false]);
        check("[[:alpha:]]en/f", "/w/gen/f", [true, false, false]);
        check("[a]en/f", "/w/gen/f", [true, false, false]);
        check("*", "/w/.env", [false, false, false]);
        check(".*", "/w/.env", [true, false, false]);
        check("*.env", "/w/.env", [false, false, false]);
        check("*env", "/w/.env", [false, false, false]);
        check("?env", "/w/.env", [false, false, false]);
        check("[.]env", "/w/.env", [false, false, false]);
        check("a*", "/w/a.env", [true, false, false]);
        check("s*/../x", "/etc/passwd", [true, true, false]);
        check("**/x", "/w/a/b/x", [true, false, false]);
        check("**/x", "/w/x", [true, false, false]);
        check("**", "/w/a/x", [true, true, false]);
        check("/e*/x", "/etc/x", [true, false, false]);
        check("*\\x", "/w/a\\\\x", [true, false, false]);
    }

    #[test]
    fn hidden_names_where_they_are_found() {
        let found = Glob::new("*", Hidden::Found, |_| "/w".to_owned());
        assert!(found.names(&tokens("/w/.env").unwrap()));
    }
}
