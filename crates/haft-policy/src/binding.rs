//! One layer's rules and constraints brought to one tool and one caller: what closes, and which
//! paths are open. What allow rules open is in `coverage`, the verdict in `bound`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use haft_core::{Access, Mode, Resource, protected};

use crate::call::{CallFacts, Line, Target, Touch};
use crate::config::Autonomy;
use crate::constraint::ModuleRules;
use crate::glob::is_wild;
use crate::judgement::{HookAction, RuleHit, Verdict};
use crate::profile::DEFAULTS;
use crate::rule::Rule;
use crate::shell::Command;
use crate::tokens::{Token, tokens};

/// The little that a call's judgement needs of the spec; thousands of tools are bound at once.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) name: Arc<str>,
    pub(crate) built_in: bool,
    pub(crate) requires_approval: bool,
    pub(crate) redefined: bool,
}

/// One layer's part of it.
#[derive(Debug)]
pub(crate) struct LayerBound {
    pub(crate) from: Arc<str>,
    pub(crate) denied: Vec<RuleHit>,
    pub(crate) granted: Vec<RuleHit>,
    pub(crate) hook: (HookAction, Option<RuleHit>),
    pub(crate) level: Autonomy,
    pub(crate) level_from: Arc<str>,
    /// Ask rules without a pattern
    pub(crate) always_asks: Vec<RuleHit>,
    /// An allow rule without a pattern
    pub(crate) whole_tool: Option<RuleHit>,
    /// Every rule of the layer: those on effects bind whatever tool they name
    pub(crate) rules: Arc<[Rule]>,
    /// Which of them name this tool, by their place
    pub(crate) named: Box<[bool]>,
    /// Constraints that bind this caller
    pub(crate) modules: Vec<Arc<ModuleRules>>,
    pub(crate) reads_only: bool,
    pub(crate) dangerous: bool,
    pub(crate) workspace: Arc<Path>,
    /// haft's own places
    pub(crate) own: Arc<[PathBuf]>,
}

impl LayerBound {
    /// The rules, and whether each names this tool.
    pub(crate) fn rules(&self) -> impl Iterator<Item = (&Rule, bool)> {
        self.rules.iter().zip(self.named.iter().copied())
    }

    pub(crate) fn minds_paths(&self) -> bool {
        let rules = self
            .rules()
            .any(|(rule, named)| rule.minds_paths() && (named || rule.effect != Verdict::Allow));
        rules || self.modules.iter().any(|one| one.allowed_paths.is_some())
    }

    /// Rules with a pattern that close, of one effect, and that this call meets.
    pub(crate) fn closed(&self, call: &CallFacts<'_>, effect: Verdict) -> Vec<RuleHit> {
        self.rules()
            .filter(|(rule, _)| rule.effect == effect)
            .filter(|(rule, named)| {
                let command = rule.argument.as_ref().and_then(|one| one.command.as_ref());
                let commands = (*named || rule.family.runs)
                    && command.is_some_and(|pattern| {
                        call.commands().any(|command| pattern.meets(command))
                    });
                let touches = |access: &Access| match &access.resource {
                    // What a rule denies in there is left out.
                    Resource::Tree(path)
                        if effect == Verdict::Deny
                            && access.mode == Mode::Read
                            && call.effects.skips_closed =>
                    {
                        let root = Access {
                            mode: Mode::Read,
                            resource: Resource::File(path.clone()),
                        };
                        rule.touches(&root, *named)
                    }
                    _ => rule.touches(access, *named),
                };
                let meets = |touch: &Touch| touch.sure && rule.meets(touch, *named);
                commands || call.accesses().any(touches) || call.touched.iter().any(meets)
            })
            .map(|(rule, _)| rule.hit())
            .collect()
    }

    /// Whether a line would change haft's own files. File tools cannot reach them at all.
    pub(crate) fn own_places(&self, call: &CallFacts<'_>) -> Option<RuleHit> {
        let opened = call
            .opened
            .iter()
            .filter(|access| access.mode == Mode::Write)
            .map(|access| &access.resource);
        let named = call
            .touched
            .iter()
            .filter(|touch| touch.sure && touch.mode == Mode::Write)
            .filter_map(|touch| match &touch.target {
                Target::Path(resource) => Some(resource),
                Target::Glob { .. } => None,
            });
        let meets = |resource: &Resource| match resource {
            Resource::Tree(tree) => self
                .own
                .iter()
                .any(|own| tree.starts_with(own) || own.starts_with(tree)),
            other => other
                .path()
                .is_some_and(|path| self.own.iter().any(|own| path.starts_with(own))),
        };
        opened
            .chain(named)
            .any(meets)
            .then(|| RuleHit::new(OWN_FILES, DEFAULTS, Verdict::Deny))
    }

    /// A word with a `*` that could find haft's own files and change them: whether it does, only
    /// the shell knows.
    pub(crate) fn may_find_own<'c>(&self, call: &'c CallFacts<'_>) -> Option<&'c str> {
        call.touched
            .iter()
            .filter(|touch| touch.sure && touch.mode == Mode::Write)
            .find_map(|touch| match &touch.target {
                Target::Glob { glob, .. } => self
                    .own
                    .iter()
                    .any(|own| glob.reaches(own))
                    .then_some(glob.text.as_str()),
                Target::Path(_) => None,
            })
    }

