//! A commit that is interrupted at any step leaves the workspace as it was.

use super::*;
use crate::trial::{Upper, find};
use std::os::unix::fs::{PermissionsExt, symlink};

/// A workspace, and beside it a layer as an overlay would have left it.
struct Fixture {
    _dir: tempfile::TempDir,
    work: PathBuf,
    trial: PathBuf,
}

fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let (work, trial) = (dir.path().join("work"), dir.path().join("t1"));
    let upper = trial.join("upper");
    for folder in ["gone/deep", "stays", "turned"] {
        fs::create_dir_all(work.join(folder)).unwrap();
    }
    fs::create_dir_all(&upper).unwrap();
    for name in ["a", "b", "gone/x", "gone/deep/y", "turned/z", "stays/s"] {
        fs::write(work.join(name), name).unwrap();
    }
    symlink("a", work.join("link")).unwrap();
    fs::write(upper.join("a"), "changed").unwrap();
    fs::write(upper.join("turned"), "a file now").unwrap();
    for name in ["b", "gone"] {
        whiteout(&upper.join(name));
    }
    fs::create_dir_all(upper.join("new/er")).unwrap();
    fs::write(upper.join("new/er/n"), "new").unwrap();
    symlink("nowhere", upper.join("link")).unwrap();
    fs::create_dir(upper.join("stays")).unwrap();
    fs::set_permissions(upper.join("stays"), fs::Permissions::from_mode(0o750)).unwrap();
    Fixture {
        _dir: dir,
        work,
        trial,
    }
}

fn whiteout(path: &Path) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        rustix::fs::FileType::CharacterDevice,
        Mode::empty(),
        0,
    )
    .unwrap();
}

/// Every path with its mode and content.
fn listing(root: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let found = fs::symlink_metadata(&path).unwrap();
            let content = if found.is_symlink() {
                fs::read_link(&path).unwrap().display().to_string()
            } else if found.is_dir() {
                folders.push(path.clone());
                "/".to_owned()
            } else {
                fs::read_to_string(&path).unwrap()
            };
            let name = path.strip_prefix(root).unwrap().display().to_string();
            lines.push(format!(
                "{name} {:o} {content}",
                found.permissions().mode() & 0o7777
            ));
        }
    }
    lines.sort();
    lines
}

fn upper(fixture: &Fixture) -> Upper<'static> {
    let open = |path: &Path| Tree::open(path).unwrap();
    Upper::new(open(&fixture.trial.join("upper")), open(&fixture.work), &[])
}

fn apply(fixture: &Fixture, changes: &[Change]) -> Result<(), Stopped> {
    let tree = Tree::open(&fixture.work).unwrap();
    super::apply(tree, &fixture.trial, changes, &mut upper(fixture))
}

fn recover(fixture: &Fixture) {
    super::recover(Tree::open(&fixture.work).unwrap(), &fixture.trial).unwrap();
}

fn found(fixture: &Fixture) -> Vec<Change> {
    let upper = Tree::open(&fixture.trial.join("upper")).unwrap();
    let lower = Tree::open(&fixture.work).unwrap();
    find(upper.root(), lower.root()).unwrap().changes
}

#[test]
fn the_changes_are_found() {
    let fixture = fixture();
    let mut told: Vec<String> = found(&fixture)
        .iter()
        .map(|change| format!("{:?} {}", change.verb(), change.path.display()))
        .collect();
    told.sort();
    assert_eq!(
        told,
        [
            "Added new",
            "Added new/er",
            "Added new/er/n",
            "Changed a",
            "Changed link",
            "Changed stays",
            "Changed turned",
            "Deleted b",
            "Deleted gone",
            "Deleted gone/deep",
            "Deleted gone/deep/y",
            "Deleted gone/x",
            "Deleted turned/z",
        ]
    );
}

#[test]
fn all_is_put_in_place() {
    let fixture = fixture();
    apply(&fixture, &found(&fixture)).unwrap();
    assert_eq!(
        listing(&fixture.work),
        [
            "a 644 changed",
            "link 777 nowhere",
            "new 755 /",
            "new/er 755 /",
            "new/er/n 644 new",
            "stays 750 /",
            "stays/s 644 stays/s",
            "turned 644 a file now",
        ]
    );
}

