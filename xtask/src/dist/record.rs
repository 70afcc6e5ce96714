//! Which functions ordinary runs come to, and in which order: valgrind tells.

use std::collections::HashSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::link::symbols;
use super::{ORDER, build};
use crate::workspace::Workspace;

/// Older ones do not know all that we ask of the kernel, and calls end before they have begun.
const VALGRIND: (u32, u32) = (3, 24);

/// What people do most, as arguments and input.
const RUNS: &[(&[&str], &str)] = &[
    (&["call", "system.info"], ""),
    (&["call", "file.grep", r#"{"pattern":"haft"}"#], ""),
    (
        &[
            "call",
            "file.grep",
            r#"{"pattern":"h\\w+t\\b","limit":100000}"#,
        ],
        "",
    ),
    (
        &[
            "call",
            "file.grep",
            r#"{"pattern":"self","limit":4294967295}"#,
            "--budget=100000000000",
            "--timeout=600000",
        ],
        "",
    ),
    (
        &[
            "call",
            "file.grep",
            r#"{"pattern":"[A-Z]{3,}_[0-9]{4,}","limit":4294967295}"#,
            "--budget=100000000000",
            "--timeout=600000",
        ],
        "",
    ),
    (&["call", "file.read", r#"{"path":"README.md"}"#], ""),
    (&["call", "file.glob", r#"{"pattern":"**/*.rs"}"#], ""),
    (
        &["call", "shell.exec", r#"{"command":"true"}"#, "--yes"],
        "",
    ),
    (
        &[
            "call",
            "file.write",
            r#"{"path":"target/x","content":"x"}"#,
            "--yes",
        ],
        "",
    ),
    (&["call", "file.read", "--json", r#"{"pth":"x"}"#], ""),
    (&["call", "mcp.haft.system__info"], ""),
    (&["tools", "search", "read a file"], ""),
    (&["mcp"], MCP),
    (&["--version"], ""),
];

const MCP: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"order","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"system__info","arguments":{}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"mcp__haft__system__info","arguments":{}}}
"#;

/// `cargo xtask order [PROGRAM]`: of one that was built before, or of one that is built now.
pub(crate) fn record(program: Option<&str>) -> Result<bool> {
    new_enough()?;
    let workspace = Workspace::load()?;
    let program = match program {
        Some(program) => Path::new(program).canonicalize()?,
        None => build(&workspace.root, &workspace.target)?,
    };
    let known: HashSet<String> = symbols(std::iter::once(&program))?.into_iter().collect();
    let place = tempfile::tempdir()?;
    let home = place.path().join("home");
    fs::create_dir(&home)?;
    let server = json!({"command": program, "args": ["mcp"], "trust_annotations": true});
    let config = json!({"mcp": {"servers": {"haft": server}}});
    fs::write(home.join("config.yaml"), config.to_string())?;
    let plain = |words: &[&str]| {
        let mut run = Command::new(&program);
        run.args(words)
            .env("HAFT_HOME", &home)
            .current_dir(&workspace.root);
        run
    };
    plain(&["mcp", "test", "haft"])
        .stdout(Stdio::null())
        .status()?;

    let (mut names, mut seen) = (Vec::new(), HashSet::new());
    let trace = place.path().join("trace");
    for (words, input) in RUNS {
        let mut run = Command::new("valgrind");
        run.args(["--quiet", "--tool=callgrind", "--demangle=no"])
            .arg(format!("--callgrind-out-file={}", trace.display()))
            .arg(&program)
            .args(*words)
            .env("HAFT_HOME", &home)
            .current_dir(&workspace.root);
        fed(run, input).with_context(|| words.join(" "))?;
        for symbol in functions(&trace)? {
            if known.contains(&symbol) && seen.insert(symbol.clone()) {
                names.push(symbol);
            }
        }
    }
    if names.is_empty() {
        bail!("valgrind names no function of `{}`", program.display());
    }
    fs::write(workspace.root.join(ORDER), names.join("\n") + "\n")?;
    println!("{} functions", names.len());
    Ok(true)
}

fn new_enough() -> Result<()> {
    let said = Command::new("valgrind").arg("--version").output();
    let said = String::from_utf8(said.context("cannot run `valgrind`")?.stdout)?;
    let mut parts = said.trim().trim_start_matches("valgrind-").split('.');
    let mut number = || parts.next().and_then(|part| part.parse::<u32>().ok());
    match (number(), number()) {
        (Some(major), Some(minor)) if (major, minor) >= VALGRIND => Ok(()),
        _ => bail!(
            "this takes valgrind {}.{} or newer; found: {}",
            VALGRIND.0,
            VALGRIND.1,
            said.trim()
        ),
    }
}

/// Run it with this input, whatever comes of it.
fn fed(mut run: Command, input: &str) -> Result<()> {
    let mut child = run.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    child
        .stdin
        .take()
        .context("no input")?
        .write_all(input.as_bytes())?;
    child.wait()?;
    Ok(())
}

/// The functions of a trace, in its order. A name is given once and then meant by its number.
fn functions(trace: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(trace).context("valgrind left no trace")?;
    let name = |line: &str| {
        let named = line
            .strip_prefix("fn=")
            .or_else(|| line.strip_prefix("cfn="))?;
        let (_, name) = named.split_once(") ")?;
        // Recursion is told by a number after the name.
        Some(name.split('\'').next().unwrap_or(name).to_owned())
    };
    Ok(text.lines().filter_map(name).collect())
}
