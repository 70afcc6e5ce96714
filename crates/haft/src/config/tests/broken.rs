//! Files that haft refuses, and the exact words it does so in.

use std::fs;

use super::{Fixture, PROJECT};

/// What is said about a project file.
fn refusal(project: &[u8]) -> String {
    let fixture = Fixture::new("", "");
    fs::write(fixture.workspace().join(PROJECT), project).unwrap();
    match fixture.load() {
        Ok(loaded) => panic!("accepted: {:?}", loaded.effective),
        Err(error) => error,
    }
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (yaml, expect) in BROKEN {
        assert_eq!(refusal(yaml.as_bytes()), *expect, "{yaml}");
    }
}

const BROKEN: &[(&str, &str)] = &[
    // Unknown keys, at every depth
    (
        "tools:\n  # here\n  polcy: coding\n",
        "unknown key `polcy` at haft.yaml:3:3, did you mean `policy`?",
    ),
    (
        "tool: {}\n",
        "unknown key `tool` at haft.yaml:1:1, did you mean `tools`?",
    ),
    (
        "agents:\n  a:\n    toolpolicy: full\n",
        "unknown key `toolpolicy` at haft.yaml:3:5, did you mean `toolPolicy`?",
    ),
    (
        "agents: {a: {toolPolicy: {alow: ['*']}}}\n",
        "unknown key `alow` at haft.yaml:1:27, did you mean `allow`?",
    ),
    (
        "tools: {profiles: {mine: {allowed: []}}}\n",
        "unknown key `allowed` at haft.yaml:1:27, did you mean `allow`?",
    ),
    (
        "tools: {rules: {permit: []}}\n",
        "unknown key `permit` at haft.yaml:1:17, expected one of `allow`, `ask`, `deny`",
    ),
    (
        "runtime:\n  zzz:\n",
        "unknown key `zzz` at haft.yaml:2:3, expected one of `result_budget`, `timeout_ms`, \
         `max_timeout_ms`, `context_window`, `tool_injection`, `direct_modules`",
    ),
    (
        "1: 2\n",
        "unknown key `1` at haft.yaml:1:1, expected one of `tools`, `agents`, `providers`, \
         `runtime`, `files`, `dev`, `shell`, `isolation`, `undo`, `results`, `journal`, `mcp`, `workers`",
    ),
    (
        "providers: {anthropic: {denny: []}}\nshell:\n  max_ouput: 2000\n",
        "unknown key `denny` at haft.yaml:1:25, did you mean `deny`?\n\
         unknown key `max_ouput` at haft.yaml:3:3, did you mean `max_output`?",
    ),
    (
        "\"a\\e[31m\": 1\n",
        "unknown key `a\\u{1b}[31m` at haft.yaml:1:1, expected one of `tools`, `agents`, \
         `providers`, `runtime`, `files`, `dev`, `shell`, `isolation`, `undo`, `results`, `journal`, `mcp`, \
         `workers`",
    ),
    (
        "\"a\\nb\": 1\n",
        "unknown key `a\\nb` at haft.yaml:1:1, expected one of `tools`, `agents`, `providers`, \
         `runtime`, `files`, `dev`, `shell`, `isolation`, `undo`, `results`, `journal`, `mcp`, `workers`",
    ),
    // Wrong types and values
    (
        "tools:\n  policy: [coding]\n",
        "wrong type for `tools.policy` at haft.yaml:2:11, expected text, found a list",
    ),
    (
        "tools: coding\n",
        "wrong type for `tools` at haft.yaml:1:8, expected a map, found text",
    ),
    (
        "tools: {deny: shell.*}\n",
        "wrong type for `tools.deny` at haft.yaml:1:15, expected a list, found text",
    ),
    (
        "tools: {deny: [1]}\n",
        "wrong type for `tools.deny` at haft.yaml:1:16, expected text, found a number",
    ),
    (
        "tools: {deny: [a, ]}\nproviders: {p: {allow: [~]}}\n",
        "empty entry in `providers.p.allow` at haft.yaml:2:25",
    ),
    (
        "tools: {groups: {web: {a: b}}}\n",
        "wrong type for `tools.groups.web` at haft.yaml:1:23, expected a list, found a map",
    ),
    (
        "agents: {a: {toolPolicy: 5}}\n",
        "wrong type for `agents.a.toolPolicy` at haft.yaml:1:26, expected text or a map, found a \
         number",
    ),
    (
        "runtime: {timeout_ms: 30s}\n",
        "wrong type for `runtime.timeout_ms` at haft.yaml:1:23, expected a whole number, found text",
    ),
    (
        "runtime: {timeout_ms: 1.5}\n",
        "wrong type for `runtime.timeout_ms` at haft.yaml:1:23, expected a whole number, found a \
         number",
    ),
    (
        "runtime: {timeout_ms: true}\n",
        "wrong type for `runtime.timeout_ms` at haft.yaml:1:23, expected a whole number, found a \
         boolean",
    ),
    (
        "runtime: {timeout_ms: -5}\n",
        "value out of range for `runtime.timeout_ms`: `-5` at haft.yaml:1:23, expected at least 1",
    ),
    (
        "runtime: {timeout_ms: 0}\n",
        "value out of range for `runtime.timeout_ms`: `0` at haft.yaml:1:23, expected at least 1",
    ),
    (
        "runtime: {result_budget: 99999999999}\n",
        "value out of range for `runtime.result_budget`: `99999999999` at haft.yaml:1:26, expected \
         at most 100000000",
    ),
    (
        "runtime: {result_budget: 99999999999999999999999999}\n",
        "wrong type for `runtime.result_budget` at haft.yaml:1:26, expected a whole number, found a \
         number",
    ),
    (
        "tools: {autonomy: autonmous}\n",
        "unknown value for `tools.autonomy`: `autonmous` at haft.yaml:1:19, did you mean \
         `autonomous`?",
    ),
    (
        "agents: {a: {autonomy: [standard]}}\n",
        "wrong type for `agents.a.autonomy` at haft.yaml:1:24, expected text, found a list",
    ),
    (
        "[1]\n",
        "a config is a map of keys, found a list at haft.yaml:1:1",
    ),
    (
        "hello\n",
        "a config is a map of keys, found text at haft.yaml:1:1",
    ),
    // Capabilities of later versions
    (
        "tools:\n  modules:\n    file:\n      setup: [{action: x}]\n",
        "`tools.modules.file.setup` is not available yet in this version at haft.yaml:4:7",
    ),
    (
        "tools: {modules: {shell: {middleware: {}, credential: x, config: {a: 1}}}}\n",
        "`tools.modules.shell.middleware` is not available yet in this version at haft.yaml:1:27\n\
         `tools.modules.shell.credential` is not available yet in this version at haft.yaml:1:43\n\
         `tools.modules.shell.config.a` is not available yet in this version at haft.yaml:1:67",
    ),
    (
        "runtime:\n  watchers: true\n  scheduler: true\n  workers: 3\n",
        "`runtime.watchers` is not available yet in this version at haft.yaml:2:3\n\
         `runtime.scheduler` is not available yet in this version at haft.yaml:3:3\n\
         `runtime.workers` is not available yet in this version at haft.yaml:4:3",
    ),
    (
        "tools: {channels: []}\nbus: x\nisolation: {allowedHosts: []}\n",
        "`tools.channels` is not available yet in this version at haft.yaml:1:9\n\
         `bus` is not available yet in this version at haft.yaml:2:1\n\
         `isolation.allowedHosts` is not available yet in this version at haft.yaml:3:13",
    ),
    // Modules and their constraints
    (
        "tools: {modules: {fil: {}}}\n",
        "unknown module `fil` at haft.yaml:1:19, did you mean `file`?",
    ),
    (
        "tools: {modules: {database: {}}}\n",
        "module `database` is not available yet in this version at haft.yaml:1:19",
    ),
    (
        "tools:\n  modules:\n    file: {}\n    filesystem: {}\n",
        "module `file` is given twice, as `file` and as `filesystem` at haft.yaml:4:5",
    ),
    (
        "tools: {modules: {filesystem: {constraints: {allowed_action: [read]}}}}\n",
        "module `file` has no constraint `allowed_action` at haft.yaml:1:46, did you mean \
         `allowed_actions`?",
    ),
    (
        "tools: {modules: {shell: {constraints: {allowed_paths: [/x]}}}}\n",
        "module `shell` has no constraint `allowed_paths` at haft.yaml:1:41, expected one of \
         `allowed_actions`, `blocked_actions`",
    ),
    (
        "tools: {modules: {file: {constraints: {blocked_actions: write}}}}\n",
        "wrong type for `tools.modules.file.constraints.blocked_actions` at haft.yaml:1:57, \
         expected a list, found text",
    ),
    // YAML itself
    (
        "a: 1\nb: 2\na: 3\n",
        "key `a` is given twice at haft.yaml:3:1",
    ),
    (
        "tools: {deny: [], deny: []}\n",
        "key `deny` is given twice at haft.yaml:1:19",
    ),
    (
        "a:\n\tb: 1\n",
        "not valid YAML: tabs disallowed within this context (block indentation) at haft.yaml:2:2",
    ),
    (
        "a: [1, 2\nb: 3\n",
        "not valid YAML: illegal placement of ':' indicator at haft.yaml:2:2",
    ),
    (
        "a: *nope\n",
        "not valid YAML: alias references unknown anchor at haft.yaml:1:4",
    ),
    (
        "a: &x {b: 1}\nc:\n  <<: *x\n",
        "merge keys (`<<`) are not taken at haft.yaml:3:3",
    ),
    (
        "a: &x [*x]\n",
        "alias stands inside its own anchor at haft.yaml:1:8",
    ),
    (
        "tools: {}\n---\ntools: {}\n",
        "a config is one document, and a second one begins at haft.yaml:2:1",
    ),
    (
        "tools: !ruby/object:Gem {}\n",
        "not valid YAML: unsupported tag `!ruby/object:Gem` at haft.yaml:1:25",
    ),
];