#[test]
fn nothing_comes_to_run_as_its_owner() {
    let fixture = fixture();
    let upper = fixture.trial.join("upper");
    let set = |path: PathBuf, bits| {
        fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
    };
    for (name, bits) in [("a", 0o4755), ("new/er/n", 0o2755), ("new/er", 0o2755)] {
        set(upper.join(name), bits);
    }
    // Of a group it was before, and what is made in it is so too.
    set(fixture.work.join("stays"), 0o2755);
    set(upper.join("stays"), 0o2750);
    fs::create_dir(upper.join("stays/in")).unwrap();
    set(upper.join("stays/in"), 0o2755);
    let open = |path: &Path| Tree::open(path).unwrap();
    let found = find(open(&upper).root(), open(&fixture.work).root()).unwrap();
    apply(&fixture, &found.changes).unwrap();
    let listed = listing(&fixture.work);
    for line in [
        "a 755 changed",
        "new/er 755 /",
        "new/er/n 755 new",
        "stays 2750 /",
        "stays/in 2755 /",
    ] {
        assert!(listed.iter().any(|one| one == line), "{line}: {listed:?}");
    }
    let mut told: Vec<String> = found
        .left_out
        .iter()
        .map(|one| one.display().to_string())
        .collect();
    told.sort();
    let what = "(that it runs as its owner)";
    assert_eq!(
        told,
        ["a", "new/er", "new/er/n"].map(|name| format!("{name} {what}"))
    );
}

