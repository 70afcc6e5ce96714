//! MCP: haft as a server beside bare rmcp, haft as a hub beside one bare hop and beside other
//! gateways. Every side is asked by the same small client (`bench_mcp` of haft-mcp), which looks at
//! each answer before a time counts. All servers have one echo tool, or that and a thousand more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use serde_json::json;

use super::Bench;
use super::gateways::GATEWAYS;
use super::measure::{Bar, Row};
use super::peers::output;
use super::side::{Ask, Late, Program, Side, build_example, build_haft, our_version};

const CALLS: &str = "single 5000";
const ADDRESS: &str = "127.0.0.1:{port}";
/// Longest way from the start of `haft mcp` to its first list.
const FIRST_LIST_NS: f64 = 40e6;
/// Memory with a thousand tools.
const RESIDENT: f64 = 40e6;

/// What the sides are made of.
#[derive(Clone)]
pub(super) struct World {
    /// For whatever servers want to find or leave behind
    pub(super) folder: PathBuf,
    /// The sources
    pub(super) root: PathBuf,
    /// Both ends of a connection
    ends: PathBuf,
    haft: PathBuf,
    version: String,
}

/// A server, and how it is asked.
#[derive(Clone)]
pub(super) struct Driven {
    pub(super) version: String,
    /// See `drive.rs` of `bench_mcp`
    pub(super) way: String,
    pub(super) tool: String,
    pub(super) command: Vec<String>,
    pub(super) env: Vec<(String, String)>,
}

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let world = World {
        folder: bench.target.join("bench/mcp"),
        root: bench.root.clone(),
        ends: build_example(bench, "haft-mcp", "bench_mcp")?,
        haft: build_haft(bench)?,
        version: our_version()?,
    };
    let mut rows = world.servers();
    rows.extend(world.hub()?);
    rows.extend(world.gateways());
    Ok(rows)
}

/// A row against one peer, which has the name of its second side.
fn row(name: &str, ours: Box<dyn Side>, peer: Box<dyn Side>, bar: Bar) -> Row {
    Row {
        name: format!("mcp: {name}"),
        peer: peer.name().to_owned(),
        sides: vec![ours, peer],
        bar,
    }
}

fn times(ratio: f64) -> Bar {
    Bar {
        ratio: Some(ratio),
        ..Bar::default()
    }
}

impl Driven {
    /// This server, asked a line each round. It runs as long as its row is taken.
    fn side(self, world: &World, name: &str, line: &str) -> Box<dyn Side> {
        let version = format!("{}, `{}`", self.version, self.command.join(" "));
        let world = world.clone();
        let (called, line) = (name.to_owned(), line.to_owned());
        Late::side(name, &version.clone(), move || {
            let program = self.start(&world, &called, &version)?;
            Ok(Ask::side(&program, &line))
        })
    }

    fn start(
        &self,
        world: &World,
        name: &str,
        version: &str,
    ) -> Result<std::rc::Rc<std::cell::RefCell<Program>>> {
        let mut drive = Command::new(&world.ends);
        drive
            .args(["drive", &self.way, &self.tool, "--"])
            .args(&self.command)
            .envs(self.env.iter().map(|(key, value)| (key, value)))
            .current_dir(&world.folder);
        Program::start(name, version, drive)
    }
}

impl World {
    /// A server with the fixture tools, ours or rmcp's.
    pub(super) fn fixture(&self, whose: &str, place: &str, tools: usize) -> Vec<String> {
        let (ends, tools) = (self.ends.display().to_string(), tools.to_string());
        [&ends, "serve", whose, place, &tools]
            .map(str::to_owned)
            .into()
    }

    fn ours(&self, way: &str, place: &str, tools: usize, line: &str) -> Box<dyn Side> {
        let driven = Driven {
            version: self.version.clone(),
            way: way.to_owned(),
            tool: "bench__echo".to_owned(),
            command: self.fixture("haft", place, tools),
            env: Vec::new(),
        };
        driven.side(self, "haft", line)
    }

    fn bare(&self, name: &str, way: &str, place: &str, tools: usize, line: &str) -> Box<dyn Side> {
        let driven = Driven {
            version: "the one in Cargo.lock".to_owned(),
            way: way.to_owned(),
            tool: "echo".to_owned(),
            command: self.fixture("rmcp", place, tools),
            env: Vec::new(),
        };
        driven.side(self, name, line)
    }

