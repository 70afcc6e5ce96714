//! `haft mcp --http`: a client that goes away in mid-call takes its work along.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use haft_testkit::mcp::Checker;
use serde_json::{Value, json};

use crate::place::{PATIENCE, Place};
use crate::wire::{NEW, OLD};

struct Served {
    child: Child,
    address: String,
    token: String,
}

impl Served {
    fn start(place: &Place) -> Served {
        Served::with(place, &[])
    }

    fn with(place: &Place, flags: &[&str]) -> Served {
        let mut command = place.haft();
        let mut child = command
            .args(["mcp", "--http", "127.0.0.1:0"])
            .args(flags)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines
            .find_map(|line| line.ok().filter(|line| line.contains("http://")))
            .expect("an address");
        let (_, rest) = line.split_once("http://").unwrap();
        let (address, _) = rest.split_once("/mcp").unwrap();
        let address = address.to_owned();
        // Whatever else it says has to go somewhere.
        std::thread::spawn(move || lines.for_each(drop));
        let token = fs::read_to_string(place.home.join("mcp-token")).unwrap();
        Served {
            child,
            address,
            token: token.trim().to_owned(),
        }
    }

    /// The status that a request gets that addresses the server by this name.
    fn status_for(&self, host: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "GET /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\n\r\n",
            self.token
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap().to_owned()
    }

    /// Send a message, and leave the answer to be read.
    fn post(&self, revision: &str, session: Option<&str>, message: &Value) -> TcpStream {
        let body = message.to_string();
        let mut head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: {revision}\r\nContent-Length: {}\r\n",
            self.address,
            self.token,
            body.len()
        );
        if revision == NEW {
            let method = message["method"].as_str().unwrap();
            head.push_str(&format!("Mcp-Method: {method}\r\n"));
            if let Some(name) = message["params"]["name"].as_str() {
                head.push_str(&format!("Mcp-Name: {name}\r\n"));
            }
        }
        if let Some(session) = session {
            head.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
        }
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "{head}\r\n{body}").unwrap();
        stream
    }

    /// Send a message and read its answer, which is JSON.
    fn answer(&self, revision: &str, session: Option<&str>, message: &Value) -> Value {
        let mut stream = self.post(revision, session, message);
        let mut answer = String::new();
        let mut piece = [0; 4096];
        loop {
            let read = stream.read(&mut piece).unwrap();
            assert!(read > 0, "{answer}");
            answer.push_str(&String::from_utf8_lossy(&piece[..read]));
            let body = answer.split_once("\r\n\r\n").map(|(_, body)| body);
            if let Some(body) = body.and_then(|body| serde_json::from_str(body).ok()) {
                return body;
            }
        }
    }

    /// The session that a client of before 2026-07-28 opens.
    fn session(&self) -> String {
        let params = json!({"protocolVersion": OLD, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let open = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let stream = self.post(OLD, None, &open);
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let mut id = None;
        for line in lines.by_ref().take_while(|line| !line.is_empty()) {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("mcp-session-id: ") {
                id = Some(value.to_owned());
            }
        }
        id.expect("a session")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn params(revision: &str, tool: &str, arguments: &Value) -> Value {
    let mut params = json!({"name": tool, "arguments": arguments});
    if revision == NEW {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": NEW,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        });
    }
    params
}

#[test]
fn a_client_that_goes_away_takes_its_command_along() {
    let place = Place::with_config(
        "isolation: {level: shared}\ntools: {autonomy: autonomous, rules: {allow: [shell.exec]}}\n",
    );
    let script = "echo $$ > $1.new\nmv $1.new $1\nexec sleep 1000\n";
    place.file("run.sh", script);
    let served = Served::start(&place);
    for (revision, with_session) in [(NEW, false), (OLD, true), (OLD, false)] {
        let session = with_session.then(|| served.session());
        let file = format!("pid-{revision}-{with_session}");
        let params = params(
            revision,
            "shell__exec",
            &json!({"command": format!("sh run.sh {file}")}),
        );
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        let stream = served.post(revision, session.as_deref(), &call);
        let pid = place.workspace.join(&file);
        wait_for("the command has begun", || pid.exists());
        let pid = fs::read_to_string(&pid).unwrap();
        let process = format!("/proc/{}", pid.trim());
        assert!(Path::new(&process).exists(), "{revision}");
        drop(stream);
        wait_for("the command is gone", || !is_running(&process));
    }
}

/// Whether a process is there and not over.
fn is_running(process: &str) -> bool {
    fs::read_to_string(format!("{process}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .starts_with(" Z")
    })
}

#[test]
fn an_answer_over_http_is_as_the_schema_has_it() {
    let place = Place::new();
    let served = Served::start(&place);
    for revision in [NEW, OLD] {
        let session = (revision == OLD).then(|| served.session());
        let params = params(revision, "file__read", &json!({"path": "README.md"}));
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        let body = served.answer(revision, session.as_deref(), &call);
        Checker::of(revision).answers("tools/call", &body);
        assert!(body.to_string().contains("a workspace"), "{body}");
    }
}

/// A client of 2025-11-25 that keeps no session is not known again: its task is found by its id.
#[test]
fn a_task_of_a_client_without_a_session_is_fetched() {
    let place = Place::new();
    let served = Served::start(&place);
    let ask = |method: &str, params: Value| {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let answer = served.answer(OLD, None, &message);
        Checker::of(OLD).answers(method, &answer);
        answer["result"].clone()
    };
    let mut call = params(OLD, "file__read", &json!({"path": "README.md"}));
    call["task"] = json!({});
    let task = ask("tools/call", call)["task"].clone();
    let result = ask("tasks/result", json!({"taskId": task["taskId"]}));
    assert!(result.to_string().contains("a workspace"), "{result}");
    let task = ask("tasks/get", json!({"taskId": task["taskId"]}));
    assert_eq!(task["status"], "completed", "{task}");
    // Who does not know the id does not learn it.
    assert_eq!(ask("tasks/list", json!({})), json!({"tasks": []}));
}

#[test]
fn a_batch_is_answered_together_where_its_revision_has_them() {
    let place = Place::new();
    let served = Served::start(&place);
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/call",
            "params": {"name": "system__info", "arguments": {}}},
        7,
    ]);
    let answers = served.answer("2025-03-26", None, &batch);
    let ids = answers.as_array().expect("a list").iter();
    let ids: Vec<&Value> = ids.map(|answer| &answer["id"]).collect();
    assert_eq!(json!(ids), json!([1, "b", null]), "{answers}");
    assert!(answers[1]["result"]["content"].is_array(), "{answers}");
    let session = served.session();
    for (revision, session) in [(OLD, Some(&*session)), (OLD, None), ("2031-01-01", None)] {
        let told = served.answer(revision, session, &batch);
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains(revision), "{message}");
    }
    let told = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    let mut line = String::new();
    let stream = served.post("2025-03-26", None, &told);
    BufReader::new(stream).read_line(&mut line).unwrap();
    assert!(line.contains(" 202 "), "{line}");
}

#[test]
fn names_that_were_given_are_served_and_no_others() {
    let place = Place::with_config("mcp: {allowed_hosts: [configured.example]}\n");
    let served = Served::with(&place, &["--allow-host", "Given.example"]);
    for host in ["given.example", "configured.example:80", "localhost"] {
        assert_ne!(served.status_for(host), "403", "{host}");
    }
    assert_eq!(served.status_for("other.example"), "403");
}
