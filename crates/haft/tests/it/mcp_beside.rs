//! Resources and prompts of `haft mcp`: files, kept results, skills, and those of other servers.

use std::fs;

use serde_json::{Value, json};

use crate::place::{Place, text as text_of, verdict};
use crate::wire::{NEW, OLD, Wire, text};

const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/library.py");

fn uris(list: &Value) -> Vec<&str> {
    let resources = list["resources"].as_array().unwrap();
    resources
        .iter()
        .map(|one| one["uri"].as_str().unwrap())
        .collect()
}

fn names(list: &Value) -> Vec<&str> {
    let prompts = list["prompts"].as_array().unwrap();
    prompts
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect()
}

#[test]
fn files_are_resources_as_far_as_policy_goes() {
    for revision in [OLD, NEW] {
        let place = Place::with_config("tools: {rules: {deny: ['file.read(./closed/**)']}}\n");
        place.file("src/a b.rs", "fn main() {}\r\n");
        place.file("closed/secret.txt", "no");
        place.file("bytes.bin", [0, 159, 146, 150]);
        place.file("key.pem", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----\n");
        let mut wire = Wire::open(&place, revision, &[]);
        let list = wire.result("resources/list", json!({}));
        let uri = |name: &str| format!("file://{}/{name}", place.workspace.display());
        let listed = uris(&list);
        assert!(listed.contains(&&*uri("README.md")), "{list}");
        assert!(listed.contains(&&*uri("src/a%20b.rs")), "{list}");
        assert!(!list.to_string().contains("secret.txt"), "{list}");
        let mut read = |name: &str| wire.request("resources/read", json!({"uri": uri(name)}));
        let rust = read("src/a%20b.rs");
        assert_eq!(
            rust["result"]["contents"][0]["text"], "fn main() {}\r\n",
            "{rust}"
        );
        let bytes = read("bytes.bin");
        assert_eq!(
            bytes["result"]["contents"][0]["blob"], "AJ+Slg==",
            "{bytes}"
        );
        let closed = read("closed/secret.txt");
        assert!(
            closed["error"]["message"]
                .as_str()
                .unwrap()
                .contains("denied"),
            "{closed}"
        );
        let missing = read("nothing.txt");
        let not_found = if revision == NEW { -32602 } else { -32002 };
        assert_eq!(missing["error"]["code"], not_found, "{missing}");
        // What is secret in a file is not shown here either.
        let key = read("key.pem");
        assert!(!key.to_string().contains("MIIEvQ"), "{key}");
        let outside = wire.request("resources/read", json!({"uri": "file:///etc/passwd"}));
        assert!(outside.get("error").is_some(), "{outside}");
        let strange = wire.request("resources/read", json!({"uri": "strange://x"}));
        assert_eq!(strange["error"]["code"], not_found, "{strange}");
    }
}

#[test]
fn paths_of_files_are_completed_as_far_as_policy_goes() {
    for revision in [OLD, NEW] {
        let place = Place::with_config("tools: {rules: {deny: ['file.read(./src/closed.rs)']}}\n");
        for name in [
            "src/main.rs",
            "src/more.rs",
            "src/closed.rs",
            "src/deep/a.rs",
        ] {
            place.file(name, "x");
        }
        let mut wire = Wire::open(&place, revision, &[]);
        let templates = wire.result("resources/templates/list", json!({}));
        let template = templates["resourceTemplates"][0]["uriTemplate"].clone();
        let workspace = place.workspace.display().to_string();
        let mut check = |begun: &str, expected: &[&str]| {
            let begun = begun.replace("WS", &workspace);
            let found = wire.result(
                "completion/complete",
                json!({"ref": {"type": "ref/resource", "uri": template},
                    "argument": {"name": "path", "value": begun}}),
            );
            let expected: Vec<String> = expected
                .iter()
                .map(|path| path.replace("WS", &workspace))
                .collect();
            assert_eq!(
                found["completion"]["values"],
                json!(expected),
                "{begun}: {found}"
            );
            assert_eq!(found["completion"]["hasMore"], false, "{found}");
        };
        check("WS/src/m", &["WS/src/main.rs", "WS/src/more.rs"]);
        check(
            "WS/src/",
            &["WS/src/deep/", "WS/src/main.rs", "WS/src/more.rs"],
        );
        check("WS/sr", &["WS/src/"]);
        check("/", &["WS/"]);
        check("WS/../", &[]);
        check("/etc/pass", &[]);
    }
}

#[test]
fn a_protected_file_is_asked_about() {
    for revision in [OLD, NEW] {
        let place = Place::new();
        let env = place.file(".env", "A=1\n");
        let params = json!({"uri": format!("file://{}", env.display())});
        let mut wire = Wire::open(&place, revision, &[]);
        let refused = wire.request("resources/read", params.clone());
        assert!(refused.get("error").is_some(), "{refused}");
        assert_eq!(wire.heard.len(), 1, "{:?}", wire.heard);
        wire.answer = json!({"action": "accept", "content": {"decision": "once"}});
        let read = wire.result("resources/read", params);
        assert_eq!(read["contents"][0]["text"], "A=1\n", "{read}");
    }
}

#[test]
fn many_files_come_in_pages() {
    let place = Place::new();
    for number in 0..1203 {
        place.file(&format!("many/{number}.txt"), "x");
    }
    let mut wire = Wire::open(&place, OLD, &[]);
    let mut all: Vec<String> = Vec::new();
    let mut params = json!({});
    let mut pages = 0;
    loop {
        let list = wire.result("resources/list", params);
        all.extend(uris(&list).into_iter().map(str::to_owned));
        pages += 1;
        match list["nextCursor"].as_str() {
            Some(next) => params = json!({"cursor": next}),
            None => break,
        }
    }
    assert_eq!((all.len(), pages), (1204, 3));
    assert!(all.is_sorted());
}

#[test]
fn a_kept_result_is_read_whole_by_its_handle() {
    let place = Place::new();
    place.file("long.txt", "a line of it\n".repeat(20_000));
    let mut wire = Wire::open(&place, OLD, &[]);
    let shown = wire.tool("file__read", json!({"path": "long.txt"}));
    let handle = shown["_meta"]["haft/handle"]
        .as_str()
        .expect("a handle")
        .to_owned();
    let uri = format!("haft://result/{handle}");
    let read = wire.result("resources/read", json!({"uri": uri}));
    let whole = read["contents"][0]["text"].as_str().unwrap();
    assert_eq!(whole.matches("a line of it").count(), 20_000);
    let other = wire.request("resources/read", json!({"uri": "haft://result/r_0"}));
    assert!(other.get("error").is_some(), "{other}");
    let templates = wire.result("resources/templates/list", json!({}));
    assert!(
        templates.to_string().contains("haft://result/{handle}"),
        "{templates}"
    );
}

#[test]
fn skills_are_prompts() {
    let place = Place::new();
    let folder = place.home.join("skills/release");
    fs::create_dir_all(&folder).unwrap();
    let skill = "---\nname: release\ndescription: How to release\n---\nTag it.\n";
    fs::write(folder.join("SKILL.md"), skill).unwrap();
    for revision in [OLD, NEW] {
        let mut wire = Wire::open(&place, revision, &[]);
        let list = wire.result("prompts/list", json!({}));
        assert_eq!(names(&list), ["release"], "{list}");
        let params = json!({"name": "release", "arguments": {"task": "version 2"}});
        let got = wire.result("prompts/get", params);
        let said = got["messages"][0]["content"]["text"].as_str().unwrap();
        assert_eq!(said, "Tag it.\n\nThe task: version 2");
        let none = wire.request("prompts/get", json!({"name": "nothing"}));
        assert_eq!(none["error"]["code"], -32602, "{none}");
        // Who may not load skills is not shown any.
        let mut wire = Wire::open(&place, revision, &["--tools", "file.*"]);
        assert!(names(&wire.result("prompts/list", json!({}))).is_empty());
        let none = wire.request("prompts/get", json!({"name": "release"}));
        assert!(none.get("error").is_some(), "{none}");
    }
}

fn with_library(more: &str) -> Place {
    let place = Place::with_config(&format!(
        "mcp: {{servers: {{lib: {{command: python3, args: [{LIBRARY}]}}}}}}\n{more}"
    ));
    place
        .run(["mcp", "test", "lib"])
        .exits(0)
        .says("4 resources, 1 prompts");
    place
}

#[test]
fn what_another_server_offers_is_offered_under_its_name() {
    let place = with_library("tools: {rules: {allow: ['mcp.lib.*']}}\n");
    for revision in [OLD, NEW] {
        let mut wire = Wire::open(&place, revision, &[]);
        let list = wire.result("resources/list", json!({}));
        assert!(uris(&list).contains(&"haft://mcp/lib/book://one"), "{list}");
        let mut read = |uri: &str| {
            let read = wire.result("resources/read", json!({"uri": uri}));
            assert_eq!(read["contents"][0]["uri"], uri);
            read["contents"][0].clone()
        };
        let prose = read("haft://mcp/lib/book://one");
        let prose = prose["text"].as_str().unwrap();
        assert!(prose.starts_with("<untrusted_data id="), "{prose}");
        assert_eq!(prose.matches("</untrusted_data").count(), 1, "{prose}");
        let data = read("haft://mcp/lib/book://data");
        assert_eq!(data["text"], "{\"pages\": 7}");
        let cover = read("haft://mcp/lib/book://cover");
        assert!(
            cover["blob"].as_str().unwrap().starts_with("iVBOR"),
            "{cover}"
        );
        // By the address that the server gives it, too.
        assert_eq!(read("book://data")["text"], "{\"pages\": 7}");
        let linked = wire.tool("mcp__lib__link", json!({}));
        assert_eq!(
            linked["content"][0]["uri"], "haft://mcp/lib/book://data",
            "{linked}"
        );
        let list = wire.result("prompts/list", json!({}));
        assert_eq!(names(&list), ["mcp__lib__review"], "{list}");
        let params = json!({"name": "mcp__lib__review", "arguments": {"style": "kindly"}});
        let got = wire.result("prompts/get", params);
        assert_eq!(got["messages"][0]["content"]["text"], "Review it, kindly.");
    }
}

#[test]
fn rules_about_a_server_hold_for_all_it_offers() {
    let place = with_library("tools: {rules: {deny: ['mcp.lib.*']}}\n");
    let mut wire = Wire::open(&place, OLD, &[]);
    let list = wire.result("resources/list", json!({}));
    assert!(!list.to_string().contains("book:"), "{list}");
    assert!(names(&wire.result("prompts/list", json!({}))).is_empty());
    for uri in ["haft://mcp/lib/book://one", "book://one"] {
        let read = wire.request("resources/read", json!({"uri": uri}));
        assert!(read.get("error").is_some(), "{read}");
    }
    let got = wire.request("prompts/get", json!({"name": "mcp__lib__review"}));
    assert!(got.get("error").is_some(), "{got}");
}

#[test]
fn resources_and_prompts_of_a_server_are_tools_of_ours() {
    let place = with_library("");
    let read = |args: Value| place.call("mcp.lib.read_resource", &args, &["--yes"]);
    let listed = read(json!({}));
    assert_eq!(
        listed["structured"]["resources"].as_array().unwrap().len(),
        3,
        "{listed}"
    );
    let one = read(json!({"uri": "book://one"}));
    assert!(text_of(&one).contains("<untrusted_data"), "{one}");
    let cover = read(json!({"uri": "haft://mcp/lib/book://cover"}));
    assert_eq!(cover["content"][0]["type"], "image", "{cover}");
    let none = read(json!({"uri": "book://none"}));
    assert_eq!(verdict(&none), "execution_failed", "{none}");
    let args = json!({"name": "review", "arguments": {"style": "kindly"}});
    let prompt = place.call("mcp.lib.get_prompt", &args, &["--yes"]);
    assert!(
        text_of(&prompt).contains("user: Review it, kindly."),
        "{prompt}"
    );
    // Nobody is there to say yes.
    let asked = place.call("mcp.lib.read_resource", &json!({"uri": "book://one"}), &[]);
    assert_eq!(verdict(&asked), "denied", "{asked}");
}

#[test]
fn a_link_in_a_result_leads_to_its_resource() {
    let place = with_library("tools: {rules: {allow: ['mcp.lib.*']}}\n");
    let mut wire = Wire::open(&place, OLD, &[]);
    let linked = wire.tool("mcp__lib__link", json!({}));
    let uri = linked["content"][0]["uri"].clone();
    let read = wire.tool("mcp__lib__read_resource", json!({"uri": uri}));
    assert!(text(&read).contains("\"pages\": 7"), "{read}");
}
