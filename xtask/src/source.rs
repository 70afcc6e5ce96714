//! A Rust file as the checks see it: one flat list of tokens with their lines, so that comments
//! and strings cannot be mistaken for code and code inside macros is seen like any other. Names
//! are not resolved here beyond joining `a::b::{c, d}` into whole paths.

use std::str::FromStr;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One token of the flat list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    Ident(String),
    Punct(char),
    Literal(String),
    /// An opening bracket, with the index of its partner
    Open(char, usize),
    Close(char),
}

/// A path somewhere in the code, such as `std::fs::read` or `crate::spec::ToolSpec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedPath {
    /// A glob ends in `*`
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
    pub(crate) place: Place,
    /// How many inline modules stand around it
    pub(crate) inline_depth: usize,
}

/// Where a path stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Code,
    /// `use … as name`; public when it makes the name visible to others
    Use {
        name: String,
        public: bool,
    },
}

/// A function with a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) first_line: usize,
    pub(crate) last_line: usize,
    pub(crate) body_lines: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Relative to the root of the project, with `/`
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) tokens: Vec<Token>,
    lines: Vec<usize>,
    /// Tokens that only tests compile
    in_test: Vec<bool>,
    /// Line of the first `#[cfg(test)]`
    pub(crate) first_test_line: Option<usize>,
    /// Modules declared as `#[cfg(test)] mod name;`
    pub(crate) test_modules: Vec<String>,
}

impl Source {
    pub(crate) fn parse(path: impl Into<String>, text: impl Into<String>) -> Result<Self> {
        let (path, text) = (path.into(), text.into());
        let stream = TokenStream::from_str(&text)
            .map_err(|error| anyhow!("{path}: not Rust as far as we can read it: {error}"))?;
        let mut source = Source {
            path,
            text,
            tokens: Vec::new(),
            lines: Vec::new(),
            in_test: Vec::new(),
            first_test_line: None,
            test_modules: Vec::new(),
        };
        source.flatten(stream);
        source.in_test = vec![false; source.tokens.len()];
        source.mark_tests();
        Ok(source)
    }

    fn push(&mut self, token: Token, line: usize) {
        self.tokens.push(token);
        self.lines.push(line);
    }

