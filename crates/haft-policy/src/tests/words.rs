//! Words of a command line that name files: closed paths and protected names are found there too,
//! also where the shell has to look for names that fit.

use serde_json::{Value, json};

use super::{judge, line};
use crate::Verdict;

fn rules(allow: &[&str], deny: &[&str]) -> Value {
    json!({"tools": {
        "autonomy": "autonomous",
        "rules": {"allow": allow, "deny": deny},
    }})
}

fn check(config: &Value, text: &str, expected: Verdict) {
    let judgement = judge(config.clone(), "shell.exec", &line(text));
    assert_eq!(judgement.verdict, expected, "{text}: {}", judgement.reason);
}

const ANY: &[&str] = &[
    "shell.exec(cp *)",
    "shell.exec(mv *)",
    "shell.exec(tee *)",
    "shell.exec(touch *)",
    "shell.exec(truncate *)",
    "shell.exec(rsync *)",
    "shell.exec(rm *)",
    "shell.exec(cat *)",
    "shell.exec(head *)",
    "shell.exec(grep *)",
    "shell.exec(rg *)",
    "shell.exec(git *)",
    "shell.exec(tar *)",
    "shell.exec(ls *)",
    "shell.exec(foo *)",
    "shell.exec(echo *)",
    "file.write(**)",
];

#[test]
fn a_word_with_a_star_does_not_walk_past_a_denied_path() {
    let pattern_rules = rules(ANY, &["file.write(gen/**)", "file.read(secret/**)"]);
    let whole = rules(
        &["shell.exec", "file.write(**)"],
        &["file.write(gen/**)", "file.read(secret/**)"],
    );
    for config in [pattern_rules, whole] {
        for denied in [
            "cp a g*/f",
            "tee g*/f",
            "touch g?n/f",
            "touch [g]en/f",
            "touch [[:alpha:]]en/f",
            "truncate -s0 g?n/f",
            "rsync a g*/f",
            "mv g* gen2",
            "rm -r *",
            "rm ./*/f",
            "cp -t g* a",
            "cd sub && touch ../g*/f",
            "echo x > g*/f",
            "cat s*/k",
            "cat secret/k",
            "head -n1 s?????/k",
            "cat sub/../s*/k",
            "cp s*/k x",
            "cat < s*/k",
            "grep -r x secret",
        ] {
            check(&config, denied, Verdict::Deny);
        }
        for asked in [
            "grep -r x .",
            "grep -r x",
            "rg x",
            "foo s*/k",
            "foo gen/x",
            "foo g*",
            "ls -R",
            "cp -r . /tmp/x",
            "git checkout -- .",
            "git clean -fdx",
            "git diff",
            "git reset --hard",
            "tar xf a.tar",
        ] {
            check(&config, asked, Verdict::Ask);
        }
        for allowed in [
            "cat a*.md",
            "cat README.md",
            "cp a b",
            "touch b*/f.txt",
            "grep x src/a.rs",
            "grep -r x src",
            "git status",
            "ls",
            "foo x*.rs",
            "rm *.log",
        ] {
            check(&config, allowed, Verdict::Allow);
        }
    }
}

#[test]
fn a_denied_file_is_written_by_no_option_and_from_no_place() {
    let config = rules(
        &["shell.exec(*)", "file.write(**)"],
        &["file.write(**/locked.txt)"],
    );
    for denied in [
        "sort --output locked.txt a",
        "sort -o locked.txt a",
        "sort -olocked.txt a",
        "sed --in-p s/k/b/ locked.txt",
        "uniq a locked.txt",
        "iconv -o locked.txt a",
        "awk -i inplace 1 locked.txt",
        "curl -olocked.txt https://x",
        "curl -O https://x/locked.txt",
        "wget -O locked.txt https://x",
        "tar cf locked.txt a",
        "gunzip locked.txt.gz",
        "xxd -r a locked.txt",
        "shuf -o locked.txt a",
        "sudo sort -o sub/locked.txt a",
        "cp -vt locked.txt a",
        "patch locked.txt a.diff",
        "openssl rand -out locked.txt 8",
        "find . -fprint locked.txt",
        "git diff --outp=locked.txt",
        "sed -n 'w locked.txt' a",
        "sed 's/x/y/w sub/locked.txt' a",
        "xargs sed -i '1w locked.txt'",
        "awk '{print > \"locked.txt\"}' a",
        "awk '{printf(\"%s\", $0) >> \"sub/locked.txt\"}' a",
    ] {
        check(&config, denied, Verdict::Deny);
    }
    for asked in [
        "sed -f script a",
        "sed 's/x/y/e' a",
        "awk '{print > $1}' a",
        "awk '{f = \"locked\" \".txt\"; print > f}' a",
        "awk 'BEGIN {system(\"x\")}'",
    ] {
        check(&config, asked, Verdict::Ask);
    }
    for allowed in [
        "sort locked.txt",
        "sort -o b locked.txt",
        "uniq locked.txt b",
        "sed 's/a/b/w x' locked.txt",
        "awk '{print $1 > \"x\"}' locked.txt",
    ] {
        check(&config, allowed, Verdict::Allow);
    }
}

