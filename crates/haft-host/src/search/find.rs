//! Finds files by their paths, newest first. Only files that fit are asked for their time.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobSet, GlobSetBuilder};
use haft_core::ToolError;
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::entries::Kind;
use super::names::{compile, invalid};
use super::walk::{Met, Visitor};
use crate::files::Resolved;

/// A glob on paths, and the folder that everything it fits is in.
#[derive(Debug)]
pub(super) struct PathGlob {
    /// Names without a wildcard at the start, as far as they are folders
    pub(super) folder: String,
    rest: String,
    test: Test,
}

#[derive(Debug)]
enum Test {
    /// Any path whose name ends so, as `**/*.md` asks for
    Ending(Vec<u8>),
    Glob(GlobSet),
}

impl PathGlob {
    pub(super) fn new(pattern: &str) -> Result<Self, ToolError> {
        if pattern.is_empty() {
            return Err(ToolError::input_invalid("pattern is empty"));
        }
        if pattern == "~" || pattern.starts_with("~/") {
            return Err(
                ToolError::denied(format!("path leaves the workspace: `{pattern}`"))
                    .hint("use a pattern under the workspace"),
            );
        }
        let (folder, rest) = split(pattern);
        if rest.split('/').any(|name| name == "..") {
            return Err(ToolError::input_invalid(format!(
                "`..` cannot follow a wildcard: `{pattern}`"
            )));
        }
        let plain = |text: &str| !text.contains(['*', '?', '[', ']', '{', '}', '\\', '/']);
        let test = match rest.strip_prefix("**/*") {
            Some(end) if plain(end) => Test::Ending(end.into()),
            _ => {
                let mut set = GlobSetBuilder::new();
                set.add(compile(rest)?);
                Test::Glob(set.build().map_err(|error| invalid(pattern, &error))?)
            }
        };
        Ok(PathGlob {
            folder: folder.to_owned(),
            rest: rest.to_owned(),
            test,
        })
    }

    /// A name that starts with a dot is meant when it is written out.
    pub(super) fn names_hidden(&self) -> bool {
        self.rest.split('/').any(|name| name.starts_with('.'))
    }

    /// Whether files below folders can fit at all.
    fn goes_down(&self) -> bool {
        self.rest.contains('/') || self.rest.contains("**") || self.rest.contains('{')
    }

    fn fits(&self, path: &[u8]) -> bool {
        match &self.test {
            Test::Ending(ending) => path.ends_with(ending),
            Test::Glob(set) => set.is_match(Path::new(OsStr::from_bytes(path))),
        }
    }
}

/// The folder that a pattern names before its first wildcard, and the rest.
fn split(pattern: &str) -> (&str, &str) {
    let wild = pattern
        .find(['*', '?', '[', '{', '\\'])
        .unwrap_or(pattern.len());
    match pattern[..wild].rfind('/') {
        Some(0) => ("/", pattern.trim_start_matches('/')),
        Some(slash) => (&pattern[..slash], pattern[slash..].trim_start_matches('/')),
        None => ("", pattern),
    }
}

/// A file that fits, with the time it was last changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fitting {
    pub(super) modified: (i64, i64),
    pub(super) path: Vec<u8>,
}

/// One thread of a search for files.
pub(super) struct Find<'f> {
    pub(super) glob: &'f PathGlob,
    pub(super) found: Vec<Fitting>,
}

impl Visitor for Find<'_> {
    fn wants(&mut self, _name: &[u8], kind: Kind, path: &[u8]) -> bool {
        match kind {
            Kind::Folder => self.glob.goes_down(),
            _ => self.glob.fits(path),
        }
    }

    fn is_past(&self, _path: &[u8]) -> bool {
        false
    }

    fn is_done(&self) -> bool {
        false
    }

    fn refuses(&mut self, _place: &Resolved) -> bool {
        false
    }

    // The fields' types differ between platforms, so some casts are empty on some of them.
    #[allow(clippy::unnecessary_cast)]
    fn file(&mut self, met: Met<'_>) -> Result<(), Errno> {
        let stat = rustix::fs::statat(met.folder, met.name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            self.found.push(Fitting {
                modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
                path: met.path.to_owned(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_split_at_its_first_wildcard() {
        let check = |pattern: &str, folder: &str, rest: &str| {
            assert_eq!(split(pattern), (folder, rest), "{pattern}");
        };
        check("**/*.md", "", "**/*.md");
        check("src/**/*.rs", "src", "**/*.rs");
        check("src/main.rs", "src", "main.rs");
        check("../x/*", "../x", "*");
        check("/**", "/", "**");
        check("/etc/*.conf", "/etc", "*.conf");
        check("a/b{c,d}/e", "a", "b{c,d}/e");
        check("README.md", "", "README.md");
    }

    #[test]
    fn paths_fit_their_globs() {
        let check = |pattern: &str, fitting: &[&str], other: &[&str]| {
            let glob = PathGlob::new(pattern).unwrap();
            for path in fitting {
                assert!(glob.fits(path.as_bytes()), "{pattern} {path}");
            }
            for path in other {
                assert!(!glob.fits(path.as_bytes()), "{pattern} {path}");
            }
        };
        check("**/*.md", &["a.md", "x/y/a.md"], &["a.mdx"]);
        check("*.md", &["a.md"], &["x/a.md"]);
        check("**/{a,b}/*.rs", &["a/x.rs", "c/b/x.rs"], &["c/x.rs"]);
        check("**", &["a", "a/b"], &[]);
        check("*/x[0-9].c", &["a/x1.c"], &["x1.c", "a/b/x1.c"]);
        for wrong in ["[a", "{a", ""] {
            assert!(PathGlob::new(wrong).is_err(), "{wrong}");
        }
        assert!(PathGlob::new("*/../x").is_err());
    }
}
