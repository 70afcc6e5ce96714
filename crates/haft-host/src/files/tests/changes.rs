//! Many changes as one: all of them, or everything as it was.

use super::*;

/// Every file with its content and mode, every folder, every link.
fn state(f: &Fixture) -> Vec<String> {
    let mut all = Vec::new();
    let mut pending = vec![f.at("w")];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(f.at("w")).unwrap().display().to_string();
            if name == ".haft" {
                continue;
            }
            if path.is_symlink() {
                all.push(format!("{name}@"));
            } else if path.is_dir() {
                all.push(format!("{name}/"));
                pending.push(path);
            } else {
                let mode = path.metadata().unwrap().permissions().mode() & 0o777;
                let content = std::fs::read_to_string(&path).unwrap();
                all.push(format!("{name} {mode:o} {content}"));
            }
        }
    }
    all.retain(|name| name != "sub/");
    all.sort();
    all
}

fn filled() -> (Fixture, ChangeFiles) {
    let f = fixture();
    for (name, content) in [
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
        ("d/e", "4"),
        ("d/f/g", "5"),
    ] {
        let path = f.at("w").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    std::fs::set_permissions(f.at("w/a"), PermissionsExt::from_mode(0o751)).unwrap();
    symlink("a", f.at("w/link")).unwrap();
    let files = ChangeFiles::new(f.workspace.clone());
    (f, files)
}

fn put(files: &ChangeFiles, path: &str, content: &str) -> FileChange {
    FileChange::Put {
        place: files.resolve_entry(path).unwrap(),
        content: content.into(),
        mode: NewMode::Kept,
        like: None,
        before: Before::Anything,
    }
}

fn remove(files: &ChangeFiles, path: &str) -> FileChange {
    FileChange::Remove {
        place: files.resolve_entry(path).unwrap(),
        before: Before::Anything,
    }
}

fn moved(files: &ChangeFiles, from: &str, to: &str, overwrite: bool) -> FileChange {
    FileChange::Move {
        from: files.resolve_entry(from).unwrap(),
        to: files.resolve_entry(to).unwrap(),
        overwrite,
    }
}

#[test]
fn all_changes_are_made() {
    let (f, files) = filled();
    let changes = vec![
        put(&files, "a", "one"),
        put(&files, "new/deep/file", "n"),
        moved(&files, "b", "c", true),
        remove(&files, "d"),
        moved(&files, "link", "moved", false),
    ];
    run(files.apply(changes, &f.cx)).unwrap();
    assert_eq!(
        state(&f),
        [
            "a 751 one",
            "c 644 2",
            "moved@",
            "new/",
            "new/deep/",
            "new/deep/file 644 n"
        ]
    );
}

#[test]
fn names_may_be_swapped_and_handed_on() {
    let (f, files) = filled();
    let changes = vec![
        moved(&files, "a", "b", false),
        moved(&files, "b", "c", false),
        moved(&files, "c", "a", false),
        remove(&files, "d/e"),
        put(&files, "d/e", "again"),
    ];
    run(files.apply(changes, &f.cx)).unwrap();
    assert_eq!(
        state(&f),
        [
            "a 644 3",
            "b 751 1",
            "c 644 2",
            "d/",
            "d/e 644 again",
            "d/f/",
            "d/f/g 644 5",
            "link@"
        ]
    );
}

/// The last change fails when the others are already made: `x` is a folder by then.
#[test]
fn a_late_failure_puts_everything_back() {
    let (f, files) = filled();
    let before = state(&f);
    let earlier = |files: &ChangeFiles| {
        vec![
            put(files, "a", "one"),
            remove(files, "d"),
            moved(files, "b", "c", true),
            put(files, "new/file", "n"),
        ]
    };
    let mut changes = earlier(&files);
    changes.push(put(&files, "x", "late"));
    changes.push(moved(&files, "link", "x/link", false));
    let error = run(files.apply(changes, &f.cx)).unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict, "{error}");
    assert_eq!(state(&f), before);
    run(files.apply(earlier(&files), &f.cx)).unwrap();
    assert_ne!(state(&f), before);
}

#[test]
fn what_cannot_be_done_changes_nothing() {
    let (f, files) = filled();
    let before = state(&f);
    let snapshot = run(files.read(&files.resolve("c").unwrap(), &f.cx)).unwrap();
    std::fs::write(f.at("w/c"), "3").unwrap();
    let stale = FileChange::Put {
        place: files.resolve("c").unwrap(),
        content: b"x".to_vec(),
        mode: NewMode::Kept,
        like: None,
        before: snapshot.state(),
    };
    let check = |last: FileChange, code: ErrorCode| {
        let changes = vec![put(&files, "a", "one"), remove(&files, "d"), last.clone()];
        let error = run(files.apply(changes, &f.cx)).unwrap_err();
        assert_eq!(error.code, code, "{last:?}: {error}");
        assert_eq!(state(&f), before, "{last:?}");
    };
    let failed = ErrorCode::ExecutionFailed;
    check(stale, ErrorCode::Conflict);
    check(moved(&files, "b", "c", false), failed);
    check(moved(&files, "nothing", "y", false), failed);
    check(remove(&files, "nothing"), failed);
    check(put(&files, "d/f", "a folder"), failed);
    check(put(&files, "b/under", "a file"), failed);
    let cancelled = &f.cx.cancel;
    cancelled.cancel();
    let error = run(files.apply(vec![put(&files, "a", "one")], &f.cx)).unwrap_err();
    assert_eq!(error.code, ErrorCode::Cancelled);
    assert_eq!(state(&f), before);
}

#[test]
fn what_must_stay_is_refused() {
    let f = fixture();
    std::fs::create_dir_all(f.at("w/conf")).unwrap();
    std::fs::write(f.at("w/conf/real.yaml"), "").unwrap();
    symlink("conf/real.yaml", f.at("w/haft.yaml")).unwrap();
    let files = ChangeFiles::new(f.workspace.clone());
    for path in [
        ".",
        "sub/..",
        ".haft",
        ".haft/config.yaml",
        "haft.yaml",
        "conf",
        "conf/real.yaml",
        "../out",
        "../extra",
        "../w",
    ] {
        let error = files.resolve_entry(path).unwrap_err();
        assert_eq!(error.code, ErrorCode::Denied, "{path}: {error}");
    }
    for path in ["sub", "conf/other", "../extra/x", "new/thing"] {
        assert!(files.resolve_entry(path).is_ok(), "{path}");
    }
}

#[test]
fn modes_of_new_contents() {
    let (f, files) = filled();
    let check = |path: &str, mode: NewMode, like: Option<&str>, expected: u32| {
        let change = FileChange::Put {
            place: files.resolve_entry(path).unwrap(),
            content: b"x".to_vec(),
            mode,
            like: like.map(|path| {
                let place = files.resolve_entry(path).unwrap();
                run(files.read(&place, &f.cx)).unwrap().like(&place)
            }),
            before: Before::Anything,
        };
        run(files.apply(vec![change], &f.cx)).unwrap();
        let now = f
            .at("w")
            .join(path)
            .metadata()
            .unwrap()
            .permissions()
            .mode()
            & 0o777;
        assert_eq!(now, expected, "{path} {mode:?}");
    };
    check("a", NewMode::Kept, None, 0o751);
    check("a", NewMode::Executable(false), None, 0o640);
    check("a", NewMode::Executable(true), None, 0o750);
    check("b", NewMode::Bits(0o600), None, 0o600);
    check("new", NewMode::Kept, Some("a"), 0o750);
    check("script", NewMode::Executable(true), None, 0o755);
    check("plain", NewMode::Executable(false), None, 0o644);
}
