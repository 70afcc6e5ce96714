//! Recorded decisions judged again by another policy. Everything a verdict depends on is taken
//! from the journal: what was touched, where words led, who called. What the record does not hold
//! is not guessed.

mod case;
mod propose;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use haft_core::Module;
use haft_policy::{Layer, Policy, Verdict};
use haft_store::Journal;
use serde::Serialize;

use crate::config;
use crate::home::Home;
use crate::recording::failed;
use crate::wiring::{House, compile};
use case::{Case, Now};
pub(crate) use propose::Proposal;

/// What a draft would change.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    /// Calls that policy had judged
    pub(crate) calls: usize,
    pub(crate) same: usize,
    /// Calls of which the record does not hold what a rule would read
    pub(crate) unknown: usize,
    /// Why, and how often
    pub(crate) unknown_because: BTreeMap<&'static str, usize>,
    pub(crate) changes: Vec<Change>,
    /// Questions under the draft
    pub(crate) questions: usize,
    /// Rules that would spare most of them
    pub(crate) proposals: Vec<Proposal>,
}

/// A call that the draft judges in another way, or nobody can tell.
#[derive(Debug, Serialize)]
pub(crate) struct Change {
    pub(crate) seq: i64,
    pub(crate) call_id: String,
    pub(crate) tool: String,
    pub(crate) was: Verdict,
    /// `allow`, `ask`, `deny` or `unknown`
    pub(crate) now: &'static str,
    pub(crate) reason: String,
}

/// Judge every call since a time again. A draft that is none is an error, whatever there is to
/// judge.
pub(crate) fn run(
    house: &House,
    journal: Option<&Journal>,
    draft: &Path,
    since: Option<i64>,
) -> Result<Report> {
    let mut bench = Bench::new(house, draft);
    bench.policy(&house.loaded.workspace, &[])?;
    let Some(journal) = journal else {
        return Ok(Report::default());
    };
    let mut cases: HashMap<blake3::Hash, Case> = HashMap::new();
    journal
        .each(since, |line| {
            if let Some((digest, case, call)) = Case::of(line) {
                cases.entry(digest).or_insert(case).calls.push(call);
            }
            Ok(())
        })
        .map_err(failed)?;
    let mut cases: Vec<Case> = cases.into_values().collect();
    cases.sort_by_key(|case| case.calls[0].seq);
    let mut report = Report::default();
    for case in &mut cases {
        case.now = bench.judge(case, &[])?;
        report.add(case);
    }
    report.changes.sort_by_key(|change| change.seq);
    report.proposals = propose::rules(&mut bench, &cases)?;
    Ok(report)
}

impl Report {
    fn add(&mut self, case: &Case) {
        self.calls += case.calls.len();
        let (now, reason) = match &case.now {
            Now::Known(judgement) => (judgement.verdict.as_str(), judgement.reason.as_str()),
            Now::Unknown(why) => {
                self.unknown += case.calls.len();
                *self.unknown_because.entry(why).or_default() += case.calls.len();
                ("unknown", *why)
            }
        };
        if now == Verdict::Ask.as_str() {
            self.questions += case.calls.len();
        }
        for call in &case.calls {
            if now == call.was.as_str() {
                self.same += 1;
                continue;
            }
            self.changes.push(Change {
                seq: call.seq,
                call_id: call.call_id.clone(),
                tool: case.tool.clone(),
                was: call.was,
                now,
                reason: reason.to_owned(),
            });
        }
    }
}

/// The draft, ready to judge calls of any workspace.
pub(crate) struct Bench<'a> {
    house: &'a House,
    draft: &'a Path,
    modules: Vec<Module>,
    /// Of a workspace; none where it is gone
    layers: HashMap<PathBuf, Option<Vec<Layer>>>,
    /// With more rules that allow
    policies: HashMap<(PathBuf, Vec<String>), Arc<Policy>>,
}

impl<'a> Bench<'a> {
    fn new(house: &'a House, draft: &'a Path) -> Self {
        Bench {
            house,
            draft,
            modules: haft_tools::packs().iter().map(|pack| pack.module).collect(),
            layers: HashMap::new(),
            policies: HashMap::new(),
        }
    }

    fn home(&self) -> &Home {
        &self.house.home
    }

    /// What the draft says of a case, with these rules added to what it allows.
    fn judge(&mut self, case: &Case, more: &[String]) -> Result<Now> {
        let Some(policy) = self.policy(&case.workspace, more)? else {
            return Ok(Now::Unknown("its workspace is gone"));
        };
        let snapshot = self.house.runtime.registry().snapshot();
        Ok(match snapshot.resolve(&case.tool) {
            Some(index) => case.judged(&policy, snapshot.entries()[index].spec()),
            None => Now::Unknown("its tool is not there"),
        })
    }

    fn policy(&mut self, workspace: &Path, more: &[String]) -> Result<Option<Arc<Policy>>> {
        let key = (workspace.to_owned(), more.to_vec());
        if let Some(policy) = self.policies.get(&key) {
            return Ok(Some(policy.clone()));
        }
        if !self.layers.contains_key(workspace) {
            let layers = match workspace.is_dir() {
                true => {
                    let loaded =
                        config::load_draft(self.home(), workspace, &self.modules, self.draft)?;
                    Some(loaded.layers)
                }
                false => None,
            };
            self.layers.insert(workspace.to_owned(), layers);
        }
        let Some(Some(layers)) = self.layers.get(workspace) else {
            return Ok(None);
        };
        let mut layers = layers.clone();
        for layer in &mut layers {
            layer.config.tools.rules.allow.extend_from_slice(more);
        }
        let place = |word: &str| config::place_of_word([self.draft], word);
        let policy =
            compile(&layers, workspace, self.home()).map_err(|error| error.placed(place))?;
        let policy = Arc::new(policy);
        self.policies.insert(key, policy.clone());
        Ok(Some(policy))
    }
}
