//! Config files in, words out.

mod broken;
mod policy;

use std::fs;
use std::path::PathBuf;

use haft_core::{ConstraintKind, ConstraintSpec, Module};

use serde_json::json;

use super::*;

const MODULES: &[Module] = &[
    Module {
        name: "file",
        summary: "Files",
        constraints: &[ConstraintSpec {
            name: "allowed_paths",
            kind: ConstraintKind::StringList,
            description: "Paths",
        }],
    },
    Module {
        name: "shell",
        summary: "Commands",
        constraints: &[],
    },
];

/// A home and a workspace of its own.
struct Fixture {
    dir: tempfile::TempDir,
    home: Home,
}

impl Fixture {
    fn new(owner: &str, project: &str) -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(&dir.path().join("home")).unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        let fixture = Fixture { dir, home };
        if !owner.is_empty() {
            fixture.home.ensure().unwrap();
            fs::write(fixture.home.path().join(OWNER), owner).unwrap();
        }
        if !project.is_empty() {
            fs::write(fixture.workspace().join(PROJECT), project).unwrap();
        }
        fixture
    }

    fn workspace(&self) -> PathBuf {
        self.dir.path().join("work").canonicalize().unwrap()
    }

    fn trust(&self) {
        let file = crate::trust::ProjectFile::Config;
        let shown = crate::trust::show(&self.home, &self.workspace(), file);
        shown.unwrap().unwrap().accept(&self.home).unwrap();
    }

    fn load(&self) -> Result<Loaded, String> {
        load(&self.home, &self.workspace(), MODULES).map_err(|error| self.plain(&error.to_string()))
    }

    /// Without the paths of this run.
    fn plain(&self, text: &str) -> String {
        let dir = self.dir.path().canonicalize().unwrap();
        text.replace(&format!("{}/work/", dir.display()), "")
            .replace(&format!("{}/home/", dir.display()), "")
            .replace(&format!("{}/", dir.display()), "DIR/")
    }
}

/// The values that hold, policy included, and what was said.
fn outcome(fixture: &Fixture) -> (Value, String) {
    let loaded = fixture.load().unwrap();
    let value = serde_json::to_value(&loaded.effective).unwrap();
    (value, fixture.plain(&loaded.notices.join("\n")))
}

/// What a trusted project file makes of the owner's, at one place.
fn check_merged(owner: &str, project: &str, pointer: &str, expect: Value) {
    let fixture = Fixture::new(owner, project);
    fixture.trust();
    let (value, notices) = outcome(&fixture);
    let found = value.pointer(pointer).unwrap_or(&Value::Null);
    assert_eq!(*found, expect, "{owner} + {project}");
    assert_eq!(notices, "", "{owner} + {project}");
}

#[test]
fn scalars_of_a_trusted_project_file_replace_and_maps_merge() {
    let check = check_merged;
    check(
        "tools: {policy: minimal}",
        "tools: {policy: full}",
        "/tools/policy",
        json!("full"),
    );
    check(
        "tools: {policy: minimal}",
        "tools: {}",
        "/tools/policy",
        json!("minimal"),
    );
    check(
        "tools: {policy: minimal}",
        "tools:\n  policy:\n",
        "/tools/policy",
        json!("minimal"),
    );
    check(
        "runtime: {timeout_ms: 5}",
        "runtime: {timeout_ms: 90000}",
        "/runtime/timeout_ms",
        json!(90000),
    );
    check(
        "tools: {autonomy: conservative}",
        "tools: {autonomy: guided}",
        "/tools/autonomy",
        json!("standard"),
    );
    check(
        "agents: {a: {autonomy: supervised, toolPolicy: full}}",
        "agents: {a: {toolPolicy: coding}, b: {toolPolicy: minimal}}",
        "/agents",
        json!({"a": {"autonomy": "supervised", "toolPolicy": "coding"}, "b": {"toolPolicy": "minimal"}}),
    );
    check(
        "agents: {a: {toolPolicy: full}}",
        "agents: {a: {toolPolicy: {deny: [x.y]}}}",
        "/agents/a/toolPolicy",
        json!({"allow": [], "deny": ["x.y"]}),
    );
}

#[test]
fn rule_lists_of_a_trusted_project_file_are_added() {
    let check = check_merged;
    check(
        "tools: {deny: [a.b]}",
        "tools: {deny: [c.d, a.b]}",
        "/tools/deny",
        json!(["a.b", "c.d"]),
    );
    check(
        "tools: {rules: {deny: ['file.write(/etc/**)']}}",
        "tools: {rules: {deny: ['shell.exec(rm *)']}}",
        "/tools/rules/deny",
        json!(["file.write(/etc/**)", "shell.exec(rm *)"]),
    );
    check(
        "tools: {hooks: {confirm: [a.b]}}",
        "tools: {hooks: {confirm: []}}",
        "/tools/hooks/confirm",
        json!(["a.b"]),
    );
    check(
        "files: {roots: [/a]}",
        "files: {roots: [/b]}",
        "/files/roots",
        json!(["/a", "/b"]),
    );
}

