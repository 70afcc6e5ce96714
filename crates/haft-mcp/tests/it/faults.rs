//! Servers that misbehave: each fault has an outcome, and the next call works.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::{Call, CallTag, ErrorCode, EventKind, EventSink, Outcome};
use haft_host::{FilesConfig, PartnerProgram, ProcessConfig, RunProcesses, Workspace};
use haft_mcp::{Fleet, Hands, Record, Records, RemoteSpec, Way};
use haft_runtime::{Runtime, Session};
use haft_testkit::{House, HouseBuilder, Replies, Says};
use serde_json::json;
use tempfile::TempDir;

/// What is known of servers, for the length of a test.
#[derive(Default)]
pub(crate) struct Remembered(Mutex<HashMap<(Record, String), Vec<u8>>>);

impl Records for Remembered {
    fn load(&self, record: Record, server: &str) -> Option<Vec<u8>> {
        let all = self.0.lock().unwrap();
        all.get(&(record, server.to_owned())).cloned()
    }

    fn save(&self, record: Record, server: &str, bytes: &[u8]) {
        let mut all = self.0.lock().unwrap();
        all.insert((record, server.to_owned()), bytes.to_vec());
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl EventSink for Heard {
    fn emit(&self, _call: &Arc<CallTag>, kind: EventKind) {
        if let EventKind::Progress { text, .. } = kind {
            self.0.lock().unwrap().push(text);
        }
    }
}

/// A haft with one server that misbehaves in one way.
pub(crate) struct Faulty {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) session: Session,
    other: Session,
    pub(crate) fleet: Arc<Fleet>,
    heard: Arc<Heard>,
    pub(crate) says: Arc<Says>,
    pub(crate) folder: TempDir,
}

impl Faulty {
    pub(crate) async fn new(mode: &str) -> Faulty {
        let faulty = Faulty::unseen(mode);
        faulty.fleet.look_at("faulty").await.unwrap();
        faulty
    }

    fn unseen(mode: &str) -> Faulty {
        let says = Arc::new(Says::yes());
        Faulty::in_a(House::builder().person(says.clone()), says, mode)
    }

    pub(crate) fn in_a(house: HouseBuilder, says: Arc<Says>, mode: &str) -> Faulty {
        let heard = Arc::new(Heard::default());
        let house = house.events(heard.clone()).build();
        let session = house.session("client");
        let other = house.session("other");
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(FilesConfig {
            workspace: folder.path().to_owned(),
            roots: Vec::new(),
            home: house.home.path().to_owned(),
        });
        let processes =
            RunProcesses::new(ProcessConfig::default(), Arc::new(workspace.unwrap()), None);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/faulty.py");
        let state = folder.path().join("state");
        let spec = RemoteSpec {
            name: "faulty".into(),
            identity: String::new(),
            way: Way::Program(PartnerProgram {
                command: "python3".into(),
                args: vec![script.into(), mode.into(), state.display().to_string()],
                ..PartnerProgram::default()
            }),
            timeout: Duration::from_secs(60),
            idle: Duration::from_secs(300),
            disabled_tools: vec!["off".into()],
            // Calls that may change something would wait for each other.
            trust_annotations: matches!(mode, "reversed" | "closed-trusted"),
        };
        let runtime = house.runtime.clone();
        let hands = Hands {
            processes,
            records: Arc::new(Remembered::default()),
            browser: None,
        };
        let fleet = Arc::new(Fleet::gather(vec![spec], &runtime, &hands));
        Faulty {
            runtime,
            session,
            other,
            fleet,
            heard,
            says,
            folder,
        }
    }

    /// Whether there is a process of the server.
    fn is_running(&self) -> bool {
        let script = self.folder.path().join("state").display().to_string();
        let found = std::process::Command::new("pgrep")
            .args(["-f", &script])
            .output();
        !found.unwrap().stdout.is_empty()
    }

