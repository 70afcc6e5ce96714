//! `file.patch` with diffs that the real git has made, and with such as models write.

use std::os::unix::fs::PermissionsExt;

use haft_core::ErrorCode;
use serde_json::{Value, json};

use crate::file_move::tree;
use crate::fixture::Fixture;
use crate::git::Repo;

/// Change a repository, take git's diff of it, go back, and apply the diff: the files must be
/// as they were after the change.
fn round_trip(before: &[(&str, &str)], change: impl Fn(&Fixture, &Repo), git: &[&str]) {
    let f = Fixture::new();
    let repo = Repo::new(&f, "");
    repo.commit(before);
    change(&f, &repo);
    repo.git(&["add", "-A"]);
    let mut args = vec!["diff", "--cached"];
    args.extend(git);
    let patch = repo.git(&args);
    let without_git = |f: &Fixture| -> Vec<String> {
        let all = tree(f).into_iter();
        all.filter(|line| !line.starts_with(".git/")).collect()
    };
    let wanted = without_git(&f);
    repo.git(&["reset", "-q", "--hard"]);
    assert_ne!(without_git(&f), wanted);
    let preview = f.preview("file.patch", json!({"patch": patch}));
    assert!(preview.result.is_ok(), "{}\n{patch}", preview.text());
    f.call("file.patch", json!({"patch": patch})).structured();
    let wanted: Vec<String> = wanted
        .into_iter()
        .filter(|line| !line.ends_with('/'))
        .collect();
    let files: Vec<String> = without_git(&f)
        .into_iter()
        .filter(|line| !line.ends_with('/'))
        .collect();
    assert_eq!(files, wanted, "{patch}");
}

#[test]
fn diffs_of_git_apply() {
    let ten: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    let modify = |f: &Fixture, _: &Repo| {
        let text = f.content("a.txt");
        f.put(
            "a.txt",
            text.replace("line 3\n", "three\n").replace("line 25\n", "") + "end\n",
        );
    };
    round_trip(&[("a.txt", &ten)], modify, &[]);
    round_trip(&[("a.txt", &ten)], modify, &["-U0"]);
    round_trip(&[("a.txt", &ten)], modify, &["--no-prefix"]);
    round_trip(
        &[("a.txt", &ten)],
        modify,
        &["--src-prefix=i/", "--dst-prefix=w/"],
    );
    let crlf = ten.replace('\n', "\r\n");
    round_trip(
        &[("a.txt", &crlf)],
        |f, _| {
            f.put(
                "a.txt",
                f.content("a.txt")
                    .replace("line 7\r\n", "seven\r\nand more\r\n"),
            );
        },
        &[],
    );
    // Line ends at the end of the file come and go.
    round_trip(&[("a.txt", "a\nb")], |f, _| f.put("a.txt", "a\nb\n"), &[]);
    round_trip(&[("a.txt", "a\nb\n")], |f, _| f.put("a.txt", "a\nb"), &[]);
    round_trip(&[("a.txt", "a\nb")], |f, _| f.put("a.txt", "x\nb"), &[]);
    round_trip(&[("a.txt", "a\nb")], |f, _| f.put("a.txt", "a\nb\nc"), &[]);
    // Files come, go, and change their names.
    round_trip(
        &[("a.txt", "a\n")],
        |f, _| f.put("new dir/ü \"x\".txt", "new\nfile\n"),
        &[],
    );
    round_trip(&[("a.txt", "a\n")], |f, _| f.put("empty", ""), &[]);
    round_trip(
        &[("a.txt", "a\n"), ("b", "")],
        |f, _| {
            std::fs::remove_file(f.at("ws/a.txt")).unwrap();
            std::fs::remove_file(f.at("ws/b")).unwrap();
        },
        &[],
    );
    let rename = |f: &Fixture, repo: &Repo| {
        repo.git(&["mv", "a.txt", "c d.txt"]);
        f.put(
            "c d.txt",
            f.content("c d.txt").replace("line 5\n", "five\n"),
        );
    };
    round_trip(&[("a.txt", &ten)], rename, &["-M"]);
    round_trip(
        &[("a.txt", &ten)],
        |_, repo| drop(repo.git(&["mv", "a.txt", "b.txt"])),
        &["-M"],
    );
    round_trip(
        &[("a.txt", &ten)],
        |f, _| f.put("copy.txt", f.content("a.txt")),
        &["-C", "-C"],
    );
    round_trip(
        &[("a.txt", &ten), ("b.txt", "quite another\nfile\n")],
        |f, _| {
            let (a, b) = (f.content("a.txt"), f.content("b.txt"));
            f.put("a.txt", b);
            f.put("b.txt", a);
        },
        &["-M", "-B"],
    );
    let executable = |f: &Fixture, _: &Repo| {
        let mode = PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(f.at("ws/a.txt"), mode).unwrap();
    };
    round_trip(&[("a.txt", "a\n")], executable, &[]);
    round_trip(
        &[("a.txt", "a\n")],
        |f, _| {
            f.put("run.sh", "#!/bin/sh\n");
            let mode = PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(f.at("ws/run.sh"), mode).unwrap();
        },
        &[],
    );
}

