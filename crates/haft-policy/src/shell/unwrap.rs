//! Finds what wrappers run: `sudo`, `env`, `xargs`, `sh -c`, `find -exec` and the like. What is
//! found is judged like any other command; what is not found was already going to be asked.

use super::opened::{git_runs, is_run};
use super::options::is_long;
use super::scan::scan;
use super::wrappers::{Runs, Wrapper, is_shell, wrapper};
use super::{Command, MAX_COMMANDS, MAX_DEPTH, NotPlain, Script, Word};

/// What one command runs in turn.
enum Inside {
    Words(Vec<Word>),
    Line(Word),
    /// A shell that takes its commands from standard input
    Stdin,
}

/// Fill `inner` of every command of the script, as deep as it goes.
pub(super) fn unwrap_all(script: &mut Script, depth: usize) {
    let mut commands = std::mem::take(&mut script.commands);
    let mut count = commands.len();
    for at in 0..commands.len() {
        let (before, from_here) = commands.split_at_mut(at);
        let Some(command) = from_here.first_mut().filter(|_| count <= MAX_COMMANDS) else {
            break;
        };
        let feed = before.last().filter(|_| command.piped);
        let fed = feed.map(printed).unwrap_or_default();
        let stdin = script.stdin.clone();
        command.inner = inner(command, &fed, &stdin, script, depth);
        count += command
            .inner
            .iter()
            .map(|one| one.all().len())
            .sum::<usize>();
    }
    if count > MAX_COMMANDS {
        script.over = Some("the line has more than 256 commands");
    }
    script.commands = commands;
}

fn inner(
    command: &Command,
    fed: &str,
    stdin: &[String],
    outer: &mut Script,
    depth: usize,
) -> Vec<Command> {
    if depth > MAX_DEPTH {
        outer.over = Some("the line is nested too deeply");
        return Vec::new();
    }
    let mut found = Vec::new();
    for inside in insides(&command.words) {
        match inside {
            Inside::Words(words) if words.is_empty() => {}
            Inside::Words(words) => {
                let mut one = Command {
                    words,
                    ..Command::default()
                };
                one.inner = inner(&one, fed, stdin, outer, depth + 1);
                found.push(one);
            }
            Inside::Line(word) => {
                let offset = 0;
                if !word.exact {
                    let why = "a line that is put together";
                    outer.not_plain.get_or_insert(NotPlain { offset, why });
                }
                found.extend(nested(&word.text, outer, depth));
            }
            Inside::Stdin => {
                for text in stdin.iter().map(String::as_str).chain([fed]) {
                    found.extend(nested(text, outer, depth));
                }
            }
        }
    }
    found
}

fn nested(line: &str, outer: &mut Script, depth: usize) -> Vec<Command> {
    let mut script = scan(line, depth + 1);
    unwrap_all(&mut script, depth + 1);
    outer.over = outer.over.or(script.over);
    outer.bomb |= script.bomb;
    if outer.not_plain.is_none() {
        outer.not_plain = script.not_plain;
    }
    script.commands
}

/// What `echo` and `printf` write, for the shell that reads it.
fn printed(command: &Command) -> String {
    match command.words.split_first() {
        Some((program, words)) if matches!(base(&program.text), "echo" | "printf") => {
            joined(words).text.replace("\\n", "\n")
        }
        _ => String::new(),
    }
}