    /// Our server against rmcp's, with the same tools.
    fn servers(&self) -> Vec<Row> {
        vec![
            row(
                "echo on stdio",
                self.ours("lines", "pipes", 0, CALLS),
                self.bare("rmcp, pipes", "lines", "pipes", 0, CALLS),
                times(1.15),
            ),
            row(
                "echo on stdio, against rmcp's own",
                self.ours("lines", "pipes", 0, CALLS),
                self.bare("rmcp, stdio", "lines", "stdio", 0, CALLS),
                times(0.7),
            ),
            row(
                "echo on HTTP",
                self.ours("http:/mcp", ADDRESS, 0, CALLS),
                self.bare("rmcp, HTTP", "http:/mcp", ADDRESS, 0, CALLS),
                times(1.15),
            ),
            row(
                "list of 1,000 tools, warm",
                self.ours("lines", "pipes", 1000, "list 50 1000"),
                self.bare("rmcp, pipes", "lines", "pipes", 1000, "list 50 1000"),
                times(0.25),
            ),
        ]
    }

    /// The shipped binary in front of a server that is not ours.
    fn hub(&self) -> Result<Vec<Row>> {
        let few = self.home("few", "pipes", 0)?;
        let many = self.home("many", "pipes", 1000)?;
        let older = self.home("older", "older", 0)?;
        let through = |home: &Path, way: &str, line: &str| {
            self.shipped(home, way, &["mcp"]).side(self, "haft", line)
        };
        let hub = |home: &Path, line: &str| through(home, "lines", line);
        let bare = |tools, line: &str| self.bare("rmcp, pipes", "lines", "pipes", tools, line);
        let first_list = Bar {
            wall_ns: Some(FIRST_LIST_NS),
            ..Bar::default()
        };
        let resident = Bar {
            bytes: Some(RESIDENT),
            ..Bar::default()
        };
        Ok(vec![
            // A hop is as long as what is said on it, so everybody speaks one revision: requests
            // that bring along who asks take longer to read than those that do not.
            row(
                "echo through the hub, against one hop, 2025-11-25",
                hub(&older, "single 2000"),
                self.bare("rmcp, pipes", "lines", "older", 0, "single 2000"),
                times(2.3),
            ),
            row(
                "echo through the hub, against one hop, 2026-07-28",
                through(&few, "newest", "single 2000"),
                self.bare("rmcp, pipes", "newest", "pipes", 0, "single 2000"),
                times(2.3),
            ),
            row(
                "`haft mcp` until its first list",
                hub(&few, "start 5"),
                bare(0, "start 5"),
                first_list,
            ),
            row(
                "the same, with 1,000 tools",
                hub(&many, "start 3 1000"),
                bare(1000, "start 3 1000"),
                first_list,
            ),
            row(
                "memory with 1,000 tools",
                hub(&many, "resident 1 1000"),
                bare(1000, "resident 1 1000"),
                resident,
            ),
        ])
    }

    /// The same on HTTP, as the others are reached. At most a tenth of each is at most a tenth of
    /// the best; one that does not install or start fails its row.
    fn gateways(&self) -> Vec<Row> {
        let home = self.folder.join("few");
        let token = home.join("mcp-token").display().to_string();
        let ours = self.shipped(
            &home,
            &format!("session:/mcp:{token}"),
            &["mcp", "--http", ADDRESS],
        );
        GATEWAYS
            .iter()
            .map(|gateway| {
                let world = self.clone();
                let line = format!("single {}", gateway.calls);
                let theirs = Late::side(gateway.name, &gateway.packages.join(" "), move || {
                    let driven = (gateway.prepare)(&world, gateway.packages)?;
                    Ok(driven.side(&world, gateway.name, &line))
                });
                let ours = ours.clone().side(self, "haft", "single 1000");
                let name = format!("echo through the hub, against {}", gateway.name);
                row(&name, ours, theirs, times(0.1))
            })
            .collect()
    }

    fn shipped(&self, home: &Path, way: &str, words: &[&str]) -> Driven {
        let mut command = vec![self.haft.display().to_string()];
        command.extend(words.iter().map(|&word| word.to_owned()));
        Driven {
            version: self.version.clone(),
            way: way.to_owned(),
            tool: "mcp__echo__echo".to_owned(),
            command,
            env: vec![("HAFT_HOME".to_owned(), home.display().to_string())],
        }
    }

    /// A home of haft with one server that has been looked at. It is believed that its tools only
    /// read: an answer to nobody's question would be timed otherwise.
    fn home(&self, name: &str, place: &str, tools: usize) -> Result<PathBuf> {
        let home = self.folder.join(name);
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        fs::create_dir_all(&home)?;
        let command = self.fixture("rmcp", place, tools);
        let server = json!({
            "command": command[0],
            "args": command[1..],
            "trust_annotations": true,
        });
        let config = json!({"mcp": {"servers": {"echo": server}}});
        fs::write(home.join("config.yaml"), config.to_string())?;
        output(
            Command::new(&self.haft)
                .args(["mcp", "test", "echo"])
                .env("HAFT_HOME", &home)
                .current_dir(&self.folder),
        )?;
        Ok(home)
    }
}
