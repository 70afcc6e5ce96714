//! The pieces that globs on paths are made of, how a text is read by them, and whether two globs
//! have a path in common. What a pattern means as a rule is in `path`, what a word means to a
//! shell is in `glob`.

use std::collections::HashSet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    One(char),
    /// `?`
    Any,
    /// `*`: anything within a name
    Star,
    /// `**`: anything
    Everything,
    /// `**/`: no folder or several, up to a slash
    Folders,
    /// Not followed by a dot; only in what a shell is given, whose `*` finds no hidden name
    Shown,
    Class {
        not: bool,
        ranges: Vec<(char, char)>,
    },
}

/// The path as a pattern that means exactly this path.
pub(crate) fn escape(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Where the pattern can stand after some text. `inside` marks `**/` in the middle of a name,
/// from where it cannot yet be left.
pub(crate) struct States {
    pub(crate) fresh: Vec<bool>,
    inside: Vec<bool>,
}

impl States {
    pub(crate) fn alive(&self) -> bool {
        self.fresh.iter().chain(&self.inside).any(|&state| state)
    }

    fn clear(&mut self) {
        self.fresh.fill(false);
        self.inside.fill(false);
    }

    fn close(&mut self, tokens: &[Token]) {
        for (at, token) in tokens.iter().enumerate() {
            if self.fresh[at] && matches!(token, Token::Star | Token::Everything | Token::Folders) {
                self.fresh[at + 1] = true;
            }
        }
    }
}

/// How many tokens at the start stand for one certain character each.
pub(crate) fn literal(tokens: &[Token]) -> usize {
    let is_one = |token: &&Token| matches!(token, Token::One(_));
    tokens.iter().take_while(is_one).count()
}

/// The literal beginning is compared as it is, which is all there is to do for most paths.
pub(crate) fn states_after(tokens: &[Token], text: &str) -> States {
    let empty = || States {
        fresh: vec![false; tokens.len() + 1],
        inside: vec![false; tokens.len() + 1],
    };
    let mut states = empty();
    let start = literal(tokens);
    let mut rest = text.chars();
    for (at, token) in tokens.iter().take(start).enumerate() {
        match rest.next() {
            None => {
                states.fresh[at] = true;
                return states;
            }
            Some(c) if *token != Token::One(c) => return states,
            Some(_) => {}
        }
    }
    states.fresh[start] = true;
    states.close(tokens);
    let mut next = empty();
    for c in rest {
        next.clear();
        for (at, token) in tokens.iter().enumerate().skip(start) {
            let (fresh, inside) = (states.fresh[at], states.inside[at]);
            if *token == Token::Folders {
                if fresh || inside {
                    next.fresh[at] |= c == '/';
                    next.inside[at] |= c != '/';
                }
                continue;
            }
            if !fresh {
                continue;
            }
            match token {
                Token::One(one) => next.fresh[at + 1] |= *one == c,
                Token::Any => next.fresh[at + 1] |= c != '/',
                Token::Star => next.fresh[at] |= c != '/',
                Token::Everything => next.fresh[at] = true,
                Token::Class { not, ranges } => {
                    let within = ranges.iter().any(|(low, high)| (*low..=*high).contains(&c));
                    next.fresh[at + 1] |= c != '/' && within != *not;
                }
                Token::Folders | Token::Shown => {}
            }
        }
        next.close(tokens);
        std::mem::swap(&mut states, &mut next);
        if !states.alive() {
            break;
        }
    }
    states
}

/// Whether some text fits both. A pair of places, one in each pattern, is looked at once; from
/// there on one character is enough that both take.
pub(crate) fn meet(one: &[Token], other: &[Token]) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![(Spot::START, Spot::START)];
    while let Some((a, b)) = open.pop() {
        if !seen.insert((a, b)) {
            continue;
        }
        if a.is_end(one) && b.is_end(other) {
            return true;
        }
        if let Some(next) = a.skipped(one) {
            open.push((next, b));
        }
        if let Some(next) = b.skipped(other) {
            open.push((a, next));
        }
        let (Some(left), Some(right)) = (one.get(a.at), other.get(b.at)) else {
            continue;
        };
        for c in candidates(left, right) {
            if let (Some(a), Some(b)) = (a.after(left, c), b.after(right, c)) {
                open.push((a, b));
            }
        }
    }
    false
}

/// A place in a pattern; `inside` as in `States`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Spot {
    at: usize,
    inside: bool,
    /// The next character must not be a dot
    shown: bool,
}

impl Spot {
    const START: Spot = Spot {
        at: 0,
        inside: false,
        shown: false,
    };

    fn is_end(self, tokens: &[Token]) -> bool {
        self.at == tokens.len()
    }

