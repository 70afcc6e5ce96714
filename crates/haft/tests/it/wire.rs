//! `haft mcp` on its standard streams, spoken to line by line. Every message it sends is held
//! against the official schema of its revision.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use haft_testkit::mcp::Checker;
use serde_json::{Value, json};

use crate::place::Place;

pub(crate) const OLD: &str = "2025-11-25";
pub(crate) const NEW: &str = "2026-07-28";

pub(crate) struct Wire {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    next: u64,
    revision: &'static str,
    capabilities: Value,
    checker: Checker,
    /// What the person says to forms
    pub(crate) answer: Value,
    /// What came beside the answers
    pub(crate) heard: Vec<Value>,
}

impl Wire {
    pub(crate) fn open(place: &Place, revision: &'static str, args: &[&str]) -> Wire {
        Wire::with(place, revision, args, json!({"elicitation": {}}))
    }

    /// As a client that can do these things.
    pub(crate) fn with(
        place: &Place,
        revision: &'static str,
        args: &[&str],
        capabilities: Value,
    ) -> Wire {
        let mut command = place.haft();
        let mut child = command
            .arg("mcp")
            .args(args)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut wire = Wire {
            stdin: child.stdin.take(),
            child,
            lines,
            next: 0,
            revision,
            capabilities,
            checker: Checker::of(revision),
            answer: json!({"action": "decline"}),
            heard: Vec::new(),
        };
        if revision != NEW {
            let params = json!({
                "protocolVersion": revision,
                "capabilities": wire.capabilities,
                "clientInfo": {"name": "wire", "version": "1"},
            });
            wire.request("initialize", params);
            wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        wire
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
    }

    /// Say nothing more. The process is given to look at.
    pub(crate) fn hang_up(&mut self) -> &mut Child {
        drop(self.stdin.take());
        &mut self.child
    }

    pub(crate) fn next(&mut self) -> Value {
        let line = self.lines.next().expect("an answer").unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The answer to a request: `result` or `error`. Forms that come meanwhile are answered.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> Value {
        if self.revision == NEW {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": NEW,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
                "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
            });
        }
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.next();
            if message.get("method").is_some() {
                self.checker.server_says(&message);
                if message["method"] == "elicitation/create" {
                    let answer =
                        json!({"jsonrpc": "2.0", "id": message["id"], "result": self.answer});
                    self.send(&answer);
                }
                self.heard.push(message);
                continue;
            }
            assert_eq!(message["id"], id, "{message}");
            self.checker.answers(method, &message);
            if message["result"]["resultType"] == "input_required" {
                let mut again = params.clone();
                again["requestState"] = message["result"]["requestState"].clone();
                let wanted = message["result"]["inputRequests"].as_object().unwrap();
                for key in wanted.keys() {
                    again["inputResponses"][key] = self.answer.clone();
                }
                self.heard.push(message);
                return self.request(method, again);
            }
            return message;
        }
    }

    /// The result of a request that must succeed.
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    pub(crate) fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": name, "arguments": arguments}))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// The text blocks of a result.
pub(crate) fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().expect("content");
    let texts: Vec<&str> = blocks.iter().filter_map(|b| b["text"].as_str()).collect();
    texts.join("\n")
}