#[test]
fn expensive_files_are_refused() {
    let nested = |depth| format!("a: {}1{}\n", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(
        refusal(nested(40).as_bytes()),
        "nested too deeply: more than 24 levels at haft.yaml:1:27"
    );
    assert!(refusal(nested(100_000).as_bytes()).starts_with("nested too deeply"));
    let blocks: String = (0..5000).map(|depth| " ".repeat(depth) + "a:\n").collect();
    assert!(refusal(&blocks.as_bytes()[..1 << 20]).starts_with("nested too deeply"));

    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..9 {
        let below = format!("*a{},", level - 1).repeat(10);
        bomb += &format!("a{level}: &a{level} [{}]\n", below.trim_end_matches(','));
    }
    assert_eq!(
        refusal(bomb.as_bytes()),
        "aliases repeat too much at haft.yaml:4:10"
    );

    let many: String = (0..30_000).map(|index| format!("k{index}: 1\n")).collect();
    assert_eq!(
        refusal(many.as_bytes()),
        "too many entries: more than 20000 at haft.yaml:10000:8"
    );
    assert_eq!(
        refusal(&b"# padding\n".repeat(120_000)),
        "`haft.yaml` is too large: 1200000 bytes, at most 1048576"
    );
    assert_eq!(
        refusal(b"tools: {}\n# \xff\n"),
        "text is not UTF-8 at haft.yaml:2:3"
    );
    assert_eq!(
        refusal(&b"x: 1\n".repeat(3000)),
        "key `x` is given twice at haft.yaml:2:1"
    );
}
