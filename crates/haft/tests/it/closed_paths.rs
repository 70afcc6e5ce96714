//! Rules that deny paths bind what nobody names: programs that no policy understands, and tools
//! that go through whole folders.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{Place, text, verdict};

const TOKEN: &str = "what-nobody-may-see";
/// What closed files hold besides, so that git takes another file for the same one renamed.
const REST: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

const READ_CLOSED: [&str; 5] = [
    ".env",
    "sub/deep/.env",
    "sub/deep/x.priv",
    "hidden/a.txt",
    "hidden/b/c.txt",
];

/// A workspace with something closed to reading in several places, and something to writing.
fn closed() -> Place {
    let place = Place::with_config(
        "tools:\n  autonomy: autonomous\n  rules:\n    allow: [shell.exec]\n    deny:\n      \
         - file.read(**/{.env,*.priv})\n      - file.read(hidden/**)\n      - file.write(kept/**)\n      \
         - file.write(**/*.lock)\n      - file.write(later/**)\n      - file.write(later.txt)\n",
    );
    for path in READ_CLOSED {
        place.file(path, format!("{TOKEN}\n{REST}"));
    }
    for path in ["kept/x", "kept/deep/y", "sub/a.lock", "sub/open.txt"] {
        place.file(path, "as it was\n");
    }
    place
}

/// Run a script, which no policy reads, and say what it wrote.
fn script(place: &Place, lines: &str) -> String {
    place.file("do.sh", lines);
    let outcome = place.call("shell.exec", &json!({"command": "sh do.sh"}), &["--yes"]);
    assert_eq!(outcome["structured"]["isolation"], "sandboxed", "{outcome}");
    outcome["structured"]["output"].as_str().unwrap().to_owned()
}

/// Who allows `grep` has not agreed to see keys: they are hidden where nobody was asked, and
/// shown where a person said yes.
#[test]
fn secrets_are_hidden_from_what_goes_through_folders_unasked() {
    let place = Place::with_config(
        "tools: {rules: {allow: ['shell.exec(grep *)', 'shell.exec(cp *)', 'shell.exec(ls *)']}}\n",
    );
    for path in [".env", "deep/er/server.pem", ".ssh/config", "open.txt"] {
        place.file(path, format!("{TOKEN} in {path}\n"));
    }
    let run =
        |line: &str, flags: &[&str]| place.call("shell.exec", &json!({ "command": line }), flags);
    let outcome = run(&format!("grep -r {TOKEN} ."), &[]);
    assert_eq!(verdict(&outcome), "ok", "{outcome}");
    let output = outcome["structured"]["output"].as_str().unwrap();
    assert_eq!(output, format!("./open.txt:{TOKEN} in open.txt\n"));
    assert_eq!(outcome["structured"]["hiddenSecrets"], 3, "{outcome}");
    assert!(text(&outcome).contains("3 places with keys or passwords hidden"));
    let outcome = run("cp -r deep copy", &[]);
    assert!(
        !place.workspace.join("copy/er/server.pem").is_file(),
        "{outcome}"
    );
    // A name that is spelled out is asked about, and so is what no rule allows.
    assert_eq!(verdict(&run(&format!("grep {TOKEN} .env"), &[])), "denied");
    let line = format!("cd . && rg-or-so || grep -r {TOKEN} . | sort");
    let outcome = run(&line, &["--yes"]);
    assert!(
        text(&outcome).contains("in deep/er/server.pem"),
        "{outcome}"
    );
    assert_eq!(outcome["structured"]["hiddenSecrets"], Value::Null);
    // Names are no secret.
    for line in ["ls *", "ls -la .env deep/er/server.pem", "ls -R"] {
        let outcome = run(line, &[]);
        assert_eq!(verdict(&outcome), "ok", "{line}: {outcome}");
        assert_eq!(outcome["structured"]["hiddenSecrets"], Value::Null);
    }
}

