//! The "always" answers: rules that a person allowed for good, each for one workspace. They lie in
//! the store; the file that held them before is taken over when it is met.

use std::path::Path;

use anyhow::{Result, bail};
use haft_store::{Sealed, StoreError, Value, Values};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::home::{Home, path_text};
use crate::recording::{Recording, failed};

const KIND: &str = "rule";
/// Where they lay before there was a store.
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

impl Remembered {
    /// When it was said, to the second.
    pub(crate) fn since(&self) -> String {
        let at = self.at.parse().map(|at: Timestamp| {
            let whole = Timestamp::from_second(at.as_second()).unwrap_or(at);
            whole.to_string()
        });
        at.unwrap_or_else(|_| self.at.clone())
    }
}

/// Every remembered rule, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) all: Vec<Remembered>,
    /// Why there are none, if the record could not be read
    pub(crate) notice: Option<String>,
}

impl Rules {
    pub(crate) fn read(home: &Home) -> Rules {
        Rules::read_from(home, || Values::peek_sealed(home.path(), KIND))
    }

    /// The same from the store of this process, where that is open or about to be.
    pub(crate) fn read_in(home: &Home, recording: &Recording) -> Rules {
        Rules::read_from(home, || match recording.begun() {
            Some(values) => values
                .sealed(KIND)
                // One that cannot be written may be read all the same.
                .or_else(|_| Values::peek_sealed(home.path(), KIND)),
            None => Values::peek_sealed(home.path(), KIND),
        })
    }