#[test]
fn definitions_in_a_trusted_project_file_replace() {
    let check = check_merged;
    check(
        "tools: {profiles: {p: {allow: ['*'], deny: [x.y]}}}",
        "tools: {profiles: {p: {allow: [file.read], deny: [z.z]}}}",
        "/tools/profiles/p",
        json!({"allow": ["file.read"], "deny": ["x.y", "z.z"]}),
    );
    check(
        "providers: {p: {allow: ['*']}}",
        "providers: {p: {allow: []}}",
        "/providers/p/allow",
        json!([]),
    );
    check(
        "tools: {groups: {g: [a.b]}}",
        "tools: {groups: {g: [c.d]}}",
        "/tools/groups/g",
        json!(["c.d"]),
    );
    // Module names of either kind are one module
    check(
        "tools: {modules: {filesystem: {constraints: {allowed_actions: [read], blocked_actions: [edit]}}}}",
        "tools: {modules: {file: {constraints: {allowed_actions: [list], blocked_actions: [write]}}}}",
        "/tools/modules/file/constraints",
        json!({"allowed_actions": ["list"], "blocked_actions": ["edit", "write"]}),
    );
}

/// What an untrusted project file changes in the owner's values, and what is said.
fn check_narrowed(owner: &str, project: &str, expect: Value, said: &[&str]) {
    let fixture = Fixture::new(owner, project);
    let (value, notices) = outcome(&fixture);
    let (owners, _) = outcome(&Fixture::new(owner, ""));
    for section in ["runtime", "files", "shell", "isolation"] {
        let wanted = expect.get(section).unwrap_or(&owners[section]);
        assert_eq!(value[section], *wanted, "{owner} + {project}");
    }
    for section in ["tools", "agents", "providers"] {
        assert_eq!(
            value.get(section),
            owners.get(section),
            "{owner} + {project}"
        );
    }
    let mut lines =
        vec!["`haft.yaml` is not trusted, so it can only narrow: look at it with `haft trust`"];
    lines.extend(said);
    assert_eq!(notices.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn an_untrusted_project_file_only_narrows_values() {
    let check = check_narrowed;
    check(
        "",
        "tools: {policy: full, autonomy: autonomous}",
        json!({}),
        &[],
    );
    check(
        "",
        "runtime: {timeout_ms: 1000}",
        json!({"runtime": {"timeout_ms": 1000}}),
        &[],
    );
    check(
        "runtime: {timeout_ms: 500}",
        "runtime: {timeout_ms: 1000}",
        json!({}),
        &["`runtime.timeout_ms` in `haft.yaml` is ignored: 1000 is more than 500"],
    );
    check(
        "runtime: {timeout_ms: 500}",
        "runtime: {timeout_ms: 500}",
        json!({}),
        &[],
    );
    check(
        "",
        "runtime: {timeout_ms: 60000, max_timeout_ms: 80000000, result_budget: 90000}\nshell: {max_output: 99999999}",
        json!({}),
        &[
            "`runtime.result_budget` in `haft.yaml` is ignored: 90000 is more than 80000",
            "`runtime.timeout_ms` in `haft.yaml` is ignored: 60000 is more than 30000",
            "`runtime.max_timeout_ms` in `haft.yaml` is ignored: 80000000 is more than 1800000",
            "`shell.max_output` in `haft.yaml` is ignored: 99999999 is more than 10485760",
        ],
    );
    check(
        "",
        "runtime: {max_timeout_ms: 10, result_budget: 100}\nshell: {max_output: 1000}",
        json!({"runtime": {"max_timeout_ms": 10, "result_budget": 100}, "shell": {"max_output": 1000}}),
        &[],
    );
    check(
        "files: {roots: [/a]}",
        "files: {roots: [/a, /]}\nisolation: {envVars: [AWS_SECRET_ACCESS_KEY], readable: [/b]}",
        json!({}),
        &[
            "`files.roots` in `haft.yaml` is ignored: it adds `/`",
            "`isolation.envVars` in `haft.yaml` is ignored: it adds `AWS_SECRET_ACCESS_KEY`",
            "`isolation.readable` in `haft.yaml` is ignored: it adds `/b`",
        ],
    );
}

#[test]
fn layers_follow_trust() {
    let layers = |fixture: &Fixture| {
        let loaded = fixture.load().unwrap();
        let names = loaded.layers.iter().map(|layer| layer.from.clone());
        let trusted = loaded.files.iter().map(|file| file.trusted.to_string());
        let all: Vec<String> = names.chain(trusted).collect();
        all.join(", ")
    };
    assert_eq!(layers(&Fixture::new("", "")), "defaults");
    assert_eq!(layers(&Fixture::new("tools: {}", "")), "config.yaml, true");
    let fixture = Fixture::new("tools: {}", "tools: {policy: full}");
    assert_eq!(
        layers(&fixture),
        "config.yaml, haft.yaml (not trusted), true, false"
    );
    fixture.trust();
    assert_eq!(layers(&fixture), "config.yaml + haft.yaml, true, true");
    fs::write(fixture.workspace().join(PROJECT), "tools: {policy: full }").unwrap();
    assert_eq!(
        layers(&fixture),
        "config.yaml, haft.yaml (not trusted), true, false"
    );
    assert_eq!(
        fixture.load().unwrap().notices.len(),
        1,
        "one line about the file that changed"
    );
    let fixture = Fixture::new("", "runtime: {timeout_ms: 1}");
    assert_eq!(layers(&fixture), "defaults, false", "no policy, no layer");
    fixture.trust();
    assert_eq!(layers(&fixture), "haft.yaml, true");
}

#[test]
fn remembered_rules_reach_every_layer() {
    let fixture = Fixture::new("", "tools: {policy: coding}");
    let recording = crate::recording::Recording::new(&fixture.home);
    crate::remembered::add(&recording, &fixture.workspace(), "shell.exec(npm test)").unwrap();
    crate::remembered::add(&recording, Path::new("/elsewhere"), "shell.exec(ls)").unwrap();
    let loaded = fixture.load().unwrap();
    assert_eq!(loaded.layers.len(), 2);
    for layer in loaded.layers {
        assert_eq!(layer.config.remembered, ["shell.exec(npm test)"]);
    }
}

#[test]
fn roots_become_absolute() {
    let fixture = Fixture::new("", "files: {roots: [../lib, /x]}");
    fixture.trust();
    let work = fixture.workspace();
    let loaded = fixture.load().unwrap();
    let expected = format!("{}/../lib", work.display());
    assert_eq!(loaded.effective.files.roots, [expected.as_str(), "/x"]);
    for (key, list) in [("files", "roots"), ("isolation", "readable")] {
        let owner = Fixture::new(&format!("{key}: {{{list}: [lib]}}\n"), "");
        let column = key.len() + list.len() + 7;
        assert_eq!(
            owner.load().unwrap_err(),
            format!("`{key}.{list}` takes absolute paths here: `lib` at config.yaml:1:{column}")
        );
    }
}

#[test]
fn files_that_are_no_files_are_refused() {
    let fixture = Fixture::new("", "");
    let path = fixture.workspace().join(PROJECT);
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    assert_eq!(
        fixture.load().unwrap_err(),
        "cannot use config `haft.yaml`: it is a symbolic link"
    );
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(
        fixture.load().unwrap_err(),
        "`haft.yaml` is not a regular file"
    );
    let missing = load(&fixture.home, &fixture.workspace().join("nowhere"), MODULES);
    assert_eq!(
        fixture.plain(&missing.unwrap_err().to_string()),
        "cannot use workspace `nowhere`: No such file or directory (os error 2)"
    );
}

#[test]
fn what_is_shown_can_be_read_back() {
    let fixture = Fixture::new(
        "tools: {rules: {allow: ['shell.exec(git status *)']}, autonomy: guided}\nagents: {a: {toolPolicy: full}}\n",
        "",
    );
    let config = fixture.load().unwrap().effective;
    let yaml = show(&config, Format::Yaml).unwrap();
    assert!(yaml.contains("result_budget: 80000"), "{yaml}");
    let again = Fixture::new(&yaml, "").load().unwrap().effective;
    assert_eq!(again, config.spelled_out());
    let json: Value = serde_json::from_str(&show(&config, Format::Json).unwrap()).unwrap();
    assert_eq!(json, serde_json::to_value(&again).unwrap());
}

#[test]
fn the_schema_explains_every_section() {
    let schema = schema();
    for section in [
        "tools",
        "agents",
        "providers",
        "runtime",
        "files",
        "shell",
        "isolation",
        "workers",
    ] {
        let description = schema["properties"][section]["description"].as_str();
        assert!(
            description.is_some_and(|text| !text.is_empty()),
            "{section}"
        );
    }
    assert_eq!(schema["additionalProperties"], false);
    assert!(!schema.to_string().contains("$ref"));
    let levels = schema["properties"]["tools"]["properties"]["autonomy"].to_string();
    assert!(
        levels.contains("guided") && levels.contains("conservative"),
        "{levels}"
    );
}