/// One file `a.txt`, one patch, and what comes of it.
fn check(before: &str, args: Value, expected: &str, notes: &[&str]) {
    let f = Fixture::new();
    f.put("a.txt", before);
    let answer = f.call("file.patch", args.clone());
    let text = answer.text();
    let shown = match answer.result {
        Ok(_) => f.content("a.txt"),
        Err(error) => {
            assert_eq!(f.content("a.txt"), before, "{args}");
            format!(
                "{}: {} | {}",
                error.code,
                error.message,
                error.hint.as_deref().unwrap_or_default()
            )
        }
    };
    if expected.ends_with('…') {
        let start = expected.trim_end_matches('…');
        assert!(shown.starts_with(start), "{args}: {shown}");
    } else {
        assert_eq!(shown, expected, "{args}");
    }
    for note in notes {
        assert!(
            text.contains(note) || shown.contains(note),
            "{args}: {text}{shown}"
        );
    }
}

#[test]
fn patches_that_models_write() {
    let file = "a\nb\nc\nd\n";
    let patch = |body: &str| json!({"patch": format!("--- a/a.txt\n+++ b/a.txt\n{body}")});
    // Wrong line, wrong counts, a lost space, fences and prose around.
    check(
        file,
        patch("@@ -9,2 +9,2 @@\n b\n-c\n+C\n"),
        "a\nb\nC\nd\n",
        &["hunk 1 fitted at line 2, not at 9"],
    );
    check(
        file,
        patch("@@ -2,7 +2,9 @@\n b\n-c\n+C\n"),
        "a\nb\nC\nd\n",
        &["counts of hunk 1 were wrong"],
    );
    check(
        "a\n\nb\n",
        patch("@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"),
        "a\n\nc\n",
        &[],
    );
    let fenced =
        "Here it is:\n```diff\n--- a.txt\t2024-01-01\n+++ a.txt\n@@ -1 +1 @@\n-a\n+A\n```\n";
    check(file, json!({"patch": fenced}), "A\nb\nc\nd\n", &[]);
    check(
        file,
        json!({"patch": "@@ -1 +1 @@\n-a\n+A\n", "path": "a.txt"}),
        "A\nb\nc\nd\n",
        &[],
    );
    check(
        file,
        json!({"patch": "--- a/other\n+++ b/other\n@@ -1 +1 @@\n-a\n+A", "path": "a.txt"}),
        "A\nb\nc\nd\n",
        &[],
    );
    let mail =
        "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+A\n-- \n2.40\n";
    check(file, json!({"patch": mail}), "A\nb\nc\nd\n", &[]);
    // Line ends: the file's own stay.
    check(
        "a\r\nb\r\n",
        patch("@@ -1,2 +1,3 @@\n a\n-b\n+B\n+c\n"),
        "a\r\nB\r\nc\r\n",
        &["CRLF"],
    );
    let carried = "--- a/a.txt\r\n+++ b/a.txt\r\n@@ -1 +1 @@\r\n-a\r\n+A\r\n";
    check(file, json!({"patch": carried}), "A\nb\nc\nd\n", &[]);
    check("a\nb", patch("@@ -1,2 +1,2 @@\n-a\n+A\n b\n"), "A\nb", &[]);
    // A removed line that looks like a header.
    check(
        "-- x\ny\n",
        patch("@@ -1,2 +1,1 @@\n--- x\n y\n"),
        "y\n",
        &[],
    );
    check(
        "\u{feff}a\nb\n",
        patch("@@ -1,2 +1,2 @@\n \u{feff}a\n-b\n+c\n"),
        "\u{feff}a\nc\n",
        &[],
    );
}

