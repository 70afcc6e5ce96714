//! Checkpoints by themselves: what is noted, what a crash leaves, what is kept and for how long.

use std::fs;
use std::os::unix::fs::symlink;
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

    /// Where a large content is kept.
    fn blob(&self, content: &str) -> PathBuf {
        let hash = blake3::hash(content.as_bytes()).to_hex();
        let shelf = self.store.place.join("blobs").join(&hash[..2]);
        shelf.join(hash.as_str())
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
    let folder = fixture.store.folder(&fixture.dir.path().join("ws"));
    let stored = &log::list(&folder).unwrap()[0];
    let whole = fs::read(&stored.path).unwrap();
    let cut = whole.len() - 10;
    fs::write(&stored.path, &whole[..cut]).unwrap();
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
        let folder = fixture.store.folder(&fixture.dir.path().join("ws"));
        let place = match content.len() {
            1 => pack::beside(&log::list(&folder).unwrap()[0].path),
            _ => fixture.blob(&content),
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

#[test]
fn old_calls_go_with_their_contents() {
    let fixture = Fixture::new();
    let contents = ["one", "two", "three"].map(large);
    for content in &contents {
        fixture.put("a", content);
        fixture.put("small", content.get(..3).unwrap());
        let mut recorder = fixture.recorder("c");
        touch(&mut recorder, "a", Touch::Here);
        touch(&mut recorder, "small", Touch::Here);
        fixture.put("a", "changed");
        fixture.put("small", "changed");
        recorder.finish().unwrap();
    }
    let folder = fixture.store.folder(&fixture.dir.path().join("ws"));
    let now = SystemTime::now() + Duration::from_secs(7 * 60 * 60);
    let oldest = &log::list(&folder).unwrap()[2].path;
    let long_ago = now - Duration::from_secs(1_000_000);
    File::options()
        .append(true)
        .open(oldest)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    let packs = || {
        let names = fs::read_dir(&folder).unwrap();
        let names = names.filter_map(|entry| entry.unwrap().file_name().into_string().ok());
        names.filter(|name| name.ends_with(".pack")).count()
    };
    assert_eq!(packs(), 3);
    for content in &contents {
        let blob = fixture.blob(content);
        let file = File::options().append(true).open(blob).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(7200))
            .unwrap();
    }
    let limit = crate::Retention {
        age: Duration::from_secs(100_000),
        bytes: 1 << 30,
    };
    let (all, gone) = fixture.store.tidy(&limit, now, true).unwrap();
    assert_eq!((all.count, gone.count), (3, 1));
    assert_eq!(fixture.calls(), 3, "a dry run");
    assert_eq!(fixture.store.tidy(&limit, now, false).unwrap(), (all, gone));
    assert_eq!(fixture.calls(), 2);
    let there = contents
        .each_ref()
        .map(|content| fixture.blob(content).exists());
    assert_eq!((there, packs()), ([false, true, true], 2));
    let tight = crate::Retention { bytes: 1, ..limit };
    fixture.store.tidy(&tight, now, false).unwrap();
    assert_eq!(fixture.calls(), 0);
    assert!(!fixture.blob(&contents[2]).exists());
    assert_eq!(packs(), 0);
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
