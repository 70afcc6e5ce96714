//! One call as policy sees it: its commands parsed once, and every file that its lines open.

use std::path::{Path, PathBuf};

use haft_core::{Access, CommandLine, Effects, Mode, Resource};

use crate::files;
use crate::glob::{Glob, Hidden};
use crate::named::{Named, Use};
use crate::shell::{self, Command, NotPlain, Script, base};

/// Turns a path as a shell would read it, in that folder, into the absolute path it means.
pub(crate) type Resolve<'a> = &'a dyn Fn(&Path, &str) -> PathBuf;

/// More folders than this in one line are not followed.
const MAX_FOLDERS: usize = 16;

/// More words with a `*` than this in one line are not followed, and it is asked about.
const MAX_GLOBS: usize = 64;

pub(crate) struct CallFacts<'a> {
    pub(crate) effects: &'a Effects,
    pub(crate) lines: Vec<Line>,
    /// Files that the shell itself opens: redirections
    pub(crate) opened: Vec<Access>,
    /// Files that words of the lines name. Rules that close look at them; nothing is allowed
    /// because of them
    pub(crate) touched: Vec<Touch>,
    resolve: Resolve<'a>,
    home: Option<&'a Path>,
}

pub(crate) struct Line {
    pub(crate) script: Script,
    /// Where the line may stand at any time: its folder, and every one it changes to
    folders: Vec<PathBuf>,
    hidden: Hidden,
}

/// A file that a word of a line names, or could.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) mode: Mode,
    pub(crate) target: Target,
    /// It happens if the command runs; otherwise it only may
    pub(crate) sure: bool,
    /// How a protected name is asked about here, if it is
    pub(crate) guard: Option<Mode>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Path(Resource),
    Glob { glob: Glob, tree: bool },
}

impl Touch {
    /// What goes to `/dev/null` goes nowhere.
    pub(crate) fn goes_nowhere(&self) -> bool {
        match &self.target {
            Target::Path(resource) => resource.path() == Some(Path::new("/dev/null")),
            Target::Glob { .. } => false,
        }
    }
}

impl<'a> CallFacts<'a> {
    pub(crate) fn new(effects: &'a Effects, resolve: Resolve<'a>, home: Option<&'a Path>) -> Self {
        let mut call = CallFacts {
            effects,
            lines: Vec::new(),
            opened: Vec::new(),
            touched: Vec::new(),
            resolve,
            home,
        };
        for command in &effects.commands {
            let mut script = shell::script(command);
            let (CommandLine::Shell { cwd, .. } | CommandLine::Argv { cwd, .. }) = command;
            let folders = folders(&mut script, cwd, &|folder, word| call.path(folder, word));
            too_many_globs(&mut script);
            let hidden = hidden(&script);
            call.add(Line {
                script,
                folders,
                hidden,
            });
        }
        call
    }

    /// Look at what one line opens and names.
    fn add(&mut self, line: Line) {
        let commands: Vec<&Command> = line.script.commands.iter().flat_map(Command::all).collect();
        for redirect in commands.iter().flat_map(|command| &command.redirects) {
            let (mode, how) = match redirect.write {
                true => (Mode::Write, Use::WritesFile),
                false => (Mode::Read, Use::Reads),
            };
            for folder in &line.folders {
                let access = Access {
                    mode,
                    resource: Resource::File(self.path(folder, &redirect.target.text)),
                };
                if !self.opened.contains(&access) {
                    self.opened.push(access);
                }
            }
            if redirect.target.exact {
                let named = Named {
                    text: &redirect.target.text,
                    glob: redirect.target.glob,
                    how,
                };
                let touches = self.touches_of(&line, &named);
                self.touched.extend(touches);
            }
        }
        for command in commands {
            let touches = self.touches(&line, command);
            self.touched.extend(touches);
        }
        self.lines.push(line);
    }

    /// What the words of a command of this line name, from each folder it may stand in.
    pub(crate) fn touches(&self, line: &Line, command: &Command) -> Vec<Touch> {
        let mut touches = Vec::new();
        for named in files::named(command) {
            for touch in self.touches_of(line, &named) {
                if !touches.contains(&touch) {
                    touches.push(touch);
                }
            }
        }
        touches
    }

    fn touches_of(&self, line: &Line, named: &Named<'_>) -> Vec<Touch> {
        let mut touches = Vec::new();
        for folder in &line.folders {
            for (mode, tree, sure, guard) in what_happens(named.how) {
                let target = match named.glob {
                    true => Target::Glob {
                        glob: self.glob(line, folder, named.text),
                        tree: *tree,
                    },
                    false => {
                        let path = match named.how {
                            Use::WritesName => self.name(folder, named.text),
                            _ => self.path(folder, named.text),
                        };
                        Target::Path(if *tree {
                            Resource::Tree(path)
                        } else {
                            Resource::File(path)
                        })
                    }
                };
                touches.push(Touch {
                    mode: *mode,
                    target,
                    sure: *sure,
                    guard: *guard,
                });
            }
        }
        touches
    }