/// Where nothing can be hidden, the same command asks, if there is something to hide.
#[test]
fn secrets_that_no_sandbox_hides_are_asked_about() {
    for level in ["shared", "scoped"] {
        let place = Place::with_config(&format!(
            "isolation: {{level: {level}}}\ntools: {{rules: {{allow: ['shell.exec(grep *)', \
             'shell.exec(find *)']}}}}\n",
        ));
        place.file("deep/server.pem", TOKEN);
        place.file("src/open.txt", TOKEN);
        let run = |line: &str| place.call("shell.exec", &json!({ "command": line }), &[]);
        for line in ["grep -r nobody .", "grep --rec nobody"] {
            let outcome = run(line);
            assert_eq!(verdict(&outcome), "denied", "{level} {line}: {outcome}");
            assert!(!outcome.to_string().contains(TOKEN), "{outcome}");
            assert!(
                outcome.to_string().contains("keys or passwords"),
                "{outcome}"
            );
        }
        for line in ["grep -r nobody src", "find . -name open.txt"] {
            assert_eq!(verdict(&run(line)), "ok", "{level} {line}");
        }
        // What there was to hide is in the record: the same policy says the same again.
        let policy = place.home.join("config.yaml");
        let again = ["policy", "backtest", "--json", "--policy"];
        let again = place.run(again.into_iter().chain(policy.to_str()));
        assert_eq!(again.json()["same"], 4, "{}", again.out);
    }
}

#[test]
fn a_program_cannot_change_what_rules_close() {
    for lines in [
        "echo changed > kept/x",
        "echo changed >> kept/deep/y; echo changed > kept/new",
        "rm -rf kept",
        "find . -name x -delete; find . -name '*.lock' -delete",
        "mv kept moved; mkdir kept; echo changed > kept/x",
        "mv sub moved; mkdir sub; echo changed > sub/a.lock",
        "echo changed > f; mv f kept/x; ln -f f sub/a.lock; cp f sub/a.lock",
        "chmod 0 kept/x; touch kept/x",
        "mkdir -p later/deep; echo changed > later/deep/x",
    ] {
        let place = closed();
        script(&place, lines);
        for path in ["kept/x", "kept/deep/y", "sub/a.lock"] {
            let now = fs::read_to_string(place.workspace.join(path));
            assert_eq!(now.unwrap(), "as it was\n", "{lines}: {path}");
        }
        for path in ["kept/new", "later"] {
            assert!(!place.workspace.join(path).exists(), "{lines}: {path}");
        }
    }
    let place = closed();
    let said = script(&place, "echo new > later.txt; echo new > sub/open.txt");
    assert!(said.contains("`later.txt` was not kept"), "{said}");
    assert!(!place.workspace.join("later.txt").exists());
    assert_eq!(place.read("sub/open.txt"), "new\n");
}

#[test]
fn a_program_cannot_read_what_rules_close() {
    for lines in [
        "cat .env sub/deep/.env hidden/a.txt hidden/b/c.txt",
        "cat sub/deep/.e* hidden/*",
        "tar cf - . ",
        "grep -r nobody .",
        "cp -r . /tmp/all; cat /tmp/all/.env /tmp/all/hidden/a.txt",
        "mv sub moved; cat moved/deep/.env",
        "mv hidden seen; cat seen/a.txt",
        "ln sub/deep/.env link; cat link",
        "cat /proc/self/root/$PWD/.env",
    ] {
        let place = closed();
        let said = script(&place, lines);
        assert!(!said.contains(TOKEN), "{lines}: {said}");
        assert!(place.read("sub/deep/.env").contains(TOKEN), "{lines}");
    }
    let place = closed();
    assert_eq!(script(&place, "cat sub/open.txt"), "as it was\n");
    place.config("tools: {autonomy: autonomous, rules: {allow: [shell.exec]}}\n");
    assert!(script(&place, "cat sub/deep/.env").contains(TOKEN));
}

/// A trial is kept to the same, and to the rules again when it is put in place.
#[test]
fn a_dry_run_is_kept_to_the_rules() {
    let place = closed();
    place.file("do.sh", "cat .env; echo changed > kept/x; echo changed > f");
    let args = json!({"command": "sh do.sh"});
    let outcome = place.call("shell.exec", &args, &["--yes", "--dry-run"]);
    assert_eq!(verdict(&outcome), "ok", "{outcome}");
    assert!(!outcome.to_string().contains(TOKEN), "{outcome}");
    let changes = outcome["structured"]["changes"].as_array().unwrap();
    let paths: Vec<&str> = changes
        .iter()
        .filter_map(|one| one["path"].as_str())
        .collect();
    assert_eq!(paths, ["f"], "{outcome}");
}

#[test]
fn a_rule_that_closes_every_write_makes_the_workspace_read_only() {
    let place = Place::with_config(
        "tools: {autonomy: autonomous, rules: {allow: [shell.exec], deny: [file.write]}}\n",
    );
    script(
        &place,
        "echo changed > README.md; echo new > new; rm -f do.sh",
    );
    assert_eq!(place.read("README.md"), "# a workspace\n");
    assert!(place.workspace.join("do.sh").exists() && !place.workspace.join("new").exists());
}

