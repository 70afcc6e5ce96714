//! Which project files a person has trusted. `haft.yaml` arrives with a clone, so until its owner
//! here has looked at it, it may only narrow; `.mcp.json` starts nothing until then. What is trusted
//! is the exact bytes: one changed byte and the question stands again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::{self, ConfigError};
use crate::home::{Home, HomeError, path_text};

const FILE: &str = "trust.json";
const LARGEST: u64 = 4 << 20;

/// The files of a project that a person can trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProjectFile {
    /// `haft.yaml`
    Config,
    /// `.mcp.json`
    Servers,
}

impl ProjectFile {
    pub(crate) const ALL: [ProjectFile; 2] = [ProjectFile::Config, ProjectFile::Servers];

    pub(crate) fn name(self) -> &'static str {
        match self {
            ProjectFile::Config => config::PROJECT,
            ProjectFile::Servers => ".mcp.json",
        }
    }

    /// Under what the record keeps it.
    fn key(self, workspace: &Path) -> Result<String, HomeError> {
        match self {
            ProjectFile::Config => path_text(workspace).map(str::to_owned),
            ProjectFile::Servers => path_text(&workspace.join(self.name())).map(str::to_owned),
        }
    }
}

/// How the project file of a workspace stands with its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Never trusted here
    New,
    /// Another version of it was trusted
    Changed,
    Trusted,
}

/// What was trusted so far: hashes by absolute path, that of the workspace for its `haft.yaml`.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    hashes: BTreeMap<String, String>,
    /// Why nothing is trusted, if the record could not be read
    pub(crate) notice: Option<String>,
}

impl Trust {
    /// A record that cannot be read or understood trusts nothing.
    pub(crate) fn read(home: &Home) -> Trust {
        let failed = |reason: String| Trust {
            hashes: BTreeMap::new(),
            notice: Some(format!(
                "no project file is trusted, because `{}` cannot be used: {reason}",
                home.path().join(FILE).display()
            )),
        };
        match home.read(FILE, LARGEST) {
            Ok(None) => Trust::default(),
            Ok(Some(bytes)) => match serde_json::from_slice(&bytes) {
                Ok(hashes) => Trust {
                    hashes,
                    notice: None,
                },
                Err(error) => failed(error.to_string()),
            },
            Err(error) => failed(error.to_string()),
        }
    }

    pub(crate) fn standing(&self, workspace: &Path, file: ProjectFile, bytes: &[u8]) -> Standing {
        let key = file.key(workspace).ok();
        match key.and_then(|key| self.hashes.get(&key)) {
            None => Standing::New,
            Some(hash) if *hash == hash_of(bytes) => Standing::Trusted,
            Some(_) => Standing::Changed,
        }
    }
}

/// A project file as it was shown. Trusting it trusts these bytes, whatever lies on the disk by
/// the time the answer comes.
#[derive(Debug)]
pub(crate) struct Shown {
    workspace: PathBuf,
    pub(crate) file: ProjectFile,
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) standing: Standing,
}

/// A project file of a workspace, if it has one.
pub(crate) fn show(
    home: &Home,
    workspace: &Path,
    file: ProjectFile,
) -> Result<Option<Shown>, ConfigError> {
    let workspace = config::absolute(workspace)?;
    let Some((path, bytes)) = config::read_project_file(&workspace, file.name())? else {
        return Ok(None);
    };
    let standing = Trust::read(home).standing(&workspace, file, &bytes);
    Ok(Some(Shown {
        workspace,
        file,
        path,
        bytes,
        standing,
    }))
}

impl Shown {
    /// Remember that a person trusts these bytes in this workspace.
    pub(crate) fn accept(&self, home: &Home) -> Result<(), HomeError> {
        let key = self.file.key(&self.workspace)?;
        change(home, |hashes| {
            hashes.insert(key, hash_of(&self.bytes));
        })
    }
}

/// Trust no version of a workspace's project files any more; false if none was trusted.
pub(crate) fn revoke(home: &Home, workspace: &Path) -> Result<bool, ConfigError> {
    let workspace = config::absolute(workspace)?;
    let mut was_there = false;
    change(home, |hashes| {
        for file in ProjectFile::ALL {
            let key = file.key(&workspace).ok();
            was_there |= key.and_then(|key| hashes.remove(&key)).is_some();
        }
    })?;
    Ok(was_there)
}

