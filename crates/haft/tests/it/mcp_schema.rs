//! Every message that haft sends as a client of other servers is as the official schemas have it.

use std::fs;

use haft_testkit::mcp::Checker;
use serde_json::{Value, json};

use crate::place::{HAFT, Place, verdict};
use crate::wire::{NEW, OLD};

const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/library.py");
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Hold what a server has heard against the schema of the revision that each message is of.
fn check(heard: &str) -> Vec<String> {
    let mut methods = Vec::new();
    for line in heard.lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        let method = message["method"]
            .as_str()
            .expect("a request or notification");
        let revision = match message["params"]["_meta"][VERSION].as_str() {
            Some(NEW) => NEW,
            Some(other) => panic!("{other}"),
            None => OLD,
        };
        Checker::of(revision).client_says(&message);
        methods.push(method.to_owned());
    }
    methods
}

#[test]
fn what_an_older_server_hears() {
    let place = Place::new();
    let heard = place.beside("heard");
    place.config(&format!(
        "mcp: {{servers: {{lib: {{command: python3, args: [{LIBRARY}, {}]}}}}}}\n",
        heard.display()
    ));
    place.run(["mcp", "test", "lib"]).exits(0);
    for (tool, args) in [
        ("counts", json!({})),
        ("read_resource", json!({"uri": "book://one"})),
        (
            "get_prompt",
            json!({"name": "review", "arguments": {"style": "x"}}),
        ),
    ] {
        let outcome = place.call(&format!("mcp.lib.{tool}"), &args, &["--yes"]);
        assert_eq!(verdict(&outcome), "ok", "{outcome}");
    }
    let methods = check(&fs::read_to_string(&heard).unwrap());
    for method in [
        "initialize",
        "notifications/initialized",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "tools/call",
        "resources/read",
        "prompts/get",
    ] {
        assert!(methods.iter().any(|heard| heard == method), "{method}");
    }
}

#[test]
fn what_a_server_of_today_hears() {
    let (place, server) = (Place::new(), Place::new());
    let heard = place.beside("heard");
    let line = format!("tee -a {} | {HAFT} mcp", heard.display());
    place.config(
        &json!({"mcp": {"servers": {"me": {
            "command": "sh",
            "args": ["-c", line],
            "cwd": server.workspace,
            "env": {"HAFT_HOME": server.home},
        }}}})
        .to_string(),
    );
    place.run(["mcp", "test", "me"]).exits(0);
    let uri = format!("file://{}/README.md", server.workspace.display());
    for (tool, args) in [
        ("file__read", json!({"path": "README.md"})),
        ("read_resource", json!({"uri": uri})),
    ] {
        let outcome = place.call(&format!("mcp.me.{tool}"), &args, &["--yes"]);
        assert_eq!(verdict(&outcome), "ok", "{outcome}");
    }
    let heard = fs::read_to_string(&heard).unwrap();
    let methods = check(&heard);
    for method in [
        "server/discover",
        "tools/list",
        "tools/call",
        "resources/read",
    ] {
        assert!(
            methods.iter().any(|heard| heard == method),
            "{method}\n{heard}"
        );
    }
    assert!(
        !methods.iter().any(|heard| heard == "initialize"),
        "{heard}"
    );
}
