use serde_json::Value;

use crate::fixture::Fixture;

/// The world the examples of the specs live in.
fn world() -> Fixture {
    let f = Fixture::new();
    f.put("notes.txt", "todo\nbuy milk\n");
    f.put("src/main.rs", "fn main() {}\n");
    let repo = crate::git::Repo::new(&f, "repo");
    repo.commit(&[("a.txt", "one\n")]);
    f.put("repo/a.txt", "one\ntwo\n");
    f.put("repo/new.txt", "new\n");
    let kept = f.at("home/results").join(session_folder());
    std::fs::create_dir_all(&kept).unwrap();
    let handle = "r_00000000000000000000000000000001";
    std::fs::write(kept.join(handle), "one\ntwo\nerror: three\nfour\n").unwrap();
    f
}

/// Where the session `session` keeps its results: a kept one tells.
fn session_folder() -> String {
    let f = Fixture::new();
    let results = f.caller().results.clone().unwrap();
    results
        .keep("session", "x", haft_core::Nature::default())
        .unwrap();
    let mut folders = std::fs::read_dir(f.at("home/results")).unwrap();
    folders
        .next()
        .unwrap()
        .unwrap()
        .file_name()
        .into_string()
        .unwrap()
}

#[test]
fn every_example_gives_what_it_says() {
    let mut run = 0;
    for pack in haft_tools::packs() {
        if !["file", "git", "result"].contains(&pack.module.name) {
            continue;
        }
        for tool in &pack.tools {
            let spec = tool.spec();
            assert!(!spec.examples.is_empty(), "{} has no example", spec.name);
            for example in &spec.examples {
                let answer = world().call(&spec.name, example.args.clone()).structured();
                let Value::Object(expected) = &example.expect else {
                    panic!("{}: `expect` is not an object", spec.name);
                };
                for (key, value) in expected {
                    assert_eq!(&answer[key], value, "{} `{key}`: {answer}", spec.name);
                }
                run += 1;
            }
        }
    }
    assert!(run >= 8, "only {run} examples");
}

#[test]
fn names_and_parameters_of_the_documents_resolve() {
    let f = Fixture::new();
    let check = |tool: &str, names: &[&str], parameters: &[(&str, &str)]| {
        let spec = f.tool(tool).spec();
        for name in names {
            assert!(
                spec.aliases.iter().any(|alias| alias == name),
                "{tool} {name}"
            );
        }
        for (theirs, ours) in parameters {
            let found = spec.parameter_aliases.get(*theirs).map(String::as_str);
            assert_eq!(found, Some(*ours), "{tool} {theirs}");
            assert!(
                spec.input_schema["properties"].get(ours).is_some(),
                "{tool} {ours}"
            );
        }
        let hidden = spec.input_schema["properties"].get("target");
        assert!(hidden.is_none(), "{tool} shows its inner state");
    };
    check(
        "file.read",
        &["Read", "read_file"],
        &[("lineStart", "offset"), ("lineEnd", "limit")],
    );
    check("file.write", &["Write", "write_file"], &[]);
    check(
        "file.edit",
        &["Edit"],
        &[
            ("oldString", "search"),
            ("newString", "replace"),
            ("replaceAll", "replace_all"),
        ],
    );
    check("file.list", &["list_files"], &[]);
    check("file.glob", &["Glob", "WsGlob"], &[]);
    check("file.grep", &["Grep", "WsGrep"], &[("glob", "include")]);
    check("file.batch", &["batch_files"], &[]);
    let aliases = &f.tool("file.edit").spec().parameter_aliases;
    for (theirs, ours) in [("oldString", "search"), ("new_string", "replace")] {
        let found = aliases.get(&format!("edits[].{theirs}"));
        assert_eq!(found, Some(&format!("edits[].{ours}")), "{theirs}");
    }
    check("result.read", &[], &[]);
}
