//! grep and glob beside ripgrep and others, each as a process with its whole output, on a tree of
//! real source. Before a time counts, our answer and ripgrep's are compared as sets.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::Bench;
use super::measure::{Bar, Row};
use super::peers;
use super::side::{Ask, Program, Side, build_haft};
use super::tree;
use crate::workspace::cargo;

const RIPGREP: &str = "15.2.0";
const FAST_GLOB: &str = "fast-glob@3";

/// What is searched for, and what each pattern stands for.
const PATTERNS: &[(&str, &str, f64)] = &[
    ("grep, a rare literal", "APM_RESUME_DISABLED", 0.9),
    ("grep, a common literal", "return", 0.9),
    ("grep, a very common literal", "self", 0.9),
    ("grep, a rare regex", "[A-Z]{3,}_[0-9]{4,}", 1.0),
    ("grep, a common regex", r"\w+Error\b", 1.0),
];

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let world = World::prepare(bench)?;
    let mut rows = Vec::new();
    for (name, pattern, bar) in PATTERNS {
        rows.push(world.grep(name, pattern, *bar)?);
    }
    rows.push(world.first_hundred()?);
    rows.push(world.glob("**/*.rs")?);
    Ok(rows)
}

/// The tree, and where the programs are.
struct World {
    bench: PathBuf,
    root: PathBuf,
    tree: PathBuf,
    haft: PathBuf,
    ripgrep: PathBuf,
    cache: String,
}

impl World {
    fn prepare(bench: &Bench) -> Result<Self> {
        let folder = bench.target.join("bench");
        let tree = tree::prepare(&folder)?;
        let world = World {
            ripgrep: ripgrep(&folder)?,
            haft: build_haft(bench)?,
            bench: folder,
            root: bench.root.clone(),
            tree: tree.path,
            cache: format!(
                "{} files, {} MB, in the page cache",
                tree.files,
                tree.bytes >> 20
            ),
        };
        println!("tree: {}", world.cache);
        Ok(world)
    }

    fn haft_grep(&self, pattern: &str, limit: Option<u64>) -> Vec<String> {
        let mut args = json!({"pattern": pattern});
        if let Some(limit) = limit {
            args["limit"] = limit.into();
        }
        self.haft_call("file.grep", &args, limit.is_some())
    }

    fn haft_call(&self, tool: &str, args: &Value, whole: bool) -> Vec<String> {
        let mut words = vec![
            self.haft.display().to_string(),
            "call".to_owned(),
            tool.to_owned(),
            args.to_string(),
        ];
        if whole {
            words.extend(["--budget", "100000000000", "--timeout", "600000"].map(str::to_owned));
        }
        words
    }

    fn home(&self) -> PathBuf {
        self.bench.join("home")
    }

    fn rg(&self, words: &[&str]) -> Vec<String> {
        let mut all = vec![self.ripgrep.display().to_string()];
        all.extend(words.iter().map(|&word| word.to_owned()));
        all
    }

    fn grep(&self, name: &str, pattern: &str, bar: f64) -> Result<Row> {
        let ours = self.haft_grep(pattern, Some(u64::from(u32::MAX)));
        let rg = self.rg(&["-n", "--no-heading", "--color=never", pattern, "."]);
        let count = self.compare(&ours, &rg)?;
        let ours = Self::side(self, "haft", &ours)?;
        let rg = Self::side(self, "rg", &rg)?;
        let (our_peak, their_peak) = (ours.borrow_mut().peak()?, rg.borrow_mut().peak()?);
        println!(
            "{name}: `{pattern}`, {count} lines; peak memory haft {our_peak} KB, rg {their_peak} KB{}",
            if our_peak > 2 * their_peak {
                ", MISSED 2.00 x"
            } else {
                ""
            }
        );
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        let git = words(&["git", "grep", "-nIE", pattern]);
        let gnu = words(&["grep", "-rInE", "--exclude-dir=.git", pattern, "."]);
        Ok(Row {
            name: name.to_owned(),
            sides: vec![
                Ask::side(&ours, "run"),
                Ask::side(&rg, "run"),
                Ask::side(&self.side("git grep", &git)?, "run"),
                Ask::side(&self.side("GNU grep", &gnu)?, "run"),
            ],
            peer: "rg".to_owned(),
            bar: Bar {
                ratio: Some(bar),
                cpu_ratio: Some(bar),
                ..Bar::default()
            },
        })
    }

    fn first_hundred(&self) -> Result<Row> {
        let rg = format!(
            "{} -n --no-heading --color=never self . | head -100",
            self.ripgrep.display()
        );
        let rg = ["sh", "-c", &rg].map(str::to_owned);
        Ok(Row {
            name: "grep, the first 100 of a common word".to_owned(),
            sides: vec![
                Ask::side(&self.side("haft", &self.haft_grep("self", None))?, "run"),
                Ask::side(&self.side("rg | head", &rg)?, "run"),
            ],
            peer: "rg | head".to_owned(),
            bar: Bar {
                ratio: Some(0.5),
                ..Bar::default()
            },
        })
    }

