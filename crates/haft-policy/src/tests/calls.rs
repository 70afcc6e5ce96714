//! Verdicts on calls: argument rules, effects, redirections, what "always" would store.

use haft_core::{Effects, Identity, Resource};
use serde_json::{Value, json};

use super::{argv, compile, judge, judged, layer, line, places, read, resolve, shown, tool, write};
use crate::{Policy, Verdict, WRITING_TOOLS, Who};

fn rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> Value {
    json!({"tools": {
        "autonomy": "autonomous",
        "rules": {"allow": allow, "ask": ask, "deny": deny},
    }})
}

#[test]
fn command_rules() {
    let config = rules(
        &[
            "shell.exec(git status *)",
            "shell.exec(ls *)",
            "shell.exec(timeout *)",
            "shell.exec(cat *)",
            "file.write(out/**)",
        ],
        &["shell.exec(git push *)", "file.read(secret/**)"],
        &["bash(rm *)", "file.write(/etc/**)", "file.write(link/**)"],
    );
    let check = |text: &str, expected: &str| {
        assert_eq!(
            shown(&judge(config.clone(), "shell.exec", &line(text))),
            expected,
            "{text}"
        );
    };
    let unmatched = "ask: no allow rule matches (defaults)";
    check(
        "git status",
        "allow: profile full: allow * (defaults), shell.exec(git status *) (config.yaml)",
    );
    check(
        "ls; git status -s",
        "allow: profile full: allow * (defaults), shell.exec(ls *) (config.yaml), shell.exec(git status *) (config.yaml)",
    );
    check("npm test", unmatched);
    check("ls; npm test", unmatched);
    check("ls $HOME", unmatched);
    check(
        "git push origin",
        "ask: shell.exec(git push *) (config.yaml), no allow rule matches (defaults)",
    );
    check("ls && /bin/rm a", "deny: bash(rm *) (config.yaml)");
    check("echo $(rm a)", "deny: bash(rm *) (config.yaml)");
    check("timeout 5 rm a", "deny: bash(rm *) (config.yaml)");
    check("timeout 5 npm test", unmatched);
    check(
        "timeout 5 ls",
        "allow: profile full: allow * (defaults), shell.exec(timeout *) (config.yaml), shell.exec(ls *) (config.yaml)",
    );
    check("ls > /etc/x", "deny: file.write(/etc/**) (config.yaml)");
    check("ls > ../etc/x", "deny: file.write(/etc/**) (config.yaml)");
    check("ls 2>>link/x", "deny: file.write(/etc/**) (config.yaml)");
    check(
        "cd /etc && ls > x",
        "deny: file.write(/etc/**) (config.yaml)",
    );
    check(
        "cd .. && ls > etc/x",
        "deny: file.write(/etc/**) (config.yaml)",
    );
    check(
        "ls > out/x 2>/dev/null",
        "allow: profile full: allow * (defaults), shell.exec(ls *) (config.yaml), file.write(out/**) (config.yaml)",
    );
    check("ls > x", unmatched);
    check(
        "cat < in",
        "allow: profile full: allow * (defaults), shell.exec(cat *) (config.yaml)",
    );
    check("cat < /dev/tcp/1/2", unmatched);
    check(
        "cat < secret/a",
        "ask: file.read(secret/**) (config.yaml), no allow rule matches (defaults)",
    );
    check(
        "cat secret/a",
        "ask: file.read(secret/**) (config.yaml), no allow rule matches (defaults)",
    );
    check("cat link/shadow", unmatched);
    check(
        "cat sub/../a",
        "allow: profile full: allow * (defaults), shell.exec(cat *) (config.yaml)",
    );
    check("cat ../a", unmatched);
    check(
        "cat s*/../a",
        "ask: file.read(secret/**) (config.yaml), protected name (defaults), no allow rule matches (defaults)",
    );
    check("ls >! out/x", unmatched);
    check(
        &"ls;".repeat(300),
        "deny: the line has more than 256 commands (defaults)",
    );
}

#[test]
fn rules_on_commands_bind_every_tool_that_runs_one() {
    let config = rules(&[], &[], &["shell.exec(rm *)"]);
    let check = |name: &str, effects: Effects, expected: Verdict| {
        assert_eq!(
            judge(config.clone(), name, &effects).verdict,
            expected,
            "{name} {effects:?}"
        );
    };
    check("process.start", argv(&["rm", "a"]), Verdict::Deny);
    check(
        "process.start",
        argv(&["sh", "-c", "ls; rm a"]),
        Verdict::Deny,
    );
    check("process.start", argv(&["ls", "rm"]), Verdict::Ask);
    check("mcp.host.run", line("rm a"), Verdict::Deny);
}