    fn flatten(&mut self, stream: TokenStream) {
        for tree in stream {
            match tree {
                TokenTree::Ident(ident) => {
                    let line = ident.span().start().line;
                    let text = ident.to_string();
                    self.push(Token::Ident(text.trim_start_matches("r#").to_owned()), line);
                }
                TokenTree::Punct(punct) => {
                    self.push(Token::Punct(punct.as_char()), punct.span().start().line);
                }
                TokenTree::Literal(literal) => {
                    let line = literal.span().start().line;
                    self.push(Token::Literal(literal.to_string()), line);
                }
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ('(', ')'),
                        Delimiter::Brace => ('{', '}'),
                        Delimiter::Bracket => ('[', ']'),
                        Delimiter::None => {
                            self.flatten(group.stream());
                            continue;
                        }
                    };
                    let at = self.tokens.len();
                    self.push(Token::Open(open, 0), group.span_open().start().line);
                    self.flatten(group.stream());
                    self.push(Token::Close(close), group.span_close().start().line);
                    self.tokens[at] = Token::Open(open, self.tokens.len() - 1);
                }
            }
        }
    }

    /// Find what `#[cfg(test)]` covers: the whole file, or the item after it.
    fn mark_tests(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            let inner = self.is_punct(at + 1, '!');
            let open = at + 1 + usize::from(inner);
            let attribute = self.is_punct(at, '#') && matches!(self.open(open), Some(('[', _)));
            if !attribute || !self.is_test_cfg(open) {
                at += 1;
                continue;
            }
            self.first_test_line.get_or_insert(self.lines[at]);
            let end = if inner {
                self.tokens.len() - 1
            } else {
                self.item_end(open)
            };
            self.in_test[at..=end].fill(true);
            at = end + 1;
        }
    }

    /// Whether the attribute that opens here is `cfg(test)` or `cfg(all(test, …))`.
    fn is_test_cfg(&self, open: usize) -> bool {
        let word = |at: usize, word: &str| self.ident(at) == Some(word);
        let cfg = word(open + 1, "cfg") && self.open(open + 2).is_some();
        cfg && (word(open + 3, "test")
            || (word(open + 3, "all")
                && self.open(open + 4).is_some_and(|(_, close)| {
                    (open + 5..close).any(|at| word(at, "test") && !word(at - 2, "not"))
                })))
    }

    /// The last token of the item whose attribute opens here.
    fn item_end(&mut self, attribute: usize) -> usize {
        let last = self.tokens.len() - 1;
        let mut at = self.open(attribute).map_or(last, |(_, close)| close + 1);
        let mut keyword = None;
        while at <= last {
            match &self.tokens[at] {
                Token::Ident(word) if keyword.is_none() && ITEM_WORDS.contains(&word.as_str()) => {
                    keyword = Some(word.clone());
                    if word == "mod" && self.is_punct(at + 2, ';') {
                        let name = self.ident(at + 1).unwrap_or_default().to_owned();
                        self.test_modules.push(name);
                    }
                }
                Token::Punct(';') => return at,
                Token::Punct(',') if keyword.is_none() => return at,
                Token::Open(bracket, close) => {
                    let body = *bracket == '{'
                        && !matches!(keyword.as_deref(), Some("use" | "static" | "const"));
                    if body {
                        return *close;
                    }
                    at = *close;
                }
                _ => {}
            }
            at += 1;
        }
        last
    }

    pub(crate) fn line(&self, at: usize) -> usize {
        self.lines.get(at).copied().unwrap_or(1)
    }

    pub(crate) fn is_test(&self, at: usize) -> bool {
        self.in_test.get(at).copied().unwrap_or(false)
    }

    pub(crate) fn ident(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at) {
            Some(Token::Ident(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_punct(&self, at: usize, punct: char) -> bool {
        self.tokens.get(at) == Some(&Token::Punct(punct))
    }

    /// The bracket that opens here, and where it closes.
    pub(crate) fn open(&self, at: usize) -> Option<(char, usize)> {
        match self.tokens.get(at) {
            Some(&Token::Open(bracket, close)) => Some((bracket, close)),
            _ => None,
        }
    }

    fn is_colons(&self, at: usize) -> bool {
        self.is_punct(at, ':') && self.is_punct(at + 1, ':')
    }

    /// Lines before the first test.
    pub(crate) fn body_lines(&self) -> usize {
        self.first_test_line
            .map_or_else(|| self.text.lines().count(), |line| line - 1)
    }

    /// Every path outside tests.
    pub(crate) fn paths(&self) -> Vec<NamedPath> {
        let inline = self.inline_modules();
        let mut paths = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            if self.is_test(at) {
                at += 1;
                continue;
            }
            let inline_depth = inline.iter().filter(|range| range.contains(&at)).count();
            if self.starts_use(at) {
                let public = self.is_public(at);
                let end = self.use_tree(at + 1, &[], public, inline_depth, &mut paths);
                at = end;
                continue;
            }
            let Some(first) = self.ident(at) else {
                at += 1;
                continue;
            };
            let line = self.line(at);
            let mut segments = vec![first.to_owned()];
            at += 1;
            while self.is_colons(at) {
                let Some(next) = self.ident(at + 2) else {
                    break;
                };
                segments.push(next.to_owned());
                at += 3;
            }
            paths.push(NamedPath {
                segments,
                line,
                place: Place::Code,
                inline_depth,
            });
        }
        paths
    }

    fn starts_use(&self, at: usize) -> bool {
        let item_may_start = at == 0
            || matches!(
                self.tokens[at - 1],
                Token::Punct(';') | Token::Close(_) | Token::Open('{', _)
            )
            || self.ident(at - 1) == Some("pub");
        self.ident(at) == Some("use") && item_may_start && !self.is_punct(at + 1, '<')
    }

    fn is_public(&self, at: usize) -> bool {
        at > 0
            && (self.ident(at - 1) == Some("pub")
                || (self.tokens[at - 1] == Token::Close(')')
                    && (0..at)
                        .rev()
                        .find(|&i| self.open(i) == Some(('(', at - 1)))
                        .is_some_and(|open| open > 0 && self.ident(open - 1) == Some("pub"))))
    }

    /// Read one branch of a `use` and answer with the index after it.
    fn use_tree(
        &self,
        mut at: usize,
        prefix: &[String],
        public: bool,
        inline_depth: usize,
        paths: &mut Vec<NamedPath>,
    ) -> usize {
        let line = self.line(at);
        let mut segments = prefix.to_vec();
        if self.is_colons(at) {
            at += 2;
        }
        loop {
            if let Some(('{', close)) = self.open(at) {
                let mut inside = at + 1;
                while inside < close {
                    inside = self.use_tree(inside, &segments, public, inline_depth, paths);
                    inside += usize::from(self.is_punct(inside, ','));
                }
                return close + 1;
            }
            match self.tokens.get(at) {
                Some(Token::Ident(word)) if word == "self" && !segments.is_empty() => {}
                Some(Token::Ident(word)) => segments.push(word.clone()),
                Some(Token::Punct('*')) => segments.push("*".to_owned()),
                _ => return at + 1,
            }
            at += 1;
            if !self.is_colons(at) {
                break;
            }
            at += 2;
        }
        let mut name = segments.last().cloned().unwrap_or_default();
        if self.ident(at) == Some("as") {
            name = self.ident(at + 1).unwrap_or_default().to_owned();
            at += 2;
        }
        paths.push(NamedPath {
            segments,
            line,
            place: Place::Use { name, public },
            inline_depth,
        });
        at
    }

    fn inline_modules(&self) -> Vec<std::ops::RangeInclusive<usize>> {
        (0..self.tokens.len())
            .filter(|&at| self.ident(at) == Some("mod") && self.ident(at + 1).is_some())
            .filter_map(|at| match self.open(at + 2) {
                Some(('{', close)) => Some(at + 2..=close),
                _ => None,
            })
            .collect()
    }

    /// Names after `mod`, whether they stand in a file of their own or not.
    pub(crate) fn declared_modules(&self) -> Vec<String> {
        (0..self.tokens.len())
            .filter(|&at| self.ident(at) == Some("mod") && !self.is_test(at))
            .filter_map(|at| self.ident(at + 1).map(str::to_owned))
            .collect()
    }

    /// Functions with a body, outside tests.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        for at in 0..self.tokens.len() {
            let (Some("fn"), Some(name), false) =
                (self.ident(at), self.ident(at + 1), self.is_test(at))
            else {
                continue;
            };
            let mut i = at + 2;
            while i < self.tokens.len() && !self.is_punct(i, ';') {
                match self.open(i) {
                    Some(('{', close)) => {
                        let (open_line, last_line) = (self.line(i), self.line(close));
                        functions.push(Function {
                            name: name.to_owned(),
                            first_line: self.line(at),
                            last_line,
                            body_lines: (last_line - open_line).saturating_sub(1),
                        });
                        break;
                    }
                    Some((_, close)) => i = close + 1,
                    None => i += 1,
                }
            }
        }
        functions
    }

    /// Names of methods called outside tests, with their lines.
    pub(crate) fn method_calls(&self) -> Vec<(&str, usize)> {
        (1..self.tokens.len())
            .filter(|&at| self.is_punct(at - 1, '.') && !self.is_test(at))
            .filter(|&at| matches!(self.open(at + 1), Some(('(', _))) || self.is_colons(at + 1))
            .filter_map(|at| Some((self.ident(at)?, self.line(at))))
            .collect()
    }
}

