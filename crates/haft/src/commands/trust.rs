//! `haft trust`: a person looks at a project's haft.yaml and .mcp.json and vouches for exactly these
//! bytes.

use anyhow::Result;
use haft_core::Module;
use haft_runtime::visible;

use crate::cli;
use crate::config;
use crate::exit;
use crate::home::Home;
use crate::servers::project;
use crate::terminal::{ask, fail, print};
use crate::trust::{self, ProjectFile, Shown, Standing};
use crate::wiring::workspace_of;

pub(crate) fn run(command: cli::Trust) -> Result<u8> {
    let home = Home::locate()?;
    let workspace = config::absolute(&workspace_of(command.workspace.as_deref())?)?;
    if command.revoke {
        let was = trust::revoke(&home, &workspace)?;
        print::line(if was {
            "no longer trusted"
        } else {
            "it was not trusted"
        });
        return Ok(0);
    }
    let mut found = false;
    let mut code = 0;
    for file in ProjectFile::ALL {
        if let Some(shown) = trust::show(&home, &workspace, file)? {
            found = true;
            code = code.max(one(&home, &shown, command.yes)?);
        }
    }
    if !found {
        fail::error(
            "there is neither a haft.yaml nor a .mcp.json here",
            Some("name its folder with `--workspace`"),
        );
        return Ok(exit::FAILED);
    }
    Ok(code)
}

/// Show a file, and trust it if a person says so.
fn one(home: &Home, shown: &Shown, yes: bool) -> Result<u8> {
    if shown.standing == Standing::Trusted {
        print::line(&format!("already trusted: {}", shown.file.name()));
        return Ok(0);
    }
    match shown.file {
        ProjectFile::Config => {
            let modules: Vec<Module> = haft_tools::packs().iter().map(|pack| pack.module).collect();
            config::check_project_file(&shown.path, &shown.bytes, &modules)?;
        }
        ProjectFile::Servers => fail::notices(&project::parse(&shown.bytes)?.left_out),
    }
    print::line(&format!(
        "{}:\n",
        print::bold(&shown.path.display().to_string())
    ));
    print::line(&visible(&String::from_utf8_lossy(&shown.bytes)));
    let trusted = yes || ask::yes_or_no("trust this file as it stands?").unwrap_or(false);
    if !trusted {
        let without = match shown.file {
            ProjectFile::Config => "not trusted: it can only narrow",
            ProjectFile::Servers => "not trusted: its servers are left out",
        };
        fail::error(without, Some("say yes on a terminal, or pass `--yes`"));
        return Ok(exit::FAILED);
    }
    home.ensure()?;
    shown.accept(home)?;
    print::line(&format!("trusted: {}", shown.file.name()));
    Ok(0)
}
