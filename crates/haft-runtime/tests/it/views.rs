//! What a caller sees is what it can call.

use std::sync::Arc;

use haft_core::{Call, DynTool, ErrorCode, Identity, Source};
use haft_policy::{Constraints, ModuleConfig, Who};
use haft_runtime::{Filters, Scope, Session, Shape};
use haft_testkit::House;
use serde_json::{Value, json};

use crate::registry::{Plain, plain};

fn furnished() -> House {
    let house = House::builder().build();
    let from = |name: &str, source: Source| -> Arc<dyn DynTool> {
        let mut spec = plain(name);
        spec.source = source;
        spec.repeat = haft_core::Repeat::Read;
        Arc::new(Plain(spec))
    };
    let registry = house.runtime.registry();
    registry
        .register(from("mcp.git.log", Source::Mcp("git".into())), None)
        .unwrap();
    registry
        .register(from("mcp.web.get", Source::Mcp("web".into())), None)
        .unwrap();
    registry
        .register(from("plug.in", Source::Builtin), Some("one"))
        .unwrap();
    let mut kept = plain("core.kept");
    kept.always_include = true;
    kept.repeat = haft_core::Repeat::Read;
    registry.register(Arc::new(Plain(kept)), None).unwrap();
    house
}

fn seen(house: &House, session: &Session) -> Vec<String> {
    let definitions = session.definitions(&house.runtime, Shape::Anthropic);
    definitions
        .items()
        .iter()
        .map(|definition| definition.name().to_owned())
        .collect()
}

async fn code(house: &House, session: &Session, name: &str) -> Option<ErrorCode> {
    house
        .runtime
        .call(session, Call::new(name, json!({})))
        .await
        .code()
}

#[tokio::test]
async fn filters_choose_among_sources() {
    let house = furnished();
    let with = |filters: Filters| house.session_as("s", Who::default(), filters);
    let all = seen(&house, &with(Filters::default()));
    assert!(all.contains(&"mcp.git.log".into()) && all.contains(&"plug.in".into()));
    assert!(
        !all.contains(&"test.online".into()),
        "not available, not shown"
    );
    let session = with(Filters {
        toolset: vec!["test.echo".into()],
        allowed_mcp_servers: Some(vec!["git".into()]),
        allowed_plugins: Some(vec![]),
    });
    assert_eq!(
        seen(&house, &session),
        ["test.echo", "mcp.git.log", "core.kept"]
    );
    for name in ["mcp.web.get", "plug.in", "test.never"] {
        assert_eq!(
            code(&house, &session, name).await,
            Some(ErrorCode::NotAvailable),
            "{name}"
        );
    }
    assert_eq!(code(&house, &session, "mcp.git.log").await, None);
}

#[tokio::test]
async fn scopes_only_narrow() {
    let house = furnished();
    let parent = house.session("s").scoped(Scope {
        allowed: Some(vec!["test.*".into(), "mcp.git.log".into()]),
        denied: vec!["say".into()],
    });
    assert_eq!(
        code(&house, &parent, "test.echo").await,
        Some(ErrorCode::NotAvailable)
    );
    assert_eq!(code(&house, &parent, "mcp.git.log").await, None);
    let child = parent.scoped(Scope {
        allowed: Some(vec!["*".into()]),
        denied: vec![],
    });
    assert_eq!(
        code(&house, &child, "test.echo").await,
        Some(ErrorCode::NotAvailable)
    );
    assert_eq!(
        code(&house, &child, "plug.in").await,
        Some(ErrorCode::NotAvailable)
    );
    let narrower = child.scoped(Scope {
        allowed: None,
        denied: vec!["mcp.git.*".into()],
    });
    assert_eq!(
        code(&house, &narrower, "mcp.git.log").await,
        Some(ErrorCode::NotAvailable)
    );
}

#[tokio::test]
async fn module_constraints_bind_agents_and_not_the_owners_steps() {
    let mut constraints = Constraints::default();
    constraints
        .0
        .insert("blocked_actions".into(), json!(["echo"]));
    let module = ModuleConfig {
        constraints,
        ..ModuleConfig::default()
    };
    let house = House::builder()
        .policy(|policy| {
            policy.tools.modules.insert("test".into(), module);
        })
        .build();
    let echo = async |identity: Identity| {
        let who = Who {
            identity,
            ..Who::default()
        };
        let session = house.session_as("s", who, Filters::default());
        let shown = seen(&house, &session).contains(&"test.echo".to_owned());
        let outcome = house
            .runtime
            .call(&session, Call::new("test.echo", json!({"text": "x"})))
            .await;
        (shown, outcome.ok)
    };
    assert_eq!(echo(Identity::Agent).await, (false, false));
    for identity in [Identity::Setup, Identity::Hook, Identity::Channel] {
        assert_eq!(echo(identity).await, (true, true), "{identity:?}");
    }
}

