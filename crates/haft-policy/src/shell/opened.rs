//! Commands that are put together, where the line itself says of what: `x=rm; $x a`,
//! `$(echo rm) a`, `rm${IFS}a` and `{r,}m a` all run `rm a`. What is found here stands beside the
//! command as written, so that a denied program is found; it never makes a line plainer.

use super::scan::{Scanner, is_name, scan};
use super::{Command, Word};

/// Most values of a variable, and most words of a brace, that are tried.
const MAX_OPENED: usize = 16;

/// Most variables of a line, and most words of a command, that are put together: looking at them
/// must not take longer than running them.
const MAX_VARIABLES: usize = 128;
const MAX_FILLED: usize = 64;

/// Variables whose value some program runs.
pub(super) fn is_run(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    const ENDS: &[&str] = &[
        "PAGER",
        "EDITOR",
        "VISUAL",
        "_COMMAND",
        "ASKPASS",
        "_DIFF",
        "LESSOPEN",
        "LESSCLOSE",
        "BROWSER",
        "_WRAPPER",
        "_SSH",
        "PROMPT_COMMAND",
        "PS4",
    ];
    ENDS.iter().any(|end| upper.ends_with(end))
}

/// Whether git runs the value of this key of its config.
pub(super) fn git_runs(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    const ENDS: &[&str] = &[
        "pager",
        "editor",
        "command",
        "external",
        "textconv",
        ".cmd",
        "helper",
        "program",
        "driver",
        "fsmonitor",
        "clean",
        "smudge",
        "process",
        "askpass",
        "hookspath",
    ];
    key.starts_with("alias.")
        || key.starts_with("pager.")
        || ENDS.iter().any(|end| key.ends_with(end))
}

impl Scanner<'_> {
    /// Remember a variable, and look at its value where some program will run it.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        if self.variables.len() < MAX_VARIABLES {
            self.variables.push((name.to_owned(), value.to_owned()));
        }
        if is_run(name) {
            let script = scan(value, self.depth + 1);
            self.absorb(script);
        }
    }

    /// Variables that a command sets: `export a=rm`, `for c in rm`, `set -- rm x`, `read` aside.
    pub(super) fn note_variables(&mut self, command: &Command) {
        let words: Vec<Word> = command.words.clone();
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        match program.text.as_str() {
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                for word in arguments.iter().filter(|word| word.exact) {
                    if let Some((name, value)) = word.text.split_once('=')
                        && is_name(name)
                    {
                        self.set(name, value);
                    }
                }
            }
            "for" | "select" | "foreach" => {
                let Some((name, values)) = arguments.split_first() else {
                    return;
                };
                for value in values.iter().filter(|word| word.text != "in") {
                    for value in braces(value) {
                        self.set(&name.text, &value);
                    }
                }
            }
            "set" => {
                let from = arguments.iter().position(|word| word.text == "--");
                let given = &arguments[from.map_or(0, |at| at + 1)..];
                let texts: Vec<&str> = given.iter().map(|word| word.text.as_str()).collect();
                let all = texts.join(" ");
                self.set("@", &all);
                self.set("*", &all);
                for (at, text) in texts.iter().enumerate() {
                    self.set(&(at + 1).to_string(), text);
                }
            }
            _ => {}
        }
    }

    /// What a command becomes when what is known of it is put in.
    pub(super) fn put_together(&self, command: &Command) -> Vec<Command> {
        let mut found = Vec::new();
        if command.words.iter().all(|word| word.exact && !word.braces) {
            return found;
        }
        for round in 0..self.rounds() {
            let mut words = Vec::new();
            let mut changed = false;
            for (at, word) in command.words.iter().enumerate() {
                let value = match at {
                    0 => self.program(word, round),
                    MAX_FILLED.. => None,
                    _ => self.filled(word, round),
                };
                for text in value
                    .as_ref()
                    .map_or_else(|| braces(word), |text| vec![text.clone()])
                {
                    let same = value.is_none() && !word.braces;
                    changed |= !same;
                    match same {
                        true => words.push(word.clone()),
                        false => words.extend(text.split_whitespace().map(Word::literal)),
                    }
                }
            }
            let opened = Command {
                words,
                ..command.clone()
            };
            if changed && !opened.words.is_empty() && !found.contains(&opened) {
                found.push(opened);
            }
        }
        found
    }

    /// How many values the most often set variable has.
    fn rounds(&self) -> usize {
        let count = |name: &str| {
            let same = self.variables.iter().filter(|(other, _)| other == name);
            same.count()
        };
        let most = self
            .variables
            .iter()
            .rev()
            .take(64)
            .map(|(name, _)| count(name));
        most.max().unwrap_or(1).clamp(1, MAX_OPENED)
    }

    fn program(&self, word: &Word, round: usize) -> Option<String> {
        if word.exact {
            return None;
        }
        match between(&word.text, "$(", ")").or(between(&word.text, "`", "`")) {
            Some(inside) => echoed(inside, self.depth),
            None => self.filled(word, round),
        }
    }

    /// The word with the variables that this line has set put in, each with its newest value but
    /// `round`.
    fn filled(&self, word: &Word, round: usize) -> Option<String> {
        if word.exact {
            return None;
        }
        let mut text = word.text.clone();
        let mut names: Vec<&str> = self
            .variables
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        // Longer names first: `$ab` is not `$a` and a `b`.
        names.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        names.dedup();
        for name in names {
            let mut values = self
                .variables
                .iter()
                .rev()
                .filter(|(other, _)| other == name);
            let newest = values.next();
            let Some((_, value)) = values.nth(round.wrapping_sub(1)).or(newest) else {
                continue;
            };
            if text.len() < super::MAX_LINE {
                text = text.replace(&format!("${{{name}}}"), value);
                text = text.replace(&format!("${name}"), value);
            }
        }
        (text != word.text).then_some(text)
    }
}

/// The words that braces open into; the word itself where there are none.
fn braces(word: &Word) -> Vec<String> {
    let mut open = vec![word.text.clone()];
    let mut done = Vec::new();
    while let Some(text) = open.pop() {
        let group = word.braces.then(|| first_group(&text)).flatten();
        match group {
            Some((before, inside, after)) if open.len() + done.len() < MAX_OPENED => {
                for choice in inside.split(',').rev() {
                    open.push(format!("{before}{choice}{after}"));
                }
            }
            _ => done.push(text),
        }
    }
    done
}

/// The innermost first group with a comma in it.
fn first_group(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(close) = text[from..].find('}').map(|at| at + from) {
        let open = text[..close].rfind('{')?;
        let inside = &text[open + 1..close];
        if inside.contains(',') {
            return Some((&text[..open], inside, &text[close + 1..]));
        }
        from = close + 1;
    }
    None
}

fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    text.strip_prefix(open)?.strip_suffix(close)
}

/// What a lone `echo` or `printf` says. Anything nested is left alone: scanning it here again
/// would double the work at each level.
fn echoed(line: &str, depth: usize) -> Option<String> {
    if line.contains(['$', '`', ';', '|', '&', '\n', '(', '<', '>']) {
        return None;
    }
    let script = scan(line, depth + 1);
    let [command] = &script.commands[..] else {
        return None;
    };
    let (program, words) = command.words.split_first()?;
    let says = matches!(program.text.as_str(), "echo" | "printf");
    says.then(|| {
        let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        words.join(" ")
    })
}
