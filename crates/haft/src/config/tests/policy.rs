//! A project file that nobody has trusted makes no verdict weaker, whatever it says.

use std::path::PathBuf;

use haft_core::{CommandLine, Effects, Repeat, Resource, Risk, Source, ToolSpec};
use haft_policy::{Places, Policy, Verdict, Who};
use proptest::prelude::*;
use serde_json::json;

use super::Fixture;

/// Every verdict worth comparing, in words: one line a caller, tool and effect.
fn verdicts(fixture: &Fixture) -> Vec<(String, Verdict)> {
    let loaded = fixture.load().unwrap();
    let places = Places {
        workspace: "/w".into(),
        home: None,
        ..Places::default()
    };
    let policy = Policy::compile(loaded.layers, places).unwrap();
    let named = |agent: Option<&str>, provider: Option<&str>| Who {
        agent: agent.map(str::to_owned),
        provider: provider.map(str::to_owned),
        ..Who::default()
    };
    let callers = [
        named(None, None),
        named(Some("a"), None),
        named(Some("a"), Some("p")),
    ];
    let mut found = Vec::new();
    for who in &callers {
        for (tool, effects) in &calls() {
            let bound = policy.bind(tool, who);
            let resolve = |cwd: &std::path::Path, path: &str| -> PathBuf { cwd.join(path) };
            let name = format!("{who:?} {} {effects:?}", tool.name);
            found.push((format!("{name} listed"), bound.tool_verdict().verdict));
            found.push((name, bound.judge(effects, &resolve).verdict));
        }
    }
    found
}

fn calls() -> Vec<(ToolSpec, Effects)> {
    let tool = |name: &str, repeat, risk| {
        let mut spec = ToolSpec::new(name, "", json!({}));
        spec.repeat = repeat;
        spec.risk = risk;
        spec
    };
    let read = tool("file.read", Repeat::Read, Risk::Low);
    let write = tool("file.write", Repeat::Idempotent, Risk::High);
    let exec = tool("shell.exec", Repeat::Unsafe, Risk::High);
    let mut remote = tool("mcp.github.create", Repeat::Unsafe, Risk::Medium);
    remote.source = Source::Mcp("github".into());
    let file = |path: &str| Resource::File(path.into());
    let line = |line: &str| CommandLine::Shell {
        line: line.to_owned(),
        cwd: "/w".into(),
    };
    vec![
        (read.clone(), Effects::none().reads(file("/w/a"))),
        (read, Effects::none().reads(file("/etc/passwd"))),
        (write.clone(), Effects::none().writes(file("/w/a"))),
        (write, Effects::none().writes(file("/etc/passwd"))),
        (exec.clone(), Effects::anything().runs(line("git status"))),
        (exec.clone(), Effects::anything().runs(line("rm -rf /"))),
        (exec, Effects::anything().runs(line("echo $(id)"))),
        (remote, Effects::anything()),
    ]
}

/// Pieces of a config. Each is a whole document; a file is a few of them laid over each other.
const PIECES: &[&str] = &[
    "tools: {policy: full}",
    "tools: {policy: coding}",
    "tools: {policy: minimal}",
    "tools: {autonomy: autonomous}",
    "tools: {autonomy: standard}",
    "tools: {autonomy: supervised}",
    "tools: {allow: ['*']}",
    "tools: {allow: ['shell.*', 'mcp.github.*']}",
    "tools: {deny: ['file.write']}",
    "tools: {deny: ['group:runtime']}",
    "tools: {groups: {runtime: ['system.info']}}",
    "tools: {groups: {fs: ['nothing.here']}}",
    "tools: {profiles: {coding: {allow: ['*'], deny: []}}}",
    "tools: {profiles: {full: {allow: ['file.*']}}}",
    "tools: {profiles: {minimal: {allow: ['*']}}}",
    "tools: {hooks: {confirm: ['file.*']}}",
    "tools: {hooks: {silent: ['*']}}",
    "tools: {rules: {allow: ['shell.exec', 'file.write', 'mcp.github.create']}}",
    "tools: {rules: {allow: ['shell.exec(git status *)', 'file.write(/w/**)']}}",
    "tools: {rules: {allow: ['file.write(/other/**)']}}",
    "tools: {rules: {ask: ['file.read(/etc/**)']}}",
    "tools: {rules: {deny: ['file.write(/etc/**)', 'shell.exec(rm *)']}}",
    "tools: {modules: {file: {constraints: {allowed_actions: [read]}}}}",
    "tools: {modules: {file: {constraints: {allowed_actions: [read, write]}}}}",
    "tools: {modules: {filesystem: {constraints: {blocked_actions: [write]}}}}",
    "tools: {modules: {file: {constraints: {allowed_paths: ['/w/**']}}}}",
    "tools: {modules: {file: {constraints: {allowed_paths: ['/**']}}}}",
    "agents: {a: {toolPolicy: full}}",
    "agents: {a: {toolPolicy: minimal, autonomy: supervised}}",
    "agents: {a: {toolPolicy: {allow: ['*']}, autonomy: autonomous}}",
    "agents: {a: {toolPolicy: {deny: ['shell.exec']}}}",
    "providers: {p: {allow: ['*'], deny: []}}",
    "providers: {p: {allow: ['file.*']}}",
    "providers: {p: {deny: ['mcp.*']}}",
];

