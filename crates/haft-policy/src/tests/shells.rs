//! What the shell scanner sees: commands anywhere in a line, and whether it is plain.

use crate::shell::{self, Command};

/// Programs seen, in order, wrapped ones in brackets; `!` in front when the line is not plain.
fn seen(line: &str) -> String {
    fn show(command: &Command) -> String {
        let words: Vec<&str> = command
            .words
            .iter()
            .map(|word| word.text.as_str())
            .collect();
        let mut text = words.join(" ");
        for redirect in &command.redirects {
            let sign = if redirect.write { '>' } else { '<' };
            text.push_str(&format!(" {sign}{}", redirect.target.text));
        }
        if !command.inner.is_empty() {
            let inner: Vec<String> = command.inner.iter().map(show).collect();
            text.push_str(&format!(" [{}]", inner.join(" ; ")));
        }
        text
    }
    let script = shell::parse(line);
    let commands: Vec<String> = script.commands.iter().map(show).collect();
    let mark = match (script.over, script.not_plain) {
        (Some(_), _) => "!!",
        (None, Some(_)) => "!",
        (None, None) => "",
    };
    format!("{mark}{}", commands.join(" ; "))
}

fn check(line: &str, expected: &str) {
    assert_eq!(seen(line), expected, "{line}");
}