#[test]
fn a_whole_tool_rule_allows_plain_lines_only() {
    let config = rules(&["shell.exec"], &[], &["shell.exec(rm *)"]);
    let check = |text: &str, expected: Verdict| {
        assert_eq!(
            judge(config.clone(), "shell.exec", &line(text)).verdict,
            expected,
            "{text}"
        );
    };
    check("make all", Verdict::Allow);
    check("$'\\x6cs' a", Verdict::Ask);
    check("sudo rm a", Verdict::Deny);
    check("ls > x", Verdict::Ask);
}

#[test]
fn path_rules_bind_effects_whatever_the_tool() {
    for denied in [
        "file.write",
        "Write",
        "write_file",
        "file.edit",
        "file.*",
        "filesystem.write",
        "group:fs",
        "file__patch",
    ] {
        let config = rules(&[], &[], &[&format!("{denied}(/etc/**)")]);
        let mut writers: Vec<&str> = WRITING_TOOLS.to_vec();
        writers.extend(["mcp.disk.put", "google.drive.download"]);
        for name in writers {
            for path in ["/etc/passwd", "/etc/a/b", "/etc"] {
                let verdict = judge(config.clone(), name, &write(path)).verdict;
                assert_eq!(verdict, Verdict::Deny, "{denied} {name} {path}");
            }
            let tree = Effects::none().writes(Resource::Tree("/".into()));
            assert_eq!(
                judge(config.clone(), name, &tree).verdict,
                Verdict::Deny,
                "{denied} {name}"
            );
            let elsewhere = judge(config.clone(), name, &write("/w/etc/x")).verdict;
            assert_ne!(elsewhere, Verdict::Deny, "{denied} {name}");
        }
        let reading = judge(config, "git.status", &read("/etc/passwd")).verdict;
        let reads_too = matches!(denied, "file.*" | "group:fs");
        assert_eq!(reading == Verdict::Deny, reads_too, "{denied}");
    }
}

#[test]
fn allow_rules_on_paths_bind_their_own_tool_and_all_accesses() {
    let config = rules(&["file.move(src/**)"], &["file.*(**/.env)"], &[]);
    let check = |name: &str, effects: Effects, expected: Verdict| {
        assert_eq!(
            judge(config.clone(), name, &effects).verdict,
            expected,
            "{name} {effects:?}"
        );
    };
    let file = |path: &str| Resource::File(path.into());
    check("file.move", write("/w/src/a"), Verdict::Allow);
    check(
        "file.move",
        write("/w/src/a").reads(file("/w/src/b")),
        Verdict::Allow,
    );
    check(
        "file.move",
        write("/w/src/a").reads(file("/w/b")),
        Verdict::Ask,
    );
    check("file.move", Effects::none(), Verdict::Ask);
    check("file.move", Effects::anything(), Verdict::Ask);
    // The tree may hold a `.env`.
    let tree = |path: &str| Effects::none().writes(Resource::Tree(path.into()));
    check("file.move", tree("/w/src/a"), Verdict::Ask);
    let no_ask = rules(&["file.move(src/**)"], &[], &[]);
    let whole = |path: &str| judge(no_ask.clone(), "file.move", &tree(path)).verdict;
    assert_eq!(whole("/w/src/a"), Verdict::Allow);
    assert_eq!(whole("/w"), Verdict::Ask);
    check("file.delete", write("/w/b"), Verdict::Allow);
    check("file.delete", write("/w/b/.env"), Verdict::Ask);
    check("file.move", write("/w/src/.env"), Verdict::Ask);
}

