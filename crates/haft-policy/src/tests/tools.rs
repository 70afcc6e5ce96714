//! Tool-level verdicts: profiles, overrides, hooks and autonomy.

use haft_core::{Identity, Repeat, Risk};
use serde_json::{Value, json};

use super::{compile, judged, layer, places, shown, tool};
use crate::{Autonomy, Policy, Verdict, Who};

#[test]
fn profiles_and_tools() {
    let tools = [
        "system.info",
        "memory.read",
        "memory.search",
        "file.read",
        "file.write",
        "shell.exec",
        "process.start",
        "web.fetch",
        "mcp.github.issue",
        "search_tools",
    ];
    let check = |profile: &str, expected: &str| {
        let policy = compile(json!({})).unwrap();
        let who = Who {
            profile: Some(profile.to_owned()),
            ..Who::default()
        };
        let row: String = tools
            .iter()
            .map(|name| {
                if policy.bind(&tool(name), &who).visible() {
                    '+'
                } else {
                    '-'
                }
            })
            .collect();
        assert_eq!(row, expected, "{profile}");
    };
    check("minimal", "+--------+");
    check("messaging", "++-------+");
    check("coding", "+++++--+++");
    check("full", "++++++++++");
    check("unknown", "----------");
}

#[test]
fn overrides_in_their_order() {
    let config = json!({
        "tools": {
            "policy": "mine",
            "profiles": {"mine": {"allow": ["group:reading"], "deny": ["file.write"]}},
            "groups": {"reading": ["file.read", "file.list", "group:memory"]},
            "allow": ["web.fetch", "file.write"],
            "deny": ["memory.write"],
        },
        "agents": {
            "coder": {"toolPolicy": "coding"},
            "clerk": {"toolPolicy": {"allow": ["shell.exec", "memory.write"], "deny": ["Read"]}},
            "boss": {"toolPolicy": {"profile": "full"}},
        },
        "providers": {"small": {"allow": ["file.*"], "deny": ["file.list"]}},
    });
    let check = |agent: &str, provider: &str, name: &str, expected: &str| {
        let policy = compile(config.clone()).unwrap();
        let who = Who {
            agent: Some(agent.to_owned()),
            provider: Some(provider.to_owned()),
            ..Who::default()
        };
        let bound = policy.bind(&tool(name), &who);
        let got = shown(bound.tool_verdict());
        assert_eq!(got, expected, "{agent} {provider} {name}");
    };
    check(
        "x",
        "y",
        "file.read",
        "allow: profile mine: allow group:reading (config.yaml)",
    );
    check(
        "x",
        "y",
        "web.fetch",
        "allow: tools: allow web.fetch (config.yaml)",
    );
    check(
        "x",
        "y",
        "file.write",
        "deny: profile mine: deny file.write (config.yaml)",
    );
    check(
        "x",
        "y",
        "web.search",
        "deny: profile mine: allow does not list web.search (config.yaml)",
    );
    check(
        "x",
        "y",
        "memory.write",
        "deny: tools: deny memory.write (config.yaml)",
    );
    check(
        "x",
        "y",
        "search_tools",
        "allow: always included (defaults)",
    );
    check(
        "coder",
        "y",
        "shell.exec",
        "deny: profile coding: deny group:runtime (defaults)",
    );
    check(
        "clerk",
        "y",
        "memory.write",
        "deny: tools: deny memory.write (config.yaml)",
    );
    check(
        "clerk",
        "y",
        "file.read",
        "deny: agent clerk: deny Read (config.yaml)",
    );
    check(
        "clerk",
        "y",
        "shell.exec",
        "ask: no allow rule matches (defaults), autonomy standard (defaults)",
    );
    check(
        "boss",
        "y",
        "file.move",
        "allow: profile full: allow * (defaults)",
    );
    check(
        "boss",
        "small",
        "file.list",
        "deny: provider small: deny file.list (config.yaml)",
    );
    check(
        "boss",
        "small",
        "web.fetch",
        "deny: provider small: allow does not list web.fetch (config.yaml)",
    );
    check(
        "x",
        "small",
        "file.read",
        "allow: profile mine: allow group:reading (config.yaml)",
    );
}

