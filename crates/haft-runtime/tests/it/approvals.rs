//! Asking: who is asked, what counts as a yes, what nothing can replace.

use std::sync::{Arc, Mutex};

use haft_core::{Answer, BoxFuture, Call, ErrorCode, Person, Question};
use haft_policy::{Layer, Places, Policy, PolicyConfig};
use haft_testkit::{House, Says};
use serde_json::{Value, json};

async fn risky(person: Option<Arc<dyn Person>>, args: Value) -> haft_core::Outcome {
    let mut builder = House::builder();
    if let Some(person) = person {
        builder = builder.person(person);
    }
    let house = builder.build();
    house
        .runtime
        .call(&house.session("s"), Call::new("test.risky", args))
        .await
}

#[tokio::test]
async fn a_person_decides() {
    let target = || json!({"target": "x"});
    assert!(risky(Some(Arc::new(Says::yes())), target()).await.ok);
    let refused = risky(Some(Arc::new(Says::no())), target()).await;
    assert_eq!(refused.code(), Some(ErrorCode::Denied));
    for nobody in [None, Some(Arc::new(Says::nothing()) as Arc<dyn Person>)] {
        let refused = risky(nobody, target()).await;
        assert_eq!(refused.code(), Some(ErrorCode::Denied));
        assert!(
            refused
                .into_body()
                .error
                .unwrap()
                .hint
                .unwrap()
                .contains("--yes")
        );
    }
}

#[tokio::test]
async fn arguments_cannot_approve() {
    let outcome = risky(None, json!({"target": "x", "approved": true})).await;
    assert_eq!(outcome.code(), Some(ErrorCode::Denied));
}

#[tokio::test]
async fn yes_never_lifts_a_deny() {
    let says = Arc::new(Says::yes());
    let house = House::builder()
        .person(says.clone())
        .policy(|policy| policy.tools.rules.deny = vec!["test.risky".into()])
        .build();
    let call = Call::new("test.risky", json!({"target": "x"}));
    let outcome = house.runtime.call(&house.session("s"), call).await;
    assert_eq!(outcome.code(), Some(ErrorCode::Denied));
    assert!(says.asked().is_empty());
}

#[tokio::test]
async fn the_question_shows_what_runs() {
    let says = Arc::new(Says::yes());
    let hidden = json!({"target": "a\u{202e}b\u{1b}[2K"});
    assert!(risky(Some(says.clone()), hidden).await.ok);
    let asked = says.asked();
    assert!(
        asked[0].summary.contains("a\\u{202e}b\\u{1b}[2K"),
        "{}",
        asked[0].summary
    );
    assert_eq!(asked[0].id.len(), 32);
}

/// Changes the policy while being asked, as another window would.
struct Meddles {
    house: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Person for Meddles {
    fn ask<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Option<Answer>> {
        if let Some(meddle) = self.house.lock().unwrap().take() {
            meddle();
        }
        Box::pin(std::future::ready(Some(Answer::Yes)))
    }
}

#[tokio::test]
async fn a_yes_given_under_another_policy_does_not_count() {
    let meddles = Arc::new(Meddles {
        house: Mutex::new(None),
    });
    let house = Arc::new(House::builder().person(meddles.clone()).build());
    let inside = house.clone();
    *meddles.house.lock().unwrap() = Some(Box::new(move || {
        let mut config = PolicyConfig::default();
        config.tools.rules.ask = vec!["test.echo".into()];
        let layer = Layer {
            from: "test".into(),
            config,
        };
        let policy = Policy::compile(vec![layer], Places::default()).unwrap();
        inside.runtime.set_policy(policy);
    }));
    let call = || Call::new("test.risky", json!({"target": "x"}));
    let session = house.session("s");
    let outcome = house.runtime.call(&session, call()).await;
    assert_eq!(outcome.code(), Some(ErrorCode::Conflict), "{outcome:?}");
    assert!(
        house.runtime.call(&session, call()).await.ok,
        "asked anew, it counts"
    );
}

#[tokio::test]
async fn always_is_asked_once() {
    let says = Arc::new(Says::always());
    let remembered: Arc<Mutex<Vec<String>>> = Arc::default();
    let rules = remembered.clone();
    let house = House::builder()
        .person(says.clone())
        .remembering(Box::new(move |rule| {
            rules.lock().unwrap().push(rule.to_owned());
            let config = PolicyConfig {
                remembered: rules.lock().unwrap().clone(),
                ..PolicyConfig::default()
            };
            let layer = Layer {
                from: "test".into(),
                config,
            };
            Policy::compile(vec![layer], Places::default()).map_err(|error| error.to_string())
        }))
        .build();
    let session = house.session("s");
    let calls = (0..3)
        .map(|_| Call::new("test.risky", json!({"target": "x"})))
        .collect();
    let outcomes = house.runtime.execute_parallel(&session, calls).await;
    assert!(outcomes.iter().all(|outcome| outcome.ok), "{outcomes:?}");
    assert_eq!(says.asked().len(), 1, "{:?}", says.asked());
    assert_eq!(
        *remembered.lock().unwrap(),
        [says.asked()[0].rule.clone().unwrap()]
    );
}
