//! MCP: haft as a server beside bare rmcp, haft as a hub beside one bare hop and beside other
//! gateways. Every side is asked by the same small client (`bench_mcp` of haft-mcp), which looks at
//! each answer before a time counts. All servers have one echo tool, or that and a thousand more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
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
    /// The processor of the client, where that is not left to the system
    pub(super) client_on: Option<usize>,
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

/// A command that stays on these processors.
fn on(processors: &[usize], command: Vec<String>) -> Vec<String> {
    let processors = processors.iter().map(usize::to_string);
    let processors = processors.collect::<Vec<_>>().join(",");
    let taskset = ["taskset", "-c", &processors].map(str::to_owned);
    taskset.into_iter().chain(command).collect()
}

/// The first two processors that we may use.
fn processors() -> Result<[usize; 2]> {
    let status = fs::read_to_string("/proc/self/status")?;
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .context("nobody says which processors there are")?;
    let mut all = list.trim().split(',').flat_map(|range| {
        let mut ends = range.split('-').map(|end| end.parse().unwrap_or(0));
        let first = ends.next().unwrap_or(0);
        first..=ends.next().unwrap_or(first)
    });
    let one = all.next().context("there is no processor")?;
    Ok([one, all.next().unwrap_or(one)])
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

    /// The client on one processor, and its server on these.
    fn apart(self, one: usize, server: &[usize]) -> Self {
        Driven {
            command: on(server, self.command),
            client_on: Some(one),
            ..self
        }
    }

    fn start(
        &self,
        world: &World,
        name: &str,
        version: &str,
    ) -> Result<std::rc::Rc<std::cell::RefCell<Program>>> {
        let words = ["drive", &self.way, &self.tool, "--"].map(str::to_owned);
        let mut drive = vec![world.ends.display().to_string()];
        drive.extend(words.into_iter().chain(self.command.iter().cloned()));
        if let Some(processor) = self.client_on {
            drive = on(&[processor], drive);
        }
        let mut command = Command::new(&drive[0]);
        command
            .args(&drive[1..])
            .envs(self.env.iter().map(|(key, value)| (key, value)))
            .current_dir(&world.folder);
        Program::start(name, version, command)
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
            client_on: None,
        };
        driven.side(self, "haft", line)
    }

    fn bare(&self, name: &str, way: &str, place: &str, tools: usize, line: &str) -> Box<dyn Side> {
        self.rmcp(way, place, tools).side(self, name, line)
    }

    fn rmcp(&self, way: &str, place: &str, tools: usize) -> Driven {
        Driven {
            version: "the one in Cargo.lock".to_owned(),
            way: way.to_owned(),
            tool: "echo".to_owned(),
            command: self.fixture("rmcp", place, tools),
            env: Vec::new(),
            client_on: None,
        }
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
        let server = |tools| self.fixture("rmcp", "pipes", tools);
        let few = self.home("few", &server(0))?;
        let many = self.home("many", &server(1000))?;
        let [one, other] = processors()?;
        let apart = self.home("apart", &on(&[one], server(0)))?;
        let calls = "single 2000";
        let hub = |home: &Path, line: &str| {
            self.shipped(home, "lines", &["mcp"])
                .side(self, "haft", line)
        };
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
            // Both ends of the hub sit on one processor, and haft may use both; the ends of the hop sit
            // apart. Left to the system, two that talk in turns may share a processor and three may
            // not, and the ratio is that of its choices.
            row(
                "echo through the hub, against one hop",
                self.shipped(&apart, "lines", &["mcp"])
                    .apart(one, &[one, other])
                    .side(self, "haft", calls),
                self.rmcp("lines", "pipes", 0).apart(one, &[other]).side(
                    self,
                    "rmcp, pipes",
                    calls,
                ),
                times(2.3),
            ),
            row(
                "the same, placed by the system",
                hub(&few, calls),
                bare(0, calls),
                Bar::default(),
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
            client_on: None,
        }
    }

    /// A home of haft with one server that has been looked at. It is believed that its tools only
    /// read: an answer to nobody's question would be timed otherwise.
    fn home(&self, name: &str, server: &[String]) -> Result<PathBuf> {
        let home = self.folder.join(name);
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        fs::create_dir_all(&home)?;
        let server = json!({
            "command": server[0],
            "args": server[1..],
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
