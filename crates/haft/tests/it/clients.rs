//! haft's entry in the configs of MCP clients.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::place::{HAFT, Place, Ran, finish};

const ALL: [(&str, &str); 5] = [
    ("claude-code", ".claude.json"),
    ("codex", ".codex/config.toml"),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", ".config/Code/User/mcp.json"),
    ("goose", ".config/goose/config.yaml"),
];

fn run(place: &Place, words: &[&str]) -> Ran {
    let mut command = place.haft();
    command
        .env("HOME", place.beside("user"))
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("CLAUDE_CONFIG_DIR")
        .env_remove("CODEX_HOME")
        .arg("mcp")
        .args(words);
    finish(&mut command)
}

#[test]
fn an_entry_is_put_in_and_leaves_nothing_behind() {
    let place = Place::new();
    let user = place.beside("user");
    for (client, file) in ALL {
        let path = user.join(file);
        run(&place, &["install", client, "--yes"])
            .exits(0)
            .says("made");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(HAFT) && text.contains("mcp"), "{text}");
        // The home that this haft has is that of the one which the client starts.
        let home = place.home.to_str().unwrap();
        assert!(text.contains("HAFT_HOME") && text.contains(home), "{text}");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{client}");
        run(&place, &["install", client, "--yes"])
            .exits(0)
            .says("already there");
        run(&place, &["uninstall", client, "--yes"]).exits(0);
        assert!(!path.exists(), "{client}: it was not there before");
        run(&place, &["uninstall", client, "--yes"])
            .exits(0)
            .says("not there");
    }
}

#[test]
fn what_was_there_is_there_again() {
    let place = Place::new();
    let user = place.beside("user");
    for (client, file, text) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}",
        ),
        (
            "claude-code",
            ".claude.json",
            "{\n  \"projects\": {},\n  \"n\": 1.50\n}\n",
        ),
        ("codex", ".codex/config.toml", "# mine\nmodel = 'x' # best"),
        (
            "goose",
            ".config/goose/config.yaml",
            "extensions: # all\n  a: {enabled: true}\n",
        ),
    ] {
        let path = user.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        run(&place, &["install", client, "--yes"])
            .exits(0)
            .says("changed");
        assert!(fs::read_to_string(&path).unwrap().contains(HAFT));
        run(&place, &["uninstall", client, "--yes"]).exits(0);
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{client}");
    }
}

#[test]
fn a_changed_file_keeps_its_changes() {
    let place = Place::new();
    let path = place.beside("user").join(".codex/config.toml");
    run(&place, &["install", "codex", "--yes"]).exits(0);
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("\n[later]\nadded = true\n");
    fs::write(&path, &text).unwrap();
    run(&place, &["uninstall", "codex", "--yes"]).exits(0);
    let left = fs::read_to_string(&path).unwrap();
    assert!(
        left.contains("[later]\nadded = true\n") && !left.contains(HAFT),
        "{left}"
    );
}

#[test]
fn nothing_is_written_without_a_word_or_into_what_is_broken() {
    let place = Place::new();
    let path = place.beside("user").join(".cursor/mcp.json");
    run(&place, &["install", "cursor"]).exits(1).says("--yes");
    assert!(!path.exists());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{\"mcpServers\": {").unwrap();
    run(&place, &["install", "cursor", "--yes"])
        .exits(1)
        .says("stays as it is");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"mcpServers\": {");
}

#[test]
fn servers_of_other_clients_are_taken_over() {
    let place = Place::new();
    let user = place.beside("user");
    let rows = [
        (
            "cursor",
            ".cursor/mcp.json",
            "{ // mine\n\"mcpServers\": {\"One X\": {\"command\": \"sh\", \"args\": [\"-c\"]}, \
             \"far\": {\"type\": \"http\", \"url\": \"https://127.0.0.1:1/mcp\"}, \"none\": {}}}",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.two]\ncommand = \"sh\"\nenv = {KEY = \"v\"}\n\
             [mcp_servers.off]\ncommand = \"sh\"\nenabled = false\n\
             [mcp_servers.web]\nurl = \"https://127.0.0.1:1/mcp\"\nbearer_token_env_var = \"TOK\"\n\
             http_headers = {X-Team = \"red\"}\n",
        ),
        (
            "goose",
            ".config/goose/config.yaml",
            "extensions:\n  three: {type: stdio, cmd: sh, args: [x], envs: {A: b}}\n",
        ),
    ];
    for (client, file, text) in rows {
        let path = user.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        run(&place, &["import", client]).exits(1).says("--yes");
        run(&place, &["import", client, "--yes"])
            .exits(0)
            .says("added");
        run(&place, &["import", client, "--yes"])
            .exits(0)
            .says("nothing to import");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    run(&place, &["disable", "two"]).exits(0);
    run(&place, &["disable", "three", "some_tool"]).exits(0);
    run(&place, &["disable", "four"]).exits(1).says("four");
    let list = run(&place, &["list", "--json"]).exits(0).json();
    let listed: Vec<String> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {} {}", one["name"], one["args"], one["disabled"]))
        .collect();
    assert_eq!(
        listed,
        [
            r#""far" [] false"#,
            r#""off" [] true"#,
            r#""one-x" ["-c"] false"#,
            r#""three" ["x"] false"#,
            r#""two" [] true"#,
            r#""web" [] false"#
        ]
    );
    let kept = fs::read_to_string(place.home.join("mcp-servers.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    let headers = serde_json::json!({"Authorization": "Bearer ${TOK}", "X-Team": "red"});
    assert_eq!(kept["web"]["headers"], headers, "{kept}");
    run(&place, &["enable", "two"]).exits(0).says("on: two");
}

#[test]
fn of_two_names_that_become_one_the_right_one_is_taken_over() {
    let place = Place::new();
    let path = place.beside("user").join(".cursor/mcp.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let servers = r#"{"mcpServers": {"My Srv": {"command": "one"}, "my-srv": {"command": "two"},
        "bad": {"command": 7}}}"#;
    fs::write(&path, servers).unwrap();
    run(&place, &["import", "cursor", "--yes"])
        .exits(0)
        .says("`My Srv` is left out: its name becomes `my-srv`")
        .says("`bad` is left out")
        .says("added: my-srv\n");
    let list = run(&place, &["list", "--json"]).exits(0).json();
    assert_eq!(list[0]["command"], "two", "{list}");
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
}

/// The clients themselves say that they know haft, and no longer when it is taken out.
#[test]
fn the_clients_see_it() {
    let peers = haft_testkit::clients(env!("CARGO_TARGET_TMPDIR"));
    let place = Place::new();
    let listed = |program: &str| {
        let mut command = std::process::Command::new(peers.join("node_modules/.bin").join(program));
        place.settle(&mut command);
        // They would call home, or look for news.
        command
            .env("HOME", place.beside("user"))
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .args(["mcp", "list"]);
        finish(&mut command).exits(0).out.clone()
    };
    for (client, program, sign) in [
        ("claude-code", "claude", "Connected"),
        ("codex", "codex", "enabled"),
    ] {
        run(&place, &["install", client, "--yes"]).exits(0);
        let there = listed(program);
        let line = there.lines().find(|line| line.starts_with("haft"));
        assert!(line.is_some_and(|line| line.contains(sign)), "{there}");
        run(&place, &["uninstall", client, "--yes"]).exits(0);
        let gone = listed(program);
        assert!(!gone.lines().any(|line| line.starts_with("haft")), "{gone}");
    }
}