    fn glob(&self, pattern: &str) -> Result<Row> {
        let args = json!({"pattern": pattern, "limit": u32::MAX});
        let ours = self.haft_call("file.glob", &args, true);
        let list = format!("{} --files -0 -g '{pattern}' .", self.ripgrep.display());
        let rg = format!("{list} | xargs -0 stat --printf '%Y %n\\n' | sort -rn | cut -d' ' -f2-");
        let rg = ["sh", "-c", &rg].map(str::to_owned);
        self.compare(&ours, &rg)?;
        let node = [
            "node".to_owned(),
            self.root.join("xtask/bench/glob.mjs").display().to_string(),
            peers::npm(&self.bench, "fast-glob", &[FAST_GLOB])?
                .display()
                .to_string(),
            pattern.to_owned(),
        ];
        let mut sides = vec![
            Ask::side(&self.side("haft", &ours)?, "run"),
            Ask::side(&self.side("rg, stat, sort", &rg)?, "run"),
            Ask::side(&self.side("fast-glob", &node)?, "run"),
        ];
        if let Some(fd) = ["fd", "fdfind"].into_iter().find(|name| runs(name)) {
            let fd = [
                fd,
                "--glob",
                pattern,
                "--full-path",
                "--exec-batch",
                "ls",
                "-t",
            ];
            sides.push(self.command("fd, ls -t", &fd.map(str::to_owned))?);
        }
        Ok(Row {
            name: format!("glob `{pattern}`, newest first"),
            sides,
            peer: "rg, stat, sort".to_owned(),
            bar: Bar {
                ratio: Some(1.0),
                ..Bar::default()
            },
        })
    }

    fn command(&self, name: &str, words: &[String]) -> Result<Box<dyn Side>> {
        Ok(Ask::side(&self.side(name, words)?, "run"))
    }

    fn side(
        &self,
        name: &str,
        words: &[String],
    ) -> Result<std::rc::Rc<std::cell::RefCell<Program>>> {
        let mut command = Command::new("python3");
        command
            .arg(self.root.join("xtask/bench/process.py"))
            .arg(&self.tree)
            .args(words)
            .env("HAFT_HOME", self.home());
        let version = format!("{}; `{}`; {}", version(words)?, words.join(" "), self.cache);
        Program::start(name, &version, command)
    }

    /// How many lines both give; an error if they are not the same.
    fn compare(&self, ours: &[String], theirs: &[String]) -> Result<usize> {
        let mine = self.places(ours)?;
        let others = self.places(theirs)?;
        // Files that are not UTF-8 are skipped by contract; ripgrep stops at a NUL byte instead.
        let is_text = |place: &&String| {
            let path = place.split(':').next().unwrap_or_default();
            fs::read_to_string(self.tree.join(path)).is_ok_and(|text| !text.contains('\0'))
        };
        let missing: Vec<&String> = others.difference(&mine).filter(is_text).take(5).collect();
        let extra: Vec<&String> = mine.difference(&others).filter(is_text).take(5).collect();
        if mine.is_empty() || !missing.is_empty() || !extra.is_empty() {
            bail!(
                "answers differ for `{}`: {} ours; missing {missing:?}, extra {extra:?}",
                theirs.join(" "),
                mine.len()
            );
        }
        Ok(mine.len())
    }

    /// Paths with line numbers where there are any.
    fn places(&self, words: &[String]) -> Result<BTreeSet<String>> {
        let (program, arguments) = words.split_first().context("no command")?;
        let output = Command::new(program)
            .args(arguments)
            .current_dir(&self.tree)
            .env("HAFT_HOME", self.home())
            .output()
            .with_context(|| format!("cannot run `{program}`"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let places = text.lines().filter(|line| !line.starts_with('['));
        Ok(places.map(place).collect())
    }
}

fn place(line: &str) -> String {
    let line = line.strip_prefix("./").unwrap_or(line);
    let mut parts = line.splitn(3, ':');
    match (parts.next(), parts.next()) {
        (Some(path), Some(number)) => format!("{path}:{number}"),
        _ => line.to_owned(),
    }
}

fn runs(program: &str) -> bool {
    let ran = Command::new(program).arg("--version").output();
    ran.is_ok_and(|output| output.status.success())
}

/// What a command says it is.
fn version(words: &[String]) -> Result<String> {
    let program = match words {
        [shell, flag, line, ..] if shell == "sh" && flag == "-c" => {
            line.split(' ').next().unwrap_or_default()
        }
        [program, ..] => program,
        [] => bail!("no command"),
    };
    let output = Command::new(program).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().next().unwrap_or("unknown").to_owned())
}

fn ripgrep(bench: &Path) -> Result<PathBuf> {
    let place = bench.join("peers");
    let program = place.join("bin/rg");
    if !program.exists() {
        let built = cargo()
            .args(["install", "ripgrep", "--locked", "--version", RIPGREP])
            .arg("--root")
            .arg(&place)
            .status()?;
        if !built.success() {
            bail!("cannot install ripgrep: {built}");
        }
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_compared_by_place() {
        let check = |line: &str, expected: &str| assert_eq!(place(line), expected);
        check("./a/b.rs:12:let x: u8;", "a/b.rs:12");
        check("a/b.rs:12: let x: u8;", "a/b.rs:12");
        check("./a/b.rs", "a/b.rs");
    }
}
