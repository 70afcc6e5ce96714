//! `git.status` and `git.diff` against real repositories, also such as somebody has prepared.

use std::path::PathBuf;
use std::process::Command;

use haft_core::ErrorCode;
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// A real repository in the workspace.
pub(crate) struct Repo(PathBuf);

impl Repo {
    pub(crate) fn new(f: &Fixture, path: &str) -> Self {
        Repo::at(f.at("ws").join(path))
    }

    fn at(folder: PathBuf) -> Self {
        std::fs::create_dir_all(&folder).unwrap();
        let repo = Repo(folder);
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=haft", "-c", "user.email=haft@localhost"])
            .args(["-c", "commit.gpgsign=false", "-c", "core.autocrlf=false"])
            .args(args)
            .current_dir(&self.0)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {told}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn commit(&self, files: &[(&str, &str)]) {
        for (path, content) in files {
            self.put(path, content);
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    }
}

#[test]
fn the_state_of_a_repository() {
    let f = Fixture::new();
    let repo = Repo::new(&f, "");
    let empty = f.call("git.status", json!({})).structured();
    assert_eq!(
        (&empty["branch"], &empty["clean"]),
        (&json!("main"), &json!(true))
    );
    repo.commit(&[
        ("a.txt", "a\n"),
        ("b.txt", "b\n"),
        ("sub/c ü.txt", "c\n"),
        ("d.txt", "d\n"),
    ]);
    let clean = f.call("git.status", json!({}));
    assert!(clean.text().ends_with("No changes\n"), "{}", clean.text());
    repo.put("a.txt", "changed\n");
    repo.git(&["mv", "b.txt", "moved.txt"]);
    std::fs::remove_file(f.at("ws/sub/c ü.txt")).unwrap();
    repo.put("sub/new.txt", "");
    let status = f.call("git.status", json!({}));
    assert_eq!(
        status.text(),
        "## main\n M a.txt\nR  b.txt -> moved.txt\n D sub/c ü.txt\n?? sub/new.txt\n"
    );
    let status = status.structured();
    assert_eq!(
        status["counts"],
        json!({"staged": 1, "unstaged": 2, "conflicts": 0, "untracked": 1})
    );
    let part = f.call("git.status", json!({"path": "sub"})).structured();
    assert_eq!(part["entries"].as_array().unwrap().len(), 2);
    let file = f.call("git.status", json!({"path": "a.txt"})).structured();
    assert_eq!(file["entries"][0]["path"], "a.txt");
    assert_eq!(file["entries"].as_array().unwrap().len(), 1);
}

#[test]
fn differences() {
    let f = Fixture::new();
    let repo = Repo::new(&f, "");
    repo.commit(&[("a.txt", "a\n"), ("dir/b.txt", "b\n"), (".env", "KEY=1\n")]);
    repo.put("a.txt", "a\nmore\n");
    repo.put("dir/b.txt", "x\n");
    repo.put(".env", "KEY=hunter2\n");
    repo.git(&["add", "dir"]);
    let check = |args: Value, has: &[&str], has_not: &[&str], added: u64| {
        let answer = f.call("git.diff", args.clone());
        let text = answer.text();
        for part in has {
            assert!(text.contains(part), "{args} {part}: {text}");
        }
        for part in has_not {
            assert!(!text.contains(part), "{args} {part}: {text}");
        }
        assert_eq!(answer.structured()["added"], added, "{args}");
    };
    check(json!({}), &["+more", ".env changed"], &["+x", "hunter2"], 1);
    check(
        json!({"staged": true}),
        &["-b\n+x"],
        &["+more", "hunter2"],
        1,
    );
    check(json!({"commit": "HEAD"}), &["+more", "+x"], &["hunter2"], 2);
    check(
        json!({"path": "dir", "commit": "HEAD"}),
        &["+x"],
        &["+more", ".env"],
        1,
    );
    check(json!({"path": "dir"}), &["No differences"], &["+"], 0);
    check(json!({"path": ".env"}), &["+KEY=hunter2"], &["+more"], 1);
    for bad in ["-h", "--output=x", "HEAD:a.txt", "a b", "--no-index"] {
        let error = f.call("git.diff", json!({"commit": bad})).error();
        assert_eq!(error.code, ErrorCode::InputInvalid, "{bad}");
    }
    let error = f.call("git.diff", json!({"commit": "nowhere"})).error();
    assert!(
        error.message.starts_with("Git diff failed: "),
        "{}",
        error.message
    );
    assert!(!f.at("ws/x").exists());
}

#[test]
fn a_patch_of_git_goes_back_in() {
    let f = Fixture::new();
    let repo = Repo::new(&f, "");
    repo.commit(&[("a.txt", "one\ntwo\n")]);
    repo.put("a.txt", "one\n2\n");
    let diff = f.call("git.diff", json!({})).structured()["diff"].clone();
    repo.git(&["checkout", "-q", "a.txt"]);
    f.call("file.patch", json!({"patch": diff})).structured();
    assert_eq!(f.content("a.txt"), "one\n2\n");
}

#[test]
fn no_repository_and_no_way_out_of_one() {
    let f = Fixture::new();
    let error = f.call("git.status", json!({})).error();
    let message = "Git status failed: not a git repository";
    assert!(error.message.starts_with(message), "{}", error.message);
    let error = f.call("git.status", json!({"path": "../out"})).error();
    assert_eq!(error.code, ErrorCode::Denied);
    // A repository that claims a folder elsewhere for its own.
    let repo = Repo::new(&f, "claims");
    let outside = f.at("out");
    repo.git(&["config", "core.worktree", outside.to_str().unwrap()]);
    let answer = f.call("git.status", json!({"path": "claims"}));
    assert!(!answer.text().contains("secret.txt"), "{}", answer.text());
    assert_eq!(answer.error().code, ErrorCode::Denied);
}

/// A folder can name any repository of the machine as its own.
#[test]
fn a_repository_outside_is_shown_by_no_name_of_it_inside() {
    let f = Fixture::new();
    let theirs = Repo::at(f.at("out/theirs"));
    theirs.commit(&[("n.md", "private text\n")]);
    let git = f.at("out/theirs/.git");
    let named = format!("gitdir: {}\n", git.display());
    f.put("by-file/.git", &named);
    std::fs::create_dir(f.at("ws/by-link")).unwrap();
    std::os::unix::fs::symlink(&git, f.at("ws/by-link/.git")).unwrap();
    let made = |name: &str| {
        let repo = Repo::new(&f, name);
        repo.commit(&[("a", "a\n")]);
        f.at("ws").join(name).join(".git")
    };
    let shown = git.display();
    std::fs::write(made("by-common").join("commondir"), format!("{shown}\n")).unwrap();
    let claims = made("by-both");
    std::fs::write(claims.join("commondir"), format!("{shown}\n")).unwrap();
    std::fs::write(claims.join("config"), "[core]\n\tworktree = /\n").unwrap();
    let objects = made("by-objects").join("objects");
    std::fs::remove_dir_all(&objects).unwrap();
    std::os::unix::fs::symlink(git.join("objects"), objects).unwrap();
    let alternates = made("by-alternate").join("objects/info/alternates");
    std::fs::write(alternates, format!("{shown}/objects\n")).unwrap();
    let head = theirs.git(&["rev-parse", "HEAD"]);
    for name in [
        "by-file",
        "by-link",
        "by-common",
        "by-both",
        "by-objects",
        "by-alternate",
    ] {
        for commit in ["HEAD", head.trim()] {
            let answer = f.call("git.diff", json!({"path": name, "commit": commit}));
            assert!(
                !answer.text().contains("private"),
                "{name}: {}",
                answer.text()
            );
            assert!(answer.result.is_err(), "{name} {commit}: {}", answer.text());
        }
    }
    // A second working tree that the repository itself knows of.
    let tree = f.at("ws/tree");
    theirs.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    std::fs::write(tree.join("n.md"), "changed\n").unwrap();
    let answer = f.call("git.diff", json!({"path": "tree"}));
    assert!(answer.text().contains("+changed"), "{}", answer.text());
}

/// Every setting of a repository that names a program, each made to leave a trace.
#[test]
fn nothing_that_a_repository_names_is_run() {
    let f = Fixture::new();
    let repo = Repo::new(&f, "repo");
    repo.commit(&[
        ("a.txt", "a\n"),
        (".gitattributes", "*.txt filter=evil diff=evil\n"),
    ]);
    let trace = f.at("out/trace");
    let program = f.at("home/evil");
    std::fs::write(
        &program,
        format!("#!/bin/sh\ntouch {}\ncat\n", trace.display()),
    )
    .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    let program = program.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "pager.status",
        "pager.diff",
        "alias.status",
    ] {
        repo.git(&["config", key, program]);
    }
    repo.git(&["config", "filter.evil.required", "true"]);
    std::fs::copy(program, f.at("ws/repo/.git/hooks/post-index-change")).unwrap();
    repo.put("a.txt", "changed\n");
    for (tool, args) in [
        ("git.status", json!({"path": "repo"})),
        ("git.diff", json!({"path": "repo"})),
        ("git.diff", json!({"path": "repo", "commit": "HEAD"})),
        ("git.diff", json!({"path": "repo/a.txt", "staged": true})),
    ] {
        let answer = f.call(tool, args.clone());
        assert!(answer.result.is_ok(), "{tool} {args}: {}", answer.text());
        assert!(!trace.exists(), "{tool} {args}");
    }
    // The same settings in a folder that only looks like a repository.
    let bare = Repo::new(&f, "bare");
    std::fs::rename(f.at("ws/bare/.git"), f.at("ws/looks")).unwrap();
    drop(bare);
    let config = format!("[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = {program}\n");
    std::fs::write(f.at("ws/looks/config"), config).unwrap();
    let answer = f.call("git.status", json!({"path": "looks"}));
    assert!(answer.result.is_err(), "{}", answer.text());
    assert!(!trace.exists());
}