/// Words that begin an item; what follows `#[cfg(test)]` ends where that item ends.
const ITEM_WORDS: &[&str] = &[
    "mod",
    "fn",
    "use",
    "impl",
    "struct",
    "enum",
    "union",
    "trait",
    "static",
    "const",
    "type",
    "macro_rules",
    "let",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let source = Source::parse("a.rs", text).unwrap();
        let paths: Vec<String> = source
            .paths()
            .iter()
            .filter(|path| path.segments.len() > 1)
            .map(|path| path.segments.join("::"))
            .collect();
        assert_eq!(paths, expected, "{text}");
    }

    #[test]
    fn paths_are_whole() {
        check(
            "use std::{fs, io::{self, Read}};",
            &["std::fs", "std::io", "std::io::Read"],
        );
        check(
            "fn f() { std::fs::read(\"std::net\"); } // std::env",
            &["std::fs::read"],
        );
        check("fn f() { vec![crate::a::b::<u8>(1)] }", &["crate::a::b"]);
        check("pub use self::a::B as C;", &["self::a::B"]);
        check("use tokio::*;", &["tokio::*"]);
        check("fn f() -> impl A + use<'_> { x::y }", &["x::y"]);
        check(
            "#[cfg(test)] mod tests { use std::fs; } use a::b;",
            &["a::b"],
        );
        check("#[cfg(test)] use std::{fs, net}; use a::b;", &["a::b"]);
        check(
            "#[cfg(all(test, unix))] fn f<A, B>() { c::d } use a::b;",
            &["a::b"],
        );
        check("#[cfg(all(not(test), unix))] fn f() { c::d }", &["c::d"]);
        check("#[cfg(any(test, unix))] fn f() { c::d }", &["c::d"]);
        check("#![cfg(test)] use a::b;", &[]);
        check("struct S { #[cfg(test)] a: b::C, d: e::F }", &["e::F"]);
    }

    #[test]
    fn functions_have_lengths() {
        let text = "trait T { fn a(&self); }\nfn b(f: fn(u8)) -> [u8; 2]\n{\n  1;\n  2;\n}\n";
        let functions = Source::parse("a.rs", text).unwrap().functions();
        assert_eq!(functions.len(), 1);
        assert_eq!(
            (
                functions[0].name.as_str(),
                functions[0].first_line,
                functions[0].body_lines
            ),
            ("b", 2, 2)
        );
    }

    #[test]
    fn test_modules_in_their_own_file_are_known() {
        let source = Source::parse("a.rs", "#[cfg(test)]\nmod cases;\nmod other;").unwrap();
        assert_eq!(source.test_modules, ["cases"]);
        assert_eq!(source.declared_modules(), ["other"]);
    }
}