#[test]
fn patches_that_do_not_fit() {
    let patch = |body: &str| json!({"patch": format!("--- a/a.txt\n+++ b/a.txt\n{body}")});
    let file = "fn main() {\n    let x = 1;\n}\n";
    check(
        file,
        patch("@@ -1,2 +1,2 @@\n fn main() {\n-  let x = 1;\n+  let x = 2;\n"),
        "conflict: hunk 1 of 1 does not fit `a.txt`: `@@ -1,2 +1,2 @@`…",
        &["indentation differs", "2\t    let x = 1;"],
    );
    check(
        "x\nx\n",
        patch("@@ -9 +9 @@\n-x\n+y\n"),
        "conflict: hunk 1 of 1 does not fit…",
        &["lines 1, 2"],
    );
    check(
        "a\nB\n",
        patch("@@ -1,2 +1,2 @@\n a\n-b\n+B\n"),
        "conflict: hunk 1…",
        &["already has"],
    );
    check(
        "a\n",
        patch("@@ -9,0 +10 @@\n+x\n"),
        "conflict: hunk 1…",
        &[],
    );
    check(
        "a\n",
        json!({"patch": "nothing here"}),
        "input_invalid: no change found in `patch`…",
        &[],
    );
    check(
        "a\n",
        patch("@@ what @@\n-a\n"),
        "input_invalid: not a hunk header…",
        &[],
    );
    check(
        "a\n",
        json!({"patch": "@@ -1 +1 @@\n-a\n+b\n"}),
        "input_invalid: the patch does not name its file…",
        &[],
    );
    let twice = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n";
    check(
        "a\n",
        json!({"patch": format!("{twice}{twice}")}),
        "input_invalid: the patch names a file twice…",
        &[],
    );
    let binary =
        "diff --git a/a.txt b/a.txt\nindex 1..2 100644\nBinary files a/a.txt and b/a.txt differ\n";
    check(
        "a\n",
        json!({"patch": binary}),
        "input_invalid: the patch changes a binary file: `a.txt`…",
        &[],
    );
    let link =
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n";
    check(
        "a\n",
        json!({"patch": link}),
        "input_invalid: the patch is about a link…",
        &[],
    );
    let outside =
        "--- a/../out/secret.txt\n+++ b/../out/secret.txt\n@@ -1 +1 @@\n-top secret\n+x\n";
    check(
        "a\n",
        json!({"patch": outside}),
        "denied: path leaves the workspace…",
        &[],
    );
    let more = "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
    check(
        "a\nb\n",
        json!({"patch": more}),
        "conflict: the file holds more than the patch deletes…",
        &[],
    );
    let new = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n";
    check(
        "a\n",
        json!({"patch": new}),
        "execution_failed: something is already there…",
        &[],
    );
}

#[test]
fn one_file_that_does_not_fit_leaves_all_as_they_were() {
    let f = Fixture::new();
    f.put("a.txt", "a\n");
    f.put("b.txt", "b\n");
    f.put("d.txt", "d\n");
    let before = tree(&f);
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+A\n\
        --- /dev/null\n+++ b/new/deep.txt\n@@ -0,0 +1 @@\n+new\n\
        --- a/d.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-d\n\
        --- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-x\n+y\n";
    let error = f.call("file.patch", json!({"patch": patch})).error();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(error.message.contains("b.txt"), "{}", error.message);
    assert_eq!(tree(&f), before);
}

#[test]
fn every_file_of_a_patch_is_declared() {
    let f = Fixture::new();
    f.put(".env", "KEY=1\n");
    f.put("old.txt", "x\n");
    let patch = "--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-KEY=1\n+KEY=2\n\
        diff --git a/old.txt b/.git/hooks/x\nrename from old.txt\nrename to .git/hooks/x\n";
    let answer = f.preview("file.patch", json!({"patch": patch}));
    let shown: Vec<String> = answer
        .effects
        .as_ref()
        .unwrap()
        .accesses
        .iter()
        .map(|access| format!("{:?} {}", access.mode, access.resource))
        .map(|shown| shown.replace(f.at("ws").to_str().unwrap(), ""))
        .collect();
    assert_eq!(
        shown.join("\n"),
        "Read file:///.env\nRead protected:/.env\nWrite file:///.env\nWrite protected:/.env\n\
         Read file:///old.txt\nWrite file:///old.txt\n\
         Write file:///.git/hooks/x\nWrite protected:/.git/hooks/x"
    );
    assert!(!answer.text().contains("KEY=1"), "{}", answer.text());
}

#[test]
fn a_file_that_is_renamed_and_edited_bears_what_it_bore() {
    let f = Fixture::new();
    f.put("old.txt", "a\nb\n");
    let old = f.at("ws/old.txt");
    std::fs::set_permissions(&old, PermissionsExt::from_mode(0o640)).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(&old, "user.note", b"kept", flags).unwrap();
    let patch = "diff --git a/old.txt b/new.txt\nold mode 100644\nnew mode 100755\n\
                 rename from old.txt\nrename to new.txt\n\
                 --- a/old.txt\n+++ b/new.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
    let answer = f.call("file.patch", json!({"patch": patch}));
    assert!(answer.result.is_ok(), "{}", answer.text());
    let new = f.at("ws/new.txt");
    assert_eq!(std::fs::read_to_string(&new).unwrap(), "a\nc\n");
    assert_eq!(new.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    let mut note = [0; 8];
    let count = rustix::fs::getxattr(&new, "user.note", &mut note).unwrap();
    assert_eq!(&note[..count], b"kept");
    assert!(!old.exists());
}

#[test]
fn a_hunk_that_does_not_fit_names_the_file_that_has_the_text() {
    let f = Fixture::new();
    f.put("old.txt", "a\nb\n");
    let patch = "diff --git a/old.txt b/new.txt\nrename from old.txt\nrename to new.txt\n\
                 --- a/old.txt\n+++ b/new.txt\n@@ -1,2 +1,2 @@\n a\n-x\n+c\n";
    let error = f.call("file.patch", json!({"patch": patch})).error();
    assert!(error.message.contains("old.txt"), "{}", error.message);
    assert!(!error.message.contains("new.txt"), "{}", error.message);
}
