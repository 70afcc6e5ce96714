//! `haft skills`: which skills there are, and why one cannot be used.

use anyhow::{Result, bail};
use haft_runtime::visible;

use crate::cli::{self, SkillsAction};
use crate::exit;
use crate::skills::{self, Skill, State};
use crate::terminal::{ask, fail, print, show, table};
use crate::wiring::{House, Wants};

pub(crate) fn run(command: cli::Skills) -> Result<u8> {
    match command.action {
        None => {
            let house = House::open(&command.seat, Wants::default())?;
            fail::notices(&house.loaded.notices);
            list(&house.skills, command.json)
        }
        Some(SkillsAction::Trust { name, yes, seat }) => {
            let house = House::open(&seat, Wants::default())?;
            trust(&house, &name, yes)
        }
    }
}

fn list(all: &[Skill], as_json: bool) -> Result<u8> {
    if as_json {
        show::json(&all)?;
    } else if all.is_empty() {
        print::line("there are no skills");
    } else {
        let rows = all.iter().map(|skill| {
            vec![
                visible(&skill.name),
                skill.from.to_owned(),
                visible(&told(&skill.state)),
                visible(&skill.description).replace('\n', " "),
            ]
        });
        table::print(&["skill", "from", "state", "what it is about"], rows);
    }
    Ok(0)
}

fn told(state: &State) -> String {
    match state {
        State::Eligible => "eligible".to_owned(),
        State::Lacking(reason) => reason.clone(),
        State::Untrusted => "not trusted: look at it with `haft skills trust`".to_owned(),
        State::Broken(reason) => format!("broken: {reason}"),
        State::Overridden(by) => format!("overridden by {by}"),
    }
}

fn trust(house: &House, name: &str, yes: bool) -> Result<u8> {
    let untrusted = |skill: &&Skill| skill.name == name && skill.state == State::Untrusted;
    let Some(skill) = house.skills.iter().find(untrusted) else {
        bail!(fail::Failed {
            message: format!("no untrusted skill of the project has this name: `{name}`"),
            hint: Some("list them with `haft skills`".to_owned()),
        });
    };
    print::line(&format!(
        "{}:\n",
        print::bold(&visible(&skill.folder.display().to_string()))
    ));
    for file in std::iter::once("SKILL.md").chain(skill.files.iter().map(String::as_str)) {
        print::line(&print::bold(&visible(file)));
        match haft_host::read_skill_file(&skill.folder, file) {
            Ok(text) => print::line(&visible(&text)),
            Err(error) => print::line(&format!("[{error}]")),
        }
    }
    if !yes && !ask::yes_or_no("trust this skill as it stands?").unwrap_or(false) {
        fail::error(
            "not trusted",
            Some("say yes on a terminal, or pass `--yes`"),
        );
        return Ok(exit::FAILED);
    }
    skills::accept(&house.home, skill)?;
    print::line("trusted");
    Ok(0)
}