    /// The place behind a token that may stand for nothing.
    fn skipped(self, tokens: &[Token]) -> Option<Spot> {
        let shown = match tokens.get(self.at)? {
            Token::Shown => true,
            Token::Star | Token::Everything | Token::Folders if !self.inside => self.shown,
            _ => return None,
        };
        Some(Spot {
            at: self.at + 1,
            inside: false,
            shown,
        })
    }

    fn after(self, token: &Token, c: char) -> Option<Spot> {
        let stay = Spot {
            shown: false,
            ..self
        };
        let next = Spot {
            at: self.at + 1,
            inside: false,
            shown: false,
        };
        if self.shown && c == '.' {
            return None;
        }
        match token {
            Token::One(one) => (*one == c).then_some(next),
            Token::Any => (c != '/').then_some(next),
            Token::Star => (c != '/').then_some(stay),
            Token::Everything => Some(stay),
            Token::Folders => Some(Spot {
                inside: c != '/',
                ..stay
            }),
            Token::Class { .. } => token.takes(c).then_some(next),
            Token::Shown => None,
        }
    }
}

impl Token {
    fn takes(&self, c: char) -> bool {
        match self {
            Token::Class { not, ranges } => {
                let within = ranges.iter().any(|(low, high)| (*low..=*high).contains(&c));
                c != '/' && within != *not
            }
            _ => false,
        }
    }
}

/// Characters of which one is taken by both, if any is: what one of them spells out, else a
/// slash, a letter, and what stands at the edges of a class.
fn candidates(left: &Token, right: &Token) -> Vec<char> {
    for token in [left, right] {
        if let Token::One(c) = token {
            return vec![*c];
        }
    }
    let mut found = vec!['/', 'a', '~'];
    for token in [left, right] {
        if let Token::Class { ranges, .. } = token {
            for &(low, high) in ranges {
                let around = [
                    u32::from(low).checked_sub(1),
                    Some(u32::from(low)),
                    Some(u32::from(high)),
                    u32::from(high).checked_add(1),
                ];
                found.extend(around.into_iter().flatten().filter_map(char::from_u32));
            }
        }
    }
    found
}

pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        match chars[at] {
            '\\' if at + 1 < chars.len() => {
                at += 1;
                tokens.push(Token::One(chars[at]));
            }
            '?' => tokens.push(Token::Any),
            '*' if chars.get(at + 1) == Some(&'*') => {
                while chars.get(at + 1) == Some(&'*') {
                    at += 1;
                }
                let starts = matches!(tokens.last(), None | Some(Token::One('/')));
                if starts && chars.get(at + 1) == Some(&'/') {
                    at += 1;
                    tokens.push(Token::Folders);
                } else {
                    tokens.push(Token::Everything);
                }
            }
            '*' => tokens.push(Token::Star),
            '[' => {
                let (class, end) = class(&chars, at)?;
                tokens.push(class);
                at = end;
            }
            c => tokens.push(Token::One(c)),
        }
        at += 1;
    }
    Ok(tokens)
}

fn class(chars: &[char], open: usize) -> Result<(Token, usize), String> {
    let mut at = open + 1;
    let not = matches!(chars.get(at), Some('!' | '^'));
    if not {
        at += 1;
    }
    let first = at;
    let mut ranges = Vec::new();
    loop {
        match chars.get(at) {
            None => return Err("`[` is never closed".to_owned()),
            Some(']') if at > first => return Ok((Token::Class { not, ranges }, at)),
            Some(&low) => match (chars.get(at + 1), chars.get(at + 2)) {
                (Some('-'), Some(&high)) if high != ']' => {
                    ranges.push((low, high));
                    at += 3;
                }
                _ => {
                    ranges.push((low, low));
                    at += 1;
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_globs_with_a_path_in_common() {
        let check = |one: &str, other: &str, expected: bool| {
            let (a, b) = (tokens(one).unwrap(), tokens(other).unwrap());
            assert_eq!(meet(&a, &b), expected, "{one} {other}");
            assert_eq!(meet(&b, &a), expected, "{other} {one}");
        };
        check("/w/g*/f", "/w/gen/**", true);
        check("/w/g?n/f", "/w/gen/**", true);
        check("/w/h*/f", "/w/gen/**", false);
        check("/w/*.log", "/w/gen/**", false);
        check("/w/*", "/w/gen", true);
        check("/w/*", "/w/gen/a", false);
        check("/w/*/*", "/**/.env", true);
        check("/w/a/*.rs", "/**/.env", false);
        check("/a*c", "/*b*", true);
        check("/[a-c]x", "/[!b]x", true);
        check("/[b]x", "/[!b]x", false);
        check("/[a-c]x", "/[d-f]x", false);
        check("/**", "/", true);
        check("/a/**/b", "/a/b", true);
        check("/a/**/b", "/a/xb", false);
        check("", "", true);
    }
}
