//! Programs of others, installed once by pinned version under a folder of the bench.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A folder with `node_modules`.
pub(crate) fn npm(under: &Path, name: &str, packages: &[&str]) -> Result<PathBuf> {
    install(under, name, packages, |folder| {
        fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
        output(
            Command::new("npm")
                .args(["install", "--no-package-lock", "--no-audit", "--no-fund"])
                .args(["--loglevel", "error"])
                .args(packages)
                .current_dir(folder),
        )?;
        Ok(())
    })
}

/// A virtual environment of Python, its programs in `bin`.
pub(crate) fn python(under: &Path, name: &str, packages: &[&str]) -> Result<PathBuf> {
    install(under, name, packages, |folder| {
        output(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        output(
            Command::new(folder.join("bin/pip"))
                .args(["install", "--quiet", "--disable-pip-version-check"])
                .args(packages),
        )?;
        Ok(())
    })
}

/// What is marked as installed is what is wanted; anything else is made anew.
fn install(
    under: &Path,
    name: &str,
    packages: &[&str],
    steps: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let folder = under.join(name);
    let marker = folder.join("installed");
    let wanted = packages.join("\n");
    if fs::read_to_string(&marker).is_ok_and(|there| there == wanted) {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    steps(&folder).with_context(|| format!("cannot install {}", packages.join(", ")))?;
    fs::write(marker, wanted)?;
    Ok(folder)
}

/// What a command prints, or why it failed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!(
            "{command:?} failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_is_installed_once_and_what_failed_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let mut steps = 0;
        let mut check = |packages: &[&str], works: bool| {
            let installed = install(dir.path(), "peer", packages, |folder| {
                steps += 1;
                assert!(!folder.join("left").exists());
                fs::write(folder.join("left"), "")?;
                if works { Ok(()) } else { bail!("broken") }
            });
            (installed.is_ok(), steps)
        };
        assert_eq!(check(&["a@1"], false), (false, 1));
        assert_eq!(check(&["a@1"], true), (true, 2));
        assert_eq!(check(&["a@1"], true), (true, 2));
        assert_eq!(check(&["a@2"], true), (true, 3));
    }
}
