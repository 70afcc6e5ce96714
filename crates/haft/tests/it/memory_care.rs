//! What is known of a note stays with it, and nothing is lost or left that should not be.

use serde_json::{Value, json};

use crate::memory::holding;
use crate::place::{Place, verdict};

const ONE: [&str; 2] = ["--session", "one"];
const SHORT: [&str; 4] = ["--session", "one", "--budget", "100"];

fn handle(outcome: &Value) -> Value {
    json!({"handle": outcome["meta"]["handle"].as_str().unwrap()})
}

/// What a result that was read again said is in no record, and neither is where a note came from.
#[test]
fn a_forgotten_note_and_its_source_are_in_no_record() {
    let place = Place::new();
    let note = "the vault opens on Fridayevening ".repeat(4);
    let store = json!({"text": note, "source": "a letter of Walterscott"});
    place.call("memory.store", &store, &[]);
    let write = json!({"text": note, "source": "Walterscott again", "namespace": "methods"});
    place.call("memory.write", &write, &[]);
    let whole = place.call("memory.read", &json!({}), &SHORT);
    let again = place.call("result.read", &handle(&whole), &ONE);
    assert!(again.to_string().contains("Fridayevening"), "{again}");
    let gone = place.call("memory.forget", &json!({"ids": [1, 2]}), &["--yes"]);
    assert_eq!(gone["structured"]["forgotten"], 2, "{gone}");
    for word in ["Fridayevening", "Walterscott"] {
        assert!(holding(&place.home, word).is_empty(), "{word}");
    }
    place.run(["journal", "verify"]).exits(0);
}

#[test]
fn a_note_that_was_replaced_is_forgotten_too() {
    for what in [json!({"id": 1}), json!({"namespace": "knowledge"})] {
        let place = Place::new();
        let store = json!({"text": "lunch is on Tuesdaynoon"});
        place.call("memory.store", &store, &[]);
        place.call("memory.write", &json!({"text": "lunch is over"}), &[]);
        let gone = place.call("memory.forget", &what, &["--yes"]);
        assert_eq!(verdict(&gone), "ok", "{gone}");
        assert!(holding(&place.home, "Tuesdaynoon").is_empty(), "{what}");
        let left = place.call("memory.read", &json!({}), &[]);
        let left = left.to_string().contains("lunch is over");
        assert_eq!(left, what.get("id").is_some());
    }
}
