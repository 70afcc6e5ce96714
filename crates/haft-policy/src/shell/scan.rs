//! The scanner: walks a line once and lists its simple commands. It knows enough of the grammar
//! to find every place where a command can stand, and marks all that is not plain; it does not
//! check that the line is well formed.

use super::{Command, MAX_COMMANDS, MAX_DEPTH, NotPlain, Redirect, Script, Word, is_invisible};

/// Words that the shell itself understands where a command would stand, after which another
/// command can stand.
const OPENERS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "{", "}", "!", "time",
    "coproc", "esac", "always",
];

pub(super) struct Scanner<'a> {
    pub(super) line: &'a str,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) script: Script,
    heredocs: Vec<Heredoc>,
    /// Variables set to plain text in this line
    pub(super) variables: Vec<(String, String)>,
    /// Functions that this line has defined
    functions: Vec<String>,
}

struct Heredoc {
    end: String,
    /// The end word was quoted: the body is taken as it stands
    verbatim: bool,
    strip_tabs: bool,
}

pub(super) fn scan(line: &str, depth: usize) -> Script {
    let mut scanner = Scanner {
        line,
        at: 0,
        depth,
        script: Script::default(),
        heredocs: Vec::new(),
        variables: given(),
        functions: Vec::new(),
    };
    if let Some(offset) = line.find(is_invisible) {
        scanner.script.not_plain = Some(NotPlain {
            offset,
            why: "a character that cannot be seen",
        });
    }
    scanner.commands(Closing::EndOfLine);
    scanner.script
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    EndOfLine,
    Parenthesis,
}

