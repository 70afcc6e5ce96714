//! Skills: folders with a `SKILL.md`, in haft's home, where config says, and in the project. Those
//! of a project arrive with a clone, so they count only once a person has trusted exactly what
//! their folder holds.

mod front;
mod needs;
mod seat;
mod trusted;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::{
    DynTool, Exposure, LoadedSkill, Repeat, Risk, SkillCard, Skills, ToolError, ToolSpec, shortcut,
};
use serde::Serialize;
use serde_json::{Map, json};

use needs::Host;
pub(crate) use seat::handed_to;
pub(crate) use trusted::accept;

use crate::home::Home;

/// A skill that was found, usable or not.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Skill {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) from: &'static str,
    pub(crate) folder: PathBuf,
    /// Models are given it without asking for it
    pub(crate) always: bool,
    #[serde(flatten)]
    pub(crate) state: State,
    pub(crate) files: Vec<String>,
    #[serde(skip)]
    body: String,
    #[serde(skip)]
    pub(crate) digest: String,
}

/// How a skill stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "reason", rename_all = "snake_case")]
pub(crate) enum State {
    Eligible,
    /// No host meets all it needs
    Lacking(String),
    /// Nobody here has trusted it as it is
    Untrusted,
    Broken(String),
    /// Another one of the same name stands in its place
    Overridden(String),
}

/// Every skill there is: the home's, then config's, then the project's; a later one takes the
/// place of an earlier one of its name.
fn find(home: &Home, workspace: &Path, more: &[PathBuf], hosts: &[Host]) -> Vec<Skill> {
    let mut places = vec![("home", home.path().join("skills"))];
    // Whatever lies in the workspace came with it, whoever pointed there.
    let from = |folder: &Path| match folder.starts_with(workspace) {
        true => "project",
        false => "config",
    };
    places.extend(more.iter().map(|folder| (from(folder), folder.clone())));
    places.push(("project", workspace.join(".haft/skills")));
    let mut skills: Vec<Skill> = Vec::new();
    for (from, root) in places {
        for folder in haft_host::find_skills(&root) {
            let mut skill = read(folder, from, hosts);
            if from == "project"
                && !matches!(skill.state, State::Broken(_))
                && !trusted::is_trusted(home, &skill)
            {
                skill.state = State::Untrusted;
            }
            let same =
                |other: &&mut Skill| other.name == skill.name && other.state == State::Eligible;
            if skill.state == State::Eligible
                && let Some(earlier) = skills.iter_mut().find(same)
            {
                earlier.state = State::Overridden(skill.folder.display().to_string());
            }
            skills.push(skill);
        }
    }
    skills
}

fn read(folder: haft_host::SkillFolder, from: &'static str, hosts: &[Host]) -> Skill {
    let named = folder.path.file_name().unwrap_or_default();
    let mut skill = Skill {
        name: named.to_string_lossy().into_owned(),
        description: String::new(),
        from,
        folder: folder.path,
        always: false,
        state: State::Eligible,
        files: folder.files,
        body: String::new(),
        digest: folder.digest,
    };
    let text = match folder.text {
        Ok(text) => text,
        Err(reason) => {
            skill.state = State::Broken(reason);
            return skill;
        }
    };
    match front::parse(&text, &skill.name) {
        Err(reason) => skill.state = State::Broken(reason),
        Ok(front) => {
            skill.state = match needs::lacking(&front.requires, hosts) {
                Some(reason) => State::Lacking(reason),
                None => State::Eligible,
            };
            skill.always = front.always;
            skill.name = front.name;
            skill.description = front.description;
            skill.body = front.body;
        }
    }
    skill
}

/// The skills that models are given without asking for them, as a prompt has them.
pub(crate) fn standing(skills: &[Skill]) -> String {
    let given = |skill: &&Skill| skill.always && skill.state == State::Eligible;
    let told = |skill: &Skill| {
        format!(
            "\nAlways follow the skill `{}`:\n{}\n",
            skill.name, skill.body
        )
    };
    skills.iter().filter(given).map(told).collect()
}

/// The skills that can be loaded.
struct Shelf(Vec<Skill>);

impl Shelf {
    fn new(all: &[Skill]) -> Shelf {
        let eligible = all.iter().filter(|skill| skill.state == State::Eligible);
        Shelf(eligible.cloned().collect())
    }

    /// A tool for each, which is only another way to load it.
    fn shortcuts(&self) -> Vec<Arc<dyn DynTool>> {
        self.0.iter().map(one_shortcut).collect()
    }

    fn get(&self, name: &str) -> Result<&Skill, ToolError> {
        let skill = self.0.iter().find(|skill| skill.name == name);
        let skill = skill.ok_or_else(|| ToolError::not_available("no such skill"))?;
        // What was trusted is what was looked at: a folder that changed since is not.
        let changed = skill.from == "project"
            && haft_host::skill_digest(&skill.folder).ok().as_ref() != Some(&skill.digest);
        if changed {
            return Err(ToolError::not_available(format!(
                "the skill `{name}` has changed since it was trusted"
            ))
            .hint("the user can look at it with `haft skills trust`"));
        }
        Ok(skill)
    }
}

impl Skills for Shelf {
    fn all(&self) -> Vec<SkillCard> {
        let cards = self.0.iter().map(|skill| SkillCard {
            name: skill.name.clone(),
            description: skill.description.clone(),
        });
        cards.collect()
    }

    fn load(&self, name: &str) -> Result<LoadedSkill, ToolError> {
        let skill = self.get(name)?;
        Ok(LoadedSkill {
            content: skill.body.clone(),
            files: skill.files.clone(),
        })
    }

    fn read(&self, name: &str, file: &str) -> Result<String, ToolError> {
        let skill = self.get(name)?;
        haft_host::read_skill_file(&skill.folder, file).map_err(|error| {
            ToolError::input_invalid(format!("`{file}` cannot be read: {error}"))
                .hint(format!("files of `{name}`: {}", skill.files.join(", ")))
        })
    }
}

fn one_shortcut(skill: &Skill) -> Arc<dyn DynTool> {
    let schema = json!({
        "type": "object",
        "properties": {
            "file": {"type": "string", "description": "A file beside the skill to read in its place"},
        },
        "additionalProperties": false,
    });
    let mut spec = ToolSpec::new(
        format!("skill.{}", skill.name),
        format!("Load the skill `{}`: {}", skill.name, skill.description),
        schema,
    );
    spec.exposure = Exposure::Direct;
    spec.repeat = Repeat::Read;
    spec.always_include = true;
    let mut fixed = Map::new();
    fixed.insert("command".into(), skill.name.as_str().into());
    shortcut(spec.risk(Risk::Low), "use_skill", fixed)
}