#[test]
fn constraints_on_paths_and_commands() {
    let config = json!({"tools": {
        "autonomy": "autonomous",
        "modules": {
            "file": {"constraints": {"allowed_paths": ["src/**"]}},
            "shell": {"constraints": {"allowed_commands": ["git *", "ls *"], "blocked_commands": ["git push *"]}},
        },
        "rules": {"allow": ["shell.exec"]},
    }});
    let check = |name: &str, effects: Effects, agent: Verdict, owner: Verdict| {
        let policy = compile(config.clone()).unwrap();
        let verdict = |identity| {
            let who = Who {
                identity,
                ..Who::default()
            };
            judged(&policy.bind(&tool(name), &who), &effects).verdict
        };
        assert_eq!(
            (verdict(Identity::Agent), verdict(Identity::Hook)),
            (agent, owner),
            "{effects:?}"
        );
    };
    check(
        "file.move",
        write("/w/src/a"),
        Verdict::Allow,
        Verdict::Allow,
    );
    check("file.move", write("/w/a"), Verdict::Deny, Verdict::Allow);
    check(
        "shell.exec",
        line("git status"),
        Verdict::Allow,
        Verdict::Allow,
    );
    check(
        "shell.exec",
        line("git push"),
        Verdict::Deny,
        Verdict::Allow,
    );
    check(
        "shell.exec",
        line("ls; make"),
        Verdict::Deny,
        Verdict::Allow,
    );
    check("shell.exec", line("ls $x"), Verdict::Deny, Verdict::Ask);
    check(
        "shell.exec",
        line("git -c a=b status"),
        Verdict::Deny,
        Verdict::Allow,
    );
}

#[test]
fn always_stores_exactly_this_call() {
    let check = |config: Value, name: &str, effects: Effects, expected: Option<&str>| {
        let judgement = judge(config.clone(), name, &effects);
        assert_eq!(
            judgement.remember.as_deref(),
            expected,
            "{name} {effects:?}"
        );
        let Some(rule) = judgement.remember else {
            return;
        };
        // What was remembered allows this call and no other.
        let mut with_rule = layer("config.yaml", config);
        with_rule.config.remembered = vec![rule];
        let policy = Policy::compile(vec![with_rule], places()).unwrap();
        let bound = policy.bind(&tool(name), &Who::default());
        assert_eq!(
            judged(&bound, &effects).verdict,
            Verdict::Allow,
            "{name} {effects:?}"
        );
        if !effects.commands.is_empty() {
            assert_eq!(judged(&bound, &line("other")).verdict, Verdict::Ask);
        }
        if !effects.accesses.is_empty() {
            assert_eq!(judged(&bound, &write("/w/other")).verdict, Verdict::Ask);
        }
    };
    let plain = || json!({});
    check(
        plain(),
        "shell.exec",
        line("npm test"),
        Some("shell.exec(npm test)"),
    );
    check(
        plain(),
        "shell.exec",
        line("git commit -m 'it is (*) done'"),
        Some("shell.exec(git commit -m 'it is (*) done')"),
    );
    check(
        plain(),
        "shell.exec",
        line("git diff --output=x"),
        Some("shell.exec(git diff --output=x)"),
    );
    check(
        plain(),
        "process.start",
        argv(&["npm", "run", "a b"]),
        Some("process.start(npm run 'a b')"),
    );
    for line_never in [
        "npm test; ls",
        "ls *.rs",
        "ls $x",
        "ls > x",
        "bash x",
        "python3.12 x",
        "sudo ls",
        "env ls",
        "/usr/bin/perl x",
        "find . -name x",
        "xargs ls",
        "node x",
        "make",
        "eval ls",
        "nice ls",
        "docker ps",
        "./x.sh",
        "bin/../x.sh a",
        "/w/target/debug/x",
        "~/x",
    ] {
        check(plain(), "shell.exec", line(line_never), None);
    }
    check(
        plain(),
        "file.write",
        write("/w/a[1].txt"),
        Some("file.write(/w/a\\[1\\].txt)"),
    );
    let two = write("/w/a").writes(Resource::File("/w/b".into()));
    check(plain(), "file.write", two, None);
    check(
        plain(),
        "file.write",
        Effects::none().writes(Resource::Tree("/w".into())),
        None,
    );
    check(plain(), "mcp.x.y", Effects::anything(), Some("mcp.x.y"));
    check(plain(), "file.write", Effects::anything(), None);
    check(
        json!({"tools": {"autonomy": "supervised"}}),
        "shell.exec",
        line("npm test"),
        None,
    );
    check(
        json!({"tools": {"hooks": {"confirm": ["*"]}}}),
        "shell.exec",
        line("npm test"),
        None,
    );
    check(
        rules(&[], &["shell.exec(npm *)"], &[]),
        "shell.exec",
        line("npm test"),
        None,
    );
}

