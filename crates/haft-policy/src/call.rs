//! One call as policy sees it: its commands parsed once, and every file that its lines open.

use std::path::{Path, PathBuf};

use haft_core::{Access, CommandLine, Effects, Mode, Resource};

use crate::shell::{self, Command, NotPlain, Script};
use crate::writers;

/// Turns a path as a shell would read it, in that folder, into the absolute path it means.
pub(crate) type Resolve<'a> = &'a dyn Fn(&Path, &str) -> PathBuf;

/// More folders than this in one line are not followed.
const MAX_FOLDERS: usize = 16;

pub(crate) struct CallFacts<'a> {
    pub(crate) effects: &'a Effects,
    pub(crate) lines: Vec<Line>,
    /// Files that the shell itself opens: redirections
    pub(crate) opened: Vec<Access>,
    /// Files that programs are told to change. Rules that close look at them; nothing is allowed
    /// because of them
    pub(crate) changed: Vec<Access>,
    resolve: Resolve<'a>,
}

pub(crate) struct Line {
    pub(crate) script: Script,
    /// Where the line may stand at any time: its folder, and every one it changes to
    folders: Vec<PathBuf>,
}

impl<'a> CallFacts<'a> {
    pub(crate) fn new(effects: &'a Effects, resolve: Resolve<'a>) -> Self {
        let mut lines = Vec::new();
        let mut opened = Vec::new();
        let mut changed = Vec::new();
        for command in &effects.commands {
            let (mut script, cwd) = match command {
                CommandLine::Shell { line, cwd } => (shell::parse(line), cwd),
                CommandLine::Argv { argv, cwd } => (shell::parse_argv(argv), cwd),
            };
            let folders = folders(&mut script, cwd, resolve);
            for redirect in script
                .commands
                .iter()
                .flat_map(Command::all)
                .flat_map(|command| &command.redirects)
            {
                let mode = if redirect.write {
                    Mode::Write
                } else {
                    Mode::Read
                };
                for folder in &folders {
                    let access = Access {
                        mode,
                        resource: Resource::File(resolve(folder, &redirect.target.text)),
                    };
                    if !opened.contains(&access) {
                        opened.push(access);
                    }
                }
            }
            for path in script
                .commands
                .iter()
                .flat_map(Command::all)
                .flat_map(writers::written)
            {
                changed.extend(folders.iter().map(|folder| Access {
                    mode: Mode::Write,
                    resource: Resource::Tree(resolve(folder, path)),
                }));
            }
            lines.push(Line { script, folders });
        }
        CallFacts {
            effects,
            lines,
            opened,
            changed,
            resolve,
        }
    }

    /// Every command of every line, those inside wrappers too.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &Command> {
        self.lines
            .iter()
            .flat_map(|line| &line.script.commands)
            .flat_map(Command::all)
    }

    /// Every file or other resource that is touched. The tree that a command might change is not
    /// among them: it orders calls, while a command is judged by what its line says.
    pub(crate) fn accesses(&self) -> impl Iterator<Item = &Access> {
        let bound = |access: &&Access| {
            !self.effects.commands.is_empty() && matches!(access.resource, Resource::Tree(_))
        };
        let stated = self
            .effects
            .accesses
            .iter()
            .filter(move |access| !bound(access));
        stated.chain(&self.opened)
    }

    pub(crate) fn over(&self) -> Option<&'static str> {
        self.lines.iter().find_map(|line| line.script.over)
    }

    /// Where a word of this line would lead, as a path, from each folder the line may stand in.
    pub(crate) fn paths(&self, line: &Line, word: &str) -> Vec<PathBuf> {
        line.folders
            .iter()
            .map(|folder| (self.resolve)(folder, word))
            .collect()
    }
}

fn folders(script: &mut Script, cwd: &Path, resolve: Resolve<'_>) -> Vec<PathBuf> {
    let mut folders = vec![cwd.to_owned()];
    let mut lost = false;
    for command in script.commands.iter().flat_map(Command::all) {
        let Some((program, arguments)) = command.words.split_first() else {
            continue;
        };
        if !matches!(program.text.as_str(), "cd" | "pushd" | "popd" | "chdir") {
            continue;
        }
        match arguments {
            [target] if !target.text.starts_with(['-', '+']) && !target.glob => {
                for folder in folders.clone() {
                    let next = resolve(&folder, &target.text);
                    if !folders.contains(&next) {
                        folders.push(next);
                    }
                }
            }
            _ => lost = true,
        }
        if folders.len() > MAX_FOLDERS {
            folders.truncate(MAX_FOLDERS);
            lost = true;
        }
    }
    if lost {
        script.not_plain.get_or_insert(NotPlain {
            offset: 0,
            why: "a change of folder that cannot be followed",
        });
    }
    folders
}
