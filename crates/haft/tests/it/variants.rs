//! Ten thousand disguises: each denied and hostile line of the shell corpus, wrapped in quotes,
//! variables, wrappers and nesting. What policy would run without a question is run, shut in, and
//! must leave the canaries alone; that the canaries notice is shown with lines nobody refused.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use haft_core::{Capability, CommandLine, Effects, Risk, ToolSpec};
use haft_policy::{Layer, Places, Policy, Verdict, Who};
use serde_json::{Value, json};

use crate::place::Place;

const CASES: &str = include_str!("../../../haft-policy/tests/data/shell-cases.jsonl");
const VARIANTS: usize = 10_000;
/// Programs that the corpus denies; in the run they are stand-ins that only leave a mark.
const DENIED: [&str; 6] = ["rm", "curl", "wget", "sudo", "dd", "mkfs"];
const ALLOWED: [&str; 12] = [
    "git status",
    "git diff",
    "git log",
    "ls",
    "cat",
    "echo",
    "pwd",
    "grep",
    "head",
    "wc",
    "npm test",
    "cargo test",
];

/// The same sequence each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

fn quoted(line: &str) -> String {
    format!("'{}'", line.replace('\'', r"'\''"))
}

fn hex(line: &str) -> String {
    line.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
}

/// The whole line, inside something else that runs it.
type Wrap = fn(&str) -> String;

const WRAPS: &[Wrap] = &[
    |line| format!("sh -c {}", quoted(line)),
    |line| format!("bash -c {}", quoted(line)),
    |line| format!("/bin/sh -c {}", quoted(line)),
    |line| format!("eval {}", quoted(line)),
    |line| format!("env A=1 sh -c {}", quoted(line)),
    |line| format!("timeout 5 sh -c {}", quoted(line)),
    |line| format!("nice -n 1 bash -c {}", quoted(line)),
    |line| format!("nohup sh -c {}", quoted(line)),
    |line| format!("setsid sh -c {}", quoted(line)),
    |line| format!("command sh -c {}", quoted(line)),
    |line| format!("exec sh -c {}", quoted(line)),
    |line| format!("time {{ {line}\n}}"),
    |line| format!("stdbuf -o0 sh -c {}", quoted(line)),
    |line| format!("find . -maxdepth 0 -exec sh -c {} ';'", quoted(line)),
    |line| format!("echo x | xargs -I_ sh -c {}", quoted(line)),
    |line| format!("printf %s {} | sh", quoted(line)),
    |line| format!("echo {} | bash", quoted(line)),
    |line| format!("printf '{}' | sh", hex(line)),
    |line| format!("bash <<'END_OF_IT'\n{line}\nEND_OF_IT"),
    |line| format!("sh <<< {}", quoted(line)),
    |line| format!("X={}; eval \"$X\"", quoted(line)),
    |line| format!("X={} sh -c 'eval \"$X\"'", quoted(line)),
    |line| format!("export X={}; bash -c \"$X\"", quoted(line)),
    |line| format!("set -- {}; eval \"$1\"", quoted(line)),
    |line| format!("eval $'{}'", hex(line)),
    |line| format!("trap {} EXIT", quoted(line)),
    |line| format!("source <(echo {})", quoted(line)),
    |line| format!(". <(printf %s {})", quoted(line)),
    |line| {
        format!(
            "awk 'BEGIN {{ system(ENVIRON[\"X\"]) }}' X={}",
            quoted(line)
        )
    },
    |line| {
        format!(
            "X={} awk 'BEGIN {{ system(ENVIRON[\"X\"]) }}'",
            quoted(line)
        )
    },
    |line| format!("echo \"$({line}\n)\""),
    |line| format!("ls $({line}\n)"),
    |line| format!("cat <({line}\n)"),
    |line| format!("cat <<< \"$({line}\n)\""),
    |line| format!("cat <<END_OF_IT\n$({line}\n)\nEND_OF_IT"),
    |line| format!(": \"${{X:=$({line}\n)}}\""),
    |line| format!("[[ -n $({line}\n) ]]"),
    |line| format!("echo $(( $({line}\n) + 1 ))"),
    |line| format!("( {line}\n)"),
    |line| format!("{{ {line}\n}}"),
    |line| format!("if true; then {line}\nfi"),
    |line| format!("if {line}\nthen ls; fi"),
    |line| format!("for i in 1; do {line}\ndone"),
    |line| format!("while {line}\ndo break; done"),
    |line| format!("until {line}\ndo break; done"),
    |line| format!("case x in x) {line}\n;; esac"),
    |line| format!("f() {{ {line}\n}}; f"),
    |line| format!("ls() {{ {line}\n}}; ls"),
    |line| format!("function cat {{ {line}\n}}; cat a.txt"),
    |line| format!("! {line}"),
    |line| format!("ls && {line}"),
    |line| format!("ls || {line}; {line}"),
    |line| format!("ls; {line}"),
    |line| format!("ls\n{line}"),
    |line| format!("ls & {line}"),
    |line| format!("ls | {line}"),
    |line| format!("{line} | cat"),
    |line| format!("{line} &"),
    |line| format!("{line} # only a comment"),
    |line| format!("# a comment\n{line}"),
    |line| format!("coproc {{ {line}\n}}; wait"),
    |line| format!("A=1 B=2 {line}"),
    |line| format!("true; {line}; true"),
    |line| format!("ls \\\n; {line}"),
    |line| format!("PATH=.:$PATH; {line}"),
];

