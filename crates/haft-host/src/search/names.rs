//! Which file names are wanted: globs on the name, file types, and the names that are left alone
//! because they hold keys.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use haft_core::ToolError;
use ignore::types::TypesBuilder;

use crate::files::holds_secrets;

/// A test on a file's name.
#[derive(Debug)]
pub(super) enum Names {
    /// One of these endings, as `*.rs` asks for
    Ending(Vec<Vec<u8>>),
    Glob(GlobSet),
}

impl Names {
    /// Names that fit a glob; braces hold alternatives.
    pub(super) fn fitting(glob: &str) -> Result<Self, ToolError> {
        if glob.contains('/') {
            return Err(ToolError::input_invalid(format!(
                "`include` is matched against the file name and cannot hold a `/`: `{glob}`"
            ))
            .hint("give the folder as `path`"));
        }
        Self::any_of(&[glob])
    }

    /// Names of files of a type, as `rust` or `py`.
    pub(super) fn of_type(name: &str) -> Result<Self, ToolError> {
        let mut types = TypesBuilder::new();
        types.add_defaults();
        let known = types.definitions();
        let Some(found) = known.iter().find(|known| known.name() == name) else {
            let like: Vec<&str> = known
                .iter()
                .map(ignore::types::FileTypeDef::name)
                .filter(|known| known.starts_with(name.get(..1).unwrap_or_default()))
                .collect();
            return Err(
                ToolError::input_invalid(format!("unknown file type: `{name}`")).hint(format!(
                    "types are named as in ripgrep: {}",
                    like.join(", ")
                )),
            );
        };
        let globs: Vec<&str> = found.globs().iter().map(String::as_str).collect();
        Self::any_of(&globs)
    }

    fn any_of(globs: &[&str]) -> Result<Self, ToolError> {
        let endings: Option<Vec<Vec<Vec<u8>>>> = globs.iter().map(|glob| endings(glob)).collect();
        if let Some(endings) = endings {
            return Ok(Names::Ending(endings.concat()));
        }
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            set.add(compile(glob)?);
        }
        let set = set.build().map_err(|error| invalid(globs[0], &error))?;
        Ok(Names::Glob(set))
    }

    pub(super) fn fits(&self, name: &[u8]) -> bool {
        match self {
            Names::Ending(endings) => endings.iter().any(|ending| name.ends_with(ending)),
            Names::Glob(set) => set.is_match(Path::new(OsStr::from_bytes(name))),
        }
    }
}

/// A glob whose stars stay within one name.
pub(super) fn compile(glob: &str) -> Result<globset::Glob, ToolError> {
    GlobBuilder::new(glob)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|error| invalid(glob, &error))
}

pub(super) fn invalid(glob: &str, error: &globset::Error) -> ToolError {
    ToolError::input_invalid(format!("invalid glob: `{glob}`: {}", error.kind()))
        .hint("for example `*.md` or `*.{rs,ts}`; put `\\` before a sign that is meant as itself")
}

/// `*.rs` and `*.{rs,ts}` ask for endings; other globs need more.
fn endings(glob: &str) -> Option<Vec<Vec<u8>>> {
    let end = glob.strip_prefix('*')?;
    let is_plain = |text: &str| !text.contains(['*', '?', '[', ']', '{', '}', '\\', '!']);
    if is_plain(end) {
        return Some(vec![end.into()]);
    }
    let (start, list) = end.strip_suffix('}')?.split_once('{')?;
    if !is_plain(start) || !list.split(',').all(is_plain) {
        return None;
    }
    Some(
        list.split(',')
            .map(|item| [start, item].concat().into_bytes())
            .collect(),
    )
}

/// Whether a file or folder of this name holds keys or passwords. Nearly every name is cleared by
/// its first and last letters.
pub(super) fn is_secret(name: &[u8]) -> bool {
    if name.is_ascii()
        && !name
            .iter()
            .any(|byte| byte.is_ascii_control() || *byte == b':')
    {
        let ending = name
            .iter()
            .rev()
            .take(9)
            .position(|&byte| byte == b'.')
            .map_or(&b""[..], |length| &name[name.len() - length..]);
        let first = name.first().copied().unwrap_or_default();
        let may_be = matches!(first, b'.' | b'_' | b'i' | b'I')
            || matches!(name.last(), Some(b' ' | b'.'))
            || matches!(
                ending.first().map(u8::to_ascii_lowercase),
                Some(b'p' | b'k' | b'j')
            );
        if !may_be {
            return false;
        }
    }
    holds_secrets(Path::new(OsStr::from_bytes(name))).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_their_globs() {
        let check = |glob: &str, fitting: &[&str], other: &[&str]| {
            let names = Names::fitting(glob).unwrap();
            for name in fitting {
                assert!(names.fits(name.as_bytes()), "{glob} {name}");
            }
            for name in other {
                assert!(!names.fits(name.as_bytes()), "{glob} {name}");
            }
        };
        check("*.md", &["a.md", ".md"], &["a.mdx", "md"]);
        check("*.{rs,ts}", &["a.rs", "b.ts"], &["a.rst", "a.js"]);
        check("*.{rs,t[sx]}", &["a.rs", "b.tx"], &["a.ta"]);
        check("Makefile", &["Makefile"], &["makefile", "Makefile.am"]);
        check("test_*", &["test_a"], &["a_test_"]);
        check("{a,b}*", &["ax", "b"], &["c"]);
        check("?.c", &["a.c"], &["ab.c"]);
        let rust = Names::of_type("rust").unwrap();
        assert!(rust.fits(b"a.rs") && !rust.fits(b"a.py"));
        let make = Names::of_type("make").unwrap();
        assert!(make.fits(b"GNUmakefile") && make.fits(b"x.mk"));
    }

    #[test]
    fn what_does_not_compile_is_said() {
        let check = |result: Result<Names, ToolError>, expected: &str| {
            let error = result.unwrap_err();
            assert!(error.message.contains(expected), "{error}");
            assert!(error.hint.is_some());
        };
        check(Names::fitting("*.{rs"), "invalid glob: `*.{rs`");
        check(Names::fitting("[a"), "invalid glob: `[a`");
        check(Names::fitting("src/*.rs"), "cannot hold a `/`");
        check(Names::of_type("rusty"), "unknown file type: `rusty`");
    }

    #[test]
    fn the_quick_look_at_secret_names_misses_none() {
        let names = [
            ".env",
            ".ENV",
            ".env.local",
            "server.pem",
            "a.KEY",
            "a.p12",
            "x.pfx",
            "k.jks",
            "a.keystore",
            "a.ppk",
            "a.kdbx",
            ".netrc",
            "_netrc",
            "id_rsa",
            "ID_ed25519",
            "id_rsa.",
            "a.pem ",
            ".ssh",
            ".aws",
            "a.pem:x",
            "\u{200b}.env",
            ".npmrc",
            ".kube",
        ];
        for name in names {
            assert!(is_secret(name.as_bytes()), "{name}");
        }
        for name in [
            "main.rs",
            "key",
            "pem",
            "a.py",
            "a.json",
            ".gitignore",
            "index.js",
            "",
        ] {
            assert!(!is_secret(name.as_bytes()), "{name}");
        }
    }
}
