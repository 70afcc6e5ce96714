//! Words: quotes, escapes and expansions. Commands inside an expansion are scanned too.

use super::scan::{Closing, Scanner, scan};
use super::{MAX_COMMANDS, Script, Word};

/// Most characters after a brace that are looked at.
const LONGEST_GROUP: usize = 200;

/// Whether quotes are around the place looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Double,
}

impl Word {
    fn push(&mut self, c: char) {
        self.text.push(c);
        self.stripped.push(c);
    }

    /// Something the shell replaces; nobody here knows by what.
    fn push_unknown(&mut self, source: &str) {
        self.text.push_str(source);
        self.exact = false;
    }
}

impl Scanner<'_> {
    /// One word, up to a blank or an operator.
    pub(super) fn word(&mut self) -> Word {
        let mut word = Word {
            exact: true,
            ..Word::default()
        };
        let start = self.at;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\'' => self.single(&mut word),
                '"' => self.double(&mut word),
                '\\' => self.escape(&mut word),
                '$' => self.dollar(&mut word, Quotes::None),
                '`' => self.backquote(&mut word),
                '*' | '?' | '[' => {
                    word.glob = true;
                    word.push(c);
                    self.next();
                }
                '{' => {
                    word.braces |= self.brace();
                    word.push(c);
                    self.next();
                }
                '~' | '=' if self.at == start => {
                    self.not_plain("a word that starts with `~` or `=`");
                    word.push(c);
                    self.next();
                }
                _ => {
                    word.push(c);
                    self.next();
                }
            }
        }
        word
    }

    fn single(&mut self, word: &mut Word) {
        word.quoted = true;
        self.next();
        loop {
            match self.next() {
                Some('\'') => return,
                Some(c) => word.push(c),
                None => return self.not_plain("a quote that is never closed"),
            }
        }
    }

    fn double(&mut self, word: &mut Word) {
        word.quoted = true;
        self.next();
        loop {
            match self.peek() {
                None => return self.not_plain("a quote that is never closed"),
                Some('"') => {
                    self.next();
                    return;
                }
                Some('$') => self.dollar(word, Quotes::Double),
                Some('`') => self.backquote(word),
                Some('\\') => {
                    self.next();
                    match self.peek() {
                        Some('\n') => {
                            self.next();
                        }
                        Some(c @ ('$' | '`' | '"' | '\\')) => {
                            word.push(c);
                            self.next();
                        }
                        _ => word.push('\\'),
                    }
                }
                Some(c) => {
                    word.push(c);
                    self.next();
                }
            }
        }
    }

    fn escape(&mut self, word: &mut Word) {
        self.next();
        match self.next() {
            Some('\n') => {}
            Some(c) => {
                word.quoted = true;
                word.push(c);
            }
            None => self.not_plain("a backslash at the end"),
        }
    }

    /// `{a,b}` and `{1..9}` are expanded; `{}` and `@{1}` are not. A group that is too long to
    /// look through at every brace is taken for an expansion.
    fn brace(&mut self) -> bool {
        let group: Vec<char> = self
            .rest()
            .chars()
            .take_while(|c| !c.is_whitespace())
            .take(LONGEST_GROUP)
            .collect();
        let expands = group.len() == LONGEST_GROUP
            || group.contains(&',')
            || group.windows(2).any(|two| two == ['.', '.']);
        if expands {
            self.not_plain("a brace expansion");
        }
        expands
    }

    fn dollar(&mut self, word: &mut Word, quotes: Quotes) {
        let start = self.at;
        let following = self.rest().chars().nth(1);
        match following {
            Some('(') => {
                self.not_plain("a command substitution");
                self.at += 2;
                self.depth += 1;
                self.commands(Closing::Parenthesis);
                self.depth -= 1;
            }
            Some('{') => {
                self.not_plain("an expansion");
                self.parameter();
            }
            Some('\'') if quotes == Quotes::None => {
                self.not_plain("a quoted string with escapes");
                self.at += 2;
                word.quoted = true;
                return self.ansi(word);
            }
            Some('"') if quotes == Quotes::None => {
                self.not_plain("a translated string");
                self.next();
                return;
            }
            Some('[') => {
                self.not_plain("an arithmetic expansion");
                self.at += 2;
            }
            Some(c) if c.is_alphanumeric() || c == '_' => {
                self.not_plain("a variable");
                self.next();
                while self
                    .peek()
                    .is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
                {
                    self.next();
                }
            }
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!') => {
                self.not_plain("a variable");
                self.at += 2;
            }
            _ => {
                word.push('$');
                self.next();
                return;
            }
        }
        if self.at == start {
            self.next();
        }
        let source = self.line[start..self.at].to_owned();
        word.push_unknown(&source);
    }

    /// `${…}`, with whatever is nested in it.
    fn parameter(&mut self) {
        self.at += 2;
        self.depth += 1;
        let mut ignored = Word::default();
        while self.depth <= super::MAX_DEPTH {
            match self.peek() {
                None => {
                    self.not_plain("a brace that is never closed");
                    break;
                }
                Some('}') => {
                    self.next();
                    break;
                }
                Some('"') => self.double(&mut ignored),
                Some('$') => self.dollar(&mut ignored, Quotes::None),
                Some('`') => self.backquote(&mut ignored),
                Some('\\') => {
                    self.next();
                    self.next();
                }
                Some(_) => {
                    self.next();
                }
            }
        }
        if self.depth > super::MAX_DEPTH {
            self.script.over = Some("the line is nested too deeply");
            self.at = self.line.len();
        }
        self.depth -= 1;
    }

    /// `$'…'`: the shell knows what it says, and so do we.
    fn ansi(&mut self, word: &mut Word) {
        loop {
            match self.next() {
                None => return self.not_plain("a quote that is never closed"),
                Some('\'') => return,
                Some('\\') => match self.next() {
                    Some('n') => word.push('\n'),
                    Some('t') => word.push('\t'),
                    Some('x') => self.code(word, 16, 2),
                    Some('u') => self.code(word, 16, 4),
                    Some('U') => self.code(word, 16, 8),
                    Some('0'..='7') => {
                        self.at -= 1;
                        self.code(word, 8, 3);
                    }
                    Some(c) => word.push(c),
                    None => {}
                },
                Some(c) => word.push(c),
            }
        }
    }

    fn code(&mut self, word: &mut Word, radix: u32, digits: usize) {
        let mut value = 0;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) else {
                break;
            };
            value = value * radix + digit;
            self.next();
        }
        if let Some(c) = char::from_u32(value) {
            word.push(c);
        }
    }

    fn backquote(&mut self, word: &mut Word) {
        self.not_plain("a command substitution");
        let start = self.at;
        self.next();
        let mut inside = String::new();
        loop {
            match self.next() {
                None => {
                    self.not_plain("a backquote that is never closed");
                    break;
                }
                Some('`') => break,
                Some('\\') => match self.next() {
                    Some(c @ ('`' | '\\' | '$')) => inside.push(c),
                    Some(c) => inside.extend(['\\', c]),
                    None => {}
                },
                Some(c) => inside.push(c),
            }
        }
        let script = scan(&inside, self.depth + 1);
        self.absorb(script);
        let source = self.line[start..self.at].to_owned();
        word.push_unknown(&source);
    }

    /// Text in which only expansions count, such as the body of a here-document.
    pub(super) fn nested_text(&mut self, text: &str) {
        let quoted = format!("\"{}\"", text.replace('"', "\\\""));
        let script = scan(&format!(": {quoted}"), self.depth + 1);
        self.absorb(script);
    }

    pub(super) fn absorb(&mut self, script: Script) {
        self.script.over = self.script.over.or(script.over);
        self.script.bomb |= script.bomb;
        if let Some(inner) = script.not_plain {
            self.not_plain(inner.why);
        }
        self.script.stdin.extend(script.stdin);
        self.script.commands.extend(script.commands);
        if self.script.commands.len() > MAX_COMMANDS {
            self.script.over = Some("the line has more than 256 commands");
        }
    }
}