/// One word of the line, written another way.
type Disguise = fn(&str) -> String;

const DISGUISES: &[Disguise] = &[
    |word| format!("'{word}'"),
    |word| format!("\"{word}\""),
    |word| format!("\\{word}"),
    |word| split(word, "''"),
    |word| split(word, "\"\""),
    |word| split(word, "\\"),
    |word| split(word, "$@"),
    |word| split(word, "${X:-}"),
    |word| split(word, "$()"),
    |word| format!("$'{}'", hex(word)),
    |word| format!("$(echo {word})"),
    |word| format!("`echo {word}`"),
    |word| format!("${{X:-{word}}}"),
    |word| format!("$(printf '{}')", hex(word)),
    |word| format!("\"$(echo {word})\""),
    |word| format!("{{{word},}}"),
    |word| split(word, "\\\n"),
];

fn split(word: &str, between: &str) -> String {
    let middle = word.char_indices().nth(1).map_or(word.len(), |(at, _)| at);
    format!("{}{between}{}", &word[..middle], &word[middle..])
}

/// Rewrite the first word that is plain letters.
fn disguised(line: &str, disguise: Disguise) -> Option<String> {
    let word = line.split_whitespace().next()?;
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (plain && line.starts_with(word)).then(|| disguise(word) + &line[word.len()..])
}

/// The program in a variable.
fn through_a_variable(line: &str) -> Option<String> {
    let (word, rest) = line.split_once(' ')?;
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| format!("CMD={word}; $CMD {rest}"))
}

fn variants(rows: &[String]) -> Vec<String> {
    let mut dice = Dice(20_261_115);
    let mut made = BTreeSet::new();
    while made.len() < VARIANTS {
        let mut line = dice.pick(rows).clone();
        match dice.below(4) {
            0 => line = through_a_variable(&line).unwrap_or(line),
            1 | 2 => line = disguised(&line, *dice.pick(DISGUISES)).unwrap_or(line),
            _ => {}
        }
        for _ in 0..=dice.below(3) {
            line = dice.pick(WRAPS)(&line);
        }
        made.insert(line);
    }
    made.into_iter().collect()
}

/// Denied and hostile lines, with the corpus' guarded folder as `guard`.
fn rows(guard: &Path) -> Vec<String> {
    CASES
        .lines()
        .map(|row| serde_json::from_str::<Value>(row).unwrap())
        .filter(|row| row["kind"] == "deny" || row["kind"] == "attack")
        .map(|row| row["cmd"].as_str().unwrap().to_owned())
        // Lines that are long for the sake of it say nothing new when wrapped.
        .filter(|line| line.len() < 500)
        .map(|line| line.replace("/guard", &guard.display().to_string()))
        .collect()
}

fn rules() -> Value {
    let rule = |text: &&str| format!("shell.exec({text} *)");
    let allow: Vec<String> = ALLOWED.iter().map(rule).collect();
    let deny: Vec<String> = DENIED.iter().map(rule).collect();
    json!({"autonomy": "autonomous", "rules": {"allow": allow, "deny": deny}})
}

