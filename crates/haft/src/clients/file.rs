//! The config file of another program: read as it is, and replaced as a whole or not at all.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::terminal::fail::Failed;

/// A config that is longer was not written by its program.
const LARGEST: u64 = 64 << 20;

#[derive(Debug)]
pub(crate) struct Config {
    /// Without links: people keep such files elsewhere and link to them
    pub(crate) path: PathBuf,
    /// Empty where there is no file
    pub(crate) text: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Written {
    New,
    Changed,
}

impl Config {
    pub(super) fn read(path: PathBuf) -> Result<Config> {
        let found = match fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let text = String::new();
                return Ok(Config { path, text });
            }
            found => found.with_context(|| format!("cannot look at `{}`", path.display()))?,
        };
        if !found.is_file() || found.len() > LARGEST {
            bail!(Failed {
                message: format!("not a config file: `{}`", path.display()),
                hint: None,
            });
        }
        let path = path.canonicalize()?;
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        Ok(Config { path, text })
    }

    /// Put another text in its place, unless the file has changed since it was read.
    pub(crate) fn replace(&self, text: &str) -> Result<Written> {
        let now = Config::read(self.path.clone())?;
        if now.text != self.text {
            bail!(Failed {
                message: format!("`{}` has changed meanwhile", self.path.display()),
                hint: Some("try again".to_owned()),
            });
        }
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let old = fs::metadata(&self.path).ok();
        let mode = old.as_ref().map_or(0o600, |old| old.permissions().mode());
        let beside = folder.join(format!(".haft-{}.tmp", std::process::id()));
        let put = || -> std::io::Result<()> {
            let mut file = File::create_new(&beside)?;
            file.set_permissions(Permissions::from_mode(mode))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &self.path)
        };
        put()
            .inspect_err(|_| drop(fs::remove_file(&beside)))
            .with_context(|| format!("cannot write `{}`", self.path.display()))?;
        Ok(match old {
            Some(_) => Written::Changed,
            None => Written::New,
        })
    }
}
