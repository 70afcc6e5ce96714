//! What policy as a whole does; parts have their tests beside them.

mod calls;
mod classics;
mod closed;
mod corpus;
mod properties;
mod shells;
mod tools;
mod words;

use std::path::{Path, PathBuf};

use haft_core::{Capability, CommandLine, Effects, Repeat, Resource, Risk, Source, ToolSpec};
use serde_json::{Value, json};

use crate::{Bound, Judgement, Layer, Places, Policy, PolicyConfig, PolicyError, Who};

fn places() -> Places {
    Places {
        workspace: "/w".into(),
        home: Some("/home/me".into()),
        own: [
            PathBuf::from("/home/me/.haft"),
            PathBuf::from("/w/haft.yaml"),
        ]
        .into(),
    }
}

fn layer(from: &str, config: Value) -> Layer {
    let config: PolicyConfig = serde_json::from_value(config).unwrap();
    Layer {
        from: from.to_owned(),
        config,
    }
}

fn compile(config: Value) -> Result<Policy, PolicyError> {
    Policy::compile(vec![layer("config.yaml", config)], places())
}

/// The host's part: `.` and `..` taken out, one link followed.
fn resolve(cwd: &Path, path: &str) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in cwd.join(path).components() {
        match part {
            std::path::Component::ParentDir => {
                resolved.pop();
            }
            std::path::Component::CurDir => {}
            part => resolved.push(part),
        }
        if resolved == Path::new("/w/link") {
            resolved = PathBuf::from("/etc");
        }
    }
    resolved
}

fn tool(name: &str) -> ToolSpec {
    let mut spec = ToolSpec::new(name, "", json!({}));
    let aliases: &[&str] = match name {
        "shell.exec" => &["bash", "Bash"],
        "file.read" => &["Read", "read_file"],
        "file.write" => &["Write", "write_file"],
        _ => &[],
    };
    spec = spec.aliases(aliases);
    match name {
        "shell.exec" | "process.start" => {
            spec.risk = Risk::High;
            spec.capabilities = vec![Capability::ShellExec];
        }
        "file.write" | "file.edit" | "file.patch" => spec.risk = Risk::High,
        "file.read" | "file.list" | "system.info" | "memory.read" | "search_tools" => {
            spec.repeat = Repeat::Read;
        }
        _ => {}
    }
    spec.always_include = name == "search_tools";
    if let Some(server) = name
        .strip_prefix("mcp.")
        .and_then(|rest| rest.split('.').next())
    {
        spec.source = Source::Mcp(server.to_owned());
    }
    spec
}

fn line(text: &str) -> Effects {
    Effects::none().runs(CommandLine::Shell {
        line: text.to_owned(),
        cwd: "/w".into(),
    })
}

fn argv(words: &[&str]) -> Effects {
    Effects::none().runs(CommandLine::Argv {
        argv: words.iter().map(|&word| word.to_owned()).collect(),
        cwd: "/w".into(),
    })
}

fn write(path: &str) -> Effects {
    Effects::none().writes(Resource::File(path.into()))
}

fn read(path: &str) -> Effects {
    Effects::none().reads(Resource::File(path.into()))
}

fn judged(bound: &Bound, effects: &Effects) -> Judgement {
    bound.judge(effects, &resolve).into_owned()
}

fn judge(config: Value, name: &str, effects: &Effects) -> Judgement {
    let policy = compile(config).unwrap();
    judged(&policy.bind(&tool(name), &Who::default()), effects)
}

/// Verdict and the rules that led to it, on one line.
fn shown(judgement: &Judgement) -> String {
    let rules: Vec<String> = judgement
        .rules
        .iter()
        .filter(|hit| hit.effect == judgement.verdict.as_str())
        .map(|hit| format!("{} ({})", hit.rule, hit.from))
        .collect();
    format!("{}: {}", judgement.verdict, rules.join(", "))
}
