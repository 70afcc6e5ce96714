//! `haft trust`: a person looks at a project's haft.yaml and vouches for exactly these bytes.

use anyhow::Result;
use haft_core::Module;
use haft_runtime::visible;

use crate::cli;
use crate::config;
use crate::exit;
use crate::home::Home;
use crate::terminal::{ask, fail, print};
use crate::trust::{self, Standing};
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
    let Some(shown) = trust::show(&home, &workspace)? else {
        fail::error(
            "there is no haft.yaml here",
            Some("name its folder with `--workspace`"),
        );
        return Ok(exit::FAILED);
    };
    if shown.standing == Standing::Trusted {
        print::line("already trusted");
        return Ok(0);
    }
    let modules: Vec<Module> = haft_tools::packs().iter().map(|pack| pack.module).collect();
    config::check_project_file(&shown.path, &shown.bytes, &modules)?;
    print::line(&format!(
        "{}:\n",
        print::bold(&shown.path.display().to_string())
    ));
    print::line(&visible(&String::from_utf8_lossy(&shown.bytes)));
    let trusted = command.yes || ask::yes_or_no("trust this file as it stands?").unwrap_or(false);
    if !trusted {
        fail::error(
            "not trusted: it can only narrow",
            Some("say yes on a terminal, or pass `--yes`"),
        );
        return Ok(exit::FAILED);
    }
    home.ensure()?;
    shown.accept(&home)?;
    print::line("trusted");
    Ok(0)
}
