use super::*;

fn entry() -> Entry {
    Entry {
        command: "/opt/haft".to_owned(),
        args: vec!["mcp".to_owned()],
        home: None,
    }
}

#[test]
fn a_home_that_was_chosen_goes_along() {
    let entry = Entry {
        home: Some("/else where".to_owned()),
        ..entry()
    };
    for (client, place) in [
        (Client::Cursor, "/mcpServers/haft/env/HAFT_HOME"),
        (Client::Codex, "/mcp_servers/haft/env/HAFT_HOME"),
        (Client::Goose, "/extensions/haft/envs/HAFT_HOME"),
    ] {
        let text = client.with_entry("", &entry).unwrap();
        let read = match client {
            Client::Codex => toml::read(&text),
            Client::Goose => yaml::read(&text),
            _ => json::read(&text),
        };
        let home = read.unwrap().pointer(place).cloned().unwrap_or_default();
        assert_eq!(home, "/else where", "{text}");
        assert_eq!(client.with_entry(&text, &entry).unwrap(), text);
    }
}

/// Put in, twice, and taken out: the first leaves every line that was there, the second changes
/// nothing, and the last leaves the text as it was.
fn there_and_back(client: Client, text: &str) -> String {
    let with = client.with_entry(text, &entry()).unwrap();
    assert!(with.contains("/opt/haft"), "{with}");
    assert_eq!(
        client.with_entry(&with, &entry()).unwrap(),
        with,
        "{client:?}"
    );
    let back = client.without_entry(&with).unwrap().unwrap();
    assert_eq!(back, text, "{client:?}: {with}");
    assert_eq!(client.without_entry(&back).unwrap(), None);
    with
}

#[test]
fn json_survives_byte_for_byte() {
    for text in [
        "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  },\n  \"z\": [1,  2]\n}\n",
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t}\n}",
        "{\r\n  \"b\": 1,\r\n  \"mcpServers\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n",
        "// mine\n{\n  // servers\n  \"mcpServers\": {\n    \"a\": {} // the first\n  }\n}\n",
    ] {
        there_and_back(Client::Cursor, text);
        there_and_back(Client::ClaudeCode, text);
    }
    let with = there_and_back(
        Client::Vscode,
        "{\n  \"servers\": {\n    \"a\": {}\n  }\n}\n",
    );
    let value: serde_json::Value = serde_json::from_str(&with).unwrap();
    assert_eq!(value["servers"]["haft"]["args"][0], "mcp");
    assert_eq!(value["servers"]["haft"]["type"], "stdio");
}

#[test]
fn where_there_is_nothing_yet_the_least_is_made() {
    for (client, text) in [
        (Client::Cursor, ""),
        (Client::Cursor, "{}"),
        (Client::Cursor, "{\n  \"a\": 1\n}\n"),
        (Client::Codex, ""),
        (Client::Codex, "model = \"x\"\n"),
        (Client::Goose, ""),
        (Client::Goose, "GOOSE_PROVIDER: x\n"),
        (Client::Goose, "extensions:\n"),
    ] {
        let with = client.with_entry(text, &entry()).unwrap();
        let again = client.with_entry(&with, &entry()).unwrap();
        assert_eq!(again, with, "{client:?} {text}");
        let back = client.without_entry(&with).unwrap().unwrap();
        assert!(!back.contains("/opt/haft"), "{back}");
        assert!(back.contains(text.trim_end_matches(['}', '\n'])), "{back}");
    }
}

#[test]
fn toml_survives_byte_for_byte() {
    for text in [
        "# mine\nmodel = \"x\"  # the best\n\n[mcp_servers.a]\ncommand = 'y'\nargs = [ \"1\",\n  \"2\" ]\n",
        "model = \"x\"\n",
        "[mcp_servers]\n[mcp_servers.a]\ncommand = \"y\"\n\n[z]\nb = 1\n",
    ] {
        let with = there_and_back(Client::Codex, text);
        assert!(with.contains("\n[mcp_servers.haft]\ncommand = \"/opt/haft\"\nargs = [\"mcp\"]\n"));
    }
}

#[test]
fn yaml_survives_byte_for_byte() {
    for text in [
        "# mine\nextensions:\n  dev:\n    enabled: true   # yes\n\n  # next\n  other:\n    cmd: x\nGOOSE_MODEL: y\n",
        "extensions: # all of them\n    dev:\n        enabled: true\n",
        "a: 1\nextensions:\n  dev: {enabled: true}",
    ] {
        there_and_back(Client::Goose, text);
    }
}

#[test]
fn line_ends_survive_byte_for_byte() {
    for (client, text) in [
        (
            Client::Codex,
            "# mine\r\nmodel = \"x\"\r\n\r\n[mcp_servers.a]\r\ncommand = 'y'\r\n",
        ),
        (
            Client::Codex,
            "model = \"x\"\r\nother = 1\n[mcp_servers.a]\ncommand = 'y'\r\n",
        ),
        (
            Client::Goose,
            "extensions:\r\n  dev:\r\n    enabled: true\r\nGOOSE_MODEL: y\r\n",
        ),
    ] {
        let with = there_and_back(client, text);
        // Every line of the file is still there, with its end.
        for line in text.split_inclusive('\n') {
            assert!(with.contains(line), "{line:?}: {with:?}");
        }
        let put_in = with.lines().count() - text.lines().count();
        let ends = |text: &str| text.matches("\r\n").count();
        assert_eq!(ends(&with), ends(text) + put_in, "{with:?}");
    }
}

#[test]
fn what_is_not_understood_stays() {
    for (client, text) in [
        (Client::Cursor, "{\"mcpServers\": {"),
        (Client::Cursor, "[1]"),
        (Client::Cursor, "{\"mcpServers\": [1]}"),
        (
            Client::Cursor,
            "{\"mcpServers\": {}, \"mcpServers\": {\"a\": {}}}",
        ),
        (
            Client::Cursor,
            "{\"mcpServers\": {\"haft\": {}, \"haft\": {}}}",
        ),
        (Client::Codex, "model = "),
        (Client::Codex, "mcp_servers = 5\n"),
        (Client::Goose, "a: [\n"),
        (Client::Goose, "- a\n"),
        (Client::Goose, "extensions: {dev: {enabled: true}}\n"),
    ] {
        let refused = client.with_entry(text, &entry()).unwrap_err();
        assert!(refused.to_string().contains("stays as it is"), "{refused}");
    }
}
