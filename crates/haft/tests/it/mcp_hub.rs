//! haft in front of several MCP servers, of which some misbehave.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{Place, processes_with, wait_for};
use crate::wire::{NEW, OLD, Wire, text};

const MOODY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/moody.py");

/// A place with these servers: a name and the words that say how it behaves.
fn place(servers: &[(&str, &[&str])]) -> Place {
    let servers: serde_json::Map<String, Value> = servers
        .iter()
        .map(|(name, words)| {
            let args = [&[MOODY], *words].concat();
            let server = json!({"command": "python3", "args": args});
            ((*name).to_owned(), server)
        })
        .collect();
    Place::with_config(&json!({"mcp": {"servers": servers}}).to_string())
}

fn tools(wire: &mut Wire) -> Vec<String> {
    let list = wire.result("tools/list", json!({}));
    let tools = list["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Files whose names begin so.
fn count(folder: &Path, beginning: &str) -> usize {
    let names = fs::read_dir(folder).unwrap().flatten();
    names
        .filter(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with(&format!("{beginning}-"))
        })
        .count()
}

#[test]
fn a_server_that_never_answers_hides_no_other() {
    let place = place(&[
        ("a", &["mute"]),
        ("b", &["plain"]),
        ("c", &["mute"]),
        ("d", &["plain"]),
    ]);
    let mut wire = Wire::open(&place, OLD, &[]);
    wait_for("the tools of those that answer", || {
        let tools = tools(&mut wire);
        let there = |name: &str| tools.iter().any(|tool| tool == name);
        (there("mcp__b__hello") && there("mcp__d__hello")).then_some(())
    });
}

/// It reaches whoever uses the tools of the server: bounded, and as a stranger's.
#[test]
fn what_a_server_says_of_itself_is_told_as_its_own_words() {
    let place = place(&[("a", &["speaks"])]);
    place
        .run(["mcp", "test", "a"])
        .exits(0)
        .says("in its own words:\n  Tells the weather of Atlantis\\u{202e}.");
    let listed = place.run(["mcp", "list", "--json"]).json();
    let said = listed[0]["health"]["instructions"].as_str().unwrap();
    assert!(said.contains("Atlantis") && said.len() < 5_000, "{said}");
    let is_marked = |told: &str| {
        let begin = told.find("<untrusted_data id=").expect(told);
        let middle = told.find("Atlantis").expect(told);
        let end = told.rfind("</untrusted_data id=").expect(told);
        assert!(begin < middle && middle < end, "{told}");
        assert!(!told.contains("</untrusted_data>"), "{told}");
        assert!(told.len() < 7_000, "{}", told.len());
    };
    let mut wire = Wire::open(&place, NEW, &["--discovery"]);
    let found = wire.result("server/discover", json!({}));
    is_marked(found["instructions"].as_str().unwrap());
    for (tool, args) in [
        ("get_tool", json!({"name": "mcp.a.hello"})),
        ("browse_category", json!({"category": "mcp.a"})),
        ("list_categories", json!({})),
    ] {
        let call = json!({"name": tool, "arguments": args});
        is_marked(&text(&wire.result("tools/call", call)));
    }
    let search = json!({"query": "what is the weather of Atlantis?", "max_results": 1});
    let call = json!({"name": "search_tools", "arguments": search});
    let found = text(&wire.result("tools/call", call));
    assert!(found.contains("mcp.a.hello"), "{found}");
}

#[test]
fn nothing_that_a_server_describes_repaints_a_terminal() {
    let place = place(&[("a", &["hides"])]);
    place.run(["mcp", "test", "a"]).exits(0);
    let show = ["tools", "show", "mcp.a.hello"];
    for words in [
        &["tools"][..],
        &show,
        &["tools", "search", "say hello"],
        &["tools", "categories"],
        &["mcp", "list"],
    ] {
        let ran = place.run(words);
        let said = format!("{}{}", ran.exits(0).out, ran.err);
        let hidden = ['\u{202e}', '\u{1b}', '\u{200b}'];
        assert!(!said.contains(hidden), "{words:?}: {said}");
    }
    place
        .run(show)
        .exits(0)
        .says("│ Say hello\\u{202e}\\u{1b}[2K.\n│ policy  allow")
        .says("name\\u{202e}")
        .says("who\\u{200b} it is");
}

#[test]
fn servers_are_stopped_all_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["meets", folder.path().to_str().unwrap(), "3"];
    let place = place(&[("a", &words), ("b", &words), ("c", &words)]);
    let mut wire = Wire::open(&place, OLD, &[]);
    wait_for("all three", || {
        let tools = tools(&mut wire);
        let there = tools.iter().filter(|tool| tool.starts_with("mcp__"));
        (there.count() == 3).then_some(())
    });
    drop(wire);
    assert_eq!(count(folder.path(), "met"), 3, "each saw the others go");
}

