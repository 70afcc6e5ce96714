mod changes;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use haft_core::{Caller, ErrorCode, ToolContext};

use super::*;

struct Fixture {
    dir: tempfile::TempDir,
    workspace: Arc<Workspace>,
    cx: ToolContext,
}

/// A workspace `w`, a folder `out` beside it, an extra root `extra` and haft's home inside the
/// workspace.
fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    for name in ["w/.haft", "w/sub", "out", "extra"] {
        std::fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    std::fs::write(dir.path().join("out/secret.txt"), "secret").unwrap();
    std::fs::write(dir.path().join("w/.haft/config.yaml"), "").unwrap();
    let workspace = Workspace::open(FilesConfig {
        workspace: dir.path().join("w"),
        roots: vec![dir.path().join("extra")],
        home: dir.path().join("w/.haft"),
    })
    .unwrap();
    let workspace = Arc::new(workspace);
    let caller = Caller {
        paths: Arc::new(RealPaths),
        ..Caller::alone("s", workspace.path().to_owned())
    };
    let cx = ToolContext::new("c".into(), "t".into(), Arc::new(caller), 80_000, false);
    Fixture { dir, workspace, cx }
}

impl Fixture {
    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }
}

/// Run a future that may use blocking threads.
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

fn listed(recursive: bool, limit: usize) -> ListRequest {
    ListRequest {
        recursive,
        limit,
        skip_ignored: false,
    }
}

#[test]
fn resolving() {
    let f = fixture();
    symlink("../out", f.at("w/to_out")).unwrap();
    symlink(f.at("w/sub"), f.at("w/to_sub")).unwrap();
    symlink(".haft/config.yaml", f.at("w/innocent")).unwrap();
    symlink("sub/real.yaml", f.at("w/haft.yaml")).unwrap();
    let check = |path: &str, expected: &str| {
        let path = path.replace("{DIR}", f.at("").to_str().unwrap().trim_end_matches('/'));
        let shown = match f.workspace.resolve_for_writing(&path) {
            Ok(resolved) => resolved
                .path()
                .strip_prefix(f.at(""))
                .unwrap()
                .display()
                .to_string(),
            Err(error) => error.code.to_string(),
        };
        assert_eq!(shown, expected, "{path}");
    };
    check("new/file.txt", "w/new/file.txt");
    check("to_sub/x", "w/sub/x");
    check("{DIR}/w/x", "w/x");
    check("{DIR}/extra/x", "extra/x");
    check("../extra/x", "extra/x");
    check("~", "w/~");
    check("~/x", "input_invalid");
    check("./~/x", "w/~/x");
    check("../out/secret.txt", "denied");
    check("to_out/new", "denied");
    check("{DIR}/w2/x", "denied");
    check("../nowhere/../w/x", "denied");
    check(".haft/config.yaml", "denied");
    check("sub/../.haft", "denied");
    check("innocent", "denied");
    check("haft.yaml", "denied");
    check("HAFT.yaml", "denied");
    check("sub/real.yaml", "denied");
    check("sub/haft.yaml", "w/sub/haft.yaml");
    check("", "input_invalid");
    check("a\0b", "input_invalid");
    check(&"x".repeat(256), "input_invalid");
    check(&"x/".repeat(3000), "input_invalid");
    check("gone/../x", "execution_failed");
    assert!(
        f.workspace.resolve("haft.yaml").is_ok(),
        "reading it is fine"
    );
}

#[test]
fn effects_carry_the_mark_of_protected_names() {
    let f = fixture();
    let check = |path: &str, marks: &str| {
        let resolved = f.workspace.resolve(path).unwrap();
        let marked = |effects: Effects| {
            effects
                .accesses
                .iter()
                .any(|access| access.resource.as_protected().is_some())
        };
        let mut shown = String::new();
        if marked(resolved.reads()) {
            shown.push('r');
        }
        if marked(resolved.writes()) {
            shown.push('w');
        }
        assert_eq!(shown, marks, "{path}");
    };
    check("a.txt", "");
    check(".git/hooks/post-checkout", "w");
    check("sub/.env", "rw");
}

#[test]
fn writing_keeps_the_mode_and_leaves_nothing_else() {
    let f = fixture();
    let files = WriteFiles::new(f.workspace.clone());
    let write = |path: &str| {
        let place = files.resolve(path)?;
        run(files.write(&place, b"new".to_vec(), &f.cx))
    };
    let script = f.at("w/run.sh");
    std::fs::write(&script, "old").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o750)).unwrap();
    write("run.sh").unwrap();
    write("a/b/c.txt").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&script), 0o750);
    assert_eq!(
        mode(&f.at("w/a/b/c.txt")) & 0o133,
        0,
        "not for others to write or run"
    );
    assert_eq!(std::fs::read_to_string(&script).unwrap(), "new");

    let check = |path: &str, code: ErrorCode| {
        assert_eq!(write(path).unwrap_err().code, code, "{path}");
    };
    check("sub", ErrorCode::ExecutionFailed);
    check(".", ErrorCode::ExecutionFailed);
    check("run.sh/x", ErrorCode::ExecutionFailed);
    let mut names: Vec<_> = std::fs::read_dir(f.at("w"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, [".haft", "a", "run.sh", "sub"]);
}

#[test]
fn a_cancelled_write_changes_nothing() {
    let f = fixture();
    let files = WriteFiles::new(f.workspace.clone());
    let place = files.resolve("deep/er/x.txt").unwrap();
    f.cx.cancel.cancel();
    let error = run(files.write(&place, b"new".to_vec(), &f.cx)).unwrap_err();
    assert_eq!(error.code, ErrorCode::Cancelled);
    assert!(!f.at("w/deep").exists());
}

