//! `cargo xtask docs`: pages that say what the binary says, written from the binary itself, so
//! that a change of the contract shows as a change of a checked-in file.

mod cli;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tempfile::TempDir;

use crate::workspace::{Workspace, cargo};

/// A generated file.
#[derive(Debug)]
pub(crate) struct Page {
    /// Relative to the root of the project
    pub(crate) path: &'static str,
    pub(crate) text: String,
}

/// Write all pages.
pub(crate) fn write() -> Result<()> {
    let workspace = Workspace::load()?;
    for page in pages(&workspace)? {
        let path = workspace.root.join(page.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, page.text).with_context(|| format!("cannot write `{}`", page.path))?;
        println!("docs: {}", page.path);
    }
    Ok(())
}

/// All pages as they should be now.
pub(crate) fn pages(workspace: &Workspace) -> Result<Vec<Page>> {
    let binary = Binary::build(&workspace.target)?;
    let tools: Value = serde_json::from_str(&binary.say(&["tools", "--json"])?)
        .context("`haft tools --json` did not answer with JSON")?;
    let schema: Value = serde_json::from_str(&binary.say(&["config", "schema"])?)
        .context("`haft config schema` did not answer with JSON")?;
    Ok(vec![
        Page {
            path: "docs/tools.md",
            text: tools::page(&tools)?,
        },
        Page {
            path: "docs/config.schema.json",
            text: format!("{}\n", serde_json::to_string_pretty(&schema)?),
        },
        Page {
            path: "docs/cli.md",
            text: cli::page(&mut |command| {
                let mut arguments = command.to_vec();
                arguments.push("--help");
                binary.say(&arguments)
            })?,
        },
    ])
}

/// The built program, run where it finds no config but the default one.
struct Binary {
    path: PathBuf,
    home: TempDir,
    folder: TempDir,
}

impl Binary {
    fn build(target: &Path) -> Result<Self> {
        let built = cargo().args(["build", "--quiet", "-p", "haft"]).status()?;
        if !built.success() {
            bail!("cannot build `haft`: {built}");
        }
        Ok(Binary {
            path: target.join("debug/haft"),
            home: tempfile::tempdir()?,
            folder: tempfile::tempdir()?,
        })
    }

    fn say(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new(&self.path)
            .args(arguments)
            .current_dir(self.folder.path())
            .env("HAFT_HOME", self.home.path())
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .output()
            .with_context(|| format!("cannot run `{}`", self.path.display()))?;
        if !output.status.success() {
            bail!(
                "`haft {}` failed: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        String::from_utf8(output.stdout).context("the answer is not UTF-8")
    }
}
