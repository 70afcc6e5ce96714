//! Checkpoints by themselves: what is noted, what a crash leaves, what is kept and for how long.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use super::*;

struct Fixture {
    dir: tempfile::TempDir,
    store: Checkpoints,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("ws")).unwrap();
        let store = Checkpoints::new(&dir.path().join("home"), UndoConfig::default());
        Fixture { dir, store }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join("ws").join(path)
    }

    fn put(&self, path: &str, content: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), content).unwrap();
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.at(path)).ok()
    }

    fn roots(&self) -> Vec<(PathBuf, OwnedFd)> {
        let path = self.dir.path().join("ws");
        let handle = File::open(&path).unwrap().into();
        vec![(path, handle)]
    }

    /// The files of the newest call.
    fn draft(&self) -> Draft {
        draft::list(&self.store.drafts).unwrap().remove(0)
    }

    fn recorder(&self, call: &str) -> Recorder {
        let mark = Mark {
            call: call.to_owned(),
            session: "s".to_owned(),
            tool: "t".to_owned(),
        };
        self.store.begin(mark, self.roots(), Vec::new())
    }

    fn undo(&self) -> UndoPlan {
        let plan = self.store.plan(&Which::Last, &self.roots()).unwrap();
        let mark = Mark::default();
        self.store.put_back(&plan, mark, &self.roots()).unwrap();
        plan
    }

    fn calls(&self) -> usize {
        let workspace = self.dir.path().join("ws");
        self.store.summaries(&workspace, 100).unwrap().len()
    }
}

fn touch(recorder: &mut Recorder, path: &str, what: Touch) {
    recorder.touch(0, Path::new(path), what).unwrap();
}

#[test]
fn a_call_that_changed_nothing_leaves_nothing() {
    let fixture = Fixture::new();
    fixture.put("a", "1");
    let mut recorder = fixture.recorder("c");
    touch(&mut recorder, "a", Touch::Here);
    touch(&mut recorder, "b/c", Touch::Here);
    fixture.put("a", "1");
    assert_eq!(recorder.finish().unwrap(), Recorded::default());
    assert_eq!(fixture.calls(), 0);
    fixture.recorder("d").finish().unwrap();
    assert_eq!(fixture.calls(), 0);
}

