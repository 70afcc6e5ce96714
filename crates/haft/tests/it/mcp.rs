//! `haft mcp` as real clients meet it: the official SDKs and the inspector, unmodified.

use std::process::Command;

use serde_json::{Value, json};

use crate::place::{HAFT, Place, text, verdict};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers");

/// Run a client that prints JSON.
fn told(place: &Place, mut client: Command) -> Value {
    place.settle(&mut client);
    let output = client.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.trim()).unwrap_or_else(|error| {
        let complaints = String::from_utf8_lossy(&output.stderr);
        panic!("{error}: {text}\n{complaints}")
    })
}

/// A client of the TypeScript SDK that answers the form in one way.
fn approved(action: &str, decision: &str) -> (Place, Value) {
    let peers = haft_testkit::npm(env!("CARGO_TARGET_TMPDIR"));
    let place = Place::with_config("isolation: {level: shared}\n");
    // Modules are looked for beside the script.
    let script = peers.join("approve.mjs");
    std::fs::copy(format!("{SCRIPTS}/approve.mjs"), &script).unwrap();
    let mut client = Command::new(peers.join("node_modules/.bin/node"));
    client.arg(script).args([action, decision, HAFT, "mcp"]);
    let told = told(&place, client);
    (place, told)
}

#[test]
fn the_typescript_sdk_lists_calls_and_approves() {
    let (place, told) = approved("accept", "once");
    assert!(
        told["tools"]
            .as_array()
            .unwrap()
            .contains(&"file__read".into())
    );
    assert_eq!(told["asked"].as_array().unwrap().len(), 1);
    assert!(place.workspace.join("made-by-mcp").exists(), "{told}");
    for (action, decision) in [
        ("accept", "no"),
        ("decline", ""),
        ("cancel", ""),
        ("none", ""),
    ] {
        let (place, told) = approved(action, decision);
        assert_eq!(told["result"]["isError"], true, "{action} {told}");
        assert!(!place.workspace.join("made-by-mcp").exists(), "{action}");
        let read = told["read"]["content"][0]["text"].as_str().unwrap();
        assert!(read.contains("a workspace"), "{action} {told}");
    }
}

#[test]
fn the_python_sdk_lists_and_calls() {
    let peers = haft_testkit::python(env!("CARGO_TARGET_TMPDIR"));
    let place = Place::new();
    let mut client = Command::new(peers.join("bin/python"));
    client
        .arg(format!("{SCRIPTS}/client.py"))
        .args([HAFT, "mcp"]);
    let told = told(&place, client);
    assert!(
        told["tools"]
            .as_array()
            .unwrap()
            .contains(&"file__read".into())
    );
    assert!(told["text"].as_str().unwrap().contains("a workspace"));
}

#[test]
fn the_inspector_lists() {
    let peers = haft_testkit::npm(env!("CARGO_TARGET_TMPDIR"));
    let bin = peers.join("node_modules/.bin");
    let place = Place::new();
    let mut client = Command::new(bin.join("node"));
    client.arg(bin.join("mcp-inspector")).args([
        "--cli",
        HAFT,
        "mcp",
        "--tools",
        "file.*",
        "--method",
        "tools/list",
    ]);
    let told = told(&place, client);
    let tools = told["tools"].as_array().unwrap();
    assert!(!tools.is_empty());
    for tool in tools {
        assert!(
            tool["name"].as_str().unwrap().starts_with("file__"),
            "{tool}"
        );
    }
}

/// A server from npm behind haft: added, listed, called, removed.
#[test]
fn a_server_of_others_is_added_called_and_removed() {
    let peers = haft_testkit::npm(env!("CARGO_TARGET_TMPDIR"));
    let node = peers.join("node_modules/.bin/node");
    let index = peers.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let place = Place::new();
    let run = |args: &[&str]| {
        let output = place.haft().args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), text, complaints)
    };
    let (node, index) = (node.to_str().unwrap(), index.to_str().unwrap());
    // Nobody is there to agree, so it is not added.
    let (ok, _, complaints) = run(&["mcp", "add", "every", "--", node, index]);
    assert!(!ok && complaints.contains("--yes"), "{complaints}");
    let (ok, text, complaints) = run(&["mcp", "add", "every", "--yes", "--", node, index]);
    assert!(ok && text.contains("tools"), "{text} {complaints}");
    let call = ["call", "mcp.every.echo", r#"{"message": "hi"}"#];
    let (ok, _, complaints) = run(&call);
    assert!(!ok && complaints.contains("needs approval"), "{complaints}");
    let (ok, text, complaints) = run(&[&call[..], &["--yes"]].concat());
    assert!(ok && text.contains("Echo: hi"), "{text} {complaints}");
    let (ok, text, _) = run(&["mcp", "list"]);
    assert!(ok && text.contains("ready"), "{text}");
    let (ok, ..) = run(&["mcp", "remove", "every"]);
    assert!(ok);
    let (ok, ..) = run(&[&call[..], &["--yes"]].concat());
    assert!(!ok);
}