#[test]
fn a_call_that_no_rule_is_about_costs_nothing() {
    let many: Vec<String> = (0..50)
        .map(|n| format!("mcp.server{n}.tool(pattern{n} *)"))
        .collect();
    let policy = compile(json!({"tools": {"rules": {"deny": many}}})).unwrap();
    let bound = policy.bind(&tool("system.info"), &Who::default());
    let judgement = bound.judge(&Effects::none(), &resolve);
    assert!(matches!(judgement, std::borrow::Cow::Borrowed(_)));
    assert_eq!(judgement.verdict, Verdict::Allow);
}

#[test]
fn a_call_that_only_looks_is_not_asked_about_for_what_its_tool_could_do() {
    let check = |level: &str, effects: Effects, expected: Verdict| {
        let config = json!({"tools": {"autonomy": level}});
        let judgement = judge(config, "file.edit", &effects);
        assert_eq!(judgement.verdict, expected, "{level}: {effects:?}");
    };
    for level in ["supervised", "standard"] {
        check(level, Effects::looking(), Verdict::Allow);
        check(level, Effects::none(), Verdict::Ask);
        // What is stated counts, whatever it calls itself.
        let written = Effects::looking().writes(Resource::File("/w/a".into()));
        check(level, written, Verdict::Ask);
        let mut anything = Effects::anything();
        anything.only_looks = true;
        check(level, anything, Verdict::Ask);
    }
    let asked = rules(&[], &["file.edit"], &[]);
    let judgement = judge(asked, "file.edit", &Effects::looking());
    assert_eq!(judgement.verdict, Verdict::Ask);
    let denied = rules(&[], &[], &["file.edit"]);
    let judgement = judge(denied, "file.edit", &Effects::looking());
    assert_eq!(judgement.verdict, Verdict::Deny);
}

#[test]
fn protected_names_ask_at_every_level_and_whatever_allows() {
    let marked = read("/w/.env").reads(Resource::protected("/w/.env".as_ref()));
    for config in [
        json!({}),
        json!({"tools": {"autonomy": "autonomous"}}),
        rules(&["file.read"], &[], &[]),
        rules(&["file.read(**)", "file.read(/w/.env)"], &[], &[]),
    ] {
        let judgement = judge(config.clone(), "file.read", &marked);
        assert_eq!(judgement.verdict, Verdict::Ask, "{config}");
        assert_eq!(judgement.remember, None, "{config}");
        assert_eq!(
            judge(config, "file.read", &read("/w/a")).verdict,
            Verdict::Allow
        );
    }
    let denied = rules(&[], &[], &["file.read(.env)"]);
    assert_eq!(judge(denied, "file.read", &marked).verdict, Verdict::Deny);
}

#[test]
fn path_rules_bind_what_commands_are_told_to_change() {
    let config = rules(
        &["shell.exec(ls *)"],
        &[],
        &["file.write(/etc/**)", "file.write(secret/**)"],
    );
    let check = |text: &str, expected: Verdict| {
        let effects = line(text).writes(Resource::Tree("/w".into()));
        assert_eq!(
            judge(config.clone(), "shell.exec", &effects).verdict,
            expected,
            "{text}"
        );
    };
    check("ls", Verdict::Allow);
    check("make all", Verdict::Ask);
    for denied in [
        "cp a /etc/x",
        "tee /etc/x",
        "rm /etc/passwd",
        "dd if=a of=/etc/x",
        "sed -i s/a/b/ /etc/x",
        "cp a link/x",
        "sudo rm -r /etc",
        "cd secret && touch x",
        "rm -r .",
        "mv secret/a b",
        "echo x > secret/a",
        "cp -t /etc a",
    ] {
        check(denied, Verdict::Deny);
    }
    for asked in ["cp /etc/x a", "rm other", "sed s/a/b/ secret/x", "rm *.log"] {
        check(asked, Verdict::Ask);
    }
}

#[test]
fn lines_that_write_hafts_own_files_are_denied_whatever_allows() {
    let config = rules(
        &["file.write", "shell.exec(echo *)", "shell.exec(cp *)"],
        &[],
        &[],
    );
    for text in [
        "echo x > /home/me/.haft/rules.json",
        "cp a /home/me/.haft/config.yaml",
        "echo x >> haft.yaml",
        "rm -r /home/me",
        "cd /home/me/.haft && touch x",
    ] {
        assert_eq!(
            judge(config.clone(), "shell.exec", &line(text)).verdict,
            Verdict::Deny,
            "{text}"
        );
    }
    assert_ne!(
        judge(config, "shell.exec", &line("cp a b")).verdict,
        Verdict::Deny
    );
}