/// A file made of these pieces.
fn file_of(pieces: &[usize]) -> String {
    let mut whole = json!({});
    for &piece in pieces {
        let parsed = super::file::parse(PIECES[piece].as_bytes(), "piece", super::MODULES, None);
        whole = super::merge::over(&whole, &parsed.unwrap().given);
    }
    whole.to_string()
}

fn check_never_weaker(owner: &str, project: &str) {
    let before = verdicts(&Fixture::new(owner, ""));
    let after = verdicts(&Fixture::new(owner, project));
    for ((call, before), (_, after)) in before.iter().zip(&after) {
        assert!(
            after >= before,
            "{call}: {before} became {after} by {project} over {owner}"
        );
    }
}

#[test]
fn widening_project_files_change_no_verdict_until_trusted() {
    let widening = [
        "tools: {policy: full, autonomy: autonomous}",
        "tools: {rules: {allow: ['shell.exec', 'file.write', 'mcp.github.create']}}",
        "tools: {profiles: {coding: {allow: ['*']}}, groups: {runtime: []}, allow: ['*']}",
        "agents: {a: {toolPolicy: full, autonomy: autonomous}}\nproviders: {p: {allow: ['*']}}",
        "files: {roots: [/]}\nruntime: {timeout_ms: 86400000}",
    ];
    let owners = [
        "",
        "tools: {policy: coding}",
        "tools: {policy: minimal, autonomy: supervised}",
        "agents: {a: {toolPolicy: minimal}}\nproviders: {p: {allow: ['file.read']}}",
        "tools: {rules: {deny: ['file.write(/etc/**)'], ask: ['file.read']}}",
    ];
    let mut lifted = 0;
    for owner in owners {
        let before = verdicts(&Fixture::new(owner, ""));
        for project in widening {
            let fixture = Fixture::new(owner, project);
            assert_eq!(verdicts(&fixture), before, "{project} over {owner}");
            fixture.trust();
            lifted += usize::from(verdicts(&fixture) != before);
        }
    }
    assert!(lifted >= 10, "trusted, these files do widen: {lifted}");
}

#[test]
fn narrowing_project_files_bind_at_once() {
    let project = "tools: {deny: [file.write], rules: {ask: [file.read]}}";
    let found = verdicts(&Fixture::new("", project));
    let of = |name: &str| {
        let mut matching = found.iter().filter(|(call, _)| call.contains(name));
        let (_, first) = matching.next().unwrap();
        assert!(matching.all(|(_, verdict)| verdict == first), "{name}");
        *first
    };
    assert_eq!(of("file.write"), Verdict::Deny);
    assert_eq!(of("file.read"), Verdict::Ask);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_untrusted_project_file_never_weakens_a_verdict(
        owner in prop::collection::vec(0..PIECES.len(), 0..5),
        project in prop::collection::vec(0..PIECES.len(), 1..5),
    ) {
        check_never_weaker(&file_of(&owner), &file_of(&project));
    }
}