    /// Protected names among what a line opens and names, as they are to be shown.
    pub(crate) fn protected(&self, call: &CallFacts<'_>) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for touch in &call.touched {
            let shown = match (&touch.target, touch.guard) {
                (_, None) => None,
                (Target::Path(resource), Some(mode)) => resource.path().and_then(|path| {
                    let relative = path.strip_prefix(&self.workspace).unwrap_or(path);
                    guarded(relative, mode).then(|| path.display().to_string())
                }),
                (Target::Glob { glob, .. }, Some(mode)) => glob
                    .below(&self.workspace)
                    .could_be(guarded_globs(mode))
                    .then(|| glob.text.clone()),
            };
            found.extend(shown.filter(|shown| !found.contains(shown)));
        }
        found
    }

    /// A rule that closes and that a command may meet, though nobody can tell whether it does.
    pub(crate) fn may_meet(
        &self,
        call: &CallFacts<'_>,
        line: &Line,
        command: &Command,
    ) -> Option<&Rule> {
        let mut closing = self
            .rules()
            .filter(|(rule, _)| rule.effect != Verdict::Allow && rule.minds_paths())
            .peekable();
        closing.peek()?;
        let touches = call.touches(line, command);
        closing
            .find(|(rule, named)| touches.iter().any(|touch| rule.meets(touch, *named)))
            .map(|(rule, _)| rule)
    }

    /// Constraints on paths and commands that this call breaks.
    pub(crate) fn constrained(&self, call: &CallFacts<'_>) -> Vec<RuleHit> {
        let mut broken = Vec::new();
        for module in &self.modules {
            let mut breaks = |name: &str| {
                let rule = module.rule(name);
                broken.push(RuleHit::new(rule, &*self.from, Verdict::Deny));
            };
            if let Some(paths) = &module.allowed_paths {
                let outside = call
                    .accesses()
                    .filter(|access| access.resource.path().is_some() && !is_sink(access))
                    .any(|access| !paths.iter().any(|path| path.covers(&access.resource)));
                if outside {
                    breaks("allowed_paths");
                }
            }
            let blocked = call.commands().any(|command| {
                module
                    .blocked_commands
                    .iter()
                    .any(|pattern| pattern.meets(command))
            });
            if blocked {
                breaks("blocked_commands");
            }
            if let Some(allowed) = &module.allowed_commands {
                let covered = call.lines.iter().all(|line| {
                    let safe = |word: &str| self.safe(call, line, word);
                    line.script.not_plain.is_none()
                        && line
                            .script
                            .commands
                            .iter()
                            .flat_map(Command::all)
                            .filter(|command| !command.words.is_empty())
                            .all(|command| allowed.iter().any(|one| one.covers(command, &safe)))
                });
                if !covered {
                    breaks("allowed_commands");
                }
            }
        }
        broken
    }

    /// Whether a word that only a `*` stands for may be opened as a file.
    pub(crate) fn safe(&self, call: &CallFacts<'_>, line: &Line, word: &str) -> bool {
        // What `..` leads to from whatever a glob finds, only the shell knows.
        if word.contains(is_wild) && word.split('/').any(|part| part == "..") {
            return false;
        }
        let inside = call
            .paths(line, word)
            .iter()
            .all(|path| path == Path::new("/dev/null") || self.open(path));
        inside && (!word.contains(is_wild) || self.finds_open(call, line, word))
    }

    /// Nothing that the word could find is closed.
    fn finds_open(&self, call: &CallFacts<'_>, line: &Line, word: &str) -> bool {
        call.globs(line, word).into_iter().all(|glob| {
            let target = Target::Glob { glob, tree: false };
            let touch = |mode| Touch {
                mode,
                target: target.clone(),
                sure: false,
                guard: None,
            };
            let both = [touch(Mode::Read), touch(Mode::Write)];
            !self.rules.iter().any(|rule| {
                rule.effect != Verdict::Allow && both.iter().any(|touch| rule.meets(touch, false))
            })
        })
    }

    /// A path in the workspace about which no rule says anything.
    pub(crate) fn open(&self, path: &Path) -> bool {
        let touched = |mode| Access {
            mode,
            resource: Resource::File(path.to_owned()),
        };
        let (read, write) = (touched(Mode::Read), touched(Mode::Write));
        path.starts_with(&self.workspace)
            && !self.rules.iter().any(|rule| {
                rule.effect != Verdict::Allow
                    && (rule.touches(&read, false) || rule.touches(&write, false))
            })
    }
}

const OWN_FILES: &str = "haft's own files";

fn guarded(path: &Path, mode: Mode) -> bool {
    match mode {
        Mode::Read => protected::holds_secrets(path).is_some(),
        Mode::Write => protected::is_protected(path).is_some(),
    }
}

/// The protected names as patterns, read once.
fn guarded_globs(mode: Mode) -> &'static [Vec<Token>] {
    static READ: LazyLock<Vec<Vec<Token>>> = LazyLock::new(|| read(protected::secret_globs()));
    static WRITE: LazyLock<Vec<Vec<Token>>> = LazyLock::new(|| read(protected::protected_globs()));
    fn read(globs: Vec<String>) -> Vec<Vec<Token>> {
        globs.iter().filter_map(|glob| tokens(glob).ok()).collect()
    }
    match mode {
        Mode::Read => &READ,
        Mode::Write => &WRITE,
    }
}

/// What goes to `/dev/null` goes nowhere.
pub(crate) fn is_sink(access: &Access) -> bool {
    access.resource.path() == Some(Path::new("/dev/null"))
}
