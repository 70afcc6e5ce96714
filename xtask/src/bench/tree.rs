//! A tree of real source for searches: what cargo has unpacked for this project, copied as often
//! as it takes. Names that hold keys are left out, as haft does not search them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

const FILES: usize = 30_000;
const KEYS: &[&str] = &["pem", "key", "p12", "pfx", "jks", "keystore", "ppk", "kdbx"];

pub(crate) struct Tree {
    pub(crate) path: PathBuf,
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

/// The tree, made if it is not there; a git repository, as source usually is one.
pub(crate) fn prepare(bench: &Path) -> Result<Tree> {
    let path = bench.join("tree");
    let done = bench.join("tree.done");
    if !done.exists() {
        if path.exists() {
            fs::remove_dir_all(&path)?;
        }
        let packages = packages()?;
        let mut files = 0;
        for round in 0.. {
            for package in &packages {
                if files < FILES {
                    let name = package.file_name().context("a package has a name")?;
                    files += copy(package, &path.join(round.to_string()).join(name))?;
                }
            }
            if files >= FILES {
                break;
            }
            if files == 0 {
                bail!("cargo has unpacked no packages here");
            }
        }
        git(&path, &["init", "--quiet"])?;
        git(&path, &["add", "--all"])?;
        fs::write(&done, "")?;
    }
    let (files, bytes) = size(&path)?;
    Ok(Tree { path, files, bytes })
}

/// The folders of unpacked packages, by name.
fn packages() -> Result<Vec<PathBuf>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let sources = home.context("no home folder")?.join("registry/src");
    let mut packages = Vec::new();
    for registry in fs::read_dir(&sources).context("no unpacked packages")? {
        for package in fs::read_dir(registry?.path())? {
            packages.push(package?.path());
        }
    }
    packages.sort();
    Ok(packages)
}

/// Copy the files of a folder; how many there were.
fn copy(from: &Path, to: &Path) -> Result<usize> {
    fs::create_dir_all(to)?;
    let mut files = 0;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            files += copy(&entry.path(), &target)?;
        } else if kind.is_file() && !holds_key(&target) {
            fs::copy(entry.path(), target)?;
            files += 1;
        }
    }
    Ok(files)
}

fn holds_key(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| KEYS.iter().any(|key| ending == *key))
}

fn size(folder: &Path) -> Result<(usize, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == ".git" {
            continue;
        }
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            let (inner_files, inner_bytes) = size(&entry.path())?;
            files += inner_files;
            bytes += inner_bytes;
        } else {
            files += 1;
            bytes += metadata.len();
        }
    }
    Ok((files, bytes))
}

fn git(folder: &Path, words: &[&str]) -> Result<()> {
    let status = Command::new("git")
        .args(words)
        .current_dir(folder)
        .status()?;
    if !status.success() {
        bail!("`git {}` failed: {status}", words.join(" "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_leaves_keys_out() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir_all(from.join("src")).unwrap();
        for name in ["src/lib.rs", "server.KEY", "README.md"] {
            fs::write(from.join(name), "12345").unwrap();
        }
        let to = dir.path().join("to");
        assert_eq!(copy(&from, &to).unwrap(), 2);
        assert_eq!(size(&to).unwrap(), (2, 10));
        assert!(!to.join("server.KEY").exists());
    }
}
