use super::*;

fn entry() -> Entry {
    Entry {
        command: "/opt/haft".to_owned(),
        args: vec!["mcp".to_owned()],
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
fn what_is_not_understood_stays() {
    for (client, text) in [
        (Client::Cursor, "{\"mcpServers\": {"),
        (Client::Cursor, "[1]"),
        (Client::Cursor, "{\"mcpServers\": [1]}"),
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