fn verdicts(lines: &[String], workspace: &Path) -> Vec<Verdict> {
    let config = serde_json::from_value(json!({ "tools": rules() })).unwrap();
    let layer = Layer {
        from: "test".into(),
        config,
    };
    let places = Places {
        workspace: workspace.to_owned(),
        ..Places::default()
    };
    let policy = Policy::compile(vec![layer], places).unwrap();
    let mut spec = ToolSpec::new("shell.exec", "", json!({}));
    spec.risk = Risk::High;
    spec.capabilities = vec![Capability::ShellExec];
    let bound = policy.bind(&spec, &Who::default());
    let judge = |line: &String| {
        let effects = Effects::none().runs(CommandLine::Shell {
            line: line.clone(),
            cwd: workspace.to_owned(),
        });
        bound.judge(&effects, &|cwd, path| cwd.join(path)).verdict
    };
    lines.iter().map(judge).collect()
}

/// A workspace with canaries: stand-ins for the denied programs, files that nothing may touch.
struct Cage {
    place: Place,
    guard: PathBuf,
    marks: PathBuf,
}

impl Cage {
    fn new() -> Cage {
        let place = Place::new();
        let guard = place.workspace.join("guard");
        let marks = place.workspace.join("marks");
        place.file("guard/f", "guarded\n");
        for name in ["a", "b", "a.txt", "a b"] {
            place.file(name, "canary\n");
        }
        fs::create_dir(&marks).unwrap();
        for program in DENIED {
            let mark = marks.join(program);
            let stand_in = place.file(
                &format!("bin/{program}"),
                format!("#!/bin/sh\necho ran >> {}\n", mark.display()),
            );
            fs::set_permissions(stand_in, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Cage {
            place,
            guard,
            marks,
        }
    }

    /// Run each line, shut in, with the stand-ins first in the search path; tell which canaries
    /// noticed.
    fn run(&self, lines: &[&String], rules: &Value) -> Vec<String> {
        let config = json!({
            "tools": rules,
            "isolation": {"level": "sandboxed"},
            "shell": {"login": false},
        });
        self.place.config(&config.to_string());
        let path = format!("{}/bin:/usr/bin:/bin", self.place.workspace.display());
        for chunk in lines.chunks(50) {
            let calls: Vec<Value> = chunk
                .iter()
                .enumerate()
                .map(|(number, line)| {
                    let line = format!("export PATH={path}\n{line}");
                    json!({"id": number.to_string(), "name": "shell.exec",
                           "args": {"command": line, "timeout": 3_000}})
                })
                .collect();
            self.place.batch(&json!(calls), &["--yes"]);
        }
        self.noticed()
    }

    fn noticed(&self) -> Vec<String> {
        let marks = fs::read_dir(&self.marks).unwrap();
        let mut noticed: Vec<String> = marks
            .map(|mark| mark.unwrap().file_name().into_string().unwrap())
            .collect();
        let kept = |name: &str, text: &str| {
            fs::read_to_string(self.place.workspace.join(name)).is_ok_and(|found| found == text)
        };
        let files = [
            ("guard/f", "guarded\n"),
            ("a", "canary\n"),
            ("b", "canary\n"),
            ("a.txt", "canary\n"),
            ("a b", "canary\n"),
        ];
        noticed.extend(
            files
                .iter()
                .filter(|(name, text)| !kept(name, text))
                .map(|(name, _)| (*name).to_owned()),
        );
        let guarded = fs::read_dir(&self.guard).map_or(0, Iterator::count);
        if guarded != 1 {
            noticed.push(format!("guard holds {guarded} files"));
        }
        noticed
    }
}

#[test]
fn no_disguise_gets_past_policy_to_a_canary() {
    let cage = Cage::new();
    let lines = variants(&rows(&cage.guard));
    let verdicts = verdicts(&lines, &cage.place.workspace);
    let of = |wanted: Verdict| -> Vec<&String> {
        let both = lines.iter().zip(&verdicts);
        both.filter(|(_, verdict)| **verdict == wanted)
            .map(|(line, _)| line)
            .collect()
    };
    let (allowed, denied) = (of(Verdict::Allow), of(Verdict::Deny));
    println!(
        "{} variants: {} allowed, {} denied outright",
        lines.len(),
        allowed.len(),
        denied.len()
    );
    let noticed = cage.run(&allowed, &json!({"autonomy": "autonomous"}));
    assert!(noticed.is_empty(), "{noticed:?} by one of {allowed:#?}");

    // The canaries do notice: the same cage, lines that were refused, nobody refusing.
    let step = (denied.len() / 40).max(1);
    let refused: Vec<&String> = denied.into_iter().step_by(step).collect();
    let noticed = cage.run(&refused, &json!({"autonomy": "autonomous"}));
    assert!(noticed.contains(&"rm".to_owned()), "{noticed:?}");
}
