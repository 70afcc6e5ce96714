//! The paths that deny rules close for one tool and one caller, for whoever opens files that no
//! effect names: walks leave them out, sandboxes hide them.

use std::path::{Path, PathBuf};

use haft_core::{ClosedPaths, ClosedStart, Mode, Resource};

use crate::binding::LayerBound;
use crate::judgement::Verdict;
use crate::path::PathPattern;

#[derive(Debug)]
pub(crate) struct Closed {
    rules: Vec<ClosedRule>,
}

#[derive(Debug)]
struct ClosedRule {
    /// None for every path there is
    pattern: Option<PathPattern>,
    reads: bool,
    writes: bool,
}

impl Closed {
    /// None where nothing is closed.
    pub(crate) fn of(layers: &[LayerBound]) -> Option<Self> {
        let rules: Vec<ClosedRule> = layers
            .iter()
            .flat_map(LayerBound::rules)
            .filter(|(rule, _)| rule.effect == Verdict::Deny && rule.minds_paths())
            .map(|(rule, named)| ClosedRule {
                pattern: rule.argument.as_ref().and_then(|one| one.path.clone()),
                reads: !rule.all_writes && (named || rule.family.reads),
                writes: rule.all_writes || named || rule.family.writes,
            })
            .collect();
        (!rules.is_empty()).then_some(Closed { rules })
    }

    fn rules(&self, mode: Mode) -> impl Iterator<Item = &ClosedRule> {
        self.rules.iter().filter(move |rule| match mode {
            Mode::Read => rule.reads,
            Mode::Write => rule.writes,
        })
    }

    fn touches(&self, mode: Mode, resource: &Resource) -> bool {
        self.rules(mode).any(|rule| {
            let pattern = rule.pattern.as_ref();
            pattern.is_none_or(|pattern| pattern.touches(resource))
        })
    }
}

impl ClosedPaths for Closed {
    fn closes(&self, mode: Mode, path: &Path) -> bool {
        self.touches(mode, &Resource::File(path.to_owned()))
    }

    fn reaches(&self, mode: Mode, folder: &Path) -> bool {
        self.touches(mode, &Resource::Tree(folder.to_owned()))
    }

    fn starts(&self, mode: Mode) -> Vec<ClosedStart> {
        let everywhere = || {
            vec![ClosedStart {
                path: PathBuf::from("/"),
                exact: false,
            }]
        };
        let mut starts: Vec<ClosedStart> = Vec::new();
        for rule in self.rules(mode) {
            let of_rule = rule.pattern.as_ref();
            starts.extend(of_rule.map_or_else(everywhere, PathPattern::starts));
        }
        starts.dedup();
        starts
    }
}
