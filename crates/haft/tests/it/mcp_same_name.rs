//! Two projects whose servers have one name: what is known of the one is not known of the other.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::place::Place;

/// A server with one tool, which says where it is from.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    results = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "s", "version": "1"}},
        "tools/list": {"tools": [{"name": "work", "description": FROM,
                                  "inputSchema": {"type": "object"}}]},
    }
    if "id" in request:
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] in results:
            answer["result"] = results[request["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "no"}
        print(json.dumps(answer), flush=True)
"#;

fn project(folder: &Path, from: &str) {
    fs::create_dir_all(folder).unwrap();
    let server = format!("FROM = 'This is {from}'\n{SERVER}");
    fs::write(folder.join("server.py"), server).unwrap();
    // The same words in both: only the folder tells them apart.
    let file = json!({"mcpServers": {"github": {"command": "python3", "args": ["server.py"]}}});
    fs::write(folder.join(".mcp.json"), file.to_string()).unwrap();
}

fn described(place: &Place, folder: &Path) -> Option<String> {
    let ran = place.run(["tools", "--json", "--workspace", folder.to_str().unwrap()]);
    let tools: Value = ran.json();
    let mut tools = tools.as_array().unwrap().iter();
    let work = tools.find(|tool| tool["name"] == "mcp.github.work")?;
    Some(work["description"].as_str().unwrap().to_owned())
}

#[test]
fn what_is_known_of_a_server_is_not_known_of_its_namesake() {
    let place = Place::new();
    let (one, other) = (place.beside("one"), place.beside("other"));
    for (folder, from) in [(&one, "one"), (&other, "other")] {
        project(folder, from);
        let there = ["--workspace", folder.to_str().unwrap()];
        place
            .run([&["trust", "--yes"][..], &there].concat())
            .exits(0);
        assert_eq!(described(&place, folder), None);
        let test = [&["mcp", "test", "github"][..], &there].concat();
        place.run(test).exits(0);
    }
    assert_eq!(described(&place, &one).as_deref(), Some("This is one"));
    assert_eq!(described(&place, &other).as_deref(), Some("This is other"));
}