fn insides(words: &[Word]) -> Vec<Inside> {
    let Some((program, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let name = base(&program.stripped);
    if is_shell(name) {
        return vec![shell(arguments)];
    }
    match name {
        "find" => after_each(arguments, &["-exec", "-execdir", "-ok", "-okdir"]),
        "fd" | "fdfind" => after_each(arguments, &["-x", "-X", "--exec", "--exec-batch"]),
        "parallel" => parallel(arguments),
        "trap" => arguments
            .iter()
            .find(|word| !word.text.starts_with('-'))
            .map(|word| Inside::Line(word.clone()))
            .into_iter()
            .collect(),
        "alias" => arguments
            .iter()
            .filter_map(|word| word.text.split_once('='))
            .map(|(_, line)| Inside::Line(Word::literal(line)))
            .collect(),
        "at" | "batch" => vec![Inside::Stdin],
        "git" => git(arguments),
        "env" => env(arguments),
        _ => by_table(name, arguments),
    }
}

fn by_table(name: &str, arguments: &[Word]) -> Vec<Inside> {
    let Some(wrapper) = wrapper(name) else {
        return Vec::new();
    };
    let dash_c = matches!(wrapper.runs, Runs::DashC { .. });
    let mut at = 0;
    let mut own = match wrapper.runs {
        Runs::Rest { skip } | Runs::Line { skip } | Runs::DashC { skip } => skip,
    };
    while let Some(word) = arguments.get(at) {
        let text = word.text.as_str();
        if dash_c && let Some(line) = command_option(arguments, at) {
            return vec![Inside::Line(line)];
        }
        if text == "--" {
            at += 1;
            at += std::mem::take(&mut own).min(arguments.len());
            break;
        }
        if text.starts_with('-') && text.len() > 1 {
            at += 1 + usize::from(takes_next(wrapper, text));
        } else if is_assignment(text) {
            at += 1;
        } else if own > 0 {
            own -= 1;
            at += 1;
        } else {
            break;
        }
    }
    let rest = arguments.get(at..).unwrap_or_default();
    match wrapper.runs {
        _ if rest.is_empty() => Vec::new(),
        Runs::Line { .. } => vec![Inside::Line(joined(rest))],
        Runs::Rest { .. } | Runs::DashC { .. } => vec![Inside::Words(rest.to_vec())],
    }
}

/// Whether the word after this option is its value.
fn takes_next(wrapper: &Wrapper, text: &str) -> bool {
    let cut_short = |option: &str| option.starts_with("--") && is_long(text, option);
    wrapper.valued.contains(&text)
        || (!text.contains('=') && wrapper.valued.iter().any(|option| cut_short(option)))
}

/// The line behind `-c`, `-qc` or `--command`, if one of these stands here.
fn command_option(arguments: &[Word], at: usize) -> Option<Word> {
    let text = arguments.get(at)?.text.as_str();
    let long = is_long(text, "--command");
    if let Some((_, value)) = text.split_once('=').filter(|_| long) {
        return Some(Word::literal(value));
    }
    let cluster = text.starts_with('-') && !text.starts_with("--") && text.ends_with('c');
    (cluster || long)
        .then(|| arguments.get(at + 1).cloned())
        .flatten()
}

fn shell(arguments: &[Word]) -> Inside {
    let mut line_follows = false;
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = word.text.as_str();
        if !text.starts_with(['-', '+']) || text == "-" {
            break;
        }
        at += 1;
        if text == "--" {
            break;
        }
        if text == "--command" || (!text.starts_with("--") && text.contains('c')) {
            line_follows = true;
        }
        let valued = matches!(text, "--rcfile" | "--init-file")
            || (!text.starts_with("--") && text.ends_with(['o', 'O']));
        at += usize::from(valued);
    }
    match arguments.get(at) {
        Some(word) if line_follows => Inside::Line(word.clone()),
        Some(word) if word.text != "-" && word.text != "/dev/stdin" => {
            // A script file, whose content policy does not see.
            Inside::Words(Vec::new())
        }
        _ => Inside::Stdin,
    }
}

fn env(arguments: &[Word]) -> Vec<Inside> {
    for (at, word) in arguments.iter().enumerate() {
        let text = word.text.as_str();
        let long = is_long(text, "--split-string")
            .then(|| text.split_once('=').map_or("", |(_, value)| value));
        let split = long.or_else(|| text.strip_prefix("-S"));
        match split {
            Some("") => {
                return arguments
                    .get(at + 1..)
                    .map(joined)
                    .map(Inside::Line)
                    .into_iter()
                    .collect();
            }
            Some(line) => {
                let mut words = vec![Word::literal(line)];
                words.extend_from_slice(&arguments[at + 1..]);
                return vec![Inside::Line(joined(&words))];
            }
            None if text.starts_with('-') || is_assignment(text) => {}
            None => break,
        }
    }
    let mut found = by_table("env", arguments);
    let set = arguments.iter().take_while(|word| {
        let text = word.text.as_str();
        text.starts_with('-') || is_assignment(text)
    });
    found.extend(set.filter_map(|word| {
        let (name, value) = word.text.split_once('=')?;
        is_run(name).then(|| Inside::Line(Word::literal(value)))
    }));
    found
}

fn after_each(arguments: &[Word], options: &[&str]) -> Vec<Inside> {
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        if options.contains(&word.text.as_str()) {
            let words = arguments[at + 1..]
                .iter()
                .take_while(|word| word.text != ";" && word.text != "+")
                .cloned()
                .collect();
            found.push(Inside::Words(words));
        }
    }
    found
}

