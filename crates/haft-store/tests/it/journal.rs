//! What is written down, and what can be asked.

use haft_core::{ErrorCode, Recorder};
use haft_store::{Filter, JournalLimits, Settled, State};
use serde_json::json;

use crate::fixture::{BEFORE_6, Home, begin, block_on, ending, intent, read};

#[test]
fn a_call_with_effects_is_there_before_it_runs_and_whole_after() {
    let home = Home::new();
    let journal = home.journal();
    let seq = begin(&journal, "w1");
    let lines = journal.list(&Filter::default()).unwrap();
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].seq, lines[0].state), (seq, State::Running));
    journal.ended(intent("w1", "file.write", json!({})), Some(seq), ending());
    journal.store().close();

    let journal = home.journal();
    let lines = journal.list(&Filter::default()).unwrap();
    assert_eq!(lines.len(), 1, "one line a call");
    let line = serde_json::to_value(&lines[0]).unwrap();
    assert_eq!(line["state"], "ok");
    assert_eq!(line["duration_ms"], 1.5);
    assert_eq!(line["verdict"], "allow");
    assert_eq!(line["args"], json!({"path": "a"}));
    assert_eq!(line["agent"], "tester");
    for empty in ["cost", "tokens", "node"] {
        assert!(
            line[empty].is_null() && line.get(empty).is_some(),
            "{empty}"
        );
    }
}

/// A thread that serves others is not held up by another process: what it waits for here only that
/// thread can bring about.
#[test]
fn while_another_process_writes_other_work_goes_on() {
    let home = Home::new();
    let journal = home.journal();
    begin(&journal, "first");
    let other = rusqlite::Connection::open(home.db()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    block_on(async {
        let call = intent("second", "file.write", json!({"path": "a"}));
        let mut record = std::pin::pin!(journal.intend(call));
        for _ in 0..3 {
            let waits = tokio::task::yield_now();
            tokio::select! {
                biased;
                done = &mut record => panic!("written while another writes: {done:?}"),
                () = waits => {}
            }
        }
        other.execute_batch("COMMIT").unwrap();
        record.await.unwrap();
    });
    assert_eq!(journal.list(&Filter::default()).unwrap().len(), 2);
    assert!(journal.verify().unwrap().is_ok());
}

#[test]
fn many_calls_at_once_are_all_there_in_one_chain() {
    let home = Home::new();
    let journal = home.journal();
    let seqs = block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..200 {
            let journal = journal.clone();
            let call = intent(&format!("c{n}"), "file.write", json!({"path": "a"}));
            tasks.spawn(async move { journal.intend(call).await.unwrap() });
        }
        tasks.join_all().await
    });
    let seqs: std::collections::BTreeSet<i64> = seqs.into_iter().collect();
    assert_eq!(seqs, (1..=200).collect());
    assert!(journal.verify().unwrap().is_ok());
}

#[test]
fn secrets_and_private_content_never_reach_the_file() {
    let home = Home::new();
    let journal = home.journal();
    let mut call = intent(
        "c",
        "memory.store",
        json!({"text": "the cat sleeps on tuesdays", "token": "hunter2"}),
    );
    call.private = haft_core::Private::Named(vec!["text".into()]);
    journal.ended(call, None, ending());
    named_after_secrets(&journal);
    journal.store().close();
    let line = home.journal().list(&Filter::default()).unwrap().remove(0);
    assert_eq!(line.body.masked_args, 1);
    assert!(line.body.private);
    let args = line.body.args.unwrap().to_string();
    assert!(
        args.contains("[26 chars, ") && args.contains("[masked]"),
        "{args}"
    );
    for file in std::fs::read_dir(home.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.contains("hunter2") && !text.contains("sleeps on"));
    }
}