    /// These rules only ever allow, so a record that cannot be read leaves them all out.
    fn read_from(home: &Home, look: impl FnOnce() -> Result<Sealed, StoreError>) -> Rules {
        let read = || -> Result<Rules> {
            if home.exists()? {
                take_over(home)?;
            }
            let found = look().map_err(failed)?;
            let all = found.whole.iter().map(|(_, value)| parsed(value));
            Ok(Rules {
                all: all.collect::<Result<_>>()?,
                notice: (!found.changed.is_empty()).then(|| changed(&found.changed)),
            })
        };
        read().unwrap_or_else(|error| Rules {
            all: Vec::new(),
            notice: Some(format!("no remembered rule applies: {error}")),
        })
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

fn changed(ids: &[String]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
    format!(
        "rules that are not as they were stored here do not apply: {}; remove each with `haft policy rules revoke ID`, and allow anew what you want with `haft policy allow`",
        ids.join(", ")
    )
}

/// Bring the rules of an older haft into the store. The lock keeps two from doing so at once: the
/// second could bring back what was revoked in between.
fn take_over(home: &Home) -> Result<()> {
    if !home.path().join(FILE).exists() {
        return Ok(());
    }
    let _lock = home.lock(FILE)?;
    let Some(bytes) = home.read(FILE, LARGEST)? else {
        return Ok(());
    };
    let all: Vec<Remembered> = match serde_json::from_slice(&bytes) {
        Ok(all) => all,
        Err(error) => {
            home.set_aside(FILE)?;
            bail!("`{FILE}` cannot be used and was put aside: {error}");
        }
    };
    let entries = all.iter().map(entry).collect::<Result<Vec<_>>>()?;
    let recording = Recording::new(home);
    let values = recording.values().map_err(failed)?;
    let adding = values.add_sealed(KIND, entries).map_err(failed)?;
    adding.wait().map_err(failed)?;
    home.remove(FILE)?;
    Ok(())
}

fn entry(remembered: &Remembered) -> Result<(Value, i64)> {
    let at: Option<Timestamp> = remembered.at.parse().ok();
    let time = at.unwrap_or_else(Timestamp::now).as_microsecond();
    let value = serde_json::to_vec(remembered)?;
    Ok(((remembered.id.clone(), value), time))
}

fn parsed(value: &[u8]) -> Result<Remembered> {
    Ok(serde_json::from_slice(value)?)
}

/// Remember a rule for a workspace, given by its absolute path. Done when it is on the disk.
pub(crate) fn add(recording: &Recording, workspace: &Path, rule: &str) -> Result<Remembered> {
    let workspace = path_text(workspace)?;
    let new = Remembered {
        id: id_of(workspace, rule),
        workspace: workspace.to_owned(),
        rule: rule.to_owned(),
        at: Timestamp::now().to_string(),
    };
    let values = checked(recording)?;
    let adding = values.add_sealed(KIND, vec![entry(&new)?]);
    adding.map_err(failed)?.wait().map_err(failed)?;
    Ok(new)
}

/// Forget a rule, by its id anywhere or by its text in this workspace. Gives what was forgotten.
pub(crate) fn revoke(
    recording: &Recording,
    workspace: &Path,
    id_or_rule: &str,
) -> Result<Vec<Remembered>> {
    let (workspace, meant) = (workspace.to_owned(), id_or_rule.to_owned());
    let chosen = move |id: &str, value: &[u8]| {
        let here =
            |known: Remembered| known.rule == meant && Path::new(&known.workspace) == workspace;
        id == meant || parsed(value).is_ok_and(here)
    };
    let values = checked(recording)?;
    let gone = values.remove(KIND, chosen).wait().map_err(failed)?;
    let told = |(id, value): &Value| {
        parsed(value).unwrap_or_else(|_| Remembered {
            id: id.clone(),
            workspace: String::new(),
            rule: id.clone(),
            at: String::new(),
        })
    };
    Ok(gone.iter().map(told).collect())
}

/// Where to write rules, in a store that is as it was signed.
fn checked(recording: &Recording) -> Result<Values> {
    let journal = recording.journal().map_err(failed)?;
    journal.check().map_err(failed)?;
    Ok(recording.values().map_err(failed)?)
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
        let recording = Recording::new(&home);
        let (a, b) = (Path::new("/a"), Path::new("/b"));
        let first = add(&recording, a, "shell.exec(npm test)").unwrap();
        add(&recording, a, "shell.exec(npm test)").unwrap();
        add(&recording, a, "file.write(/a/x)").unwrap();
        add(&recording, b, "file.write(/a/x)").unwrap();
        let of = |path| Rules::read(&home).of(path);
        assert_eq!(of(a), ["shell.exec(npm test)", "file.write(/a/x)"]);
        assert_eq!(of(b), ["file.write(/a/x)"]);
        assert_eq!(of(Path::new("/a/below")), [""; 0]);
        let gone = revoke(&recording, b, &first.id).unwrap();
        assert_eq!(gone.len(), 1);
        assert_eq!(gone[0].rule, "shell.exec(npm test)");
        assert_eq!(revoke(&recording, b, "file.write(/a/x)").unwrap().len(), 1);
        assert_eq!(of(a), ["file.write(/a/x)"]);
        assert_eq!(of(b), [""; 0]);
        assert_eq!(revoke(&recording, b, "no such rule").unwrap(), []);
    }

    /// A home of an older haft: its rules hold, once, and one that is revoked stays away.
    #[test]
    fn rules_in_a_file_are_taken_over() {
        let (_dir, home) = home();
        let old = Remembered {
            id: id_of("/a", "file.write(/a/x)"),
            workspace: "/a".to_owned(),
            rule: "file.write(/a/x)".to_owned(),
            at: "2026-01-31T12:00:00Z".to_owned(),
        };
        home.write_json(FILE, &[&old]).unwrap();
        assert_eq!(Rules::read(&home).all, std::slice::from_ref(&old));
        assert!(!home.path().join(FILE).exists());
        let recording = Recording::new(&home);
        add(&recording, Path::new("/a"), &old.rule).unwrap();
        assert_eq!(Rules::read(&home).all, std::slice::from_ref(&old));
        revoke(&recording, Path::new("/a"), &old.id).unwrap();
        assert_eq!(Rules::read(&home).all, []);
    }

    #[test]
    fn a_broken_file_allows_nothing_and_is_not_lost() {
        let (_dir, home) = home();
        home.write(FILE, b"[{\"rule\": 1}]").unwrap();
        let rules = Rules::read(&home);
        assert_eq!(rules.of(Path::new("/a")), [""; 0]);
        let notice = rules.notice.unwrap();
        assert!(notice.starts_with("no remembered rule applies"), "{notice}");
        add(&Recording::new(&home), Path::new("/a"), "file.write(/a/y)").unwrap();
        let rules = Rules::read(&home);
        assert_eq!(rules.of(Path::new("/a")), ["file.write(/a/y)"]);
        assert_eq!(
            home.read("rules.json.broken", LARGEST).unwrap().unwrap(),
            b"[{\"rule\": 1}]"
        );
    }

    fn sql(home: &Home, sql: &str) {
        let db = rusqlite::Connection::open(home.path().join("haft.db")).unwrap();
        db.execute_batch(sql).unwrap();
    }

    /// Whoever can write the database and has no key cannot allow anything.
    #[test]
    fn a_rule_that_was_changed_or_made_up_does_not_apply() {
        let here = Path::new("/a");
        for forge in [
            "UPDATE kept SET value = CAST(replace(CAST(value AS TEXT), 'echo hi', 'echo ho') AS BLOB)",
            "UPDATE kept SET name = 'other'",
            "UPDATE kept SET seal = NULL",
            "INSERT INTO kept (kind, name, value, time) SELECT kind, 'x', value, 0 FROM kept; \
             DELETE FROM kept WHERE name != 'x'",
        ] {
            let (_dir, home) = home();
            let recording = Recording::new(&home);
            add(&recording, here, "shell.exec(echo hi)").unwrap();
            assert_eq!(Rules::read(&home).notice, None);
            sql(&home, forge);
            let rules = Rules::read(&home);
            assert_eq!(rules.of(here), [""; 0], "{forge}");
            let notice = rules.notice.unwrap();
            assert!(notice.contains("do not apply"), "{notice}");
            // What the person allows again applies again, and the other can be removed.
            add(&recording, here, "shell.exec(echo hi)").unwrap();
            assert_eq!(Rules::read(&home).of(here), ["shell.exec(echo hi)"]);
            for id in ["other", "x"] {
                revoke(&recording, here, id).unwrap();
            }
            assert_eq!(Rules::read(&home).notice, None, "{forge}");
        }
    }

    /// The rules of a haft that knew no seals hold, and are sealed when its store is brought up to
    /// date.
    #[test]
    fn rules_of_an_older_store_are_taken_as_they_are() {
        let (_dir, home) = home();
        let here = Path::new("/a");
        add(&Recording::new(&home), here, "shell.exec(echo hi)").unwrap();
        sql(
            &home,
            "ALTER TABLE kept DROP COLUMN seal; PRAGMA user_version = 6",
        );
        assert_eq!(Rules::read(&home).of(here), ["shell.exec(echo hi)"]);
        let recording = Recording::new(&home);
        recording.journal().unwrap().store().ready().unwrap();
        assert_eq!(Rules::read(&home).of(here), ["shell.exec(echo hi)"]);
        sql(&home, "UPDATE kept SET value = x'7b7d'");
        assert_eq!(Rules::read(&home).of(here), [""; 0]);
    }

    #[test]
    fn a_store_that_cannot_be_read_allows_nothing() {
        let (_dir, home) = home();
        add(&Recording::new(&home), Path::new("/a"), "file.write(/a/y)").unwrap();
        home.remove("haft.db-wal").unwrap();
        home.write("haft.db", b"no database at all").unwrap();
        let rules = Rules::read(&home);
        assert_eq!(rules.all, []);
        assert!(rules.notice.is_some());
    }

    #[test]
    fn changes_made_at_once_are_all_kept() {
        let (_dir, home) = home();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let home = &home;
                scope.spawn(move || {
                    let recording = Recording::new(home);
                    for step in 0..5 {
                        let rule = format!("shell.exec(echo {writer} {step})");
                        add(&recording, Path::new("/a"), &rule).unwrap();
                    }
                });
            }
        });
        assert_eq!(Rules::read(&home).all.len(), 20);
    }
}