#[test]
fn answers_of_a_server_are_held_to_its_schemas() {
    const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/library.py");
    let place = Place::with_config(&format!(
        "mcp: {{servers: {{lib: {{command: python3, args: [{LIBRARY}]}}}}}}\n"
    ));
    // One bad schema keeps one tool out.
    place
        .run(["mcp", "test", "lib"])
        .exits(0)
        .says("left out: mcp.lib.nonsense: output schema does not compile");
    let call = |tool: &str| place.call(&format!("mcp.lib.{tool}"), &json!({}), &["--yes"]);
    let good = call("counts");
    assert_eq!(good["structured"], json!({"count": 3}), "{good}");
    for (tool, problem) in [
        ("miscounts", "`/count` does not fit"),
        ("says_nothing", "no structured content"),
    ] {
        let bad = call(tool);
        assert_eq!(verdict(&bad), "execution_failed", "{bad}");
        let message = bad["error"]["message"].as_str().unwrap();
        assert!(message.contains(problem), "{bad}");
        assert!(bad["structured"].is_null(), "{bad}");
        assert!(text(&bad).contains("counted"), "{bad}");
    }
    // A failure need not keep the promise.
    let failed = call("fails");
    let message = failed["error"]["message"].as_str().unwrap();
    assert_eq!(
        message, "the MCP server `lib` says that the call failed",
        "{failed}"
    );
    assert!(text(&failed).contains("no luck"), "{failed}");
}

/// Servers of others behind one haft: what each is asked for, and what has to come back.
#[test]
fn servers_from_npm_and_pypi_are_used() {
    let npm = haft_testkit::npm(env!("CARGO_TARGET_TMPDIR"));
    let python = haft_testkit::python(env!("CARGO_TARGET_TMPDIR"));
    let place = Place::new();
    let node = npm.join("node_modules/.bin/node");
    let script = |name: &str| {
        let package = format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
        npm.join(package).display().to_string()
    };
    let workspace = place.workspace.display().to_string();
    let memory = place.workspace.join("memory.jsonl");
    place.config(
        &json!({"mcp": {"servers": {
            "every": {"command": node, "args": [script("everything")]},
            "files": {"command": node, "args": [script("filesystem"), workspace]},
            "memory": {"command": node, "args": [script("memory")],
                "env": {"MEMORY_FILE_PATH": memory}},
            "py": {"command": python.join("bin/python"), "args": [format!("{SCRIPTS}/server.py")]},
        }}})
        .to_string(),
    );
    for server in ["every", "files", "memory", "py"] {
        place.run(["mcp", "test", server]).exits(0).says(" tools, ");
    }
    let check = |tool: &str, args: Value, expected: &str| {
        let outcome = place.call(&format!("mcp.{tool}"), &args, &["--yes"]);
        let whole = outcome.to_string();
        assert_eq!(verdict(&outcome), "ok", "{tool}: {whole}");
        assert!(whole.contains(expected), "{tool}: {whole}");
    };
    check(
        "every.get-structured-content",
        json!({"location": "New York"}),
        "temperature",
    );
    check("every.get-tiny-image", json!({}), "image/png");
    check(
        "every.get-resource-links",
        json!({"count": 2}),
        "haft://mcp/every/",
    );
    check("every.read_resource", json!({}), "\"uri\"");
    check(
        "every.get_prompt",
        json!({"name": "simple-prompt"}),
        "user: ",
    );
    check(
        "files.read_text_file",
        json!({"path": "README.md"}),
        "a workspace",
    );
    check("files.list_allowed_directories", json!({}), "work");
    let entity = json!({"name": "haft", "entityType": "tool", "observations": ["holds"]});
    check(
        "memory.create_entities",
        json!({"entities": [entity]}),
        "haft",
    );
    check("memory.read_graph", json!({}), "holds");
    check("py.add", json!({"a": 2, "b": 3}), "{\"result\":5}");
    check(
        "py.read_resource",
        json!({"uri": "note://one"}),
        "written in Python",
    );
    let arguments = json!({"name": "Ada"});
    check(
        "py.get_prompt",
        json!({"name": "greet", "arguments": arguments}),
        "hello to Ada",
    );
}

/// A server that ends at once: what it said is shown, and nobody is sent to where they are.
#[test]
fn a_test_that_fails_does_not_send_to_itself() {
    let place = Place::with_config(
        "mcp: {servers: {gone: {command: sh, args: [-c, 'echo no such library >&2; exit 3']}}}\n",
    );
    let ran = place.run(["mcp", "test", "gone"]);
    ran.exits(1).says("no such library").says("is not there");
    assert!(!ran.err.contains("haft mcp test"), "{}", ran.err);
}