/// Sessions, agents and keys that are secrets stay apart, and are found by their own names.
fn named_after_secrets(journal: &haft_store::Journal) {
    for session in ["one-hunter2", "two-hunter2"] {
        let mut call = intent(&session[..3], "file.write", json!({}));
        call.caller = std::sync::Arc::new(haft_core::Caller {
            agent: Some("hunter2".into()),
            ..crate::fixture::caller(session)
        });
        call.key = Some("key-hunter2".into());
        let seq = block_on(journal.intend(call.clone())).unwrap();
        let same = block_on(journal.earlier(&call)).unwrap().unwrap();
        assert_eq!((same.seq, same.same_work), (seq, true));
        journal.ended(call, Some(seq), ending());
        let lines = journal.list(&Filter {
            session: Some(session.into()),
            ..Filter::default()
        });
        let lines = lines.unwrap();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0].call_id, session[..3]);
        let told = serde_json::to_value(&lines[0]).unwrap();
        for name in ["session", "agent", "key"] {
            let name = told[name].as_str().unwrap();
            assert!(name.starts_with("masked-"), "{told}");
        }
    }
}

#[test]
fn filters() {
    let home = Home::new();
    let journal = home.journal();
    for n in 0..30 {
        let tool = ["file.read", "file.write", "git.status"][n % 3];
        let mut call = intent(&format!("c{n}"), tool, json!({}));
        if n >= 20 {
            call.caller = std::sync::Arc::new(crate::fixture::caller("other"));
        }
        let mut end = ending();
        end.code = (n == 29).then_some(ErrorCode::Denied);
        journal.ended(call, None, end);
    }
    journal.store().close();
    let journal = home.journal();
    let check = |filter: Filter, expected: &str| {
        let lines = journal.list(&filter).unwrap();
        let names: Vec<&str> = lines.iter().map(|line| line.call_id.as_str()).collect();
        assert_eq!(names.join(" "), expected, "{filter:?}");
    };
    let limit = Some(3);
    check(
        Filter {
            limit,
            ..Filter::default()
        },
        "c27 c28 c29",
    );
    let tool = |tool: &str| Some(tool.to_owned());
    check(
        Filter {
            tool: tool("file.read"),
            limit,
            ..Filter::default()
        },
        "c21 c24 c27",
    );
    check(
        Filter {
            tool: tool("file.*"),
            limit,
            ..Filter::default()
        },
        "c25 c27 c28",
    );
    check(
        Filter {
            tool: tool("*.status"),
            limit: Some(2),
            ..Filter::default()
        },
        "c26 c29",
    );
    check(
        Filter {
            tool: tool("nothing"),
            limit,
            ..Filter::default()
        },
        "",
    );
    check(
        Filter {
            session: tool("s"),
            limit: Some(1),
            ..Filter::default()
        },
        "c19",
    );
    check(
        Filter {
            session: tool("x"),
            ..Filter::default()
        },
        "",
    );
    check(
        Filter {
            call_id: tool("c7"),
            ..Filter::default()
        },
        "c7",
    );
    check(
        Filter {
            after: Some(28),
            ..Filter::default()
        },
        "c28 c29",
    );
    check(
        Filter {
            since: Some(i64::MAX),
            ..Filter::default()
        },
        "",
    );
    check(
        Filter {
            since: Some(0),
            limit: Some(1),
            ..Filter::default()
        },
        "c29",
    );
    assert_eq!(
        journal
            .list(&Filter {
                limit: Some(1),
                ..Filter::default()
            })
            .unwrap()[0]
            .state,
        State::Denied
    );
}

#[test]
fn a_call_whose_process_died_is_uncertain_until_somebody_knows() {
    let home = Home::new();
    let journal = home.journal();
    begin(&journal, "w1");
    journal.store().close();
    // As if it had been written by a process that is gone.
    let journal = home.journal();
    let open = journal.open_calls().unwrap();
    assert_eq!((open.len(), open[0].state), (1, State::Running), "we live");
    drop(journal);
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "journal::helper_that_begins_and_dies",
            "--exact",
            "--nocapture",
        ])
        .env("HAFT_TEST_HOME", home.path())
        .output()
        .unwrap();
    assert!(!child.status.success(), "it kills itself");
    let journal = home.journal();
    let open = journal.open_calls().unwrap();
    let dead: Vec<_> = open.iter().filter(|line| line.call_id == "dead").collect();
    assert_eq!(dead.len(), 1, "what was acknowledged is there");
    assert_eq!(dead[0].state, State::Uncertain);
    assert!(
        journal
            .settle(dead[0], Settled::Happened, "a person said so")
            .unwrap()
    );
    assert!(
        !journal
            .settle(dead[0], Settled::DidNotHappen, "too late")
            .unwrap()
    );
    let filter = Filter {
        call_id: Some("dead".into()),
        ..Filter::default()
    };
    let line = journal.list(&filter).unwrap().remove(0);
    assert_eq!(line.state, State::Ok);
    assert_eq!(line.body.settled.as_deref(), Some("a person said so"));
    assert!(journal.verify().unwrap().is_ok());
}