/// A trial gives no content rights that it did not have. Only root can try.
#[test]
fn nothing_comes_to_have_capabilities() {
    let fixture = fixture();
    let upper = fixture.trial.join("upper");
    let rights: Vec<u8> = [0x0200_0001u32, 1 << 13, 0, 0, 0]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let give = |path: PathBuf| {
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(path, super::super::CAPABILITIES, &rights, flags)
    };
    if give(upper.join("a")).is_err() {
        return;
    }
    give(upper.join("new/er/n")).unwrap();
    // Of two that are only given another mode, one had them.
    for name in ["had", "had not"] {
        fs::write(fixture.work.join(name), "x").unwrap();
        fs::write(upper.join(name), "x").unwrap();
        fs::set_permissions(upper.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        give(upper.join(name)).unwrap();
    }
    give(fixture.work.join("had")).unwrap();
    let open = |path: &Path| Tree::open(path).unwrap();
    let found = find(open(&upper).root(), open(&fixture.work).root()).unwrap();
    apply(&fixture, &found.changes).unwrap();
    let has = |name: &str| {
        let path = fixture.work.join(name);
        rustix::fs::getxattr(path, super::super::CAPABILITIES, &mut [0; 64][..]).is_ok()
    };
    assert_eq!(
        ["a", "new/er/n", "had not", "had"].map(has),
        [false, false, false, true]
    );
    let told = ["a", "had not", "new/er/n"].map(|name| format!("{name} (its capabilities)"));
    assert_eq!(found.left_out, told.map(PathBuf::from));
}

#[test]
fn a_crash_at_any_step_is_undone() {
    let whole = steps(&found(&fixture())).len();
    assert!(whole >= 13);
    for taken in 0..=whole {
        let fixture = fixture();
        let before = listing(&fixture.work);
        let changes = found(&fixture);
        let steps = steps(&changes);
        let journal = serde_json::to_vec(&steps).unwrap();
        write_durably(&fixture.trial, JOURNAL, &journal).unwrap();
        let tree = Tree::open(&fixture.work).unwrap();
        let mut work = Work::begin(tree, aside(&fixture.trial), &changes).unwrap();
        assert!(work.stage(&mut upper(&fixture), &steps).is_ok());
        for step in &steps[..taken] {
            assert!(work.take(step).is_ok(), "{step:?}");
        }
        drop(work);
        recover(&fixture);
        assert_eq!(listing(&fixture.work), before, "after {taken} steps");
        // Twice is no worse than once.
        recover(&fixture);
        assert_eq!(listing(&fixture.work), before, "after {taken} steps");
    }
}

/// Lays so many things, then the disk is full.
struct Full(Upper<'static>, usize);

impl Source for Full {
    fn lay(&mut self, number: usize, change: &Change, to: &OwnedFd, name: &str) -> io::Result<()> {
        if self.1 == 0 {
            return Err(Errno::NOSPC.into());
        }
        self.1 -= 1;
        self.0.lay(number, change, to, name)
    }
}

#[test]
fn a_full_disk_while_things_are_laid_beside_changes_nothing() {
    for room in 0..4 {
        let fixture = fixture();
        let before = listing(&fixture.work);
        let changes = found(&fixture);
        let tree = Tree::open(&fixture.work).unwrap();
        let mut full = Full(upper(&fixture), room);
        let stopped = super::apply(tree, &fixture.trial, &changes, &mut full);
        assert!(matches!(stopped, Err(Stopped::Failed(..))), "{stopped:?}");
        assert_eq!(listing(&fixture.work), before, "room for {room}");
        apply(&fixture, &changes).unwrap();
    }
}

#[test]
fn a_crash_while_things_are_laid_beside_changes_nothing() {
    for room in 0..=4 {
        let fixture = fixture();
        let before = listing(&fixture.work);
        let changes = found(&fixture);
        let tree = Tree::open(&fixture.work).unwrap();
        let mut work = Work::begin(tree, aside(&fixture.trial), &changes).unwrap();
        let _ = work.stage(&mut Full(upper(&fixture), room), &steps(&changes));
        drop(work);
        recover(&fixture);
        assert_eq!(listing(&fixture.work), before, "room for {room}");
    }
}

#[test]
fn a_crash_after_the_last_step_is_not_undone() {
    let fixture = fixture();
    let changes = found(&fixture);
    apply(&fixture, &changes).unwrap();
    let after = listing(&fixture.work);
    recover(&fixture);
    assert_eq!(listing(&fixture.work), after);
}

/// Change something between the trial and its commit: conflict, and nothing else is touched.
#[test]
fn what_changed_beneath_is_a_conflict() {
    let check = |what: &str, meddle: &dyn Fn(&Path)| {
        let fixture = fixture();
        let changes = found(&fixture);
        meddle(&fixture.work);
        let before = listing(&fixture.work);
        let error = apply(&fixture, &changes).unwrap_err();
        assert!(matches!(error, Stopped::Conflict(_)), "{what}: {error:?}");
        assert_eq!(listing(&fixture.work), before, "{what}");
    };
    check("written", &|work| {
        fs::write(work.join("a"), "other").unwrap()
    });
    check("written where deleted", &|work| {
        fs::write(work.join("b"), "other").unwrap()
    });
    check("mode", &|work| {
        fs::set_permissions(work.join("a"), fs::Permissions::from_mode(0o600)).unwrap();
    });
    check("removed", &|work| fs::remove_file(work.join("a")).unwrap());
    check("made where new", &|work| {
        fs::write(work.join("new"), "").unwrap()
    });
    check("new in a deleted folder", &|work| {
        fs::write(work.join("gone/extra"), "").unwrap()
    });
    check("a link instead of a folder", &|work| {
        fs::rename(work.join("gone"), work.join("elsewhere")).unwrap();
        symlink("elsewhere", work.join("gone")).unwrap();
    });
    check("a link to outside", &|work| {
        fs::remove_file(work.join("a")).unwrap();
        symlink("/etc/hostname", work.join("a")).unwrap();
    });
    check("another link", &|work| {
        fs::remove_file(work.join("link")).unwrap();
        symlink("b", work.join("link")).unwrap();
    });
}

#[test]
fn the_same_content_again_is_no_conflict() {
    let fixture = fixture();
    let changes = found(&fixture);
    fs::write(fixture.work.join("a"), "a").unwrap();
    apply(&fixture, &changes).unwrap();
    assert_eq!(
        fs::read_to_string(fixture.work.join("a")).unwrap(),
        "changed"
    );
}
