//! What the house does not have. Each absence has a name, stands in ARCHITECTURE.md under
//! "Absences", and is held by one function here; a name on one side only is a finding too.

use crate::finding::Finding;
use crate::source::Source;
use crate::workspace::{Crate, Workspace};

/// One absence: its name in ARCHITECTURE.md and the function that holds it.
type Absence = (&'static str, fn(&Workspace) -> Vec<Finding>);

const ABSENCES: &[Absence] = &[
    ("pure-core", pure_core),
    ("one-machine-room", one_machine_room),
    ("tools-know-no-policy", tools_know_no_policy),
    ("one-door", one_door),
    ("stages-read-no-config", stages_read_no_config),
    ("wire-stands-alone", wire_stands_alone),
];

const PURE: &[&str] = &["haft-core", "haft-policy"];

/// Paths that reach the machine, whoever names them.
const MACHINE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::os::unix::net",
    "std::process",
    "tokio::fs",
    "tokio::net",
    "tokio::process",
    "rustix",
    "tempfile",
    "std::*",
    "tokio::*",
];

/// Of `std::process` only what ends or names our own process may be used elsewhere.
const OWN_PROCESS: &[&str] = &[
    "std::process::ExitCode",
    "std::process::Termination",
    "std::process::exit",
    "std::process::id",
];

/// Methods of paths that ask the file system.
const PATH_QUESTIONS: &[&str] = &[
    "canonicalize",
    "exists",
    "try_exists",
    "read_dir",
    "read_link",
    "symlink_metadata",
];

/// The binary keeps its own config and home; it starts no program and opens no socket.
const BINARY_MAY: &[&str] = &["std::fs", "rustix::fs", "rustix::process::geteuid"];

/// Crates whose work is the machine, their own files in haft's home, or the development of haft.
const MACHINE_ROOMS: &[&str] = &["haft-host", "haft-store", "haft-testkit", "xtask"];

/// A crate with an evaluation behind the feature `eval`, which no shipped binary turns on. It
/// reads its data sets and a clock.
const EVALUATED: &str = "haft-search";
const EVALUATION: &str = "/src/eval/";

const RUNTIMES: &[&str] = &[
    "tokio",
    "async-std",
    "smol",
    "futures-executor",
    "rustix",
    "tempfile",
    "reqwest",
];

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = names_agree(&workspace.architecture);
    for (_, hold) in ABSENCES {
        findings.extend(hold(workspace));
    }
    findings
}

/// Every absence in ARCHITECTURE.md is held by code and the other way round.
fn names_agree(architecture: &str) -> Vec<Finding> {
    let mut written = Vec::new();
    let mut inside = false;
    let mut heading = 1;
    for (at, line) in architecture.lines().enumerate() {
        if line.starts_with("## ") {
            inside = line == "## Absences";
            if inside {
                heading = at + 1;
            }
        }
        let name = line
            .strip_prefix("- `")
            .and_then(|rest| rest.split_once('`'));
        if let (true, Some((name, _))) = (inside, name) {
            written.push((name, at + 1));
        }
    }
    let mut findings = Vec::new();
    for (name, line) in &written {
        if !ABSENCES.iter().any(|(held, _)| held == name) {
            findings.push(Finding::new(
                "ARCHITECTURE.md",
                *line,
                format!("absence that no check holds: `{name}`"),
                "write its check in xtask/src/tidy/absences.rs",
            ));
        }
    }
    for (held, _) in ABSENCES {
        if !written.iter().any(|(name, _)| name == held) {
            findings.push(Finding::new(
                "ARCHITECTURE.md",
                heading,
                format!("absence that is checked and not written down: `{held}`"),
                "add it under \"Absences\"",
            ));
        }
    }
    findings
}

/// `haft-core` and `haft-policy` do no I/O and know no async runtime.
fn pure_core(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in crates(workspace, |name| PURE.contains(&name)) {
        let cure = "this crate is pure: let `haft-host` do it and take the value as an argument";
        for source in one.shipped() {
            named(
                source,
                &[MACHINE, &["std::env", "tokio"]].concat(),
                &[],
                cure,
                &mut findings,
            );
            called(source, PATH_QUESTIONS, cure, &mut findings);
            called(
                source,
                &["is_file", "is_dir", "is_symlink"],
                cure,
                &mut findings,
            );
        }
        depends(
            one,
            RUNTIMES,
            "this crate is pure: drop the dependency",
            &mut findings,
        );
    }
    findings
}

