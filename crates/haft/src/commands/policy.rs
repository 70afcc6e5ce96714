//! `haft policy`: what would be said to a call, and what "always" has stored.

use std::path::{Path, PathBuf};

use anyhow::Result;

use haft_runtime::visible;

use crate::cli::{self, PolicyAction, RulesAction, Seat};
use crate::config;
use crate::exit;
use crate::home::Home;
use crate::recording::Recording;
use crate::remembered::{self, Rules};
use crate::terminal::{fail, input, print, show, table};
use crate::wiring::{House, Wants, workspace_of};

pub(crate) fn run(command: cli::Policy) -> Result<u8> {
    match command.action {
        PolicyAction::Explain {
            tool,
            args,
            json,
            seat,
        } => explain(&seat, &tool, args.as_deref(), json),
        PolicyAction::Backtest {
            policy,
            since,
            json,
        } => super::backtest::run(&policy, since.as_deref(), json),
        PolicyAction::Allow { rule, workspace } => allow(&rule, workspace),
        PolicyAction::Rules {
            action: None,
            json,
            workspace,
        } => list(json, workspace.as_deref()),
        PolicyAction::Rules {
            action:
                Some(RulesAction::Revoke {
                    rule,
                    workspace: inner,
                }),
            workspace,
            ..
        } => revoke(&rule, inner.or(workspace).as_deref()),
    }
}

fn explain(seat: &Seat, tool: &str, args: Option<&str>, as_json: bool) -> Result<u8> {
    // Nothing runs, so what only a batch may do can be explained too.
    let wants = Wants {
        background: true,
        ..Wants::default()
    };
    let house = House::open(seat, wants)?;
    fail::notices(&house.loaded.notices);
    let args = input::arguments(args)?;
    let explanation = house.runtime.explain(&house.session, tool, args.as_ref())?;
    if as_json {
        show::json(&explanation)?;
        return Ok(0);
    }
    let judgement = &explanation.judgement;
    let verdict = print::verdict(judgement.verdict);
    print::line(&format!("{}: {verdict}", print::bold(&explanation.tool)));
    print::line(&format!("{}\n", visible(&judgement.reason)));
    let rows = judgement
        .rules
        .iter()
        .map(|hit| vec![hit.effect.clone(), hit.rule.clone(), hit.from.clone()]);
    table::print(&["effect", "rule", "from"], rows);
    Ok(0)
}

/// Store a rule, if policy can make something of it.
fn allow(rule: &str, workspace: Option<PathBuf>) -> Result<u8> {
    let seat = Seat {
        workspace,
        ..Seat::default()
    };
    let house = House::open(&seat, Wants::default())?;
    house.check_rule(rule)?;
    remembered::add(&house.recording, &house.loaded.workspace, rule)?;
    print::line(&format!("allowed here: {}", visible(rule)));
    Ok(0)
}

fn list(as_json: bool, workspace: Option<&Path>) -> Result<u8> {
    let workspace = config::absolute(&workspace_of(workspace)?)?;
    let rules = Rules::read(&Home::locate()?);
    if let Some(notice) = &rules.notice {
        fail::notice(notice);
    }
    let here: Vec<_> = rules
        .all
        .iter()
        .filter(|rule| Path::new(&rule.workspace) == workspace)
        .collect();
    if as_json {
        show::json(&here)?;
    } else if here.is_empty() {
        print::line("no rule is remembered for this workspace");
    } else {
        let rows = here
            .iter()
            .map(|rule| vec![rule.id.clone(), rule.rule.clone(), rule.since()]);
        table::print(&["id", "rule", "since"], rows);
    }
    Ok(0)
}

fn revoke(rule: &str, workspace: Option<&Path>) -> Result<u8> {
    let workspace = config::absolute(&workspace_of(workspace)?)?;
    let gone = remembered::revoke(&Recording::new(&Home::locate()?), &workspace, rule)?;
    for rule in &gone {
        print::line(&format!("revoked: {}", rule.rule));
    }
    if gone.is_empty() {
        fail::error(
            &format!("no such rule: `{rule}`"),
            Some("list them with `haft policy rules`"),
        );
        return Ok(exit::FAILED);
    }
    Ok(0)
}
