//! The client's side of a row: as little as possible, so that what is timed is the server.
//!
//! Ways: `lines` is standard input and output, greeted as revision 2025-11-25; `newest` is the same
//! with requests that each stand alone, as of 2026-07-28, and so is `http`; `session` is HTTP with an
//! `initialize` first; `rest` is mcp-hub's own interface. Those on HTTP name their path after a
//! colon, and where a file with a token is needed that after a second one. `{port}` in the server's
//! arguments is a free port; what such a server says of itself goes to `said.log`.
//!
//! Lines answered: `single N` and `list N` (N calls of the echo, N times `tools/list`), `start N`
//! (the server started anew until its first `tools/list` is answered), `resident` (its memory). A
//! second number is how many tools there must be.

use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::check;
use crate::http::{Http, Revision};
use crate::lines::Lines;

/// How long a gateway may take to start: some compile themselves first.
const START: Duration = Duration::from_secs(180);

/// One open connection.
pub(crate) trait Client {
    /// Send a request and read its answer into the client.
    fn ask(&mut self, method: &str, params: &str) -> Result<&[u8], String>;

    /// Connect anew where the other end may have grown tired.
    fn refresh(&mut self) -> Result<(), String> {
        Ok(())
    }
}

pub(crate) fn run(way: &str, tool: &str, program: &str, args: &[&str]) {
    let mut words = way.split(':');
    let kind = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default();
    let token = words.next();
    let port = free_port();
    let args: Vec<String> = args
        .iter()
        .map(|arg| arg.replace("{port}", &port.to_string()))
        .collect();
    let mut command = Command::new(program);
    command.args(&args);
    let mut server = Running::start(&mut command, !["lines", "newest"].contains(&kind));
    let mut client: Box<dyn Client> = match kind {
        "lines" => Box::new(Lines::greet(&mut server.child, Revision::Older)),
        "newest" => Box::new(Lines::greet(&mut server.child, Revision::Newest)),
        _ => {
            let revision = match kind {
                "http" => Revision::Newest,
                "session" => Revision::Older,
                "rest" => Revision::Rest,
                _ => panic!("no such way: {way}"),
            };
            let open = || {
                let mut http = Http::open(revision, port, path, token)?;
                check::echo(&mut http, tool, 0)?;
                Ok(http)
            };
            Box::new(waiting(&mut server, open))
        }
    };
    let mut calls = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let mut words = line.split(' ');
        let what = words.next().unwrap_or_default();
        let mut number_of = || words.next().map(|word| word.parse().expect("a number"));
        let count: u64 = number_of().unwrap_or(1);
        client.refresh().expect("the server is there");
        if let Some(tools) = number_of() {
            check::whole_list(&mut *client, tools).expect("all tools");
        }
        let clock = Clock::start(&server.child);
        let answer = match what {
            "single" => {
                for _ in 0..count {
                    calls += 1;
                    check::echo(&mut *client, tool, calls).expect("an echo");
                }
                clock.per(&server.child, count)
            }
            "list" => {
                for _ in 0..count {
                    check::list(&mut *client).expect("a list");
                }
                clock.per(&server.child, count)
            }
            "start" => json!({"ns_per_call": started(&mut command, count)}),
            "resident" => json!({"bytes": resident(&server.child)}),
            _ => panic!("no such line: {line}"),
        };
        println!("{answer}");
        std::io::stdout().flush().expect("a reader");
    }
}

/// A server with everything it starts, ended when dropped.
struct Running {
    child: Child,
    group: bool,
}

impl Running {
    fn start(command: &mut Command, group: bool) -> Self {
        if group {
            command.process_group(0).stdin(Stdio::null());
            // For whoever looks into a failed row.
            let said = std::fs::File::create("said.log").expect("a file");
            command.stdout(Stdio::null()).stderr(said);
        } else {
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
        }
        let child = command.spawn().expect("the server starts");
        Running { child, group }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.group {
            let group = format!("-{}", self.child.id());
            let _ = Command::new("kill").args(["-TERM", "--", &group]).status();
        }
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn waiting<T>(server: &mut Running, mut open: impl FnMut() -> Result<T, String>) -> T {
    let since = Instant::now();
    loop {
        match open() {
            Ok(open) => return open,
            Err(error) => {
                let ended = server.child.try_wait().expect("a child");
                assert!(ended.is_none(), "the server ended: {ended:?}: {error}");
                assert!(since.elapsed() < START, "the server is not there: {error}");
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// From the start of the process to its first list.
fn started(command: &mut Command, count: u64) -> f64 {
    let mut spent = Duration::ZERO;
    for _ in 0..count {
        let clock = Instant::now();
        let mut server = Running::start(command, false);
        let mut client = Lines::greet(&mut server.child, Revision::Older);
        check::list(&mut client).expect("a list");
        spent += clock.elapsed();
    }
    spent.as_nanos() as f64 / count as f64
}

/// Wall time here, CPU time of the server's own process.
struct Clock {
    wall: Instant,
    cpu: u64,
}

impl Clock {
    fn start(child: &Child) -> Self {
        Clock {
            cpu: cpu(child),
            wall: Instant::now(),
        }
    }

    fn per(&self, child: &Child, count: u64) -> Value {
        let wall = self.wall.elapsed().as_nanos() as f64;
        let cpu = cpu(child).saturating_sub(self.cpu) as f64;
        let count = count as f64;
        json!({"ns_per_call": wall / count, "cpu_ns_per_call": cpu / count})
    }
}

fn cpu(child: &Child) -> u64 {
    let tasks = format!("/proc/{}/task", child.id());
    let tasks = std::fs::read_dir(tasks).into_iter().flatten().flatten();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .sum()
}

fn resident(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
    let status = status.expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kb = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kb.expect("its memory") * 1024
}
