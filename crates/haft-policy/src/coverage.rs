//! What allow rules open: every simple command of a line, every file it touches.

use haft_core::{Access, Mode};

use crate::binding::{LayerBound, is_sink};
use crate::call::{CallFacts, Line};
use crate::judgement::{RuleHit, Verdict};
use crate::rule::Rule;
use crate::shell::Command;

/// What allow rules make of a call.
pub(crate) enum Coverage {
    /// None speaks about this tool
    Silent,
    /// Every part of the call is allowed
    Full(Vec<RuleHit>),
    /// Something is not, for this reason
    Missing(String),
}

impl LayerBound {
    pub(crate) fn coverage(&self, call: &CallFacts<'_>, commands_expected: bool) -> Coverage {
        if !call.effects.commands.is_empty() {
            return self.command_coverage(call);
        }
        if let Some(hit) = &self.whole_tool {
            return Coverage::Full(vec![hit.clone()]);
        }
        let mut rules = self
            .rules()
            .filter(|(rule, named)| *named && rule.effect == Verdict::Allow)
            .map(|(rule, _)| rule)
            .peekable();
        if rules.peek().is_none() {
            return Coverage::Silent;
        }
        let missing = || Coverage::Missing("no allow rule matches this call".to_owned());
        if commands_expected || call.effects.anything || call.effects.accesses.is_empty() {
            return missing();
        }
        let rules: Vec<&Rule> = rules.collect();
        let mut hits = Vec::new();
        for access in &call.effects.accesses {
            match rules.iter().find(|rule| rule.covers(access)) {
                Some(rule) => add(&mut hits, rule.hit()),
                None => return missing(),
            }
        }
        Coverage::Full(hits)
    }

    /// Every simple command of every line must be allowed, and every file the line opens.
    fn command_coverage(&self, call: &CallFacts<'_>) -> Coverage {
        let mut hits = Vec::new();
        for line in &call.lines {
            if let Some(not_plain) = &line.script.not_plain {
                return Coverage::Missing(format!(
                    "the command is more than plain words: {} at {}",
                    not_plain.why, not_plain.offset
                ));
            }
            for command in &line.script.commands {
                if let Err(missing) = self.cover_command(call, line, command, &mut hits) {
                    return Coverage::Missing(missing);
                }
            }
        }
        for access in &call.opened {
            if let Err(missing) = self.cover_redirect(access, &mut hits) {
                return Coverage::Missing(missing);
            }
        }
        if hits.is_empty() {
            return Coverage::Missing("no rule allows an empty command".to_owned());
        }
        Coverage::Full(hits)
    }

    fn cover_command(
        &self,
        call: &CallFacts<'_>,
        line: &Line,
        command: &Command,
        hits: &mut Vec<RuleHit>,
    ) -> Result<(), String> {
        if let Some(hit) = &self.whole_tool {
            add(hits, hit.clone());
            for one in command.all() {
                self.doubtless(call, line, one)?;
            }
            return Ok(());
        }
        let mut exact = false;
        if !command.words.is_empty() {
            let safe = |word: &str| self.safe(call, line, word);
            let covering = self.rules().find_map(|(rule, named)| {
                let pattern = rule.argument.as_ref()?.command.as_ref()?;
                let covers =
                    named && rule.effect == Verdict::Allow && pattern.covers(command, &safe);
                covers.then_some((rule, pattern))
            });
            let Some((rule, pattern)) = covering else {
                return Err(format!(
                    "no rule allows this command: `{}`",
                    command.shown()
                ));
            };
            add(hits, rule.hit());
            exact = pattern.is_exact();
        }
        // Whoever allows a wrapper with `*` has not allowed what it wraps.
        if !exact {
            self.doubtless(call, line, command)?;
            for inner in &command.inner {
                self.cover_command(call, line, inner, hits)?;
            }
        }
        Ok(())
    }

    /// Whoever allows a program with `*` has not allowed what a rule closes.
    fn doubtless(
        &self,
        call: &CallFacts<'_>,
        line: &Line,
        command: &Command,
    ) -> Result<(), String> {
        match self.may_meet(call, line, command) {
            Some(rule) => Err(format!(
                "it may touch what `{}` ({}) closes: `{}`",
                rule.text,
                rule.from,
                command.shown()
            )),
            None => Ok(()),
        }
    }

    fn cover_redirect(&self, access: &Access, hits: &mut Vec<RuleHit>) -> Result<(), String> {
        if is_sink(access) {
            return Ok(());
        }
        let rule = self.rules.iter().find(|rule| {
            rule.effect == Verdict::Allow && rule.family.has(access.mode) && rule.covers(access)
        });
        if let Some(rule) = rule {
            add(hits, rule.hit());
            return Ok(());
        }
        if access.mode == Mode::Read && access.resource.path().is_some_and(|path| self.open(path)) {
            return Ok(());
        }
        let verb = match access.mode {
            Mode::Read => "reading from",
            Mode::Write => "writing to",
        };
        Err(format!("no rule allows {verb} `{}`", access.resource))
    }
}

fn add(hits: &mut Vec<RuleHit>, hit: RuleHit) {
    if !hits.contains(&hit) {
        hits.push(hit);
    }
}