/// Only `haft-host` touches files, sockets and processes.
fn one_machine_room(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in crates(workspace, |name| {
        !MACHINE_ROOMS.contains(&name) && !PURE.contains(&name)
    }) {
        let binary = one.name == "haft";
        let allowed = if binary {
            [OWN_PROCESS, BINARY_MAY].concat()
        } else {
            OWN_PROCESS.to_vec()
        };
        let evaluated = one.name == EVALUATED;
        for source in one
            .shipped()
            .filter(|source| !(evaluated && source.path.contains(EVALUATION)))
        {
            let cure = "only `haft-host` touches the machine: add what is needed to a power there";
            named(source, MACHINE, &allowed, cure, &mut findings);
            if !binary {
                called(source, PATH_QUESTIONS, cure, &mut findings);
            }
        }
        if !binary && !evaluated {
            let cure = "only `haft-host` touches the machine: drop the dependency";
            depends(one, &["rustix", "tempfile"], cure, &mut findings);
        }
    }
    findings
}

/// No tool knows policy.
fn tools_know_no_policy(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in crates(workspace, |name| name == "haft-tools") {
        let cure = "a tool knows no policy: state effects and let the stages judge them";
        for source in one.shipped() {
            named(
                source,
                &["haft_policy", "haft_runtime"],
                &[],
                cure,
                &mut findings,
            );
        }
        depends(one, &["haft-policy", "haft-runtime"], cure, &mut findings);
    }
    findings
}

/// Nothing but `haft-runtime` calls a tool. `haft-tools` gives tools and may name the trait it
/// implements, but not what a call is made of.
fn one_door(workspace: &Workspace) -> Vec<Finding> {
    const INSIDE: &[&str] = &["haft-core", "haft-runtime", "haft-testkit"];
    let cure = "call it through the pipeline of `haft-runtime`";
    let mut findings = Vec::new();
    for one in crates(workspace, |name| !INSIDE.contains(&name) && name != "xtask") {
        for source in one.shipped() {
            let mut paths = vec!["haft_core::tool"];
            // Tools that come over the wire are erased from the start: their crate implements
            // what a call is made of, and still calls nothing.
            if one.name != "haft-mcp" {
                paths.extend(["haft_core::Prepared", "Prepared"]);
            }
            if one.name != "haft-tools" {
                paths.extend(["haft_core::Tool", "haft_core::*"]);
            }
            named(source, &paths, &[], cure, &mut findings);
            called(source, &["prepare"], cure, &mut findings);
        }
    }
    findings
}

/// No stage reads config, and only the binary can parse a config file.
fn stages_read_no_config(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in crates(workspace, |name| name == "haft-runtime") {
        for source in one
            .shipped()
            .filter(|source| source.path.contains("/src/stages/"))
        {
            let cure = "a stage reads no config: let the binary read it and hand the value down";
            named(
                source,
                &[
                    "serde_saphyr",
                    "std::env",
                    "std::fs",
                    "std::path::Path::exists",
                ],
                &[],
                cure,
                &mut findings,
            );
            for (at, token) in source.tokens.iter().enumerate() {
                let crate::source::Token::Literal(literal) = token else {
                    continue;
                };
                let file = ["haft.yaml", "config.yaml", "HAFT_HOME"]
                    .into_iter()
                    .find(|file| literal.contains(file));
                // A doc comment is a literal too; it may speak of what the code does not touch.
                let doc = at >= 2 && source.ident(at - 2) == Some("doc");
                if let (Some(file), false, false) = (file, doc, source.is_test(at)) {
                    let what = format!("names a config file: `{file}`");
                    findings.push(Finding::new(&source.path, source.line(at), what, cure));
                }
            }
        }
    }
    for one in crates(workspace, |name| name != "haft") {
        let cure = "only the binary parses config files: take a small struct instead";
        depends(one, &["serde-saphyr"], cure, &mut findings);
    }
    findings
}