/// What runs as its owner does so again, and a folder of a group is the group's.
#[test]
fn what_ran_as_its_owner_does_again() {
    let fixture = Fixture::new();
    fixture.put("program", "x");
    fixture.put("ours/file", "y");
    let modes = [("program", 0o4755), ("ours", 0o2750), ("ours/file", 0o2711)];
    let mode = |path: &str| fixture.at(path).metadata().unwrap().permissions().mode() & 0o7777;
    for (path, bits) in modes {
        fs::set_permissions(fixture.at(path), fs::Permissions::from_mode(bits)).unwrap();
        assert_eq!(mode(path), bits);
    }
    let mut recorder = fixture.recorder("c");
    touch(&mut recorder, "program", Touch::Here);
    touch(&mut recorder, "ours", Touch::Here);
    touch(&mut recorder, "ours/file", Touch::Here);
    fs::write(fixture.at("program"), "changed").unwrap();
    fs::set_permissions(fixture.at("program"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_dir_all(fixture.at("ours")).unwrap();
    assert_eq!(recorder.finish().unwrap().lost, []);
    assert_eq!(fixture.undo().lost, []);
    assert_eq!(
        modes.map(|(path, _)| mode(path)),
        modes.map(|(_, bits)| bits)
    );
    fixture.undo();
    assert_eq!(mode("program"), 0o755);
}

/// Only root can make one that is somebody else's.
#[test]
fn a_folder_belongs_to_whom_it_did() {
    use std::os::unix::fs::{MetadataExt, chown};
    let fixture = Fixture::new();
    fixture.put("theirs/in/file", "x");
    for path in ["theirs", "theirs/in"] {
        if chown(fixture.at(path), Some(65_534), Some(65_533)).is_err() {
            return;
        }
    }
    fs::set_permissions(fixture.at("theirs"), fs::Permissions::from_mode(0o2750)).unwrap();
    let mut recorder = fixture.recorder("c");
    touch(&mut recorder, "theirs", Touch::Tree);
    fs::remove_dir_all(fixture.at("theirs")).unwrap();
    recorder.finish().unwrap();
    fixture.undo();
    for path in ["theirs", "theirs/in"] {
        let about = fixture.at(path).metadata().unwrap();
        assert_eq!((about.uid(), about.gid()), (65_534, 65_533), "{path}");
    }
    assert_eq!(
        fixture.at("theirs").metadata().unwrap().mode() & 0o7777,
        0o2750
    );
}

/// Moved, changed in the new place, and the old place taken by something else.
#[test]
fn what_moves_and_changes_is_followed() {
    let fixture = Fixture::new();
    fixture.put("src/a", "a");
    fixture.put("src/b", "b");
    fixture.put("src/deep/c", "c");
    fixture.put("old", "old");
    let mut recorder = fixture.recorder("c");
    touch(&mut recorder, "src", Touch::Moved);
    touch(&mut recorder, "lib", Touch::Here);
    fs::rename(fixture.at("src"), fixture.at("lib")).unwrap();
    touch(&mut recorder, "lib/a", Touch::Here);
    fixture.put("lib/a", "changed");
    touch(&mut recorder, "lib/b", Touch::Here);
    fs::remove_file(fixture.at("lib/b")).unwrap();
    touch(&mut recorder, "old", Touch::Moved);
    touch(&mut recorder, "src", Touch::Here);
    fs::rename(fixture.at("old"), fixture.at("src")).unwrap();
    assert_eq!(recorder.finish().unwrap().lost, []);
    fixture.undo();
    let read = ["src/a", "src/b", "src/deep/c", "old"].map(|path| fixture.read(path));
    assert_eq!(
        read,
        ["a", "b", "c", "old"].map(|text| Some(text.to_owned()))
    );
    assert!(!fixture.at("lib").exists());
    fixture.undo();
    assert_eq!(fixture.read("lib/a").unwrap(), "changed");
    assert_eq!(fixture.read("src").unwrap(), "old");
    assert!(!fixture.at("lib/b").exists() && fixture.at("lib/deep/c").exists());
}

/// The haft that noted it is gone before it could say that it was done.
#[test]
fn a_call_that_was_cut_short_can_be_undone() {
    let fixture = Fixture::new();
    fixture.put("a", "1");
    fixture.put("b", "2");
    fixture.put("dir/c", "3");
    let mut recorder = fixture.recorder("c");
    touch(&mut recorder, "a", Touch::Here);
    touch(&mut recorder, "b", Touch::Here);
    touch(&mut recorder, "dir", Touch::Moved);
    touch(&mut recorder, "moved", Touch::Here);
    fixture.put("a", "changed");
    fs::rename(fixture.at("dir"), fixture.at("moved")).unwrap();
    drop(recorder);
    let plan = fixture.undo();
    assert!(plan.interrupted);
    let read = ["a", "b", "dir/c"].map(|path| fixture.read(path).unwrap());
    assert_eq!(read, ["1", "2", "3"]);
    assert!(!fixture.at("moved").exists());
}

/// Emptied and removed, and another one got its name, when the haft that noted it died.
#[test]
fn a_folder_that_took_a_name_before_a_crash_goes_again() {
    for dies in [true, false] {
        let fixture = Fixture::new();
        fixture.put("a/x", "1");
        fixture.put("b/y", "2");
        let mut recorder = fixture.recorder("c");
        touch(&mut recorder, "a/x", Touch::Vacated);
        fs::remove_file(fixture.at("a/x")).unwrap();
        touch(&mut recorder, "a", Touch::Vacated);
        fs::remove_dir(fixture.at("a")).unwrap();
        touch(&mut recorder, "b", Touch::Moved);
        touch(&mut recorder, "a", Touch::Vacated);
        fs::rename(fixture.at("b"), fixture.at("a")).unwrap();
        match dies {
            true => drop(recorder),
            false => assert_eq!(recorder.finish().unwrap().lost, []),
        }
        fixture.undo();
        let read = ["a/x", "b/y"].map(|path| fixture.read(path).unwrap());
        assert_eq!(read, ["1", "2"]);
        assert!(!fixture.at("a/y").exists());
    }
}

/// One that is no different from the file whose name it takes.
#[test]
fn a_file_that_took_the_name_of_its_equal_comes_back() {
    for content in ["same".to_owned(), large("same")] {
        let fixture = Fixture::new();
        fixture.put("one", &content);
        fixture.put("two", &content);
        let mut recorder = fixture.recorder("c");
        touch(&mut recorder, "one", Touch::Moved);
        touch(&mut recorder, "two", Touch::Vacated);
        fs::rename(fixture.at("one"), fixture.at("two")).unwrap();
        assert_eq!(recorder.finish().unwrap().lost, []);
        fixture.undo();
        assert!(
            fixture.read("one") == Some(content.clone()) && fixture.read("two") == Some(content)
        );
    }
}

/// Who could not remove a folder has not named what is in it.
#[test]
fn what_stays_in_a_folder_that_could_not_be_removed_is_not_taken_for_new() {
    let fixture = Fixture::new();
    fixture.put("a/x", "1");
    let mut recorder = fixture.recorder("c");
    touch(&mut recorder, "a", Touch::Vacated);
    touch(&mut recorder, "a/x", Touch::Here);
    fixture.put("a/x", "2");
    recorder.finish().unwrap();
    fixture.undo();
    assert_eq!(fixture.read("a/x").unwrap(), "1");
}

#[test]
fn a_line_that_was_cut_short_is_the_last_one() {
    let fixture = Fixture::new();
    fixture.put("a", "1");
    fixture.put("b", "2");
    let mut recorder = fixture.recorder("c");
    touch(&mut recorder, "a", Touch::Here);
    touch(&mut recorder, "b", Touch::Here);
    drop(recorder);
    fixture.put("a", "changed");
    let log = fixture.draft().log();
    let whole = fs::read(&log).unwrap();
    let cut = whole.len() - 10;
    fs::write(&log, &whole[..cut]).unwrap();
    fixture.undo();
    assert_eq!(fixture.read("a").unwrap(), "1");
}

/// While one haft is at work, another must not take its call for abandoned.
#[test]
fn a_call_at_work_is_left_alone() {
    let fixture = Fixture::new();
    fixture.put("a", "1");
    let mut recorder = fixture.recorder("c");
    touch(&mut recorder, "a", Touch::Here);
    fixture.put("a", "2");
    let which = Which::Call("c".to_owned());
    let error = fixture.store.plan(&which, &fixture.roots()).unwrap_err();
    assert_eq!(error.code, haft_core::ErrorCode::Conflict);
    recorder.finish().unwrap();
    fixture.undo();
    assert_eq!(fixture.read("a").unwrap(), "1");
}

#[test]
fn damaged_contents_are_never_put_back() {
    for content in ["1".to_owned(), large("1")] {
        let fixture = Fixture::new();
        fixture.put("a", &content);
        let mut recorder = fixture.recorder("c");
        touch(&mut recorder, "a", Touch::Here);
        fixture.put("a", "2");
        recorder.finish().unwrap();
        let place = match content.len() {
            1 => fixture.draft().pack(),
            _ => fixture
                .draft()
                .file(blake3::hash(content.as_bytes()).to_hex().as_str()),
        };
        assert_eq!(fs::read_to_string(&place).unwrap(), content);
        fs::write(&place, "X").unwrap();
        let plan = fixture.store.plan(&Which::Last, &fixture.roots()).unwrap();
        let error = fixture
            .store
            .put_back(&plan, Mark::default(), &fixture.roots())
            .unwrap_err();
        assert!(error.message.contains("damaged"), "{error}");
        assert_eq!(fixture.read("a").unwrap(), "2");
        assert_eq!(fs::read_dir(fixture.at(".")).unwrap().count(), 1);
    }
}

/// Too much for a pack.
fn large(content: &str) -> String {
    content.repeat(pack::SMALL as usize + 1)
}

#[test]
fn pipes_that_are_removed_are_named() {
    let fixture = Fixture::new();
    let path = fixture.at("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    symlink("x", fixture.at("link")).unwrap();
    let mut recorder = fixture.recorder("c");
    touch(&mut recorder, "pipe", Touch::Here);
    touch(&mut recorder, "link", Touch::Here);
    fs::remove_file(&path).unwrap();
    fs::remove_file(fixture.at("link")).unwrap();
    let lost = recorder.finish().unwrap().lost;
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].path, path);
    let plan = fixture.undo();
    assert_eq!((plan.back.len(), plan.lost.len()), (1, 1));
    assert_eq!(fs::read_link(fixture.at("link")).unwrap(), Path::new("x"));
}

/// Calls that are over are listed elsewhere; what was cut short is ours until it is old.
#[test]
fn what_was_cut_short_goes_when_it_is_old() {
    let fixture = Fixture::new();
    for (call, content) in [
        ("over", "1".to_owned()),
        ("cut", large("2")),
        ("cut", large("3")),
    ] {
        fixture.put("a", &content);
        let mut recorder = fixture.recorder(call);
        touch(&mut recorder, "a", Touch::Here);
        fixture.put("a", "changed");
        if call == "over" {
            recorder.finish().unwrap();
        }
    }
    let mut at_work = fixture.recorder("at work");
    touch(&mut at_work, "a", Touch::Here);
    let limit = crate::Retention {
        age: Duration::from_secs(100_000),
        bytes: 100_000,
    };
    let now = SystemTime::now();
    let files = || fs::read_dir(&fixture.store.drafts).unwrap().count();
    let before = files();
    let (all, gone) = fixture.store.tidy(&limit, now, true).unwrap();
    assert_eq!((all.count, gone.count), (2, 1), "too much of it");
    assert_eq!(files(), before, "a dry run");
    assert_eq!(fixture.store.tidy(&limit, now, false).unwrap(), (all, gone));
    assert_eq!(files(), before - 2);
    let later = now + Duration::from_secs(200_000);
    let (all, gone) = fixture.store.tidy(&limit, later, false).unwrap();
    assert_eq!((all.count, gone.count), (1, 1));
    drop(at_work);
    assert_eq!(files(), 5, "one is over, one was at work");
}

/// As an older haft has left them: a folder for the workspace, large contents in one for all.
#[test]
fn calls_of_an_older_haft_are_taken_over() {
    for finished in [true, false] {
        let fixture = Fixture::new();
        let large = large("1");
        fixture.put("a", &large);
        fixture.put("b", "2");
        let mut recorder = fixture.recorder("c");
        touch(&mut recorder, "a", Touch::Here);
        touch(&mut recorder, "b", Touch::Here);
        fixture.put("a", "changed");
        fixture.put("b", "changed");
        match finished {
            true => drop(recorder.finish().unwrap()),
            false => drop(recorder),
        }
        let new = fixture.draft();
        let folder = fixture.store.drafts.join("0123456789abcdef");
        let shelf = fixture.store.place.join("blobs");
        let name = blake3::hash(large.as_bytes()).to_hex();
        let old = Draft {
            folder: folder.clone(),
            id: new.id.clone(),
        };
        fs::create_dir_all(shelf.join(&name[..2])).unwrap();
        fs::create_dir_all(&folder).unwrap();
        fs::rename(new.file(&name), shelf.join(&name[..2]).join(name.as_str())).unwrap();
        fs::rename(new.pack(), old.pack()).unwrap();
        fs::rename(new.log(), old.log()).unwrap();
        let _ = fs::remove_file(new.file(KeptChanges::DONE));
        let plan = fixture.undo();
        assert_eq!(plan.interrupted, !finished);
        assert_eq!(fixture.read("a").unwrap(), large);
        assert_eq!(fixture.read("b").unwrap(), "2");
        assert!(!folder.exists() && !shelf.exists());
    }
}

#[test]
fn ten_thousand_files_there_and_back() {
    let fixture = Fixture::new();
    for number in 0..10_000 {
        fixture.put(&format!("many/{}/{number}", number % 100), "same for all");
    }
    let mut recorder = fixture.recorder("c");
    touch(&mut recorder, "many", Touch::Tree);
    fs::remove_dir_all(fixture.at("many")).unwrap();
    assert_eq!(recorder.finish().unwrap().changes, 10_101);
    let plan = fixture.undo();
    assert_eq!(plan.back.len(), 10_101);
    for number in 0..10_000 {
        let path = format!("many/{}/{number}", number % 100);
        assert_eq!(fixture.read(&path).as_deref(), Some("same for all"));
    }
}