/// Every tool that goes through folders, with arguments that would come upon what is closed.
fn walks() -> Vec<(&'static str, Value)> {
    vec![
        ("file.grep", json!({"pattern": ".", "hidden": true})),
        (
            "file.grep",
            json!({"pattern": "nobody", "hidden": true, "ignore": false}),
        ),
        (
            "file.grep",
            json!({"pattern": ".", "hidden": true, "mode": "files"}),
        ),
        (
            "file.grep",
            json!({"pattern": ".", "hidden": true, "mode": "count", "path": "sub"}),
        ),
        ("file.glob", json!({"pattern": "**/*", "hidden": true})),
        ("file.glob", json!({"pattern": "**/.env"})),
        ("file.glob", json!({"pattern": "sub/**/.*"})),
        ("file.list", json!({})),
        ("file.list", json!({"recursive": true})),
        ("file.list", json!({"recursive": true, "ignore": false})),
        ("file.list", json!({"path": "sub/deep"})),
        ("git.status", json!({})),
        ("git.diff", json!({})),
        ("git.diff", json!({"commit": "HEAD"})),
        ("git.diff", json!({"staged": true})),
        ("git.diff", json!({"commit": "HEAD~1..HEAD"})),
        ("git.diff", json!({"path": "sub"})),
    ]
}

#[test]
fn walks_leave_out_what_rules_close() {
    let place = closed();
    let git = |line: &str| {
        let mut command = Command::new("sh");
        place.settle(&mut command);
        let done = command.args(["-c", line]).current_dir(&place.workspace);
        assert!(done.status().unwrap().success(), "{line}");
    };
    git(
        "git init -q && git config user.name n && git config user.email e && \
         git add -f README.md && git commit -qm one && git add -Af . && git commit -qm two",
    );
    for path in [".env", "sub/deep/x.priv", "hidden/a.txt"] {
        place.file(path, format!("{TOKEN} again\n{REST}"));
    }
    place.file("hidden/new.txt", TOKEN);
    place.file("sub/env.txt", REST);
    git("git add .env sub/env.txt && git rm -q --cached sub/deep/.env");
    std::os::unix::fs::symlink("hidden/a.txt", place.workspace.join("link.txt")).unwrap();
    std::os::unix::fs::symlink("hidden", place.workspace.join("linked")).unwrap();
    let shown = |tool: &str, args: &Value| {
        let outcome = place.call(tool, args, &["--yes"]);
        assert_eq!(verdict(&outcome), "ok", "{tool} {args}: {outcome}");
        outcome
    };
    for (tool, args) in walks() {
        let outcome = shown(tool, &args);
        let said = format!("{}\n{}", text(&outcome), outcome["structured"]);
        for secret in [
            TOKEN, ".env\"", ".env:", ".env\n", "/.env", "x.priv", "hidden/",
        ] {
            // What was asked for may be said again.
            let said = said.replace(&args.to_string(), "").replace("**/.env", "");
            assert!(
                !said.contains(secret),
                "{tool} {args} says {secret}: {said}"
            );
        }
        assert!(
            outcome["structured"]["closed"].as_u64() > Some(0),
            "{tool} {args}: {outcome}"
        );
    }
    for (tool, args) in [
        ("file.read", json!({"path": "sub/deep/.env"})),
        ("file.read", json!({"path": "link.txt"})),
        ("file.grep", json!({"pattern": ".", "path": "hidden"})),
        ("file.grep", json!({"pattern": ".", "path": "linked/b"})),
        ("file.glob", json!({"pattern": "hidden/*"})),
        ("file.list", json!({"path": "hidden"})),
        ("git.diff", json!({"path": "hidden/a.txt"})),
    ] {
        let outcome = place.call(tool, &args, &["--yes"]);
        assert_eq!(verdict(&outcome), "denied", "{tool} {args}: {outcome}");
        assert!(!outcome.to_string().contains(TOKEN), "{tool} {args}");
    }
    // The other side: without the rules it is all there.
    place.config("tools: {autonomy: autonomous}\n");
    let outcome = shown("file.list", &json!({"recursive": true, "ignore": false}));
    assert!(text(&outcome).contains("hidden/a.txt"), "{outcome}");
    assert!(text(&shown("git.diff", &json!({}))).contains(TOKEN));
}
