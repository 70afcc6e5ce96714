//! The rule that "always" would store: exactly this call, nothing wider. Programs that run what
//! they are told are never remembered, because the next thing they are told is another one; nor
//! are programs that lie in the workspace, because the next thing under their name is another one.

use std::path::Path;

use haft_core::Resource;

use crate::binding::Subject;
use crate::call::CallFacts;
use crate::command;
use crate::programs;
use crate::shell::{base, is_interpreter, is_invisible, is_shell, is_wrapper};
use crate::tokens;

/// Longest rule worth remembering; nobody reads a longer one before saying "always".
const MAX_RULE: usize = 500;

pub(crate) fn rule(subject: &Subject, call: &CallFacts<'_>, workspace: &Path) -> Option<String> {
    let rule = if !call.effects.commands.is_empty() {
        format!("{}({})", subject.name, command_pattern(call, workspace)?)
    } else if !call.effects.accesses.is_empty() && !is_at_a_server(subject, call) {
        format!("{}({})", subject.name, path_pattern(call)?)
    } else {
        return without_subject(subject, call.effects.anything);
    };
    (rule.len() <= MAX_RULE && !rule.contains(|c| is_invisible(c) || c == '\n')).then_some(rule)
}

/// A tool from outside can be remembered whole; one of ours that may touch anything cannot. A
/// stranger chose its name, and a star in it would be a wider rule than was shown.
fn without_subject(subject: &Subject, anything: bool) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let is_plain = subject.name.len() <= MAX_RULE && subject.name.chars().all(plain);
    (is_plain && (!anything || !subject.built_in)).then(|| subject.name.to_string())
}

/// Whether all that is known of the call is which server it goes to: its tool says that already.
fn is_at_a_server(subject: &Subject, call: &CallFacts<'_>) -> bool {
    let elsewhere = |resource: &Resource| matches!(resource, Resource::Uri(_));
    let accesses = &call.effects.accesses;
    !subject.built_in && accesses.iter().all(|access| elsewhere(&access.resource))
}

fn command_pattern(call: &CallFacts<'_>, workspace: &Path) -> Option<String> {
    let [line] = &call.lines[..] else {
        return None;
    };
    let [command] = &line.script.commands[..] else {
        return None;
    };
    let program = command.words.first()?;
    if programs::is_own(call, line, program, workspace) {
        return None;
    }
    let program = base(&program.text);
    let plain = line.script.not_plain.is_none()
        && line.script.over.is_none()
        && command.redirects.is_empty()
        && command.inner.is_empty()
        && command.words.iter().all(|word| word.exact && !word.glob);
    if !plain || is_shell(program) || is_interpreter(program) || is_wrapper(program) {
        return None;
    }
    let words: Vec<&str> = command
        .words
        .iter()
        .map(|word| word.text.as_str())
        .collect();
    Some(command::quote(&words))
}

fn path_pattern(call: &CallFacts<'_>) -> Option<String> {
    let accesses = &call.effects.accesses;
    let Resource::File(path) = &accesses.first()?.resource else {
        return None;
    };
    let same = |resource: &Resource| matches!(resource, Resource::File(other) if other == path);
    if call.effects.anything || !accesses.iter().all(|access| same(&access.resource)) {
        return None;
    }
    path.to_str().map(tokens::escape)
}
