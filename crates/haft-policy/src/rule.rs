//! Rules `tool` and `tool(pattern)`. A rule that closes binds effects, not spellings: one that
//! names a writing file tool binds every write of every tool, one that names a tool which runs
//! commands binds every command.

use std::path::Path;
use std::sync::LazyLock;

use haft_core::{Access, Mode};

use crate::call::{Target, Touch};
use crate::command::CommandPattern;
use crate::error::PolicyError;
use crate::judgement::{RuleHit, Verdict};
use crate::path::{PathPattern, Places};
use crate::pattern::{Groups, Names, Reading, ToolPattern};

/// Tools that write files, with the names that documents and models give them. A rule on the
/// paths of one of them binds all writes.
pub const WRITING_TOOLS: &[&str] = &[
    "file.write",
    "write_file",
    "Write",
    "file.edit",
    "edit_file",
    "Edit",
    "file.patch",
    "Patch",
    "apply_patch",
    "patch_file",
    "file.delete",
    "file.remove",
    "Delete",
    "delete_file",
    "remove_file",
    "file.move",
    "file.rename",
    "Move",
    "move_file",
    "rename_file",
    "file.batch",
    "batch_files",
    "BatchFiles",
    "file.undo",
    "Undo",
    "undo",
    "undo_changes",
];

/// Tools that read files.
pub const READING_TOOLS: &[&str] = &[
    "file.read",
    "read_file",
    "Read",
    "file.list",
    "list_files",
    "file.glob",
    "Glob",
    "file.grep",
    "Grep",
    "git.status",
    "git_status",
    "GitStatus",
    "git.diff",
    "git_diff",
    "GitDiff",
];

/// Tools that run commands.
pub const RUNNING_TOOLS: &[&str] = &[
    "shell.exec",
    "bash",
    "Bash",
    "shell.bash",
    "process.start",
    "process.write",
    "process.submit",
    "process.kill",
    "process.manage",
    "Process",
];

/// One rule, compiled.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) text: String,
    pub(crate) from: String,
    pub(crate) effect: Verdict,
    pub(crate) tool: ToolPattern,
    pub(crate) argument: Option<Argument>,
    pub(crate) family: Family,
    /// It denies `file.write` as such, and with it every write: a person who takes writing away
    /// does not mean one tool of several. The other writing tools stand for themselves.
    pub(crate) all_writes: bool,
}

/// What kinds of tool a rule names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Family {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) runs: bool,
}

/// The pattern of a rule, read as what it can be.
#[derive(Debug, Clone)]
pub(crate) struct Argument {
    pub(crate) command: Option<CommandPattern>,
    pub(crate) path: Option<PathPattern>,
}

/// What surrounds a rule when it is read.
pub(crate) struct Reader<'a> {
    pub(crate) groups: &'a Groups,
    pub(crate) places: &'a Places,
}

impl Reader<'_> {
    pub(crate) fn rule(
        &self,
        text: &str,
        from: &str,
        effect: Verdict,
    ) -> Result<Rule, PolicyError> {
        let bad = |why: &str| {
            PolicyError::new(from, format!("not a rule: `{text}`: {why}"))
                .about(text)
                .hint(Some("write `tool` or `tool(pattern)`".to_owned()))
        };
        let trimmed = text.trim();
        let (tool, pattern) = match trimmed.split_once('(') {
            None => (trimmed, None),
            Some((tool, rest)) => {
                let pattern = rest
                    .strip_suffix(')')
                    .ok_or_else(|| bad("the parenthesis is never closed"))?;
                (tool.trim_end(), Some(pattern))
            }
        };
        if tool.is_empty() {
            return Err(bad("no tool is named"));
        }
        let tool =
            ToolPattern::parse(tool, self.groups, from).map_err(|error| error.about(text))?;
        let family = Family::of(&tool);
        let all_writes = pattern.is_none()
            && effect == Verdict::Deny
            && tool.matches(
                &Names::known("file.write", ["write_file", "Write"]),
                Reading::Loose,
            );
        let argument = pattern
            .map(|pattern| self.argument(pattern, family))
            .transpose()
            .map_err(|why| bad(&why))?;
        Ok(Rule {
            text: trimmed.to_owned(),
            from: from.to_owned(),
            effect,
            tool,
            argument,
            family,
            all_writes,
        })
    }

    fn argument(&self, pattern: &str, family: Family) -> Result<Argument, String> {
        if pattern.trim().is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        let files = family.reads || family.writes;
        let command = CommandPattern::parse(pattern);
        let path = PathPattern::parse(pattern.trim(), self.places);
        Ok(match (family.runs, files) {
            (true, false) => Argument {
                command: Some(command?),
                path: None,
            },
            (false, true) => Argument {
                command: None,
                path: Some(path?),
            },
            _ => Argument {
                command: command.ok(),
                path: Some(path?),
            },
        })
    }
}

impl Family {
    fn of(tool: &ToolPattern) -> Self {
        static KNOWN: LazyLock<[Vec<Names>; 3]> = LazyLock::new(|| {
            [READING_TOOLS, WRITING_TOOLS, RUNNING_TOOLS]
                .map(|names| names.iter().map(|name| Names::known(name, [])).collect())
        });
        let [reads, writes, runs] = KNOWN
            .each_ref()
            .map(|names| names.iter().any(|one| tool.matches(one, Reading::Loose)));
        Family {
            reads,
            writes,
            runs,
        }
    }

    pub(crate) fn has(self, mode: Mode) -> bool {
        match mode {
            Mode::Read => self.reads,
            Mode::Write => self.writes,
        }
    }
}

impl Rule {
    pub(crate) fn hit(&self) -> RuleHit {
        RuleHit::new(self.text.as_str(), self.from.as_str(), self.effect)
    }

    pub(crate) fn minds_paths(&self) -> bool {
        self.all_writes || self.argument.as_ref().is_some_and(|one| one.path.is_some())
    }

    /// For rules that close: whether the rule's paths meet this access, `named` telling that the
    /// rule names the tool which is called.
    pub(crate) fn touches(&self, access: &Access, named: bool) -> bool {
        if self.all_writes && access.mode == Mode::Write {
            let path = access.resource.path();
            return path.is_some_and(|path| path != Path::new("/dev/null"));
        }
        let path = self.argument.as_ref().and_then(|one| one.path.as_ref());
        (named || self.family.has(access.mode))
            && path.is_some_and(|path| path.touches(&access.resource))
    }

    /// The same for what a word of a line names.
    pub(crate) fn meets(&self, touch: &Touch, named: bool) -> bool {
        if self.all_writes && touch.mode == Mode::Write {
            return !touch.goes_nowhere();
        }
        let path = self.argument.as_ref().and_then(|one| one.path.as_ref());
        (named || self.family.has(touch.mode))
            && path.is_some_and(|path| match &touch.target {
                Target::Path(resource) => path.touches(resource),
                Target::Glob { glob, tree } => path.could_touch(glob, *tree),
            })
    }

    /// For rules that open: whether the access is covered by the paths, or by the whole tool.
    pub(crate) fn covers(&self, access: &Access) -> bool {
        match &self.argument {
            None => true,
            Some(argument) => argument
                .path
                .as_ref()
                .is_some_and(|path| path.covers(&access.resource)),
        }
    }
}