/// Not a test of its own: the test above starts it in a process that does not come back.
#[test]
fn helper_that_begins_and_dies() {
    let Some(home) = std::env::var_os("HAFT_TEST_HOME") else {
        return;
    };
    let journal = haft_store::Journal::open(haft_store::JournalConfig {
        home: home.into(),
        mask: |_| 0,
        boot: None,
    })
    .unwrap();
    begin(&journal, "dead");
    std::process::abort();
}

#[test]
fn figures() {
    let home = Home::new();
    let journal = home.journal();
    for n in 0..10 {
        read(&journal, &format!("r{n}"));
    }
    let seq = begin(&journal, "w");
    let mut end = ending();
    end.code = Some(ErrorCode::ExecutionFailed);
    journal.ended(intent("w", "file.write", json!({})), Some(seq), end);
    journal.store().close();
    let stats = home.journal().stats(None).unwrap();
    assert_eq!((stats.calls, stats.failures, stats.uncertain), (11, 1, 0));
    assert_eq!(stats.tools[0].tool, "file.read");
    assert_eq!(stats.chars_saved, 11 * 60);
    assert!((stats.p99_ms - 1.5).abs() < 1e-9);
    assert_eq!(stats.tokens, None);
    assert!(stats.bytes_on_disk > 0);
}

#[test]
fn old_records_go_and_the_rest_still_proves_itself() {
    let home = Home::with_calls(50);
    let journal = home.journal();
    let seq = begin(&journal, "open");
    for n in 0..20 {
        read(&journal, &format!("later{n}"));
    }
    let all = JournalLimits {
        since: i64::MIN,
        bytes: u64::MAX,
    };
    assert_eq!(journal.beyond(&all).unwrap().count, 0);
    let tiny = JournalLimits { bytes: 1, ..all };
    assert_eq!(journal.beyond(&tiny).unwrap().count, 50);
    // Everything is old, but a call without an end stays, and so does all that came after it.
    let none = JournalLimits {
        since: i64::MAX,
        ..all
    };
    assert_eq!(journal.beyond(&none).unwrap().count, 50);
    assert_eq!(journal.trim(&none).unwrap().count, 50);
    let verified = journal.verify().unwrap().unwrap();
    assert_eq!(verified.first, seq);
    assert!(verified.notices[0].contains("removed by `haft gc`"));
    journal.ended(intent("open", "file.write", json!({})), Some(seq), ending());
    begin(&journal, "last");
    journal.store().close();
    let journal = home.journal();
    assert!(journal.trim(&none).unwrap().count > 20);
    assert!(journal.verify().unwrap().is_ok());
    // A record less, right after the signed beginning, is noticed.
    home.sql("DELETE FROM journal_marks WHERE kind = 'base'");
    assert!(home.journal().verify().unwrap().is_err());
}

#[test]
fn of_the_journal_so_many_bytes_stay() {
    let home = Home::with_calls(50);
    let journal = home.journal();
    let half = JournalLimits {
        since: i64::MIN,
        bytes: journal.size().unwrap().bytes / 2,
    };
    let beyond = journal.beyond(&half).unwrap();
    assert!((24..=26).contains(&beyond.count), "{beyond:?}");
    assert_eq!(journal.trim(&half).unwrap(), beyond);
    assert!(journal.size().unwrap().bytes <= half.bytes);
    assert_eq!(journal.beyond(&half).unwrap().count, 0);
    assert!(journal.verify().unwrap().is_ok());
}

#[test]
fn two_handles_on_one_journal_make_one_chain() {
    let home = Home::new();
    let journals = [home.journal(), home.journal()];
    std::thread::scope(|scope| {
        for (who, journal) in journals.iter().enumerate() {
            scope.spawn(move || {
                for n in 0..40 {
                    if n % 4 == 0 {
                        begin(journal, &format!("{who}-{n}"));
                    } else {
                        read(journal, &format!("{who}-{n}"));
                    }
                }
            });
        }
    });
    for journal in &journals {
        assert_eq!(journal.store().close(), 0);
    }
    let verified = home.journal().verify().unwrap().unwrap();
    assert_eq!(verified.records, 80);
}

