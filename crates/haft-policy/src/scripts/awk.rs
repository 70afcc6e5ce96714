//! Scripts of awk: where their `print` goes. Whatever could be read in two ways is not understood,
//! or a string that only looks like one could hide what comes after it.

use super::{Opened, Opens, Rest};

/// What stands before: it decides whether `/` begins a pattern or divides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Operator,
    Value,
    Unclear,
}

/// Words after which a value comes.
const KEYWORDS: &[&str] = &[
    "return", "in", "case", "else", "do", "delete", "exit", "if", "while", "for", "switch",
];

pub(super) fn opened(script: &str) -> Opened<'_> {
    let mut rest = Rest(script);
    let mut found = Vec::new();
    let mut before = Before::Operator;
    let mut depth = 0_i32;
    // How deep in brackets a `print` stands that goes on.
    let mut printing = None;
    let mut last = ' ';
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' | '\r' => continue,
            '#' => {
                rest.take(|c| c != '\n');
                continue;
            }
            '\\' if rest.peek() == Some('\n') => {
                rest.next();
                continue;
            }
            // After these a line goes on.
            '\n' if ",&|".contains(last) => continue,
            '\n' | ';' | '{' | '}' => (printing, before) = (None, Before::Operator),
            '"' => {
                rest.part('"', false)?;
                before = Before::Value;
            }
            '/' => before = slash(&mut rest, before)?,
            c if c.is_ascii_alphabetic() || c == '_' => {
                let begun = script.len() - rest.0.len() - 1;
                rest.take(|c| c.is_ascii_alphanumeric() || c == '_');
                before = match word(&script[begun..script.len() - rest.0.len()])? {
                    Word::Print => {
                        printing = Some(depth);
                        Before::Operator
                    }
                    Word::Other(before) => before,
                };
            }
            c if c.is_ascii_digit() || c == '.' => {
                rest.take(|c| c.is_ascii_alphanumeric() || c == '.');
                before = Before::Value;
            }
            '(' | '[' => (depth, before) = (depth + 1, Before::Operator),
            ')' => (depth, before) = (depth - 1, Before::Unclear),
            ']' => (depth, before) = (depth - 1, Before::Value),
            '+' | '-' if rest.peek() == Some(c) => {
                rest.next();
                before = Before::Unclear;
            }
            '|' if rest.peek() == Some('|') => {
                rest.next();
                before = Before::Operator;
            }
            '>' if printing == Some(depth) => {
                found.push((target(&mut rest)?, Opens::Writing));
                printing = None;
            }
            c if "$!~=<>*%^?:,&+-".contains(c) => before = Before::Operator,
            // A pipe, a library, or nothing that awk knows.
            _ => return None,
        }
        last = c;
    }
    Some(found)
}

enum Word {
    Print,
    Other(Before),
}

/// What a word does.
fn word(name: &str) -> Option<Word> {
    Some(match name {
        "print" | "printf" => Word::Print,
        "system" => return None,
        "getline" => Word::Other(Before::Unclear),
        name if KEYWORDS.contains(&name) => Word::Other(Before::Operator),
        _ => Word::Other(Before::Value),
    })
}

fn slash(rest: &mut Rest<'_>, before: Before) -> Option<Before> {
    match before {
        Before::Value => Some(Before::Operator),
        Before::Unclear => None,
        Before::Operator => {
            let pattern = rest.0;
            rest.part('/', true)?;
            let pattern = &pattern[..pattern.len() - rest.0.len()];
            (!pattern.contains('\n')).then_some(Before::Value)
        }
    }
}

/// What stands behind `>`, if that is a plain string and nothing is joined to it.
fn target<'s>(rest: &mut Rest<'s>) -> Option<&'s str> {
    rest.take(|c| c == '>');
    rest.take(|c| c == ' ' || c == '\t');
    if rest.next() != Some('"') {
        return None;
    }
    let name = rest.take(|c| !"\"\\\n".contains(c));
    if name.is_empty() || rest.next() != Some('"') {
        return None;
    }
    rest.take(|c| c == ' ' || c == '\t');
    let ends = rest.peek().is_none_or(|c| ";}\n#".contains(c));
    ends.then_some(name)
}
