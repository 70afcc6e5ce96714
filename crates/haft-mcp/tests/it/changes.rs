//! A server that changes what its tools are: whatever allowed the tool, the change is shown and asked
//! about before it runs.

use std::fs;
use std::sync::{Arc, OnceLock};

use haft_core::{Answer, BoxFuture, ErrorCode, Person, Question};
use haft_testkit::{House, HouseBuilder, Says};

use crate::faults::Faulty;

/// A server that has been looked at, and what its state says.
async fn known(house: HouseBuilder, says: &Arc<Says>) -> Faulty {
    let house = house.policy(|policy| {
        policy.tools.rules.allow = vec!["mcp.faulty.*".into(), "mcp.faulty.work".into()];
    });
    let faulty = Faulty::in_a(house, says.clone(), "told");
    faulty.fleet.look_at("faulty").await.unwrap();
    faulty
}

impl Faulty {
    /// The server becomes another one while it does not run.
    async fn becomes(&self, state: &str) {
        self.fleet.stop().await;
        fs::write(self.folder.path().join("state"), state).unwrap();
    }

    async fn is_seen(&self) -> Vec<String> {
        self.fleet.look_at("faulty").await.unwrap().changed
    }

    fn changes_shown(&self) -> Vec<String> {
        let asked = self.says.asked().into_iter();
        asked.filter_map(|question| question.detail).collect()
    }
}

#[tokio::test]
async fn no_rule_covers_a_definition_that_nobody_has_seen() {
    let says = Arc::new(Says::no());
    let faulty = known(House::builder().person(says.clone()), &says).await;
    assert!(faulty.call().await.ok, "the rule allows it");
    faulty.becomes("second").await;
    assert_eq!(faulty.is_seen().await, ["work"]);
    for _ in 0..2 {
        let outcome = faulty.call().await;
        assert_eq!(outcome.code(), Some(ErrorCode::Denied), "{outcome:?}");
    }
    let shown = faulty.changes_shown();
    assert_eq!(shown.len(), 2);
    assert!(shown[1].contains("read your mail"), "{shown:?}");
    faulty.fleet.stop().await;
}

#[tokio::test]
async fn a_change_that_is_learnt_by_starting_the_server_is_not_run() {
    let says = Arc::new(Says::yes());
    let faulty = known(House::builder().person(says.clone()), &says).await;
    faulty.becomes("second").await;
    let outcome = faulty.call().await;
    assert_eq!(outcome.code(), Some(ErrorCode::Conflict), "{outcome:?}");
    assert!(faulty.changes_shown().is_empty());
    // Made again, it asks; once agreed to, it does not.
    assert!(faulty.call().await.ok);
    assert!(faulty.call().await.ok);
    assert_eq!(faulty.changes_shown().len(), 1);
    faulty.fleet.stop().await;
}

#[tokio::test]
async fn a_tool_that_goes_and_comes_back_is_compared_with_what_it_was() {
    let says = Arc::new(Says::yes());
    let faulty = known(House::builder().person(says.clone()), &says).await;
    faulty.becomes("without").await;
    assert!(faulty.is_seen().await.is_empty());
    faulty.becomes("second").await;
    assert_eq!(faulty.is_seen().await, ["work"]);
    assert!(faulty.call().await.ok);
    assert_eq!(faulty.changes_shown().len(), 1);
    faulty.fleet.stop().await;
}

/// Says yes, and while they read the server becomes yet another.
#[derive(Default)]
struct Slow(OnceLock<(Arc<haft_mcp::Fleet>, std::path::PathBuf)>);

impl Person for Slow {
    fn ask<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async {
            let (fleet, state) = self.0.get().unwrap();
            fleet.stop().await;
            fs::write(state, "third").unwrap();
            fleet.look_at("faulty").await.unwrap();
            Some(Answer::Yes)
        })
    }
}

#[tokio::test]
async fn a_yes_is_for_the_definition_that_was_shown() {
    let slow = Arc::new(Slow::default());
    let says = Arc::new(Says::nothing());
    let faulty = known(House::builder().person(slow.clone()), &says).await;
    let state = faulty.folder.path().join("state");
    assert!(slow.0.set((faulty.fleet.clone(), state)).is_ok());
    faulty.becomes("second").await;
    assert_eq!(faulty.is_seen().await, ["work"]);
    let outcome = faulty.call().await;
    assert_eq!(outcome.code(), Some(ErrorCode::Conflict), "{outcome:?}");
    assert_eq!(faulty.is_seen().await, ["work"], "nobody has agreed to it");
    faulty.fleet.stop().await;
}
