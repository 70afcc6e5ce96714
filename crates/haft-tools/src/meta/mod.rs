//! Tools about tools: finding them, looking at them, calling them. They are shown where a model
//! cannot be shown everything, and permitted everywhere, because what they call is judged.

mod action;
mod ask_user;
mod background_run;
mod browse_category;
mod call_app;
mod execute_tool;
mod get_tool;
mod list_categories;
mod run_parallel;
mod search_tools;
mod told;
mod use_skill;

use haft_core::{Exposure, Module, Pack, Risk, ToolSpec, typed};

const MODULE: &str = "meta";

pub(crate) fn pack() -> Pack {
    Pack {
        module: Module {
            name: MODULE,
            summary: "Find, inspect and call other tools, ask the user, run in parallel or in the background",
            constraints: &[],
        },
        tools: vec![
            typed::<search_tools::SearchTools>(),
            typed::<get_tool::GetTool>(),
            typed::<execute_tool::ExecuteTool>(),
            typed::<list_categories::ListCategories>(),
            typed::<browse_category::BrowseCategory>(),
            typed::<run_parallel::RunParallel>(),
            typed::<background_run::BackgroundRun>(),
            typed::<use_skill::UseSkill>(),
            typed::<ask_user::AskUser>(),
            typed::<call_app::CallApp>(),
        ],
        reducers: Vec::new(),
    }
}

/// What all of them have in common.
fn meta(mut spec: ToolSpec, exposure: Exposure) -> ToolSpec {
    spec.module = MODULE.to_owned();
    spec.exposure = exposure;
    spec.always_include = true;
    spec.risk(Risk::Low)
}