#[tokio::test]
async fn denied_tools_are_not_suggested() {
    let house = House::builder()
        .policy(|policy| policy.tools.deny = vec!["test.echo".into()])
        .build();
    let outcome = house
        .runtime
        .call(&house.session("s"), Call::new("test.ecko", json!({})))
        .await;
    let hint = outcome.into_body().error.unwrap().hint.unwrap();
    assert!(!hint.contains("echo"), "{hint}");
}

#[test]
fn definitions_in_every_shape_are_stable_until_something_changes() {
    let house = furnished();
    let session = house.session("s");
    let first = session.definitions(&house.runtime, Shape::OpenAi);
    let second = session.definitions(&house.runtime, Shape::OpenAi);
    assert!(Arc::ptr_eq(&first, &second));
    house
        .runtime
        .registry()
        .register(Arc::new(Plain(plain("new.tool"))), None)
        .unwrap();
    let third = session.definitions(&house.runtime, Shape::OpenAi);
    assert_eq!(third.items().len(), first.items().len() + 1);
    assert!(
        third.json().starts_with(first.json().trim_end_matches(']')),
        "appended, not reordered"
    );

    let one = |shape| -> Value {
        let json = session.definitions(&house.runtime, shape).json();
        serde_json::from_str::<Value>(&json).unwrap()[0].clone()
    };
    let openai = one(Shape::OpenAi);
    assert_eq!(openai["type"], "function");
    assert_eq!(openai["function"]["name"], "test__echo");
    assert_eq!(
        openai["function"]["parameters"]["required"],
        json!(["text"])
    );
    assert_eq!(
        one(Shape::Anthropic)["input_schema"],
        openai["function"]["parameters"]
    );
    let mcp = one(Shape::Mcp);
    assert_eq!(mcp["inputSchema"], openai["function"]["parameters"]);
    assert_eq!(mcp["annotations"]["readOnlyHint"], true);
}

/// The action alone is a name where one tool has it, of those that the caller can see.
#[tokio::test]
async fn an_action_leads_to_the_one_tool_that_has_it() {
    let house = furnished();
    let mut twin = plain("mcp.web.log");
    twin.source = Source::Mcp("web".into());
    twin.repeat = haft_core::Repeat::Read;
    let registry = house.runtime.registry();
    registry.register(Arc::new(Plain(twin)), None).unwrap();
    let more = Arc::new(Plain(plain("core.more")));
    registry.register(more, None).unwrap();
    let told = async |session: &Session, name: &str| {
        let outcome = house
            .runtime
            .call(session, Call::new(name, json!({})))
            .await;
        match &outcome.error {
            None => format!("ok {}", outcome.tool),
            Some(error) => format!(
                "{} {}: {}; {}",
                error.code,
                outcome.tool,
                error.message,
                error.hint.as_deref().unwrap_or_default()
            ),
        }
    };
    let all = house.session("s");
    assert_eq!(told(&all, "GET").await, "ok mcp.web.get");
    assert_eq!(
        told(&all, "log").await,
        "not_available log: Unknown tool: `log`; several end in it: `mcp.git.log`, `mcp.web.log`"
    );
    let risky = told(&all, "Risky").await;
    assert!(risky.starts_with("input_invalid test.risky"), "{risky}");
    let narrow = all.scoped(Scope {
        allowed: None,
        denied: vec!["mcp.git.*".into(), "test.mix".into()],
    });
    assert_eq!(told(&narrow, "log").await, "ok mcp.web.log");
    let mix = told(&narrow, "mix").await;
    assert!(mix.contains("Unknown tool: `mix`"), "{mix}");
    assert!(!mix.contains("test.mix"), "{mix}");
    let nothing = told(&all, "zzzzzzzz").await;
    assert!(nothing.contains("; tools: `test.echo`, "), "{nothing}");
    assert_eq!(nothing.matches("`, `").count(), 14, "{nothing}");
}