    fn glob(&self, line: &Line, folder: &Path, word: &str) -> Glob {
        Glob::new(word, line.hidden, |before| {
            self.path(folder, before).to_string_lossy().into_owned()
        })
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.home
    }

    /// Where a word leads from a folder. A quoted `~` is taken for the home as well: only rules
    /// that close are wider for it.
    fn path(&self, folder: &Path, word: &str) -> PathBuf {
        let below_home = match word.strip_prefix('~') {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix('/'),
            None => None,
        };
        match (below_home, self.home) {
            (Some(rest), Some(home)) => {
                let rest = rest.trim_start_matches('/');
                (self.resolve)(home, if rest.is_empty() { "." } else { rest })
            }
            _ => (self.resolve)(folder, word),
        }
    }

    /// The same for a name that is not followed itself, only the folders on the way to it.
    fn name(&self, folder: &Path, word: &str) -> PathBuf {
        let (before, name) = word.rsplit_once('/').map_or(("", word), |(before, name)| {
            // Of `/x` the folder is the slash.
            (&word[..before.len() + 1], name)
        });
        match (before, name) {
            (_, "" | "." | ".." | "~") => self.path(folder, word),
            ("", name) => folder.join(name),
            (before, name) => self.path(folder, before).join(name),
        }
    }

    /// The folders in which commands read whatever they come upon.
    pub(crate) fn walked(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for line in &self.lines {
            let commands = line.script.commands.iter().flat_map(Command::all);
            for command in commands.filter(|command| files::reads_what_it_finds(command)) {
                for touch in self.touches(line, command) {
                    match touch.target {
                        _ if touch.mode == Mode::Write => {}
                        Target::Path(Resource::Tree(path)) => found.push(path),
                        // What a `*` finds is below the folder that it is looked for in.
                        Target::Glob { glob, tree: true } => {
                            found.extend(self.paths(line, glob.folder()));
                        }
                        Target::Path(_) | Target::Glob { .. } => {}
                    }
                }
            }
        }
        found.sort();
        found.dedup();
        found
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
            .map(|folder| self.path(folder, word))
            .collect()
    }

    /// What a word of this line could find, if the shell looks for names that fit it.
    pub(crate) fn globs(&self, line: &Line, word: &str) -> Vec<Glob> {
        line.folders
            .iter()
            .map(|folder| self.glob(line, folder, word))
            .collect()
    }
}

/// Mode, whether the whole tree is meant, whether it is sure, and how protected names are asked
/// about.
type Happens = (Mode, bool, bool, Option<Mode>);

fn what_happens(how: Use) -> &'static [Happens] {
    const READ: Option<Mode> = Some(Mode::Read);
    const WRITE: Option<Mode> = Some(Mode::Write);
    match how {
        Use::Writes | Use::WritesName => &[(Mode::Write, true, true, WRITE)],
        Use::WritesFile => &[(Mode::Write, false, true, WRITE)],
        Use::Reads => &[(Mode::Read, false, true, READ)],
        // Nobody learns a secret by the name of the file.
        Use::Lists => &[(Mode::Read, false, true, None)],
        Use::WalksReading => &[(Mode::Read, true, false, None)],
        Use::WalksWriting => &[(Mode::Write, true, false, None)],
        Use::Unknown => &[
            (Mode::Read, false, false, None),
            (Mode::Write, false, false, WRITE),
        ],
        Use::Mentions => &[
            (Mode::Read, false, false, READ),
            (Mode::Write, false, false, None),
        ],
    }
}

/// A shell finds hidden names by `*` only when it is told to.
fn hidden(script: &Script) -> Hidden {
    let told = script
        .commands
        .iter()
        .flat_map(Command::all)
        .any(|command| {
            let program = command.words.first().map_or("", |word| base(&word.text));
            matches!(program, "shopt" | "setopt" | "set" | "options")
                || command
                    .words
                    .iter()
                    .any(|word| word.text.contains("dotglob"))
        });
    if told { Hidden::Found } else { Hidden::Spelled }
}

fn too_many_globs(script: &mut Script) {
    let globs = script
        .commands
        .iter()
        .flat_map(Command::all)
        .flat_map(|command| &command.words)
        .filter(|word| word.glob)
        .count();
    if globs > MAX_GLOBS {
        script.over = script
            .over
            .or(Some("the line has more than 64 words with a wildcard"));
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