fn change(home: &Home, edit: impl FnOnce(&mut BTreeMap<String, String>)) -> Result<(), HomeError> {
    let _lock = home.lock(FILE)?;
    let mut trust = Trust::read(home);
    if trust.notice.is_some() {
        home.set_aside(FILE)?;
    }
    edit(&mut trust.hashes);
    home.write_json(FILE, &trust.hashes)
}

fn hash_of(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    struct Fixture {
        dir: tempfile::TempDir,
        home: Home,
    }

    impl Fixture {
        fn new() -> Fixture {
            let dir = tempfile::tempdir().unwrap();
            let home = Home::at(&dir.path().join("home")).unwrap();
            fs::create_dir(dir.path().join("work")).unwrap();
            Fixture { dir, home }
        }

        fn workspace(&self) -> PathBuf {
            self.dir.path().join("work")
        }

        fn write(&self, text: &str) {
            fs::write(self.workspace().join("haft.yaml"), text).unwrap();
        }

        fn shown(&self) -> Shown {
            show(&self.home, &self.workspace(), ProjectFile::Config)
                .unwrap()
                .unwrap()
        }
    }

    #[test]
    fn one_changed_byte_asks_again() {
        let fixture = Fixture::new();
        let none = show(&fixture.home, &fixture.workspace(), ProjectFile::Config);
        assert!(none.unwrap().is_none());
        fixture.write("tools: {policy: full}\n");
        let shown = fixture.shown();
        assert_eq!(shown.standing, Standing::New);
        fixture.write("tools: {policy: ful}\n");
        shown.accept(&fixture.home).unwrap();
        assert_eq!(
            fixture.shown().standing,
            Standing::Changed,
            "the bytes that were shown are trusted, not the ones on the disk"
        );
        fixture.write("tools: {policy: full}\n");
        assert_eq!(fixture.shown().standing, Standing::Trusted);
        fixture.write("tools: {policy: full} \n");
        assert_eq!(fixture.shown().standing, Standing::Changed);
        assert!(revoke(&fixture.home, &fixture.workspace()).unwrap());
        assert!(!revoke(&fixture.home, &fixture.workspace()).unwrap());
        fixture.write("tools: {policy: full}\n");
        assert_eq!(fixture.shown().standing, Standing::New);
    }

    #[test]
    fn a_workspace_is_the_same_by_every_path() {
        let fixture = Fixture::new();
        fixture.write("a");
        fixture.shown().accept(&fixture.home).unwrap();
        let link = fixture.dir.path().join("link");
        std::os::unix::fs::symlink(fixture.workspace(), &link).unwrap();
        for path in [link, fixture.workspace().join("../work/.")] {
            let shown = show(&fixture.home, &path, ProjectFile::Config);
            let shown = shown.unwrap().unwrap();
            assert_eq!(shown.standing, Standing::Trusted, "{}", path.display());
        }
    }

    #[test]
    fn a_broken_record_trusts_nothing() {
        let fixture = Fixture::new();
        fixture.write("a");
        fixture.shown().accept(&fixture.home).unwrap();
        let record = fixture.home.path().join(FILE);
        let check = |text: &str, mode: u32, expect: &str| {
            fs::write(&record, text).unwrap();
            fs::set_permissions(&record, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(fixture.shown().standing, Standing::New);
            let notice = Trust::read(&fixture.home).notice.unwrap();
            let notice = notice.replace(record.to_str().unwrap(), "TRUST");
            assert_eq!(notice, expect);
        };
        check(
            "{",
            0o600,
            "no project file is trusted, because `TRUST` cannot be used: EOF while parsing an \
             object at line 1 column 1",
        );
        check(
            "{}",
            0o606,
            "no project file is trusted, because `TRUST` cannot be used: others can write \
             `TRUST`: run `chmod go-w TRUST`",
        );
        fs::write(&record, "[broken").unwrap();
        fixture.shown().accept(&fixture.home).unwrap();
        assert_eq!(fixture.shown().standing, Standing::Trusted);
        let aside = fixture.home.path().join("trust.json.broken");
        assert_eq!(fs::read_to_string(aside).unwrap(), "[broken");
    }
}
