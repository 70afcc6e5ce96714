//! Programs that lie where a caller can write: a name for one of them is no promise of what it
//! does, because its content can be another one by the time it runs.

use std::path::{Path, PathBuf};

use haft_core::{Effects, Mode};

use crate::call::{CallFacts, Line, Resolve};
use crate::shell::{Command, Word, base, is_interpreter, is_shell};

/// Files under `folder` whose content decides what the commands of these effects do: programs
/// that are named by a path, and whatever stands on a line with a shell or an interpreter.
pub(crate) fn own_programs(
    effects: &Effects,
    folder: &Path,
    home: Option<&Path>,
    resolve: Resolve<'_>,
) -> Vec<PathBuf> {
    if effects.commands.is_empty() {
        return Vec::new();
    }
    let call = CallFacts::new(effects, resolve, home);
    let mut found = Vec::new();
    for line in &call.lines {
        let commands: Vec<&Command> = line.script.commands.iter().flat_map(Command::all).collect();
        let told = commands.iter().any(|command| runs_what_it_is_told(command));
        for command in commands {
            let words = command.words.iter().enumerate();
            let named = words.filter(|(at, word)| match at {
                0 => is_path(word),
                _ => told,
            });
            found.extend(named.flat_map(|(_, word)| call.paths(line, &word.text)));
        }
    }
    let read = call.opened.iter().filter(|one| one.mode == Mode::Read);
    found.extend(read.filter_map(|one| Some(one.resource.path()?.to_owned())));
    found.retain(|path| path.starts_with(folder));
    found.sort();
    found.dedup();
    found
}

fn runs_what_it_is_told(command: &Command) -> bool {
    command.words.first().is_some_and(|word| {
        let name = base(&word.text);
        is_shell(name) || is_interpreter(name)
    })
}

fn is_path(word: &Word) -> bool {
    word.text.contains('/')
}

/// Whether a program lies under `folder`, or where nobody can tell.
pub(crate) fn is_own(call: &CallFacts<'_>, line: &Line, program: &Word, folder: &Path) -> bool {
    if program.text.starts_with('~') {
        return true;
    }
    let inside = |path: PathBuf| path.starts_with(folder);
    is_path(program) && call.paths(line, &program.text).into_iter().any(inside)
}

#[cfg(test)]
mod tests {
    use haft_core::CommandLine;

    use super::*;

    #[test]
    fn programs_of_the_workspace_are_found_wherever_they_stand() {
        let check = |line: &str, expected: &[&str]| {
            let effects = Effects::none().runs(CommandLine::Shell {
                line: line.to_owned(),
                cwd: "/w".into(),
            });
            let resolve = |cwd: &Path, path: &str| {
                let path = path.strip_prefix("./").unwrap_or(path);
                cwd.join(path)
            };
            let found = own_programs(&effects, Path::new("/w"), None, &resolve);
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(found, expected, "{line}");
        };
        check("./x.sh -v", &["/w/x.sh"]);
        check("ls; bin/x a", &["/w/bin/x"]);
        check("cat notes.txt", &[]);
        check("/usr/bin/env true", &[]);
        check("timeout 5 ./x.sh", &["/w/x.sh"]);
        check("sh x.sh", &["/w/x.sh"]);
        check("cat x.sh | bash", &["/w/x.sh"]);
        check("cd sub && ./x.sh", &["/w/sub/x.sh", "/w/x.sh"]);
        check("wc < in.txt", &["/w/in.txt"]);
    }
}