#[test]
fn a_signal_while_servers_are_stopped_ends_haft_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().to_str().unwrap();
    let place = place(&[("a", &["stubborn", marker])]);
    let mut wire = Wire::open(&place, OLD, &[]);
    wait_for("the server", || {
        tools(&mut wire)
            .contains(&"mcp__a__hello".to_owned())
            .then_some(())
    });
    let child = wire.hang_up();
    wait_for("the farewell", || {
        (count(folder.path(), "left") == 1).then_some(())
    });
    let status = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    let status = wait_for("haft to end", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(130), "{status}");
    wait_for("the server to be gone", || {
        processes_with(marker).is_empty().then_some(())
    });
}

#[test]
fn a_server_of_the_project_is_switched_off_beside_its_file() {
    let place = Place::new();
    let file = json!({"mcpServers": {"moody": {"command": "python3", "args": [MOODY, "plain"]}}});
    let path = place.file(".mcp.json", file.to_string());
    place.run(["trust", "--yes"]).exits(0);
    place
        .run(["mcp", "disable", "moody", "nosuchtool"])
        .exits(0)
        .says("nobody has looked at `moody` yet");
    place.run(["mcp", "enable", "moody", "nosuchtool"]).exits(0);
    place.run(["mcp", "test", "moody"]).exits(0);
    place
        .run(["mcp", "disable", "moody", "helo"])
        .exits(1)
        .says("no such tool: `helo`")
        .says("`hello`");
    let has_tool = || {
        let ran = place.run(["tools", "--json"]);
        ran.exits(0).out.contains("mcp.moody.hello")
    };
    assert!(has_tool());
    for words in [&["moody", "hello"][..], &["moody"]] {
        let run = |word: &str| {
            place.run([&["mcp", word], words].concat()).exits(0);
        };
        run("disable");
        assert!(!has_tool(), "{words:?}");
        run("enable");
        assert!(has_tool(), "{words:?}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), file.to_string());
    place
        .run(["mcp", "disable", "nosuchserver"])
        .exits(1)
        .says("no such MCP server");
    // What is off in the file itself is switched on there.
    let off = json!({"mcpServers": {"moody": {"command": "python3", "disabled": true}}});
    place.file(".mcp.json", off.to_string());
    place.run(["trust", "--yes"]).exits(0);
    place
        .run(["mcp", "enable", "moody"])
        .exits(1)
        .says("off in `.mcp.json` itself");
}

#[test]
fn the_list_tells_how_servers_do() {
    let place = Place::new();
    let list = || place.run(["mcp", "list"]);
    let row = |name: &str| {
        let ran = list();
        let row = ran.exits(0).out.lines().find(|line| line.starts_with(name));
        row.unwrap_or_else(|| panic!("{name}: {ran:?}")).to_owned()
    };
    // A file that nobody has trusted is named, with the way to trust it.
    let file = json!({"mcpServers": {"moody": {"command": "python3", "args": [MOODY, "plain"]}}});
    place.file(".mcp.json", file.to_string());
    list().exits(0).says(".mcp.json").says("`haft trust`");
    place.run(["trust", "--yes"]).exits(0);
    assert!(row("moody").contains("not looked at"), "{}", row("moody"));
    place.run(["mcp", "test", "moody"]).exits(0);
    assert!(row("moody").contains("ready"), "{}", row("moody"));
    let health = || list_json(&place)[0]["health"].clone();
    assert_eq!(health()["tools"], 1);
    place.run(["mcp", "disable", "moody", "hello"]).exits(0);
    assert_eq!(
        (&health()["tools"], &health()["tokens"]),
        (&json!(0), &json!(0))
    );
    place.run(["mcp", "enable", "moody", "hello"]).exits(0);
    // It no longer starts, and the call that finds out is remembered.
    let script = place.file("moody.py", fs::read_to_string(MOODY).unwrap());
    let servers = |temper: &[&str]| {
        let args = [&[script.to_str().unwrap()], temper].concat();
        let moody = json!({"command": "python3", "args": args, "env": {"SAID": "too late"}});
        let far =
            json!({"url": "https://127.0.0.1:1/mcp", "headers": {"A": "${NOT_SET_ANYWHERE}"}});
        let servers = json!({"mcp": {"servers": {"moody": moody, "far": far}}});
        place.config(&servers.to_string());
    };
    servers(&["dies", "SAID"]);
    place.run(["mcp", "test", "moody"]).exits(1);
    assert!(row("moody").contains("failed"), "{}", row("moody"));
    list()
        .says("MCP server `moody` is not there")
        .says("too late")
        .says("`far` is left out: `NOT_SET_ANYWHERE` is not set");
    let failure = list_json(&place)[1]["health"]["failure"].clone();
    assert!(failure["at"].as_u64().unwrap() > 1_700_000_000, "{failure}");
    // As soon as it works again nothing is left of it.
    servers(&["plain"]);
    place.run(["mcp", "test", "moody"]).exits(0);
    assert!(row("moody").contains("ready"), "{}", row("moody"));
}

#[test]
fn why_a_server_failed_is_forgotten_once_it_works() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("there");
    let place = place(&[("a", &["shy", file.to_str().unwrap()])]);
    place.run(["mcp", "test", "a"]).exits(1);
    let failure = || list_json(&place)[0]["health"]["failure"].clone();
    assert!(failure().is_object(), "{}", failure());
    fs::write(&file, "").unwrap();
    place.run(["mcp", "test", "a"]).exits(0);
    assert_eq!(failure(), Value::Null);
}

fn list_json(place: &Place) -> Value {
    place.run(["mcp", "list", "--json"]).exits(0).json()
}

/// The command in a refusal, as a shell would run it.
fn command_in(refusal: &str) -> Vec<String> {
    let (_, rest) = refusal
        .split_once("`haft policy allow '")
        .unwrap_or_else(|| panic!("{refusal}"));
    let (rule, _) = rest.split_once("'`").unwrap();
    ["policy", "allow", rule].map(str::to_owned).to_vec()
}

/// What another process cannot do in the place of this one is not proposed to it.
#[test]
fn a_refusal_names_no_command_that_cannot_help() {
    let place = Place::new();
    let mut wire = Wire::with(&place, OLD, &[], json!({}));
    let line = "python3 -c 'import time; time.sleep(1000)'";
    for (tool, arguments, proposed) in [
        ("process__start", json!({"command": line}), false),
        (
            "shell__exec",
            json!({"command": line, "background": true}),
            false,
        ),
        ("shell__exec", json!({"command": line}), true),
    ] {
        let told = text(&wire.tool(tool, arguments));
        assert!(told.contains("nobody answered"), "{told}");
        assert!(!told.contains("haft policy allow"), "{told}");
        assert_eq!(told.contains("haft call"), proposed, "{told}");
        assert_eq!(told.contains("elicitation"), !proposed, "{told}");
    }
}

#[test]
fn the_command_that_a_refusal_names_allows_the_call() {
    let place = place(&[("a", &["plain"])]);
    place.run(["mcp", "test", "a"]).exits(0);
    for (tool, arguments) in [
        ("mcp__a__hello", json!({})),
        ("shell__exec", json!({"command": "touch made-by-a-client"})),
    ] {
        let mut wire = Wire::with(&place, OLD, &[], json!({}));
        let refused = wire.tool(tool, arguments.clone());
        assert_eq!(refused["isError"], true, "{tool}: {refused}");
        let command = command_in(&text(&refused));
        place.run(command).exits(0);
        let done = wire.tool(tool, arguments);
        assert_ne!(done["isError"], true, "{tool}: {done}");
    }
}

#[test]
fn a_form_offers_to_allow_a_tool_of_a_server_for_good() {
    let place = place(&[("a", &["plain"])]);
    place.run(["mcp", "test", "a"]).exits(0);
    let mut wire = Wire::open(&place, OLD, &[]);
    wire.answer = json!({"action": "accept", "content": {"decision": "always"}});
    for _ in 0..2 {
        let done = wire.tool("mcp__a__hello", json!({}));
        assert_ne!(done["isError"], true, "{done}");
    }
    let asked = wire.heard.iter();
    let asked = asked.filter(|message| message["method"] == "elicitation/create");
    assert_eq!(asked.count(), 1, "{:?}", wire.heard);
}

#[test]
fn progress_of_a_server_comes_through_with_its_numbers() {
    let place = place(&[("a", &["counts"])]);
    place.run(["mcp", "test", "a"]).exits(0);
    let mut wire = Wire::open(&place, OLD, &[]);
    wire.answer = json!({"action": "accept", "content": {"decision": "once"}});
    let call = json!({"name": "mcp__a__hello", "arguments": {}, "_meta": {"progressToken": "p"}});
    wire.result("tools/call", call);
    let heard = wire.heard.iter();
    let told: Vec<_> = heard
        .filter(|message| message["method"] == "notifications/progress")
        .map(|message| message["params"].clone())
        .collect();
    assert_eq!(
        told,
        [
            json!({"progressToken": "p", "progress": 1, "total": 4, "message": "one"}),
            json!({"progressToken": "p", "progress": 2.5, "total": 4, "message": "two"}),
        ]
    );
}

#[test]
fn tools_are_chosen_by_every_form_of_their_names() {
    let place = place(&[("a", &["plain"]), ("b", &["plain"])]);
    for server in ["a", "b"] {
        place.run(["mcp", "test", server]).exits(0);
    }
    for pattern in [
        "mcp.a.*",
        "mcp__a__*",
        "mcp:a:*",
        "mcp:a:hello",
        "mcp.a.hello",
    ] {
        let mut wire = Wire::open(&place, OLD, &["--tools", pattern]);
        assert_eq!(tools(&mut wire), ["mcp__a__hello"], "{pattern}");
    }
    let mut wire = Wire::open(&place, OLD, &["--tools", "group:fs"]);
    let some = tools(&mut wire);
    assert!(some.contains(&"file__read".to_owned()), "{some:?}");
    assert!(!some.contains(&"shell__exec".to_owned()), "{some:?}");
    // What fits nothing is told.
    let ran = place.run(["mcp", "--tools", "file.raed,mcp.c.*,file.read"]);
    ran.exits(0)
        .says("`file.raed` names no tool; did you mean `file.read`?")
        .says("`mcp.c.*` names no tool");
    assert!(!ran.err.contains("`file.read` names no tool"), "{ran:?}");
}

/// What a client pays in every conversation: four characters make about one token.
#[test]
fn discovery_costs_less_than_a_thousand_tokens() {
    let place = Place::new();
    let mut wire = Wire::open(&place, OLD, &["--discovery"]);
    let tools = wire.result("tools/list", json!({}))["tools"].clone();
    let size = tools.to_string().len();
    assert!(size < 4_000, "{size}: {tools}");
    // Whatever was left out, a call is held to all of it.
    let wrong = wire.tool("search_tools", json!({"query": "", "max_results": 99}));
    assert_eq!(wrong["isError"], true, "{wrong}");
}

#[test]
fn what_could_never_work_is_not_added() {
    let place = Place::new();
    for (words, said) in [
        (&["ftp://a.example/mcp"][..], "not by `ftp://`"),
        (&["http://user:word@127.0.0.1:1/mcp"], "cannot be used"),
        (&["--header", "Host: x", "http://127.0.0.1:1/mcp"], "`host`"),
    ] {
        let (url, flags) = words.split_last().unwrap();
        let line = [&["mcp", "add", "--yes"], flags, &["bad", url]].concat();
        place.run(line).exits(2).says(said);
    }
    assert_eq!(list_json(&place), json!([]));
}