fn parallel(arguments: &[Word]) -> Vec<Inside> {
    let start = arguments
        .iter()
        .position(|word| !word.text.starts_with('-') && word.text.parse::<u64>().is_err())
        .unwrap_or(arguments.len());
    let words: Vec<Word> = arguments[start..]
        .iter()
        .take_while(|word| !word.text.starts_with(":::"))
        .cloned()
        .collect();
    if words.is_empty() {
        return vec![Inside::Stdin];
    }
    vec![Inside::Line(joined(&words))]
}

fn git(arguments: &[Word]) -> Vec<Inside> {
    let words: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let mut found = Vec::new();
    for (at, window) in words.windows(2).enumerate() {
        match window {
            ["bisect", "run"] => found.push(Inside::Words(arguments[at + 2..].to_vec())),
            ["submodule", "foreach"] => found.push(Inside::Line(joined(&arguments[at + 2..]))),
            ["-c" | "--config-env", setting] => {
                if let Some((key, value)) = setting.split_once('=')
                    && git_runs(key)
                {
                    found.push(Inside::Line(Word::literal(value.trim_start_matches('!'))));
                }
            }
            [key, value] if git_runs(key) && (value.starts_with('!') || sets(&words, key)) => {
                found.push(Inside::Line(Word::literal(value.trim_start_matches('!'))));
            }
            ["-x" | "--exec", _] => found.push(Inside::Line(arguments[at + 1].clone())),
            ["-u", _] if words.contains(&"clone") => {
                found.push(Inside::Line(arguments[at + 1].clone()));
            }
            _ => {}
        }
    }
    found.extend(arguments.iter().filter_map(|word| git_joined(&words, word)));
    found
}

/// Whether git is told to keep a setting under this key. An alias is a word of git's own, unless it
/// says otherwise.
fn sets(words: &[&str], key: &str) -> bool {
    words.contains(&"config") && key.contains('.') && !key.starts_with("alias.")
}

/// A command that is written right behind the letter of its option.
fn git_joined(words: &[&str], word: &Word) -> Option<Inside> {
    const OPTIONS: &[(&str, &str)] = &[("rebase", "-x"), ("difftool", "-x"), ("clone", "-u")];
    let joined = |(subcommand, option): &(&str, &str)| match words.contains(subcommand) {
        true => word
            .text
            .strip_prefix(option)
            .filter(|rest| !rest.is_empty()),
        false => None,
    };
    let line = OPTIONS.iter().find_map(joined)?;
    Some(Inside::Line(Word {
        exact: word.exact && !word.glob,
        ..Word::literal(line)
    }))
}

fn joined(words: &[Word]) -> Word {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    Word {
        exact: words.iter().all(|word| word.exact && !word.glob),
        ..Word::literal(&texts.join(" "))
    }
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The file name of a program: `/bin/rm` is `rm`.
pub(crate) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