/// `haft-wire` depends on nothing of ours but `haft-core`.
fn wire_stands_alone(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    let others: Vec<&str> = workspace
        .crates
        .iter()
        .map(|one| one.name.as_str())
        .filter(|name| *name != "haft-core")
        .collect();
    for one in crates(workspace, |name| name == "haft-wire") {
        let cure = "the wire knows `haft-core` only: move the type there or turn the arrow";
        depends(one, &others, cure, &mut findings);
    }
    findings
}

fn crates(workspace: &Workspace, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &Crate> {
    workspace
        .crates
        .iter()
        .filter(move |one| wanted(one.name.as_str()))
}

/// Paths that begin with one of `forbidden`, unless they begin with one of `allowed`.
fn named(
    source: &Source,
    forbidden: &[&str],
    allowed: &[&str],
    cure: &str,
    findings: &mut Vec<Finding>,
) {
    for path in source.paths() {
        let written = path.segments.join("::");
        let begins = |prefix: &&str| {
            written
                .strip_prefix(*prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        if forbidden.iter().any(begins) && !allowed.iter().any(begins) {
            let what = format!("names `{written}`");
            findings.push(Finding::new(&source.path, path.line, what, cure));
        }
    }
}

fn called(source: &Source, methods: &[&str], cure: &str, findings: &mut Vec<Finding>) {
    for (method, line) in source.method_calls() {
        if methods.contains(&method) {
            let what = format!("calls `.{method}()`");
            findings.push(Finding::new(&source.path, line, what, cure));
        }
    }
}

fn depends(one: &Crate, forbidden: &[&str], cure: &str, findings: &mut Vec<Finding>) {
    for dependency in &one.dependencies {
        if !dependency.for_tests && forbidden.contains(&dependency.name.as_str()) {
            findings.push(Finding::new(
                one.manifest_path(),
                one.manifest_line(&dependency.name),
                format!("depends on `{}`", dependency.name),
                cure,
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::fixture::{a_crate, of};

    /// What the absence finds in one crate with one file: places and words, without the cures.
    fn check_absence(name: &str, one: Crate, expected: &[&str]) {
        let (_, hold) = ABSENCES.iter().find(|(held, _)| *held == name).unwrap();
        let findings: Vec<String> = hold(&of(vec![one]))
            .iter()
            .map(|finding| format!("{}:{} {}", finding.file, finding.line, finding.what))
            .collect();
        assert_eq!(findings, expected, "{name}");
    }

    fn file(name: &str, text: &str) -> Crate {
        a_crate(name, &[], &[("lib.rs", text)])
    }

    #[test]
    fn a_pure_crate_that_reads_a_file_is_found() {
        let found = "crates/haft-core/src/lib.rs:1 names `std::fs::read`";
        check_absence(
            "pure-core",
            file("haft-core", "fn f() { std::fs::read(a); }"),
            &[found],
        );
        let found = "crates/haft-policy/src/lib.rs:1 names `std::env`";
        check_absence(
            "pure-core",
            file("haft-policy", "use std::{env, io::Read};"),
            &[found],
        );
        let found = "crates/haft-policy/src/lib.rs:1 calls `.canonicalize()`";
        check_absence(
            "pure-core",
            file("haft-policy", "fn f() { p.canonicalize(); }"),
            &[found],
        );
        let found = "crates/haft-core/Cargo.toml:2 depends on `tokio`";
        check_absence("pure-core", a_crate("haft-core", &["tokio"], &[]), &[found]);
        check_absence("pure-core", a_crate("haft-core", &["dev:tokio"], &[]), &[]);
        check_absence(
            "pure-core",
            file("haft-core", "#[cfg(test)] mod t { use std::fs; }"),
            &[],
        );
        check_absence("pure-core", file("haft-host", "use std::fs;"), &[]);
    }

    #[test]
    fn a_second_machine_room_is_found() {
        let found = "crates/haft-tools/src/lib.rs:1 names `tokio::process::Command`";
        check_absence(
            "one-machine-room",
            file("haft-tools", "use tokio::process::Command;"),
            &[found],
        );
        let found = "crates/haft-runtime/src/lib.rs:1 names `std::process`";
        check_absence(
            "one-machine-room",
            file("haft-runtime", "use std::process;"),
            &[found],
        );
        let found = "crates/haft/src/lib.rs:1 names `std::net::TcpStream`";
        check_absence(
            "one-machine-room",
            file("haft", "use std::net::TcpStream;"),
            &[found],
        );
        check_absence(
            "one-machine-room",
            file("haft", "use std::{fs, process::ExitCode};"),
            &[],
        );
        check_absence(
            "one-machine-room",
            file("haft-host", "use rustix::fs;"),
            &[],
        );
    }

    #[test]
    fn a_tool_that_knows_policy_is_found() {
        let found = "crates/haft-tools/src/lib.rs:1 names `haft_policy::Verdict`";
        check_absence(
            "tools-know-no-policy",
            file("haft-tools", "use haft_policy::Verdict;"),
            &[found],
        );
        let found = "crates/haft-tools/Cargo.toml:2 depends on `haft-policy`";
        check_absence(
            "tools-know-no-policy",
            a_crate("haft-tools", &["haft-policy"], &[]),
            &[found],
        );
    }

    #[test]
    fn a_second_door_is_found() {
        let found = "crates/haft/src/lib.rs:1 calls `.prepare()`";
        check_absence(
            "one-door",
            file("haft", "fn f() { tool.prepare(&args); }"),
            &[found],
        );
        let found = "crates/haft-tools/src/lib.rs:1 names `haft_core::Prepared`";
        check_absence(
            "one-door",
            file("haft-tools", "use haft_core::{Tool, Prepared};"),
            &[found],
        );
        let found = "crates/haft/src/lib.rs:1 names `haft_core::Tool`";
        check_absence("one-door", file("haft", "use haft_core::Tool;"), &[found]);
        check_absence(
            "one-door",
            file("haft-runtime", "fn f() { tool.prepare(&args); }"),
            &[],
        );
    }

    #[test]
    fn a_stage_that_reads_config_is_found() {
        let stage = |text| a_crate("haft-runtime", &[], &[("stages/run.rs", text)]);
        let found = "crates/haft-runtime/src/stages/run.rs:1 names `std::env::var`";
        check_absence(
            "stages-read-no-config",
            stage("fn f() { std::env::var(x); }"),
            &[found],
        );
        let found = "crates/haft-runtime/src/stages/run.rs:1 names a config file: `haft.yaml`";
        check_absence(
            "stages-read-no-config",
            stage("const A: &str = \"haft.yaml\";"),
            &[found],
        );
        check_absence(
            "stages-read-no-config",
            stage("/// Not haft.yaml\nfn f() {}"),
            &[],
        );
        let found = "crates/haft-policy/Cargo.toml:2 depends on `serde-saphyr`";
        check_absence(
            "stages-read-no-config",
            a_crate("haft-policy", &["serde-saphyr"], &[]),
            &[found],
        );
    }

    #[test]
    fn a_wire_that_leans_on_others_is_found() {
        let mut workspace = of(vec![a_crate("haft-wire", &["haft-core", "haft-host"], &[])]);
        workspace.crates.push(a_crate("haft-host", &[], &[]));
        workspace.crates.push(a_crate("haft-core", &[], &[]));
        let findings = wire_stands_alone(&workspace);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].what, "depends on `haft-host`");
    }

    #[test]
    fn an_absence_stands_in_the_paper_and_in_code() {
        let all: String = ABSENCES
            .iter()
            .map(|(name, _)| format!("- `{name}`: …\n"))
            .collect();
        assert_eq!(names_agree(&format!("## Absences\n{all}")), []);
        let findings = names_agree(&format!("## Absences\n{all}- `no-dust`: …\n## Next\n- `x`"));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].what, "absence that no check holds: `no-dust`");
        assert_eq!(names_agree("## Absences\n").len(), ABSENCES.len());
    }
}
