//! Scripts of sed: which files they read and write besides those on the command line.

use super::{Opened, Opens, Rest};

pub(super) fn opened(script: &str) -> Opened<'_> {
    let mut rest = Rest(script);
    let mut found = Vec::new();
    loop {
        rest.take(|c| c.is_whitespace() || ";{}".contains(c));
        if rest.peek() == Some('#') {
            rest.take(|c| c != '\n');
            continue;
        }
        addresses(&mut rest)?;
        let Some(command) = rest.next() else {
            return Some(found);
        };
        match command {
            '{' | '}' => {}
            's' => {
                parts(&mut rest)?;
                rest.take(|c| c.is_ascii_digit() || "gpiImM".contains(c));
                match rest.peek() {
                    Some('w') => {
                        rest.next();
                        found.push((file(&mut rest)?, Opens::Writing));
                    }
                    Some('e') => return None,
                    _ => {}
                }
            }
            'y' => parts(&mut rest)?,
            'w' | 'W' => found.push((file(&mut rest)?, Opens::Writing)),
            'r' | 'R' => found.push((file(&mut rest)?, Opens::Reading)),
            'a' | 'i' | 'c' => text(&mut rest),
            ':' | 'b' | 't' | 'T' => {
                rest.take(|c| c == ' ');
                rest.take(|c| !c.is_whitespace() && !";}".contains(c));
            }
            'q' | 'Q' | 'l' | 'L' => drop(rest.take(|c| c == ' ' || c.is_ascii_digit())),
            c if "=dDgGhHnNpPxzF".contains(c) => {}
            // To run something, or nothing that sed knows.
            _ => return None,
        }
    }
}

/// One or two places before a command.
fn addresses(rest: &mut Rest<'_>) -> Option<()> {
    address(rest)?;
    rest.take(char::is_whitespace);
    if rest.peek() == Some(',') {
        rest.next();
        rest.take(char::is_whitespace);
        rest.take(|c| "+~".contains(c));
        address(rest)?;
    }
    rest.take(|c| c.is_whitespace() || c == '!');
    Some(())
}

fn address(rest: &mut Rest<'_>) -> Option<()> {
    match rest.peek() {
        Some(c) if c.is_ascii_digit() => drop(rest.take(|c| c.is_ascii_digit() || c == '~')),
        Some('$') => drop(rest.next()),
        Some(c @ ('/' | '\\')) => {
            rest.next();
            let end = if c == '/' { c } else { rest.next()? };
            rest.part(end, true)?;
            rest.take(|c| "IM".contains(c));
        }
        _ => {}
    }
    Some(())
}

/// A pattern and what comes in its place.
fn parts(rest: &mut Rest<'_>) -> Option<()> {
    let end = rest.next().filter(|c| !"\\\n".contains(*c))?;
    rest.part(end, true)?;
    rest.part(end, false)
}

/// The rest of the line is a name.
fn file<'s>(rest: &mut Rest<'s>) -> Option<&'s str> {
    rest.take(|c| c == ' ' || c == '\t');
    Some(rest.take(|c| c != '\n')).filter(|name| !name.is_empty())
}

/// Lines of text, each but the last with a backslash at its end.
fn text(rest: &mut Rest<'_>) {
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            '\n' => return,
            _ => {}
        }
    }
}