#[test]
fn plain_lines() {
    check("git status", "git status");
    check(
        "a && b || c; d | e |& f & g\nh",
        "a ; b ; c ; d ; e ; f ; g ; h",
    );
    check("echo 'a b' \"c d\" e\\ f", "echo a b c d e f");
    check(r#"echo "\$x \"q\" \n 5$""#, "echo $x \"q\" \\n 5$");
    check("ls *.rs # rm x", "ls *.rs");
    check("ls a#b", "ls a#b");
    check("echo a\\\nb", "echo ab");
    check("git diff HEAD@{1} {}", "git diff HEAD@{1} {}");
    check("ls > out 2>&1", "ls >out");
    check("ls 2>/dev/null < in >> log", "ls >/dev/null <in >log");
    check("ls &> all", "ls >all");
    check("", "");
}

#[test]
fn what_is_not_plain_is_marked_and_still_searched() {
    for (line, expected) in [
        ("echo $(rm a)", "!rm a ; echo $(rm a)"),
        ("echo \"x `rm a` y\"", "!rm a ; echo x `rm a` y"),
        ("x=1 rm a", "!rm a"),
        ("x=rm; $x a", "!rm a ; $x a"),
        ("$(echo rm) a", "!echo rm ; rm a ; $(echo rm) a"),
        ("rm${IFS}a", "!rm a ; rm${IFS}a"),
        ("(rm a)", "!rm a"),
        ("{ rm a; }", "!rm a"),
        ("! rm a", "!rm a"),
        ("if rm a; then rm b; elif rm c; fi", "!rm a ; rm b ; rm c"),
        ("for i in 1 2; do rm a; done", "!rm a"),
        ("case x in y|z) rm a;; *) rm b;; esac", "!rm a ; rm b"),
        ("f() { rm a; }; f", "!rm a ; f"),
        ("f() (rm a)", "!rm a"),
        ("coproc rm a", "!rm a"),
        ("cat <(rm a)", "!rm a ; cat <(rm a)"),
        (
            "cat <<EOF\n$(rm a)\nEOF\nls",
            "!cat ; rm a ; : $(rm a)\n ; ls",
        ),
        ("cat <<'EOF'\n$(rm a)\nEOF", "!cat"),
        ("echo ${x:-$(rm a)}", "!rm a ; echo ${x:-$(rm a)}"),
        ("$'\\x72\\x6d' a", "!rm a"),
        ("echo ~/x", "!echo ~/x"),
        ("echo {a,b}", "!echo a b ; echo {a,b}"),
        ("{r,}m a", "!rm m a ; {r,}m a"),
        ("{r,}{m,} a", "!rm r m a ; {r,}{m,} a"),
        ("$SHELL -c 'rm a'", "!sh -c rm a [rm a] ; $SHELL -c rm a"),
        ("export x=rm && $x a", "!export x=rm ; rm a ; $x a"),
        ("for c in ls rm; do $c a; done", "!rm a ; ls a ; $c a"),
        ("set -- rm a; \"$@\"", "!set -- rm a ; rm a ; $@"),
        ("x=rm; sudo $x a", "!sudo rm a [rm a] ; sudo $x a [$x a]"),
        ("x=r y=m; $x$y a", "!rm a ; $x$y a"),
        ("git -c alias.x='!rm a' x", "git -c alias.x=!rm a x [rm a]"),
        ("GIT_PAGER='rm a' git log", "!rm a ; git log"),
        (
            "env PAGER='rm a' man x",
            "env PAGER=rm a man x [man x ; rm a]",
        ),
        ("export EDITOR='rm a'", "rm a ; export EDITOR=rm a"),
        ("/bin/r? a", "!/bin/r? a"),
        ("echo 'a", "!echo a"),
        ("ls\u{a0}", "!ls\u{a0}"),
        ("r\\\nm a", "rm a"),
    ] {
        check(line, expected);
    }
}

#[test]
fn wrappers_are_opened() {
    for line in [
        "sudo -u me rm a",
        "env -i A=1 rm a",
        "env -S 'rm a'",
        "nice -n 5 rm a",
        "nohup rm a",
        "timeout -k 1 5 rm a",
        "timeout --sig KILL 5 rm a",
        "nice --adj 5 rm a",
        "env --split 'rm a'",
        "env --spl='rm a'",
        "su --comm='rm a'",
        "stdbuf -o0 rm a",
        "xargs -I{} rm a",
        "sh -c 'rm a'",
        "bash -xec 'rm a' name",
        "bash -o pipefail -c 'rm a'",
        "find . -name x -exec rm a ;",
        "find . -execdir rm a +",
        "fd x -x rm a",
        "su - me -c 'rm a'",
        "script -qc 'rm a' /dev/null",
        "flock /tmp/l rm a",
        "flock /tmp/l -c 'rm a'",
        "watch -n 1 rm a",
        "ssh -p 22 host rm a",
        "chroot /x rm a",
        "git bisect run rm a",
        "trap 'rm a' EXIT",
        "busybox rm a",
        "exec -a x rm a",
        "command -p rm a",
        "parallel -j 4 rm a ::: b",
        "doas rm a",
        "setsid -w rm a",
        "eval rm a",
        "alias x='rm a'",
        "perf stat rm a",
        "sudo -- rm a",
    ] {
        let script = shell::parse(line);
        let found = script
            .commands
            .iter()
            .flat_map(Command::all)
            .any(|command| command.words.len() == 2 && command.words[0].text == "rm");
        assert!(found, "{line}: {}", seen(line));
    }
    check(
        "sudo env nice sh -c 'rm a'",
        "sudo env nice sh -c rm a [env nice sh -c rm a [nice sh -c rm a [sh -c rm a [rm a]]]]",
    );
    check("echo 'rm a' | sh", "echo rm a ; sh [rm a]");
    check("sh <<< 'rm a'", "!sh [rm a]");
    check("bash <<EOF\nrm a\nEOF", "!bash [rm a] ; : rm a\n");
    check("sh -c 'rm $x'", "!sh -c rm $x [rm $x]");
}

#[test]
fn words_that_only_look_like_commands_are_not() {
    for line in [
        "xargs grep rm",
        "env A=1 ls rm",
        "echo rm",
        "timeout 5 ls rm",
        "grep rm a",
    ] {
        let script = shell::parse(line);
        let found = script
            .commands
            .iter()
            .flat_map(Command::all)
            .any(|command| command.words[0].text == "rm");
        assert!(!found, "{line}: {}", seen(line));
    }
}

#[test]
fn limits_are_kept() {
    let deep = |depth: usize| format!("{}rm a{}", "(".repeat(depth), ")".repeat(depth));
    assert!(seen(&deep(20)).starts_with("!rm"));
    assert!(seen(&deep(200)).starts_with("!!"));
    assert!(seen(&"$(".repeat(10_000)).starts_with("!!"));
    assert!(seen(&"${x:-".repeat(10_000)).starts_with("!!"));
    assert!(seen(&"true;".repeat(257)).starts_with("!!"));
    assert!(!seen(&"true;".repeat(256)).starts_with('!'));
    assert!(seen(&"x".repeat(shell::MAX_LINE + 1)).starts_with("!!"));
    let variables = format!("{}echo {}", "a=b ".repeat(8000), "$a ".repeat(8000));
    assert!(seen(&variables).starts_with('!'));
    // Work must not double with each level.
    let echoes = (0..30).fold("echo a".to_owned(), |line, _| {
        format!("$(echo b; {line}; $({line}))")
            .chars()
            .take(3000)
            .collect()
    });
    assert!(seen(&echoes).starts_with('!'));
    let doubling = (0..30).fold("a".to_owned(), |line, _| format!("$(echo x; {line})"));
    assert!(seen(&doubling).starts_with('!'));
    assert!(seen(&"{".repeat(60_000)).starts_with('!'));
    let nested = (0..40).fold("rm a".to_owned(), |line, _| format!("nice {line}"));
    assert!(seen(&nested).starts_with("!!"));
}