impl<'a> Scanner<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.line[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    pub(super) fn not_plain(&mut self, why: &'static str) {
        let offset = self.at;
        self.script
            .not_plain
            .get_or_insert(NotPlain { offset, why });
    }

    fn blanks(&mut self) {
        while self.eat(" ") || self.eat("\t") || self.eat("\\\n") {}
    }

    /// Everything up to the closing: one simple command after the other.
    pub(super) fn commands(&mut self, closing: Closing) {
        if self.depth > MAX_DEPTH {
            self.script.over = Some("the line is nested too deeply");
            self.at = self.line.len();
            return;
        }
        let mut command = Command::default();
        loop {
            self.blanks();
            if self.script.over.is_some() {
                return;
            }
            let Some(c) = self.peek() else {
                if closing == Closing::Parenthesis {
                    self.not_plain("a parenthesis that is never closed");
                }
                break;
            };
            match c {
                '\n' => {
                    self.next();
                    self.finish(&mut command, false);
                    self.bodies();
                }
                '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                ';' | '|' => self.separator(&mut command),
                '&' if !self.rest().starts_with("&>") => self.separator(&mut command),
                '<' | '>' | '&' => self.redirect(&mut command),
                '(' => self.parenthesis(&mut command),
                ')' => {
                    self.next();
                    if closing == Closing::Parenthesis {
                        break;
                    }
                    // The end of a pattern of `case`: what stood before it is no command.
                    self.not_plain("a closing parenthesis");
                    command = Command::default();
                }
                _ => self.command_word(&mut command),
            }
        }
        self.finish(&mut command, false);
    }

    fn separator(&mut self, command: &mut Command) {
        let mut piped = false;
        if self.eat(";") {
            if self.eat(";&") || self.eat(";") || self.eat("&") {
                self.not_plain("a branch of `case`");
            }
        } else if self.eat("||") || self.eat("&&") {
        } else if self.eat("|&") || self.eat("|") {
            piped = true;
        } else {
            self.eat("&");
            self.eat("!");
        }
        self.finish(command, piped);
    }

    /// Put the command on the list and start the next one.
    fn finish(&mut self, command: &mut Command, next_is_piped: bool) {
        let done = std::mem::take(command);
        command.piped = next_is_piped;
        if done.words.is_empty() && done.redirects.is_empty() {
            return;
        }
        if let Some(first) = done.words.first()
            && !first.quoted
            && matches!(first.text.as_str(), "for" | "select" | "case" | "foreach")
        {
            self.note_variables(&done);
            return;
        }
        self.note_variables(&done);
        for opened in self.put_together(&done) {
            self.push(opened);
        }
        self.push(done);
    }

    fn push(&mut self, command: Command) {
        if self.script.commands.len() >= MAX_COMMANDS {
            self.script.over = Some("the line has more than 256 commands");
            return;
        }
        // `f | f` in a line that defines `f`.
        let program = |command: &Command| command.words.first().map(|word| word.text.clone());
        let before = self.script.commands.last().and_then(program);
        let name = program(&command);
        self.script.bomb |= command.piped
            && name == before
            && name.is_some_and(|name| self.functions.contains(&name));
        self.script.commands.push(command);
    }

    fn parenthesis(&mut self, command: &mut Command) {
        self.not_plain("a parenthesis");
        self.next();
        self.blanks();
        if command.words.len() == 1 && self.eat(")") {
            // A function: its body is a command of its own.
            let name = command.words.first().map(|word| word.text.clone());
            self.functions.extend(name);
            *command = Command::default();
            return;
        }
        self.depth += 1;
        self.commands(Closing::Parenthesis);
        self.depth -= 1;
    }

    fn command_word(&mut self, command: &mut Command) {
        let start = self.at;
        let word = self.word();
        let descriptor = !word.quoted
            && !word.text.is_empty()
            && word.text.bytes().all(|byte| byte.is_ascii_digit())
            && matches!(self.peek(), Some('<' | '>'));
        if descriptor {
            return;
        }
        if self.at == start {
            // Never stand still, whatever the line holds.
            self.next();
            return;
        }
        if command.words.is_empty() && self.is_syntax(&word) {
            return;
        }
        if command.words.is_empty() && word.glob {
            self.not_plain("a program named by a glob");
        }
        command.words.push(word);
    }

    /// Whether a word in front of a command belongs to the shell: a keyword or an assignment.
    fn is_syntax(&mut self, word: &Word) -> bool {
        if !word.quoted && OPENERS.contains(&word.text.as_str()) {
            self.not_plain("a keyword of the shell");
            if word.text == "time" {
                self.blanks();
                while self.eat("-p") || self.eat("--") {
                    self.blanks();
                }
            }
            return true;
        }
        if !word.quoted && word.text == "function" {
            self.not_plain("a function");
            self.blanks();
            let name = self.word();
            self.functions.push(name.text);
            self.blanks();
            self.eat("()");
            return true;
        }
        if !word.quoted
            && matches!(
                word.text.as_str(),
                "for" | "select" | "case" | "foreach" | "[["
            )
        {
            self.not_plain("a keyword of the shell");
        }
        if let Some((name, value)) = word.text.split_once('=')
            && is_name(name.split('[').next().unwrap_or(name).trim_end_matches('+'))
        {
            self.not_plain("a variable set in front");
            if word.exact {
                self.set(name, value);
            }
            return true;
        }
        false
    }

    fn redirect(&mut self, command: &mut Command) {
        if self.rest().starts_with("<(") || self.rest().starts_with(">(") {
            let start = self.at;
            self.at += 2;
            self.not_plain("a process substitution");
            self.depth += 1;
            self.commands(Closing::Parenthesis);
            self.depth -= 1;
            command.words.push(Word {
                text: self.line[start..self.at].to_owned(),
                ..Word::default()
            });
            return;
        }
        if self.eat("<<<") {
            self.not_plain("a here-string");
            self.blanks();
            let word = self.word();
            self.script.stdin.push(word.text);
            return;
        }
        if self.eat("<<-") || self.eat("<<") {
            let strip_tabs = self.line[..self.at].ends_with('-');
            self.not_plain("a here-document");
            self.blanks();
            let end = self.word();
            self.heredocs.push(Heredoc {
                verbatim: end.quoted,
                end: end.text,
                strip_tabs,
            });
            return;
        }
        let write = !self.rest().starts_with('<') || self.rest().starts_with("<>");
        let copies = self.rest().starts_with(">&") || self.rest().starts_with("<&");
        while matches!(self.peek(), Some('<' | '>' | '&' | '|')) {
            self.next();
        }
        if self.eat("!") {
            // To some shells part of the operator, to others part of the name.
            self.not_plain("a redirection with `!`");
        }
        self.blanks();
        let target = self.word();
        let descriptor = target.text.trim_end_matches('-');
        if copies && descriptor.bytes().all(|byte| byte.is_ascii_digit()) {
            return;
        }
        if target.text.is_empty() || !target.exact || target.glob {
            self.not_plain("a redirection to a name that is not plain");
        }
        command.redirects.push(Redirect { write, target });
    }

    /// The bodies of here-documents, which start at a new line.
    fn bodies(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let mut body = String::new();
            while self.at < self.line.len() {
                let rest = self.rest();
                let line = rest.split('\n').next().unwrap_or(rest);
                self.at = (self.at + line.len() + 1).min(self.line.len());
                let line = if heredoc.strip_tabs {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                if line == heredoc.end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            if !heredoc.verbatim {
                self.nested_text(&body);
            }
            self.script.stdin.push(body);
        }
    }
}

pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What a shell has set before the line begins.
fn given() -> Vec<(String, String)> {
    [
        ("HOME", "~"),
        ("SHELL", "sh"),
        ("BASH", "bash"),
        ("0", "sh"),
        ("IFS", " "),
        ("PWD", "."),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}