#[test]
fn hooks_and_autonomy_make_one_decision() {
    let check = |hook: &str, level: &str, name: &str, rule: Option<&str>, expected: &str| {
        let mut config = json!({"tools": {"autonomy": level, "hooks": {hook: ["*"]}}});
        config["tools"]["rules"] = json!({"allow": rule.into_iter().collect::<Vec<_>>()});
        let policy = compile(config).unwrap();
        let bound = policy.bind(&tool(name), &Who::default());
        let judgement = bound.tool_verdict();
        let decision = &judgement.decision;
        let got = format!(
            "{} {} {}{}: {}",
            judgement.verdict,
            decision.level,
            decision.action.as_str(),
            if decision.overridden {
                " overridden"
            } else {
                ""
            },
            decision.reason
        );
        assert_eq!(got, expected, "{hook} {level} {name} {rule:?}");
    };
    check(
        "silent",
        "conservative",
        "file.read",
        None,
        "allow supervised silent: `hooks.silent: *` (config.yaml)",
    );
    check(
        "silent",
        "supervised",
        "file.move",
        None,
        "ask supervised confirm overridden: autonomy `supervised` confirms every effect",
    );
    check(
        "silent",
        "supervised",
        "file.move",
        Some("file.move"),
        "ask supervised confirm overridden: autonomy `supervised` confirms every effect",
    );
    check(
        "confirm",
        "supervised",
        "file.move",
        None,
        "ask supervised confirm: `hooks.confirm: *` (config.yaml)",
    );
    check(
        "log",
        "guided",
        "file.write",
        None,
        "ask standard confirm overridden: autonomy `standard` confirms `file.write`",
    );
    check(
        "log",
        "standard",
        "file.write",
        Some("file.write"),
        "allow standard log: `hooks.log: *` (config.yaml)",
    );
    check(
        "confirm",
        "standard",
        "file.write",
        Some("file.write"),
        "ask standard confirm: `hooks.confirm: *` (config.yaml)",
    );
    check(
        "log",
        "standard",
        "file.move",
        None,
        "allow standard log: `hooks.log: *` (config.yaml)",
    );
    check(
        "silent",
        "standard",
        "mcp.x.y",
        None,
        "ask standard confirm overridden: autonomy `standard` confirms `mcp.x.y`",
    );
    check(
        "silent",
        "autonomous",
        "mcp.x.y",
        None,
        "allow autonomous silent: `hooks.silent: *` (config.yaml)",
    );
    check(
        "confirm",
        "autonomous",
        "file.read",
        None,
        "ask autonomous confirm: `hooks.confirm: *` (config.yaml)",
    );
    check(
        "silent",
        "autonomous",
        "shell.exec",
        None,
        "ask autonomous confirm overridden: a command that no rule allows is asked about",
    );
    check(
        "silent",
        "autonomous",
        "shell.exec",
        Some("Bash"),
        "allow autonomous silent: `hooks.silent: *` (config.yaml)",
    );
}

#[test]
fn confirm_wins_over_log_and_log_over_silent() {
    let hooks = json!({"confirm": ["file.write"], "log": ["file.*"], "silent": ["*"]});
    let policy = compile(json!({"tools": {"hooks": hooks, "autonomy": "autonomous"}})).unwrap();
    let check = |name: &str, expected: &str| {
        let bound = policy.bind(&tool(name), &Who::default());
        assert_eq!(
            bound.tool_verdict().decision.action.as_str(),
            expected,
            "{name}"
        );
    };
    check("file.write", "confirm");
    check("file.read", "log");
    check("web.fetch", "silent");
}

#[test]
fn approval_is_required_at_every_level_unless_a_rule_allows() {
    let mut spec = tool("web.fetch");
    spec.requires_approval = true;
    spec.repeat = Repeat::Read;
    spec.risk = Risk::Low;
    let check = |config: Value, expected: Verdict| {
        let bound = compile(config).unwrap().bind(&spec, &Who::default());
        assert_eq!(bound.tool_verdict().verdict, expected);
    };
    check(json!({"tools": {"autonomy": "autonomous"}}), Verdict::Ask);
    check(
        json!({"tools": {"rules": {"allow": ["web.*"]}}}),
        Verdict::Allow,
    );
}

#[test]
fn no_rule_speaks_for_a_tool_that_is_not_what_was_agreed_to() {
    let mut spec = tool("mcp.a.b");
    spec.redefined = true;
    spec.repeat = Repeat::Read;
    for rules in [json!({}), json!({"allow": ["mcp.a.b", "mcp.*"]})] {
        let config = json!({"tools": {"autonomy": "autonomous", "rules": rules}});
        let bound = compile(config).unwrap().bind(&spec, &Who::default());
        let judgement = bound.tool_verdict();
        assert_eq!(judgement.verdict, Verdict::Ask);
        assert_eq!(judgement.remember, None);
    }
}

