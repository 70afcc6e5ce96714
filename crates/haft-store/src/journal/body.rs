//! The part of a record that nobody filters by, as JSON.

use haft_core::{CommandLine, Effects, Mode, Resource};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything about a record that has no column of its own. What is not known is not there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Body {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    pub dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// Secrets taken out of the arguments, and whether a digest stands for some of them
    #[serde(skip_serializing_if = "is_zero")]
    pub masked_args: usize,
    #[serde(skip_serializing_if = "is_false")]
    pub private: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<EffectsText>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resolved: Vec<(String, String, String)>,
    /// What policy would read is not here as it was
    #[serde(skip_serializing_if = "is_false")]
    pub hidden: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remember: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exposed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chars: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<usize>,
    #[serde(skip_serializing_if = "is_zero")]
    pub masked: usize,
    #[serde(skip_serializing_if = "is_false")]
    pub reduced: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// Digests of what was asked for, where it has a key, and of the whole result
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The whole result of a call that only reads, where it is short
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The call whose answer this is
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// How it became known, where the call itself could not say
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<String>,
    /// Records that a loss of power took
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<i64>,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &usize) -> bool {
    *value == 0
}

/// What a call touches, as text that can be judged again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EffectsText {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reads: Vec<ResourceText>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    writes: Vec<ResourceText>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runs: Vec<CommandText>,
    #[serde(skip_serializing_if = "is_false")]
    anything: bool,
    #[serde(skip_serializing_if = "is_false")]
    skips_closed: bool,
    #[serde(skip_serializing_if = "is_false")]
    only_looks: bool,
    /// Where it writes; records of an older haft do not say
    #[serde(skip_serializing_if = "Option::is_none")]
    removes: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ResourceText {
    File(String),
    Tree(String),
    Uri(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CommandText {
    Shell { line: String, cwd: String },
    Argv { argv: Vec<String>, cwd: String },
}

impl EffectsText {
    /// The text, each word of it as `keep` leaves it, and whether it says all there is: a path need
    /// not be text.
    pub(super) fn of(
        effects: &Effects,
        keep: &mut dyn FnMut(String) -> String,
    ) -> (EffectsText, bool) {
        let mut whole = true;
        let mut path = |path: &std::path::Path, keep: &mut dyn FnMut(String) -> String| {
            whole &= path.to_str().is_some();
            keep(path.to_string_lossy().into_owned())
        };
        let mut text = EffectsText {
            anything: effects.anything,
            skips_closed: effects.skips_closed,
            only_looks: effects.only_looks,
            ..EffectsText::default()
        };
        for access in &effects.accesses {
            let resource = match &access.resource {
                Resource::File(file) => ResourceText::File(path(file, keep)),
                Resource::Tree(tree) => ResourceText::Tree(path(tree, keep)),
                Resource::Uri(uri) => ResourceText::Uri(keep(uri.clone())),
            };
            match access.mode {
                Mode::Read => text.reads.push(resource),
                Mode::Write => text.writes.push(resource),
            }
        }
        for command in &effects.commands {
            text.runs.push(match command {
                CommandLine::Shell { line, cwd } => CommandText::Shell {
                    line: keep(line.clone()),
                    cwd: path(cwd, keep),
                },
                CommandLine::Argv { argv, cwd } => CommandText::Argv {
                    argv: argv.iter().cloned().map(&mut *keep).collect(),
                    cwd: path(cwd, keep),
                },
            });
        }
        let says = effects.removes || !text.writes.is_empty();
        text.removes = says.then_some(effects.removes);
        (text, whole)
    }

    /// What an older haft wrote, which did not say so, may have taken something away. Of commands
    /// their words tell.
    fn may_remove(&self) -> bool {
        !self.writes.is_empty() && self.runs.is_empty()
    }

    /// The effects again.
    pub fn effects(&self) -> Effects {
        let resource = |text: &ResourceText| match text {
            ResourceText::File(path) => Resource::File(path.into()),
            ResourceText::Tree(path) => Resource::Tree(path.into()),
            ResourceText::Uri(uri) => Resource::Uri(uri.clone()),
        };
        let mut effects = Effects {
            anything: self.anything,
            skips_closed: self.skips_closed,
            only_looks: self.only_looks,
            removes: self.removes.unwrap_or_else(|| self.may_remove()),
            ..Effects::none()
        };
        for read in &self.reads {
            effects = effects.reads(resource(read));
        }
        for write in &self.writes {
            effects = effects.writes(resource(write));
        }
        for run in &self.runs {
            effects = effects.runs(match run {
                CommandText::Shell { line, cwd } => CommandLine::Shell {
                    line: line.clone(),
                    cwd: cwd.into(),
                },
                CommandText::Argv { argv, cwd } => CommandLine::Argv {
                    argv: argv.clone(),
                    cwd: cwd.into(),
                },
            });
        }
        effects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_record_says_may_have_been_removed() {
        let check = |text: &str, expected: bool| {
            let text: EffectsText = serde_json::from_str(text).unwrap();
            assert_eq!(text.effects().removes, expected, "{text:?}");
        };
        check(r#"{"writes": [{"file": "/a"}]}"#, true);
        check(r#"{"writes": [{"file": "/a"}], "removes": false}"#, false);
        check(r#"{"writes": [{"file": "/a"}], "removes": true}"#, true);
        check(r#"{"reads": [{"file": "/a"}]}"#, false);
        let line = r#""runs": [{"shell": {"line": "ls", "cwd": "/"}}]"#;
        check(
            &format!(r#"{{"writes": [{{"tree": "/"}}], {line}}}"#),
            false,
        );
    }

    #[test]
    fn effects_are_the_same_again() {
        let file = || Resource::File("/a".into());
        for effects in [
            Effects::none().reads(file()),
            Effects::none().writes(file()),
            Effects::none().writes(file()).removing_if(true),
            Effects::none().removing_if(true),
        ] {
            let (text, whole) = EffectsText::of(&effects, &mut |word| word);
            assert!(whole);
            assert_eq!(text.effects(), effects);
        }
    }
}
