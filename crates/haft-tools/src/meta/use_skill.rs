use haft_core::{
    Exposure, Output, Repeat, Tool, ToolContext, ToolError, ToolResult, ToolSpec, UseSkills,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Skills named where one is unknown.
const NAMED: usize = 40;

/// Load a skill: instructions for a kind of work, written by the user or for this project. Files
/// that lie beside it are read with `file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UseSkill {
    /// Name of the skill, with or without a leading `/`
    #[schemars(length(min = 1, max = 128), extend("x-aliases" = ["name", "skill"]))]
    command: String,
    /// A file beside the skill to read in its place, relative to it
    #[serde(default)]
    #[schemars(length(min = 1, max = 1000), extend("x-aliases" = ["path"]))]
    file: Option<String>,
}

impl Tool for UseSkill {
    const NAME: &'static str = "use_skill";
    const REPEAT: Repeat = Repeat::Read;
    type Power = UseSkills;

    fn describe(spec: ToolSpec) -> ToolSpec {
        super::meta(spec, Exposure::WithoutTools)
            .titled("Load a skill")
            .example(
                "Load the skill for releases",
                json!({"command": "/release"}),
                json!({"command": "release"}),
            )
    }

    async fn run(self, skills: &UseSkills, _cx: &ToolContext) -> ToolResult {
        let wanted = self.command.strip_prefix('/').unwrap_or(&self.command);
        let all = skills.all();
        let Some(card) = all.iter().find(|card| card.name == wanted) else {
            let names: Vec<&str> = all.iter().take(NAMED).map(|c| c.name.as_str()).collect();
            let shown: String = wanted.chars().take(100).collect();
            let hint = match names.is_empty() {
                true => "there are no skills here".to_owned(),
                false => format!("skills: {}", names.join(", ")),
            };
            return Err(ToolError::not_available(format!("no such skill: `{shown}`")).hint(hint));
        };
        if let Some(file) = &self.file {
            let text = skills.read(&card.name, file)?;
            let answer = json!({
                "command": card.name,
                "description": card.description,
                "file": file,
                "content": text,
            });
            return Ok(Output::text(text).and_structured(answer));
        }
        let skill = skills.load(&card.name)?;
        let note = match skill.files.as_slice() {
            [] => "follow these instructions for the task at hand".to_owned(),
            _ => "follow these instructions for the task at hand; read its files with `file`"
                .to_owned(),
        };
        let answer = json!({
            "command": card.name,
            "description": card.description,
            "content": skill.content,
            "files": skill.files,
            "note": note,
        });
        Ok(Output::structured(answer))
    }
}