#[test]
fn constraints_bind_agents_only() {
    let config = json!({"tools": {"modules": {
        "filesystem": {"constraints": {"allowed_actions": ["read", "list"]}},
        "shell": {"constraints": {"blocked_actions": ["EXEC"]}},
    }}});
    let check = |name: &str, identity: Identity, visible: bool| {
        let who = Who {
            identity,
            ..Who::default()
        };
        let bound = compile(config.clone()).unwrap().bind(&tool(name), &who);
        assert_eq!(bound.visible(), visible, "{name} {identity:?}");
    };
    check("file.read", Identity::Agent, true);
    check("file.write", Identity::Agent, false);
    check("file.write", Identity::Setup, true);
    check("shell.exec", Identity::Agent, false);
    check("shell.exec", Identity::Hook, true);
    check("shell.exec", Identity::Channel, true);
    check("web.fetch", Identity::Agent, true);
}

#[test]
fn a_second_layer_only_narrows() {
    let owner = json!({"tools": {"deny": ["web.*"], "rules": {"allow": ["file.move"]}}});
    let project = json!({"tools": {"policy": "coding", "autonomy": "autonomous", "rules": {"ask": ["file.move"]}}});
    let layers = vec![layer("config.yaml", owner), layer("haft.yaml", project)];
    let policy = Policy::compile(layers, places()).unwrap();
    let check = |name: &str, expected: &str| {
        let bound = policy.bind(&tool(name), &Who::default());
        assert_eq!(shown(bound.tool_verdict()), expected, "{name}");
    };
    check(
        "shell.exec",
        "deny: profile coding: deny group:runtime (defaults)",
    );
    check("web.fetch", "deny: tools: deny web.* (config.yaml)");
    check("file.move", "ask: file.move (haft.yaml)");
    check("file.write", "ask: autonomy standard (defaults)");
}

#[test]
fn flags_choose_profile_and_level() {
    let policy =
        compile(json!({"tools": {"policy": "minimal", "autonomy": "supervised"}})).unwrap();
    let who = Who {
        profile: Some("full".to_owned()),
        autonomy: Some(Autonomy::Autonomous),
        ..Who::default()
    };
    let bound = policy.bind(&tool("file.write"), &who);
    assert_eq!(
        shown(bound.tool_verdict()),
        "allow: profile full: allow * (defaults)"
    );
    let wrong = Who {
        profile: Some("codin".to_owned()),
        ..Who::default()
    };
    let error = policy.check_who(&wrong).unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `coding`?"));
    assert!(policy.check_who(&who).is_ok());
}

#[test]
fn broken_config_names_layer_text_and_the_nearest_word() {
    let check = |config: Value, expected: &str| {
        let error = compile(config).unwrap_err();
        let got = format!("{error}; {}", error.hint.clone().unwrap_or_default());
        assert_eq!(got, expected);
    };
    check(
        json!({"tools": {"policy": "codng"}}),
        "config.yaml: unknown profile: `codng`; did you mean `coding`?",
    );
    check(
        json!({"agents": {"a": {"toolPolicy": {"profile": "ful"}}}}),
        "config.yaml: unknown profile: `ful`; did you mean `full`?",
    );
    check(
        json!({"tools": {"deny": ["group:wb"]}}),
        "config.yaml: unknown group: `group:wb`; did you mean `web`?",
    );
    check(
        json!({"tools": {"rules": {"deny": ["shell.exec(rm *"]}}}),
        "config.yaml: not a rule: `shell.exec(rm *`: the parenthesis is never closed; write `tool` or `tool(pattern)`",
    );
    check(
        json!({"tools": {"rules": {"deny": ["shell.exec(ls | rm)"]}}}),
        "config.yaml: not a rule: `shell.exec(ls | rm)`: a rule names one command, without `|`; write `tool` or `tool(pattern)`",
    );
    check(
        json!({"tools": {"rules": {"allow": ["file.write(/[a)"]}}}),
        "config.yaml: not a rule: `file.write(/[a)`: `[` is never closed; write `tool` or `tool(pattern)`",
    );
    check(
        json!({"tools": {"modules": {"file": {"constraints": {"allowed_actions": "read"}}}}}),
        "config.yaml: tools.modules.file.constraints.allowed_actions: must be a list of strings; ",
    );
}

