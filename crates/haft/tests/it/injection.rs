//! `haft tools inject` and the config keys behind it.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::place::{Place, verdict};

fn inject(place: &Place, window: &str) -> Value {
    let ran = place.run(["tools", "inject", "--context-window", window, "--json"]);
    ran.exits(0);
    ran.json()
}

#[test]
fn the_decision_and_its_numbers_are_shown() {
    let place = Place::new();
    let small = inject(&place, "8000");
    let mut keys: Vec<&String> = small.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(
        keys,
        ["budget", "compact_tokens", "mode", "tool_tokens", "tools"]
    );
    assert_eq!(small["budget"], 1_600);
    assert_eq!(
        small["compact_tokens"],
        small["tools"].as_u64().unwrap() * 30
    );
    assert_eq!(small["mode"], "compact_direct", "{small}");
    assert_eq!(inject(&place, "1000000")["mode"], "direct");
    assert_eq!(inject(&place, "0")["mode"], "discovery");
    place
        .run(["tools", "inject"])
        .exits(0)
        .says("compact_direct")
        .says("for a context of 8000 tokens");
    let told = place.run(["tools", "inject", "--context-window", "9000"]);
    assert!(
        !told.exits(0).out.contains("for a context of"),
        "{}",
        told.out
    );
    place
        .run(["tools", "inject", "--context-window", "many"])
        .exits(2);
}