#[test]
fn any_text_can_be_written_down() {
    let home = Home::new();
    let journal = home.journal();
    let odd = [
        "",
        "\0",
        "\u{1b}[2J",
        "\u{202e}",
        "ü漢🦀",
        "'; DROP TABLE journal; --",
    ];
    for text in odd {
        journal.ended(intent(text, text, json!({"a": text})), None, ending());
    }
    let big = "x".repeat(20 << 20);
    journal.ended(intent("big", "t", json!({"a": big})), None, ending());
    assert_eq!(journal.store().close(), 0);
    let journal = home.journal();
    let lines = journal.list(&Filter::default()).unwrap();
    assert_eq!(lines.len(), odd.len() + 1);
    for (line, text) in lines.iter().zip(odd) {
        assert_eq!(line.call_id, text);
        assert_eq!(line.body.args, Some(json!({"a": text})));
    }
    assert!(journal.verify().unwrap().is_ok());
}

#[test]
fn a_full_disk_refuses_and_goes_on_when_there_is_room() {
    let home = Home::new();
    let journal = home.journal();
    begin(&journal, "before");
    // No more pages than there are: what SQLite does on a disk without room.
    let limited = journal.store().write(haft_store::Durability::Power, |tx| {
        tx.each("PRAGMA max_page_count = 1", &[], &mut |_| Ok(true))
    });
    limited.wait().unwrap();
    let mut refused = None;
    for n in 0..200 {
        let call = intent(&format!("f{n}"), "t", json!({"a": "x".repeat(8_000)}));
        if let Err(error) = block_on(journal.intend(call)) {
            refused = Some(error);
            break;
        }
    }
    let refused = refused.expect("there is no room");
    assert!(
        refused.message.contains("no room left"),
        "{}",
        refused.message
    );
    assert!(refused.into_body().hint.unwrap().contains("haft gc"));
    read(&journal, "kept for later");
    let room = journal
        .store()
        .write(haft_store::Durability::Process, |tx| {
            tx.each("PRAGMA max_page_count = 1000000", &[], &mut |_| Ok(true))
        });
    // The pragma itself needs no page, so it goes through.
    room.wait().unwrap();
    begin(&journal, "after");
    assert_eq!(journal.store().close(), 0, "nothing was lost");
    let journal = home.journal();
    let filter = Filter {
        call_id: Some("kept for later".into()),
        ..Filter::default()
    };
    assert_eq!(journal.list(&filter).unwrap().len(), 1);
    assert!(journal.verify().unwrap().is_ok());
}

#[test]
fn a_store_of_an_older_version_is_migrated_with_all_that_is_in_it() {
    const NEW_IN_5: &str = "ALTER TABLE notes DROP COLUMN seal;";
    const NEW_IN_4: &str = "DROP TABLE changes; ALTER TABLE notes_revision DROP COLUMN removal;";
    const NEW_IN_3: &str = "DROP TABLE kept; DROP TABLE shortened; DROP TABLE call_keys;";
    const NEW_IN_2: &str = "DROP TABLE notes; DROP TABLE notes_index; DROP TABLE notes_revision;";
    for (version, new) in [
        (5, String::new()),
        (4, NEW_IN_5.to_owned()),
        (3, format!("{NEW_IN_5} {NEW_IN_4}")),
        (2, format!("{NEW_IN_5} {NEW_IN_4} {NEW_IN_3}")),
        (1, format!("{NEW_IN_5} {NEW_IN_4} {NEW_IN_3} {NEW_IN_2}")),
    ] {
        let home = Home::with_calls(20);
        home.sql(&format!("{BEFORE_6} {new} PRAGMA user_version = {version}"));
        let journal = home.journal();
        journal.store().ready().unwrap();
        assert_eq!(journal.list(&Filter::default()).unwrap().len(), 20);
        assert!(journal.verify().unwrap().is_ok());
        let notes = haft_store::Notes::new(journal.store().clone());
        assert_eq!(notes.revision().unwrap(), haft_store::Revision::default());
        begin(&journal, "after");
    }
}