#[test]
fn a_link_put_in_the_way_after_resolving_is_caught() {
    let f = fixture();
    let (reads, writes) = (
        ReadFiles::new(f.workspace.clone()),
        WriteFiles::new(f.workspace.clone()),
    );
    let file = writes.resolve("sub/secret.txt").unwrap();
    std::fs::remove_dir(f.at("w/sub")).unwrap();
    symlink(f.at("out"), f.at("w/sub")).unwrap();
    let read = run(reads.read(&file, LineRange::default(), &f.cx)).unwrap_err();
    let written = run(writes.write(&file, b"bad".to_vec(), &f.cx)).unwrap_err();
    assert_eq!(read.code, ErrorCode::Conflict);
    assert_eq!(written.code, ErrorCode::ExecutionFailed, "{written}");
    let outside = std::fs::read_to_string(f.at("out/secret.txt")).unwrap();
    assert_eq!(outside, "secret");
}

#[test]
fn an_edit_of_an_outdated_view_is_a_conflict() {
    let f = fixture();
    let path = f.at("w/a.txt");
    let (reads, edits) = (
        ReadFiles::new(f.workspace.clone()),
        EditFiles::new(f.workspace.clone()),
    );
    let place = edits.resolve("a.txt").unwrap();
    let part = LineRange {
        offset: 1,
        limit: Some(1),
        ..LineRange::default()
    };
    for range in [LineRange::default(), part] {
        std::fs::write(&path, "one\ntwo\n").unwrap();
        run(reads.read(&place, range, &f.cx)).unwrap();
        let snapshot = run(edits.read(&place, &f.cx)).unwrap();
        std::fs::write(&path, "One\ntwo\n").unwrap();
        let error = run(edits.replace(&place, &snapshot, "x".into(), &f.cx)).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
        let error = run(edits.read(&place, &f.cx)).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
        run(reads.read(&place, range, &f.cx)).unwrap();
        run(edits.read(&place, &f.cx)).unwrap();
    }
}

#[test]
fn the_workspace_is_no_file_to_write() {
    let f = fixture();
    let writes = WriteFiles::new(f.workspace.clone());
    for path in [".", "./", "sub/.."] {
        let error = writes.resolve(path).unwrap_err();
        assert!(error.message.contains("is a directory"), "{error}");
    }
}

#[test]
fn what_was_read_written_and_then_changed_by_others_is_not_written_over() {
    let f = fixture();
    let reads = ReadFiles::new(f.workspace.clone());
    let writes = WriteFiles::new(f.workspace.clone());
    let place = writes.resolve("n.txt").unwrap();
    let write = |text: &str| run(writes.write(&place, text.into(), &f.cx));
    write("one").unwrap();
    run(reads.read(&place, LineRange::default(), &f.cx)).unwrap();
    write("two").unwrap();
    std::fs::write(f.at("w/n.txt"), "a person's").unwrap();
    assert_eq!(write("three").unwrap_err().code, ErrorCode::Conflict);
    let kept = std::fs::read_to_string(f.at("w/n.txt")).unwrap();
    assert_eq!(kept, "a person's");
}

#[test]
fn a_pipe_is_refused_and_does_not_hang() {
    let f = fixture();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(CWD, f.at("w/pipe"), kind, mode, 0).unwrap();
    let (reads, writes) = (
        ReadFiles::new(f.workspace.clone()),
        WriteFiles::new(f.workspace.clone()),
    );
    let place = reads.resolve("pipe").unwrap();
    let read = run(reads.read(&place, LineRange::default(), &f.cx)).unwrap_err();
    let written = run(writes.write(&place, b"x".to_vec(), &f.cx)).unwrap_err();
    for error in [read, written] {
        assert!(error.message.contains("named pipe"), "{error}");
    }
}

#[test]
fn a_listing_shows_nothing_of_haft_itself() {
    let f = fixture();
    let files = ListFiles::new(f.workspace.clone());
    let place = files.resolve(".").unwrap();
    let listing = run(files.list(&place, listed(true, 100), &f.cx)).unwrap();
    let paths: Vec<_> = listing.entries.iter().map(|entry| &entry.path).collect();
    assert_eq!(paths, [Path::new("sub")]);
}

/// The disk refuses in the middle: done with a limit on the size of files, in a process of its
/// own, because the limit binds the whole process.
#[test]
fn a_write_that_fails_half_way_keeps_the_old_content() {
    const CHILD: &str = "HAFT_TEST_SMALL_FILES";
    if let Some(root) = std::env::var_os(CHILD) {
        let root = PathBuf::from(root);
        let workspace = Workspace::open(FilesConfig {
            workspace: root.clone(),
            roots: Vec::new(),
            home: root.join("no-home"),
        })
        .unwrap();
        let files = WriteFiles::new(Arc::new(workspace));
        let cx = fixture().cx;
        for path in ["old.txt", "new/deep/file.txt"] {
            let place = files.resolve(path).unwrap();
            let content = vec![b'x'; 3 << 20];
            run(files.write(&place, content, &cx)).unwrap_err();
        }
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("old.txt"), "old").unwrap();
    let status = std::process::Command::new("sh")
        .args(["-c", "ulimit -f 1024; trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "files::tests::a_write_that_fails_half_way_keeps_the_old_content",
        ])
        .env(CHILD, dir.path())
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let names: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["old.txt"]);
    let kept = std::fs::read_to_string(dir.path().join("old.txt")).unwrap();
    assert_eq!(kept, "old");
}