#[test]
fn config_forces_the_mode_and_keeps_modules_direct() {
    let place = Place::with_config(
        "runtime: {tool_injection: discovery, direct_modules: [filesystem, nothing]}",
    );
    assert_eq!(inject(&place, "1000000")["mode"], "discovery");
    let ran = place.run(["tools", "inject", "--definitions", "openai"]);
    ran.says("no tools in the module `nothing`");
    let names: Vec<String> = ran
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.contains(&"file__read".to_owned()), "{names:?}");
    assert!(!names.contains(&"git__status".to_owned()), "{names:?}");
    let wrong = place.call("git.diff", &json!({"nonsense": 1}), &[]);
    assert_eq!(verdict(&wrong), "input_invalid");
    let hint = wrong["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("schema of `git.diff`: {"), "{hint}");
    let bad = Place::with_config("runtime: {tool_injection: everything}");
    bad.run(["tools"]).exits(1).says("compact_direct");
}

#[test]
fn a_project_file_that_nobody_trusts_does_not_choose() {
    let place = Place::new();
    place.file(
        "haft.yaml",
        "runtime: {tool_injection: discovery, direct_modules: [git]}",
    );
    assert_eq!(inject(&place, "1000000")["mode"], "direct");
    place
        .run(["tools", "inject"])
        .says("`runtime.tool_injection` in")
        .says("`runtime.direct_modules` in");
}

/// Who has set memory up wants it used, however few tools are shown.
#[test]
fn memory_that_is_set_up_is_shown_in_every_mode() {
    let names = |config: &str| -> Vec<String> {
        let place = Place::with_config(config);
        let ran = place.run(["tools", "inject", "--definitions", "openai"]);
        let tools = ran.json();
        let tools = tools.as_array().unwrap().iter();
        tools
            .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let search = "memory__search".to_owned();
    let discovery = "runtime: {tool_injection: discovery}";
    assert!(!names(discovery).contains(&search));
    let with = format!("{discovery}\ntools: {{modules: {{memory: {{}}}}}}");
    assert!(names(&with).contains(&search));
}

#[test]
fn the_context_window_is_told_by_agent_provider_or_for_all() {
    let place = Place::with_config(
        "runtime: {context_window: 40000}\n\
         agents: {small: {brain: {context_window: 10000}}, other: {autonomy: standard}}\n\
         providers: {far: {context_window: 20000}}",
    );
    let check = |flags: &[&str], want: u64| {
        let ran = place.run([&["tools", "inject", "--json"], flags].concat());
        assert_eq!(ran.json()["budget"], want, "{flags:?}");
    };
    check(&[], 8_000);
    check(&["--agent", "small"], 2_000);
    check(&["--agent", "small", "--provider", "far"], 2_000);
    check(&["--agent", "other", "--provider", "far"], 4_000);
    check(&["--agent", "nobody", "--provider", "none"], 8_000);
    check(&["--agent", "small", "--context-window", "100"], 20);
    let early = Place::with_config("agents: {a: {brain: {native_tool_use: true}}}");
    early
        .run(["tools"])
        .exits(1)
        .says("agents.a.brain.native_tool_use");
    let stranger = Place::new();
    stranger.file("haft.yaml", "runtime: {context_window: 10}");
    let ran = stranger.run(["tools", "inject", "--json"]);
    assert_eq!(
        ran.says("`runtime.context_window` in").json()["budget"],
        1_600
    );
}

#[test]
fn a_client_of_haft_mcp_is_shown_what_fits() {
    let asked = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ];
    let asked: String = asked.iter().map(|line| format!("{line}\n")).collect();
    let listed = |config: &str, flags: &[&str]| {
        let place = Place::with_config(config);
        let words = [&["mcp"], flags].concat();
        let ran = place.run_with_input(&words, asked.as_bytes());
        let answers = ran
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let list = answers
            .into_iter()
            .find(|answer: &Value| answer["id"] == 2)
            .unwrap();
        let tools = list["result"]["tools"].as_array().unwrap().clone();
        let names = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<String>>()
    };
    let has = |names: &[String], name: &str| names.iter().any(|other| other == name);
    let everything = listed("", &[]);
    assert!(has(&everything, "file__read") && !has(&everything, "search_tools"));
    for (config, flags) in [
        ("runtime: {tool_injection: discovery}", &[][..]),
        ("runtime: {context_window: 1000}", &[]),
        ("", &["--context-window", "1000"]),
        ("", &["--discovery"]),
    ] {
        let few = listed(config, flags);
        assert!(
            has(&few, "search_tools") && !has(&few, "file__read"),
            "{config} {flags:?}"
        );
    }
    let agent = "agents: {a: {brain: {context_window: 1000}}}\nruntime: {direct_modules: [git]}";
    let few = listed(agent, &["--agent", "a"]);
    assert!(has(&few, "search_tools") && has(&few, "git__status") && !has(&few, "file__read"));
    assert!(has(&listed(agent, &[]), "file__read"));
    let mut all = listed("", &["--discovery"]);
    all.sort();
    assert_eq!(listed_by_the_cli("discovery"), all);
    assert_eq!(listed_by_the_cli("direct").len(), everything.len());
    // A server that nobody has looked at may have any tools.
    let unseen = "mcp: {servers: {far: {command: no-such-server}}}";
    let open_ended = listed(unseen, &[]);
    assert!(has(&open_ended, "search_tools") && has(&open_ended, "file__read"));
    let mut chosen = listed("", &["--discovery", "--tools", "file.read"]);
    chosen.sort();
    assert_eq!(chosen, all, "what finds tools is there whatever was chosen");
}

#[test]
fn a_choice_that_fits_no_tool_is_told() {
    let place = Place::new();
    let complaints = |tools: &str| place.run_with_input(&["mcp", "--tools", tools], b"").err;
    let told = complaints("fiel.read, git.*,gti.*,zzzzzzzz");
    for line in [
        "`fiel.read` names no tool; did you mean `file.read`?",
        "`gti.*` names no tool; did you mean `git.*`?",
        "`zzzzzzzz` names no tool",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert!(!told.contains("`git.*` names"), "{told}");
    assert_eq!(complaints("file.*,Bash,filesystem.read"), "");
    place.config("mcp: {servers: {far: {command: no-such-server}}}");
    let open_ended = complaints("mcp.far.*,fiel.read");
    assert!(open_ended.contains("`fiel.read` names"), "{open_ended}");
    assert!(!open_ended.contains("`mcp.far.*` names"), "{open_ended}");
}

/// The names that `haft tools inject` says a model is shown.
fn listed_by_the_cli(mode: &str) -> Vec<String> {
    let place = Place::with_config(&format!("runtime: {{tool_injection: {mode}}}"));
    let ran = place.run(["tools", "inject", "--definitions", "mcp"]);
    let definitions = ran.json();
    let definitions = definitions.as_array().unwrap();
    // The schema of a built-in tool that does not compile would stand here as null.
    for one in definitions {
        assert!(one["inputSchema"].is_object(), "{one}");
    }
    let definitions = definitions.iter();
    let mut names: Vec<String> = definitions
        .map(|one| one["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_client_hears_that_what_it_found_is_in_its_list() {
    let call = |id: u32, query: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "search_tools", "arguments": {"query": query},
        }})
    };
    let asked = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        call(2, "read a file"),
        call(3, "read a file"),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list"}),
    ];
    let asked: String = asked.iter().map(|line| format!("{line}\n")).collect();
    for (flags, news) in [(&["mcp", "--discovery"][..], 1), (&["mcp"], 0)] {
        let place = Place::new();
        let mut haft = place.haft();
        haft.args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut haft = haft.spawn().unwrap();
        let mut writer = haft.stdin.take().unwrap();
        writer.write_all(asked.as_bytes()).unwrap();
        let mut told = String::new();
        // Answers to all three, and what is told besides.
        let mut lines = BufReader::new(haft.stdout.take().unwrap()).lines();
        let changed = |told: &str| told.matches("notifications/tools/list_changed").count();
        while told.matches("\"id\":").count() < 4 || changed(&told) < news {
            told.push_str(&lines.next().unwrap().unwrap());
        }
        drop(writer);
        told.extend(lines.map(Result::unwrap));
        assert_eq!(changed(&told), news, "{flags:?}: {told}");
        assert!(told.contains("file__read"), "{told}");
        assert!(haft.wait().unwrap().success());
    }
}