#[test]
fn a_rule_for_git_covers_no_program_that_git_would_run() {
    let config = rules(&["shell.exec(git *)"], &[]);
    for asked in [
        "git rebase -xid HEAD~1",
        "git rebase -x id HEAD~1",
        "git difftool -y --extcmd=id",
        "git difftool -y --extc id",
        "git difftool -xid",
        "git clone -uid . y",
        "git clone -u id . y",
        "git filter-branch --tree-filter id",
        "git send-email --sendmail-cmd=id x",
        "git config core.fsmonitor ./evil",
        "git config --global core.hooksPath hooks",
        "git config filter.x.clean id",
        "git config alias.x '!id'",
    ] {
        check(&config, asked, Verdict::Ask);
    }
    for allowed in [
        "git config alias.st status",
        "git config user.name Anna",
        "git push -u origin main",
        "git diff -u",
    ] {
        check(&config, allowed, Verdict::Allow);
    }
}

#[test]
fn an_exact_rule_is_taken_at_its_word_unless_it_surely_meets_a_deny() {
    let config = rules(
        &["shell.exec(make gen)", "shell.exec(touch gen/x)"],
        &["file.write(gen/**)"],
    );
    check(&config, "make gen", Verdict::Allow);
    check(&config, "touch gen/x", Verdict::Deny);
}

#[test]
fn more_stars_than_can_be_looked_at_are_denied() {
    let config = rules(&["shell.exec(ls *)", "shell.exec(cat *)"], &[]);
    let many = |count: usize| format!("ls {}", "a*.rs ".repeat(count));
    check(&config, &many(64), Verdict::Allow);
    check(&config, &many(65), Verdict::Deny);
    let long = format!("cat {}*.rs", "a".repeat(2000));
    check(&config, &long, Verdict::Ask);
}

#[test]
fn protected_names_ask_in_command_lines_too() {
    let whole = rules(&["shell.exec", "file.write(**)", "file.read(**)"], &[]);
    let exact = rules(&["shell.exec(cat .env)", "shell.exec(cp x .bashrc)"], &[]);
    for config in [rules(ANY, &[]), whole] {
        for asked in [
            "cat .env",
            "cat ./sub/.env",
            "cat < .env",
            "cat .e*",
            "cat .E*",
            "cat .*",
            "cat *.pem",
            "cat *",
            "cp .env x",
            "cp x .bashrc",
            "cp x .git/hooks/pre-commit",
            "mv x .envrc",
            "mv .env x",
            "echo x > .envrc",
            "echo x >> .git/config",
            "tee .b*",
            "foo .ssh/config",
            "foo .bashrc",
            "git diff -- .env",
            "grep x .env",
            "cd sub && cat .env",
            "shopt -s dotglob; cat ?env",
        ] {
            check(&config, asked, Verdict::Ask);
        }
        for allowed in [
            "cat .gitignore",
            "cat .bashrc",
            "cat .env.example",
            "cat a*.md",
            "echo .env",
            "grep .env src/a",
            "git diff HEAD~",
            "git log --stat .vscode/x",
            "cp a b",
            "echo x > a",
            "ls *",
            "ls -la .env .ssh",
            "ls -R",
        ] {
            check(&config, allowed, Verdict::Allow);
        }
    }
    for text in ["cat .env", "cp x .bashrc"] {
        let judgement = judge(exact.clone(), "shell.exec", &line(text));
        assert_eq!(judgement.verdict, Verdict::Ask, "{text}");
        assert_eq!(judgement.remember, None, "{text}");
    }
}

#[test]
fn a_star_that_may_find_hafts_own_files_asks() {
    let config = rules(&["shell.exec(rm *)", "shell.exec(touch *)"], &[]);
    check(&config, "touch h*.yaml", Verdict::Ask);
    check(&config, "rm -r /home/me/*.d", Verdict::Ask);
    check(&config, "rm ~/.haft/x", Verdict::Deny);
    check(&config, "touch a*.txt", Verdict::Allow);
}

#[test]
fn denying_the_writing_tool_denies_every_write() {
    for denied in ["file.write", "Write", "file.*", "group:fs"] {
        let config = rules(&["shell.exec", "file.write(**)"], &[denied]);
        for text in ["echo x > a", "cp a b", "tee -a x", "rm g*", "cat < x > y"] {
            check(&config, text, Verdict::Deny);
        }
        for name in ["file.write", "file.edit", "file.delete", "mcp.disk.put"] {
            let judgement = judge(config.clone(), name, &super::write("/w/a"));
            assert_eq!(judgement.verdict, Verdict::Deny, "{denied} {name}");
        }
        check(&config, "echo x > /dev/null", Verdict::Allow);
        check(&config, "ls", Verdict::Allow);
    }
    // A tool for one kind of change stands for itself.
    let config = rules(&["shell.exec", "file.write(**)"], &["file.undo"]);
    check(&config, "echo x > a", Verdict::Allow);
    // The group of file tools holds those of git, which show what files hold.
    let config = json!({"tools": {"deny": ["group:fs"]}});
    let diff = judge(config, "git.diff", &super::read("/w/a"));
    assert_eq!(diff.verdict, Verdict::Deny);
}
