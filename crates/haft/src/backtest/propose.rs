//! Few rules that would spare most questions. Greedy: the rule that spares most, then the next.
//! A rule that would let a destructive call of the record through is not proposed.

use anyhow::Result;
use haft_policy::Verdict;
use serde::Serialize;

use super::Bench;
use super::case::{Case, Now};

/// More rules than this nobody reads through.
const MOST_RULES: usize = 12;
/// Rules that are tried, those of the most frequent questions first.
const MOST_TRIED: usize = 200;
/// Of a hundred questions so many are to be spared.
const MOST_QUESTIONS: usize = 90;
/// Words of a command that a rule keeps at least: a program alone could do anything.
const FEWEST_WORDS: usize = 2;

/// A rule for `tools.rules.allow`, and the questions that it spares.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Proposal {
    pub(crate) rule: String,
    pub(crate) questions: usize,
}

pub(super) fn rules(bench: &mut Bench<'_>, cases: &[Case]) -> Result<Vec<Proposal>> {
    let mut open: Vec<&Case> = cases
        .iter()
        .filter(|case| case.now.verdict() == Some(Verdict::Ask) && !case.is_destructive())
        .collect();
    let never: Vec<&Case> = cases
        .iter()
        .filter(|case| case.is_destructive() && case.now.verdict() != Some(Verdict::Allow))
        .collect();
    let all = questions(&open);
    let mut tried = candidates(&open);
    let mut chosen: Vec<String> = Vec::new();
    let mut proposals = Vec::new();
    while proposals.len() < MOST_RULES && (all - questions(&open)) * 100 < all * MOST_QUESTIONS {
        let mut best: Option<(usize, String)> = None;
        let mut useless = Vec::new();
        for rule in &tried {
            let spared = spares(bench, &open, &never, &chosen, rule)?;
            if spared == 0 {
                useless.push(rule.clone());
            } else if best.as_ref().is_none_or(|(most, _)| spared > *most) {
                best = Some((spared, rule.clone()));
            }
        }
        let Some((questions, rule)) = best else {
            break;
        };
        tried.retain(|other| *other != rule && !useless.contains(other));
        chosen.push(rule.clone());
        let mut still = Vec::new();
        for case in open {
            if bench.judge(case, &chosen)?.verdict() != Some(Verdict::Allow) {
                still.push(case);
            }
        }
        open = still;
        proposals.push(Proposal { rule, questions });
    }
    Ok(proposals)
}

fn questions(cases: &[&Case]) -> usize {
    cases.iter().map(|case| case.calls.len()).sum()
}

/// How many questions a rule spares beside those chosen; none if it allows what it must not.
fn spares(
    bench: &mut Bench<'_>,
    open: &[&Case],
    never: &[&Case],
    chosen: &[String],
    rule: &str,
) -> Result<usize> {
    let mut rules = chosen.to_vec();
    rules.push(rule.to_owned());
    let tool = rule.split('(').next().unwrap_or(rule);
    let mut spared = 0;
    for case in open.iter().filter(|case| case.tool == tool) {
        if bench.judge(case, &rules)?.verdict() == Some(Verdict::Allow) {
            spared += case.calls.len();
        }
    }
    if spared == 0 {
        return Ok(0);
    }
    // A rule speaks of effects, so every tool's calls are looked at.
    for case in never {
        if bench.judge(case, &rules)?.verdict() == Some(Verdict::Allow) {
            return Ok(0);
        }
    }
    Ok(spared)
}

/// The rules that "always" would store, and wider ones made of them: narrow ones first, so that of
/// two that spare as much the narrower is taken.
fn candidates(open: &[&Case]) -> Vec<String> {
    let mut by_weight: Vec<&&Case> = open.iter().collect();
    by_weight.sort_by_key(|case| std::cmp::Reverse(case.calls.len()));
    let mut found: Vec<(usize, String)> = Vec::new();
    for case in by_weight {
        let Now::Known(judgement) = &case.now else {
            continue;
        };
        let Some(exact) = &judgement.remember else {
            continue;
        };
        for (width, rule) in std::iter::once(exact.clone())
            .chain(wider(exact, case))
            .enumerate()
        {
            if found.len() < MOST_TRIED && !found.iter().any(|(_, other)| *other == rule) {
                found.push((width, rule));
            }
        }
    }
    found.sort_by_key(|(width, _)| *width);
    found.into_iter().map(|(_, rule)| rule).collect()
}

/// The same rule for any end of the command, or for the folders around the path.
fn wider(rule: &str, case: &Case) -> Vec<String> {
    let Some((tool, pattern)) = rule.strip_suffix(')').and_then(|rule| rule.split_once('(')) else {
        return Vec::new();
    };
    let runs = case
        .effects
        .as_ref()
        .is_some_and(|effects| !effects.commands.is_empty());
    if runs {
        let words: Vec<&str> = pattern.split(' ').collect();
        // A quoted word with a blank in it is no place to cut.
        if pattern.contains(['\'', '"', '\\']) {
            return Vec::new();
        }
        return (FEWEST_WORDS..=words.len())
            .rev()
            .map(|count| format!("{tool}({} *)", words[..count].join(" ")))
            .collect();
    }
    let workspace = case.workspace.to_string_lossy();
    let mut folder = pattern;
    let mut rules = Vec::new();
    while let Some((above, _)) = folder.rsplit_once('/') {
        if !above.starts_with(&*workspace) {
            break;
        }
        rules.push(format!("{tool}({above}/**)"));
        folder = above;
    }
    rules
}