#[test]
fn unknown_keys_are_refused() {
    let config = json!({"tools": {"polcy": "full"}});
    let error = serde_json::from_value::<crate::PolicyConfig>(config).unwrap_err();
    assert!(
        error.to_string().contains("unknown field `polcy`"),
        "{error}"
    );
    let config = json!({"remembered": ["shell.exec"]});
    assert!(serde_json::from_value::<crate::PolicyConfig>(config).is_err());
}

#[test]
fn the_revision_follows_every_change() {
    let revision = |config: Value| compile(config).unwrap().revision().to_owned();
    let plain = revision(json!({}));
    assert_eq!(plain, revision(json!({})));
    assert_ne!(plain, revision(json!({"tools": {"deny": ["x"]}})));
    let mut remembered = layer("config.yaml", json!({}));
    remembered.config.remembered = vec!["file.move".to_owned()];
    let policy = Policy::compile(vec![remembered], places()).unwrap();
    assert_ne!(plain, policy.revision());
}

#[test]
fn doctor_sees_what_is_in_force() {
    let policy =
        compile(json!({"tools": {"policy": "coding", "rules": {"deny": ["file.write(/etc/**)"]}}}))
            .unwrap();
    let lines: Vec<String> = policy
        .rules_in_force(&Who::default())
        .iter()
        .map(|line| format!("{} | {} | {}", line.effect, line.rule, line.from))
        .collect();
    assert_eq!(
        lines,
        [
            "profile | profile coding | config.yaml",
            "allow | profile coding: allow * | defaults",
            "deny | profile coding: deny group:runtime | defaults",
            "deny | file.write(/etc/**) | config.yaml",
            "level | autonomy standard | defaults",
        ]
    );
}

#[test]
fn a_judgement_reads_as_explain_prints_it() {
    let policy = compile(json!({"tools": {"policy": "coding"}})).unwrap();
    let bound = policy.bind(&tool("shell.exec"), &Who::default());
    let json = serde_json::to_value(judged(&bound, &super::line("ls"))).unwrap();
    assert_eq!(json["verdict"], "deny");
    let hit =
        json!({"rule": "profile coding: deny group:runtime", "from": "defaults", "effect": "deny"});
    assert_eq!(json["rules"], json!([hit]));
    assert_eq!(
        json["reason"],
        "denied by `profile coding: deny group:runtime` (defaults)"
    );
    let decision = json!({
        "action": "deny", "overridden": true, "reason": json["reason"], "level": "standard",
    });
    assert_eq!(json["decision"], decision);
}

#[test]
fn a_tool_that_starts_nothing_is_not_asked_about_before_its_arguments_are_known() {
    let policy = compile(json!({})).unwrap();
    let check = |repeat: Repeat, risk: Risk, expected: Verdict| {
        let mut spec = tool("process.any");
        spec.capabilities = vec![haft_core::Capability::ShellExec];
        spec.repeat = repeat;
        spec.risk = risk;
        let bound = policy.bind(&spec, &Who::default());
        assert_eq!(
            bound.tool_verdict().verdict,
            expected,
            "{repeat:?} {risk:?}"
        );
    };
    check(Repeat::Read, Risk::Low, Verdict::Allow);
    check(Repeat::Idempotent, Risk::Low, Verdict::Allow);
    check(Repeat::Idempotent, Risk::High, Verdict::Ask);
    check(Repeat::Unsafe, Risk::Medium, Verdict::Ask);
}

#[test]
fn a_pattern_that_names_no_tool_is_told_with_the_nearest_name() {
    let policy = compile(json!({
        "tools": {
            "deny": ["shel.exec", "Bash", "mcp.github.*", "group:fs"],
            "allow": ["file.*"],
            "hooks": {"confirm": ["nothing.like.it"]},
            "profiles": {"mine": {"allow": ["file.raed"]}},
            "rules": {"deny": ["file.wriet(/etc/**)", "file.write(/x)"]},
        },
        "agents": {"a": {"toolPolicy": {"deny": ["*.exec"]}}},
    }))
    .unwrap();
    let tools = ["shell.exec", "file.read", "file.write"].map(tool);
    assert_eq!(
        policy.name_nothing(&tools),
        [
            "`shel.exec` under `tools.deny` (config.yaml) names no tool; did you mean `shell.exec`?",
            "`nothing.like.it` under `tools.hooks.confirm` (config.yaml) names no tool",
            "`file.raed` under `tools.profiles.mine` (config.yaml) names no tool; did you mean `file.read`?",
            "`file.wriet` under `tools.rules.deny` (config.yaml) names no tool; did you mean `file.write`?",
        ]
    );
}