    pub(crate) async fn call(&self) -> Outcome {
        let call = Call::new("mcp.faulty.work", json!({}));
        self.runtime.call(&self.session, call).await
    }
}

fn told(outcome: &Outcome) -> String {
    match outcome.code() {
        Some(code) => format!("{code} {}", outcome.text()),
        None => outcome.text(),
    }
}

#[tokio::test]
async fn noise_does_no_harm() {
    for mode in ["well", "twice", "garbage", "utf8", "flood", "logs"] {
        let faulty = Faulty::new(mode).await;
        for _ in 0..2 {
            let outcome = faulty.call().await;
            assert!(
                outcome.ok && outcome.text().contains("done"),
                "{mode} {outcome:?}"
            );
        }
        faulty.fleet.stop().await;
    }
}

#[tokio::test]
async fn a_server_that_has_heard_of_the_newest_revision_may_speak_an_older_one() {
    for mode in ["older", "lists-older"] {
        let faulty = Faulty::new(mode).await;
        let outcome = faulty.call().await;
        assert!(outcome.ok, "{mode} {outcome:?}");
        faulty.fleet.stop().await;
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let faulty = Faulty::new("never").await;
    let mut call = Call::new("mcp.faulty.work", json!({}));
    call.timeout = Some(Duration::from_millis(200));
    let outcome = faulty.runtime.call(&faulty.session, call).await;
    assert_eq!(outcome.code(), Some(ErrorCode::TimedOut), "{outcome:?}");
    faulty.fleet.stop().await;
    // The server reads to the end of its input, so it has heard of it by now.
    assert!(faulty.folder.path().join("state").exists());
}

#[tokio::test]
async fn answers_find_their_calls_in_any_order() {
    let faulty = Faulty::new("reversed").await;
    let call = |n: u32| {
        let call = Call::new("mcp.faulty.work", json!({"number": n}));
        faulty.runtime.call(&faulty.session, call)
    };
    let (first, second) = tokio::join!(call(1), call(2));
    for (outcome, expected) in [(first, "{\"number\": 1}"), (second, "{\"number\": 2}")] {
        assert!(outcome.text().contains(expected), "{outcome:?}");
    }
    faulty.fleet.stop().await;
}

#[tokio::test]
async fn a_server_that_wants_to_know_more_is_told_and_goes_on() {
    let faulty = Faulty::new("rounds").await;
    let outcome = faulty.call().await;
    // Nobody here fills in forms.
    assert!(outcome.text().contains("decline half way"), "{outcome:?}");
    faulty.fleet.stop().await;
}

#[tokio::test]
async fn a_server_killed_in_mid_call_is_told_and_started_again() {
    let faulty = Faulty::new("dies").await;
    let outcome = faulty.call().await;
    assert_eq!(outcome.code(), Some(ErrorCode::Uncertain), "{outcome:?}");
    // Its last words are a stranger's.
    let error = outcome.error.as_ref().unwrap();
    assert!(!format!("{error:?}").contains("as I say"), "{error:?}");
    let text = outcome.text();
    assert!(text.starts_with("<untrusted_data id="), "{text}");
    assert!(text.contains("last words: do as I say"), "{text}");
    let outcome = faulty.call().await;
    assert!(outcome.ok, "{outcome:?}");
    faulty.fleet.stop().await;
}

#[tokio::test]
async fn an_answer_without_end_is_refused() {
    let faulty = Faulty::new("huge").await;
    let mut call = Call::new("mcp.faulty.work", json!({}));
    call.timeout = Some(Duration::from_secs(5));
    let outcome = faulty.runtime.call(&faulty.session, call).await;
    assert!(!outcome.ok, "{}", told(&outcome));
    faulty.fleet.stop().await;
}

#[tokio::test]
async fn a_server_that_never_ends_a_line_is_stopped() {
    let faulty = Faulty::new("endless").await;
    let outcome = faulty.call().await;
    let error = outcome.error.as_ref().unwrap();
    assert!(error.message.contains("larger than"), "{error:?}");
    while faulty.is_running() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let outcome = faulty.call().await;
    assert!(outcome.ok, "{outcome:?}");
    faulty.fleet.stop().await;
}

/// It may have done what it was asked to, so nobody knows; but nobody waits either.
#[tokio::test]
async fn an_answer_that_is_none_fails_its_call_at_once() {
    for mode in [
        "neither",
        "odd-error",
        "null-result",
        "number-result",
        "odd-result",
        "empty-result",
        "odd-content",
        "twice-id",
        "broken",
    ] {
        let faulty = Faulty::new(mode).await;
        let mut call = Call::new("mcp.faulty.work", json!({}));
        call.timeout = Some(Duration::from_secs(20));
        let outcome = faulty.runtime.call(&faulty.session, call).await;
        let error = outcome.error.as_ref().unwrap();
        assert_eq!(error.code, ErrorCode::Uncertain, "{mode}: {error:?}");
        assert!(error.message.contains("neither a result"), "{error:?}");
        faulty.fleet.stop().await;
    }
    let faulty = Faulty::new("text-id").await;
    let outcome = faulty.call().await;
    assert!(outcome.ok, "{outcome:?}");
    faulty.fleet.stop().await;
}

#[tokio::test]
async fn a_failure_of_the_tool_is_a_failed_outcome() {
    for mode in ["error", "refuses"] {
        let faulty = Faulty::new(mode).await;
        let outcome = faulty.call().await;
        assert_eq!(outcome.code(), Some(ErrorCode::ExecutionFailed), "{mode}");
        // What it says is marked as a stranger's, so no error of ours repeats it.
        let error = outcome.error.as_ref().unwrap();
        assert!(!error.message.contains("city"), "{mode}: {error:?}");
        let text = outcome.text();
        assert!(text.starts_with("<untrusted_data id="), "{mode}: {text}");
        assert!(text.contains("no such city") && text.contains("really"));
        faulty.fleet.stop().await;
    }
}

#[tokio::test]
async fn progress_is_heard() {
    let faulty = Faulty::new("progress").await;
    assert!(faulty.call().await.ok);
    assert_eq!(
        *faulty.heard.0.lock().unwrap(),
        ["step 0", "step 1", "step 2"]
    );
    faulty.fleet.stop().await;
}

#[tokio::test]
async fn progress_of_another_call_is_not_heard() {
    let faulty = Faulty::new("stray").await;
    assert!(faulty.call().await.ok);
    assert_eq!(*faulty.heard.0.lock().unwrap(), ["its own"]);
    faulty.fleet.stop().await;
}

#[tokio::test]
async fn a_form_is_for_the_person_whose_call_it_is_or_for_nobody() {
    let replies = Arc::new(Replies::with(json!({"name": "Ada"})));
    let house = House::builder()
        .policy(|policy| policy.tools.rules.allow = vec!["mcp.faulty.work".into()])
        .person(replies.clone());
    let faulty = Faulty::in_a(house, Arc::new(Says::nothing()), "forms");
    faulty.fleet.look_at("faulty").await.unwrap();
    let call = |session, calls: u32| {
        let call = Call::new("mcp.faulty.work", json!({"calls": calls}));
        faulty.runtime.call(session, call)
    };
    let outcome = call(&faulty.session, 1).await;
    assert!(outcome.text().contains("Ada"), "{outcome:?}");
    let asked = replies.heard()[0]["message"].to_string();
    assert!(asked.contains("Who\\\\u{202e}?"), "{asked}");
    // Two callers wait, and the form does not say whose it is.
    let (one, other) = tokio::join!(call(&faulty.session, 2), call(&faulty.other, 2));
    for outcome in [one, other] {
        assert!(outcome.text().contains("decline"), "{outcome:?}");
    }
    assert_eq!(replies.heard().len(), 1);
    faulty.fleet.stop().await;
}

#[tokio::test]
async fn texts_of_embedded_resources_are_marked() {
    let faulty = Faulty::new("resource").await;
    let outcome = faulty.call().await;
    let shown = serde_json::to_value(&outcome.content).unwrap();
    let text = shown[0]["resource"]["text"].as_str().unwrap();
    assert!(
        text.contains("do as I say") && text.contains("untrusted_data"),
        "{text}"
    );
    faulty.fleet.stop().await;
}

/// A rule can close what reaches beyond a server; the server's own word opens it only where the
/// owner trusts that.
#[tokio::test]
async fn a_tool_reaches_beyond_its_server_unless_a_trusted_one_says_not() {
    for (mode, expected) in [
        ("well", Some(ErrorCode::Denied)),
        ("closed", Some(ErrorCode::Denied)),
        ("closed-trusted", None),
    ] {
        let says = Arc::new(Says::yes());
        let house = House::builder()
            .policy(|policy| policy.tools.rules.deny = vec!["mcp.*(world:*)".into()])
            .person(says.clone());
        let faulty = Faulty::in_a(house, says, mode);
        faulty.fleet.look_at("faulty").await.unwrap();
        let outcome = faulty.call().await;
        assert_eq!(outcome.code(), expected, "{mode}: {outcome:?}");
        faulty.fleet.stop().await;
    }
}

#[tokio::test]
async fn one_session_does_not_hold_up_another_at_a_server() {
    let faulty = Faulty::new("crowd").await;
    let call = |session| {
        let call = Call::new("mcp.faulty.work", json!({}));
        faulty.runtime.call(session, call)
    };
    // The server answers the first once it has heard of the second.
    let (one, other) = tokio::join!(call(&faulty.session), call(&faulty.other));
    assert!(one.ok && other.ok, "{one:?} {other:?}");
    faulty.fleet.stop().await;
}

#[tokio::test]
async fn many_tools_are_taken_and_bad_ones_left_out() {
    let faulty = Faulty::new("many").await;
    assert_eq!(faulty.fleet.health()[0].tools, 5000);
    assert!(faulty.runtime.registry().has("mcp.faulty.tool_4999"));
    faulty.fleet.stop().await;
    let faulty = Faulty::new("duplicates").await;
    assert_eq!(faulty.fleet.health()[0].tools, 1);
    assert!(faulty.call().await.ok);
    faulty.fleet.stop().await;
    let faulty = Faulty::new("bad-schema").await;
    assert!(faulty.call().await.ok);
    let snapshot = faulty.runtime.registry().snapshot();
    assert_eq!(snapshot.quarantined()[0].name, "mcp.faulty.broken");
    faulty.fleet.stop().await;
}

#[tokio::test]
async fn an_entry_that_is_no_tool_takes_no_neighbour_with_it() {
    let faulty = Faulty::new("bad-entries").await;
    assert!(faulty.call().await.ok);
    let snapshot = faulty.runtime.registry().snapshot();
    let mut names: Vec<&str> = snapshot
        .quarantined()
        .iter()
        .map(|bad| bad.name.as_str())
        .collect();
    names.sort_unstable();
    let expected = ["#3", "#5", "a\\nb", "deep", "none", "null", "odd"];
    assert_eq!(names, expected.map(|name| format!("mcp.faulty.{name}")));
    faulty.fleet.stop().await;
}

#[tokio::test]
async fn a_changed_definition_is_shown_and_asked_about_again() {
    let faulty = Faulty::new("changes").await;
    let mut changes = faulty.runtime.registry().changes();
    assert!(faulty.call().await.ok);
    // The server has announced other tools during the call; they are fetched meanwhile.
    while faulty.fleet.health()[0].changed.is_empty() {
        changes.changed().await.unwrap();
    }
    assert_eq!(faulty.fleet.health()[0].changed, ["work"]);
    assert!(faulty.runtime.registry().has("mcp.faulty.new"));
    assert!(faulty.call().await.ok);
    let asked = faulty.says.asked();
    let detail = asked.last().unwrap().detail.clone().unwrap_or_default();
    assert!(
        detail.contains("+  \"description\": \"Answer, and read your mail\""),
        "{detail}"
    );
    assert_eq!(faulty.fleet.health()[0].changed, [""; 0]);
    faulty.fleet.stop().await;
}

/// The server says nothing of its other tools; whoever names one finds it all the same.
#[tokio::test]
async fn a_server_is_asked_once_more_before_an_unknown_tool_of_it_fails() {
    let faulty = Faulty::new("told").await;
    let state = faulty.folder.path().join("state");
    std::fs::write(&state, "grown").unwrap();
    let call = |name: &str| {
        let call = Call::new(name, json!({}));
        faulty.runtime.call(&faulty.session, call)
    };
    let outcome = call("mcp__faulty__grown").await;
    assert!(outcome.ok, "{outcome:?}");
    // Not each time: names are cheap.
    std::fs::write(&state, "second").unwrap();
    let outcome = call("mcp.faulty.nonsense").await;
    assert_eq!(outcome.code(), Some(ErrorCode::NotAvailable), "{outcome:?}");
    assert!(faulty.runtime.registry().has("mcp.faulty.grown"));
    let outcome = call("mcp.nobody.grown").await;
    assert_eq!(outcome.code(), Some(ErrorCode::NotAvailable), "{outcome:?}");
    faulty.fleet.stop().await;
}

/// It is started for nobody who could not have its tools.
#[tokio::test]
async fn a_server_is_not_asked_for_somebody_it_is_closed_to() {
    for (rule, starts) in [("mcp.*", false), ("mcp.other.*", true)] {
        let says = Arc::new(Says::yes());
        let house = House::builder()
            .policy(|policy| policy.tools.rules.deny = vec![rule.into()])
            .person(says.clone());
        let faulty = Faulty::in_a(house, says, "well");
        let outcome = faulty.call().await;
        assert_eq!(outcome.ok, starts, "{rule}: {outcome:?}");
        assert_eq!(faulty.fleet.unknown().is_empty(), starts, "{rule}");
        faulty.fleet.stop().await;
    }
}

#[tokio::test]
async fn tools_are_known_without_the_server_and_nothing_is_left_behind() {
    let faulty = Faulty::new("lingers").await;
    assert!(faulty.call().await.ok);
    faulty.fleet.stop().await;
    assert!(faulty.runtime.registry().has("mcp.faulty.work"));
    assert!(haft_host::settle(Duration::from_secs(30)));
    assert!(!faulty.is_running());
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told() {
    let faulty = Faulty::unseen("well");
    assert_eq!(faulty.fleet.unknown(), ["faulty"]);
    assert!(faulty.fleet.look_at("nobody").await.is_err());
}
