//! The "always" answers: rules that a person allowed for good, each for one workspace. Several
//! haft processes may add and revoke at once; a lock keeps their changes apart.

use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::home::{Home, HomeError, path_text};

const FILE: &str = "rules.json";
const LARGEST: u64 = 4 << 20;

/// A rule that a person said "always" to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remembered {
    /// Made from workspace and rule, so that the same answer twice is one entry
    pub(crate) id: String,
    /// Absolute path
    pub(crate) workspace: String,
    /// The exact rule that was shown: `shell.exec(npm test)`
    pub(crate) rule: String,
    /// When it was said, as RFC 3339
    pub(crate) at: String,
}

/// Every remembered rule, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) all: Vec<Remembered>,
    /// Why there are none, if the record could not be read
    pub(crate) notice: Option<String>,
}

impl Rules {
    /// These rules only ever allow, so a record that cannot be read leaves them all out.
    pub(crate) fn read(home: &Home) -> Rules {
        let failed = |reason: String| Rules {
            all: Vec::new(),
            notice: Some(format!(
                "no remembered rule applies, because `{}` cannot be used: {reason}",
                home.path().join(FILE).display()
            )),
        };
        match home.read(FILE, LARGEST) {
            Ok(None) => Rules::default(),
            Ok(Some(bytes)) => match serde_json::from_slice(&bytes) {
                Ok(all) => Rules { all, notice: None },
                Err(error) => failed(error.to_string()),
            },
            Err(error) => failed(error.to_string()),
        }
    }

    /// The rules that apply in a workspace, as policy takes them.
    pub(crate) fn of(&self, workspace: &Path) -> Vec<String> {
        self.all
            .iter()
            .filter(|remembered| Path::new(&remembered.workspace) == workspace)
            .map(|remembered| remembered.rule.clone())
            .collect()
    }
}

/// Remember a rule for a workspace, given by its absolute path.
pub(crate) fn add(home: &Home, workspace: &Path, rule: &str) -> Result<Remembered, HomeError> {
    let workspace = path_text(workspace)?;
    let new = Remembered {
        id: id_of(workspace, rule),
        workspace: workspace.to_owned(),
        rule: rule.to_owned(),
        at: Timestamp::now().to_string(),
    };
    change(home, |all| {
        if !all.iter().any(|known| known.id == new.id) {
            all.push(new.clone());
        }
    })?;
    Ok(new)
}

/// Forget a rule, by its id anywhere or by its text in this workspace. Gives what was forgotten.
pub(crate) fn revoke(
    home: &Home,
    workspace: &Path,
    id_or_rule: &str,
) -> Result<Vec<Remembered>, HomeError> {
    let mut gone = Vec::new();
    change(home, |all| {
        let here = |known: &Remembered| Path::new(&known.workspace) == workspace;
        gone = all
            .extract_if(.., |known| {
                known.id == id_or_rule || (known.rule == id_or_rule && here(known))
            })
            .collect();
    })?;
    Ok(gone)
}

fn change(home: &Home, edit: impl FnOnce(&mut Vec<Remembered>)) -> Result<(), HomeError> {
    let _lock = home.lock(FILE)?;
    let mut rules = Rules::read(home);
    if rules.notice.is_some() {
        home.set_aside(FILE)?;
    }
    edit(&mut rules.all);
    home.write_json(FILE, &rules.all)
}

fn id_of(workspace: &str, rule: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(workspace.as_bytes());
    hasher.update(&[0]);
    hasher.update(rule.as_bytes());
    hasher.finalize().to_hex()[..12].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(&dir.path().join("home")).unwrap();
        (dir, home)
    }

    #[test]
    fn rules_are_kept_for_one_workspace_and_can_be_revoked() {
        let (_dir, home) = home();
        let (a, b) = (Path::new("/a"), Path::new("/b"));
        let first = add(&home, a, "shell.exec(npm test)").unwrap();
        add(&home, a, "shell.exec(npm test)").unwrap();
        add(&home, a, "file.write(/a/x)").unwrap();
        add(&home, b, "file.write(/a/x)").unwrap();
        let of = |path| Rules::read(&home).of(path);
        assert_eq!(of(a), ["shell.exec(npm test)", "file.write(/a/x)"]);
        assert_eq!(of(b), ["file.write(/a/x)"]);
        assert_eq!(of(Path::new("/a/below")), [""; 0]);
        let gone = revoke(&home, b, &first.id).unwrap();
        assert_eq!(gone.len(), 1);
        assert_eq!(gone[0].rule, "shell.exec(npm test)");
        assert_eq!(revoke(&home, b, "file.write(/a/x)").unwrap().len(), 1);
        assert_eq!(of(a), ["file.write(/a/x)"]);
        assert_eq!(of(b), [""; 0]);
        assert_eq!(revoke(&home, b, "no such rule").unwrap(), []);
    }

    #[test]
    fn a_broken_record_allows_nothing_and_is_not_lost() {
        let (_dir, home) = home();
        add(&home, Path::new("/a"), "file.write(/a/x)").unwrap();
        home.write(FILE, b"[{\"rule\": 1}]").unwrap();
        let rules = Rules::read(&home);
        assert_eq!(rules.of(Path::new("/a")), [""; 0]);
        assert!(
            rules
                .notice
                .unwrap()
                .starts_with("no remembered rule applies")
        );
        add(&home, Path::new("/a"), "file.write(/a/y)").unwrap();
        let rules = Rules::read(&home);
        assert_eq!(rules.of(Path::new("/a")), ["file.write(/a/y)"]);
        assert_eq!(
            home.read("rules.json.broken", LARGEST).unwrap().unwrap(),
            b"[{\"rule\": 1}]"
        );
    }

    #[test]
    fn changes_made_at_once_are_all_kept() {
        let (_dir, home) = home();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let home = &home;
                scope.spawn(move || {
                    for step in 0..10 {
                        let rule = format!("shell.exec(echo {writer} {step})");
                        add(home, Path::new("/a"), &rule).unwrap();
                    }
                });
            }
        });
        assert_eq!(Rules::read(&home).all.len(), 80);
    }
}
