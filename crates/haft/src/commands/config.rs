//! `haft config`: what is in force, whether it is good, where it stands.

use std::path::Path;

use anyhow::Result;
use haft_core::Module;

use crate::cli::{self, ConfigAction};
use crate::config::{self, Format, Loaded};
use crate::home::Home;
use crate::terminal::{fail, print, show};
use crate::wiring::{House, Wants, workspace_of};

pub(crate) fn run(command: cli::Config) -> Result<u8> {
    match command.action {
        ConfigAction::Show { json, workspace } => {
            let loaded = load(workspace.as_deref())?;
            fail::notices(&loaded.notices);
            let format = if json { Format::Json } else { Format::Yaml };
            print::line(config::show(&loaded.effective, format)?.trim_end());
        }
        ConfigAction::Check { workspace } => {
            // Opening the house compiles the policy too.
            let seat = cli::Seat {
                workspace,
                ..cli::Seat::default()
            };
            let house = House::open(&seat, Wants::default())?;
            fail::notices(&house.loaded.notices);
            for file in &house.loaded.files {
                let standing = if file.trusted {
                    "good"
                } else {
                    "good, not trusted"
                };
                print::line(&format!("{}: {standing}", file.path.display()));
            }
            if house.loaded.files.is_empty() {
                print::line("no config file: defaults are in force");
            }
        }
        ConfigAction::Path { workspace } => {
            let workspace = config::absolute(&workspace_of(workspace.as_deref())?)?;
            for path in config::paths(&Home::locate()?, &workspace) {
                let there = if path.exists() { "" } else { " (not there)" };
                print::line(&format!("{}{there}", path.display()));
            }
        }
        ConfigAction::Schema => show::json(&config::schema())?,
    }
    Ok(0)
}

fn load(workspace: Option<&Path>) -> Result<Loaded> {
    let modules: Vec<Module> = haft_tools::packs().iter().map(|pack| pack.module).collect();
    Ok(config::load(
        &Home::locate()?,
        &workspace_of(workspace)?,
        &modules,
    )?)
}
