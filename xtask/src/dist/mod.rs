//! The program as it is shipped: optimised as a whole, and with the functions that most runs touch
//! side by side. The kernel maps 64 KB around each page that is touched, so functions all over the
//! file cost a short run half its memory and many page faults.

mod link;
mod names;
mod record;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::workspace::{Workspace, cargo};

pub(crate) use link::{acting_as_linker, link};
pub(crate) use record::record;

/// The functions, in the order in which runs first came to them.
const ORDER: &str = "xtask/dist/order.txt";

/// `cargo xtask dist`.
pub(crate) fn run() -> Result<bool> {
    let workspace = Workspace::load()?;
    let program = build(&workspace.root, &workspace.target)?;
    println!("{}", program.display());
    Ok(true)
}

/// Build it, and say where it is.
pub(crate) fn build(root: &Path, target: &Path) -> Result<PathBuf> {
    build_part(root, &["-p", "haft"])?;
    Ok(target.join("dist/haft"))
}

/// Build something in the same way: with another linker cargo would begin everything anew.
pub(crate) fn build_part(root: &Path, part: &[&str]) -> Result<()> {
    let mut build = cargo();
    build
        .args(["build", "--profile", "dist", "--quiet"])
        .args(part);
    link::through_us(&mut build, &root.join(ORDER))?;
    let built = build.status()?;
    if !built.success() {
        bail!("cannot build `{}`: {built}", part.join(" "));
    }
    Ok(())
}
