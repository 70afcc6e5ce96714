//! What must hold for every policy: a deny added never allows more, nor does a layer.

use haft_core::{Effects, Resource};
use proptest::prelude::*;
use serde_json::json;

use super::{judged, layer, line, places, tool};
use crate::{Layer, Policy, Verdict, Who};

const TOOLS: &[&str] = &[
    "file.read",
    "file.write",
    "shell.exec",
    "mcp.x.run",
    "system.info",
    "search_tools",
];

fn pattern() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "*",
        "file.*",
        "file.write",
        "Read",
        "bash",
        "BASH",
        "shell.*",
        "group:fs",
        "group:runtime",
        "mcp.x.*",
        "mcp:x:run",
        "system.info",
        "search_tools",
    ])
}

fn rule() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "shell.exec",
        "bash(ls *)",
        "shell.exec(git status *)",
        "shell.exec(git *)",
        "shell.exec(rm *)",
        "shell.exec(*)",
        "process.start(rm *)",
        "file.write",
        "file.write(/etc/**)",
        "file.*(src/**)",
        "file.read(**)",
        "Write(/w/*)",
        "mcp.x.run",
        "mcp.x.run(/w/**)",
        "*(/w/src/a)",
        "file.read(**/.env)",
    ])
}

fn effects() -> impl Strategy<Value = Effects> {
    let path = prop::sample::select(vec![
        "/etc/passwd",
        "/w/src/a",
        "/w/a",
        "/w/.env",
        "/w",
        "/",
    ]);
    let text = prop::sample::select(vec![
        "ls",
        "ls -la; git status",
        "rm a",
        "git push",
        "ls > /etc/x",
        "ls $(rm a)",
        "sudo rm a",
        "git -c x=y status",
        "cat < src/a",
        "ls > src/a",
        "",
        "echo 'x",
    ]);
    prop_oneof![
        Just(Effects::none()),
        Just(Effects::anything()),
        path.clone()
            .prop_map(|path| Effects::none().reads(Resource::File(path.into()))),
        path.clone()
            .prop_map(|path| Effects::none().writes(Resource::File(path.into()))),
        path.prop_map(|path| Effects::none().writes(Resource::Tree(path.into()))),
        text.prop_map(line),
    ]
}

fn a_layer() -> impl Strategy<Value = Layer> {
    let patterns = || prop::collection::vec(pattern(), 0..3);
    let rules = || prop::collection::vec(rule(), 0..4);
    let profile = prop::sample::select(vec!["minimal", "messaging", "coding", "full"]);
    let level = prop::sample::select(vec!["supervised", "standard", "autonomous"]);
    (
        (profile, level),
        (patterns(), patterns(), patterns()),
        (rules(), rules(), rules()),
        prop::option::of(patterns()),
    )
        .prop_map(
            |((profile, level), (allow, deny, confirm), (yes, ask, no), provider)| {
                let mut config = json!({"tools": {
                    "policy": profile, "autonomy": level, "allow": allow, "deny": deny,
                    "hooks": {"confirm": confirm},
                    "rules": {"allow": yes, "ask": ask, "deny": no},
                }});
                if let Some(allow) = provider {
                    config["providers"] = json!({"p": {"allow": allow}});
                }
                layer("config.yaml", config)
            },
        )
}

/// Verdict on the tool, and on the call.
fn verdicts(layers: &[Layer], name: &str, effects: &Effects) -> (Verdict, Verdict) {
    let policy = Policy::compile(layers.to_vec(), places()).unwrap();
    let who = Who {
        provider: Some("p".to_owned()),
        ..Who::default()
    };
    let bound = policy.bind(&tool(name), &who);
    (
        bound.tool_verdict().verdict,
        judged(&bound, effects).verdict,
    )
}

fn no_weaker(before: (Verdict, Verdict), after: (Verdict, Verdict)) -> bool {
    after.0 >= before.0 && after.1 >= before.1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_deny_never_allows_more(
        base in a_layer(), name in prop::sample::select(TOOLS), effects in effects(),
        denied_tool in pattern(), denied_rule in rule(), which in 0..4,
    ) {
        let mut changed = base.clone();
        let config = &mut changed.config;
        match which {
            0 => config.tools.deny.push(denied_tool.to_owned()),
            1 => config.tools.rules.deny.push(denied_rule.to_owned()),
            2 => config.providers.entry("p".to_owned()).or_default().deny.push(denied_tool.to_owned()),
            _ => config.tools.rules.ask.push(denied_rule.to_owned()),
        }
        let before = verdicts(&[base], name, &effects);
        let after = verdicts(&[changed], name, &effects);
        prop_assert!(no_weaker(before, after), "{before:?} {after:?}");
    }

    #[test]
    fn a_layer_never_allows_more(
        base in a_layer(), added in a_layer(), name in prop::sample::select(TOOLS), effects in effects(),
    ) {
        let before = verdicts(std::slice::from_ref(&base), name, &effects);
        let after = verdicts(&[base, added], name, &effects);
        prop_assert!(no_weaker(before, after), "{before:?} {after:?}");
    }

    #[test]
    fn a_call_is_never_judged_weaker_than_a_denied_tool(
        base in a_layer(), name in prop::sample::select(TOOLS), effects in effects(),
    ) {
        let (of_tool, of_call) = verdicts(&[base], name, &effects);
        prop_assert!(of_tool != Verdict::Deny || of_call == Verdict::Deny);
    }

    #[test]
    fn any_line_is_looked_at_without_harm(text in "[ -~\\n]{0,80}", odd in "\\PC{0,40}") {
        let shell = [text, odd].concat();
        let base = layer("config.yaml", json!({"tools": {"rules": {"deny": ["shell.exec(rm *)"]}}}));
        let (_, verdict) = verdicts(&[base], "shell.exec", &line(&shell));
        prop_assert!(verdict != Verdict::Allow);
    }
}
