//! `shell.commit`: put what a dry run would have changed in place.

use std::path::Path;

use haft_core::{
    Effects, Output, Resource, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{Change, Mark, RunProcesses, Trial, is_protected};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::preview::{counts, left_out, listed};
use crate::kept;

/// Above this the whole workspace is named instead of every file in it.
const NAMED: usize = 5_000;

/// Apply the changes of a dry run of `shell.exec`: all of them, exactly as they were shown, or
/// none. The command is not run again. If a file has changed in the meantime, nothing is applied
/// and the answer is `conflict`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Commit {
    /// The `id` that the dry run answered with
    #[schemars(length(min = 1))]
    id: String,
}

impl Tool for Commit {
    const NAME: &'static str = "shell.commit";
    type Power = RunProcesses;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Apply a dry run")
            .tags(&["shell", "apply", "transaction", "dry run"])
            .side_effects(&["changes the files that the dry run listed"])
            .risk(Risk::High)
    }

    fn effects(&self, power: &RunProcesses, cx: &ToolContext) -> Result<Effects, ToolError> {
        let trial = power.trial(&self.id, &cx.caller.session)?;
        Ok(effects(&trial.workspace, &trial.changes))
    }

    async fn run(self, power: &RunProcesses, cx: &ToolContext) -> ToolResult {
        let trial = power.trial(&self.id, &cx.caller.session)?;
        let (trial, lost) = power.commit_trial(trial, Mark::of(cx)).await?;
        Ok(kept::with_lost(answer(&trial), &lost))
    }
}

fn effects(workspace: &Path, changes: &[Change]) -> Effects {
    let mut effects = Effects::none();
    if changes.len() > NAMED {
        effects = effects.writes(Resource::Tree(workspace.to_owned()));
    }
    for change in changes {
        let path = workspace.join(&change.path);
        if is_protected(&change.path).is_some() {
            effects = effects.writes(Resource::protected(&path));
        }
        if changes.len() <= NAMED {
            effects = effects.writes(Resource::File(path));
        }
    }
    effects
}

fn answer(trial: &Trial) -> Output {
    let mut text = format!("applied: {}", counts(&trial.changes));
    let left_out = left_out(trial);
    if !left_out.is_empty() {
        text.push_str(&format!("\n[left out: {}]", left_out.join(", ")));
    }
    Output::text(text).and_structured(json!({
        "id": trial.id,
        "applied": true,
        "changes": listed(trial),
        "changeCount": trial.changes.len(),
        "leftOut": left_out,
    }))
}
