//! Nothing in the journal can be changed unseen.

use haft_store::{Filter, JournalLimits, StoreError};

use crate::fixture::{Home, begin, read};

const COUNT: usize = 30;

/// A journal of calls with a mix of both kinds, and marks.
fn home() -> Home {
    let home = Home::new();
    let journal = home.journal();
    for n in 0..COUNT {
        match n % 5 {
            0 => drop(begin(&journal, &format!("w{n}"))),
            _ => read(&journal, &format!("r{n}")),
        }
    }
    journal.store().close();
    let verified = home.journal().verify().unwrap().unwrap();
    assert_eq!(verified.records, COUNT as u64);
    home
}

/// The first bad record after a change.
#[track_caller]
fn check(sql: &str, expected: i64) {
    let home = home();
    home.sql(sql);
    let fault = home.journal().verify().unwrap().expect_err(sql);
    assert_eq!(fault.seq, expected, "{sql}: {}", fault.what);
}

#[test]
fn every_column_counts() {
    check("UPDATE journal SET time = time + 1 WHERE seq = 7", 7);
    check("UPDATE journal SET kind = 'outcome' WHERE seq = 7", 7);
    check("UPDATE journal SET intent = 1 WHERE seq = 7", 7);
    check("UPDATE journal SET call_id = 'x' WHERE seq = 7", 7);
    check("UPDATE journal SET session = 'x' WHERE seq = 7", 7);
    check("UPDATE journal SET tool = 'x' WHERE seq = 7", 7);
    check("UPDATE journal SET verdict = 'deny' WHERE seq = 7", 7);
    check("UPDATE journal SET verdict = NULL WHERE seq = 7", 7);
    check("UPDATE journal SET state = 'failed' WHERE seq = 7", 7);
    check("UPDATE journal SET duration_us = 1 WHERE seq = 7", 7);
    check("UPDATE journal SET body = '{}' WHERE seq = 7", 7);
    check("UPDATE journal SET body = x'7b7d' WHERE seq = 7", 7);
    check("UPDATE journal SET hash = zeroblob(32) WHERE seq = 7", 7);
    check("UPDATE journal SET hash = zeroblob(31) WHERE seq = 7", 7);
    check("UPDATE journal SET seq = 100 WHERE seq = 30", 30);
}

#[test]
fn dropped_reordered_and_cut_records_are_missed() {
    check("DELETE FROM journal WHERE seq = 7", 7);
    check("DELETE FROM journal WHERE seq = 1", 1);
    check("DELETE FROM journal WHERE seq = 30", 30);
    check("DELETE FROM journal WHERE seq > 12", 13);
    check("DELETE FROM journal", 1);
    check("DELETE FROM journal; DELETE FROM journal_marks", 1);
    check(
        "UPDATE journal SET seq = -1 WHERE seq = 7; UPDATE journal SET seq = 7 WHERE seq = 8; \
         UPDATE journal SET seq = 8 WHERE seq = -1",
        7,
    );
}

#[test]
fn a_forged_chain_without_the_key_does_not_pass() {
    // Somebody recomputes nothing and only copies: the end is signed with the key.
    let (one, other) = (home(), home());
    std::fs::copy(other.db(), one.db()).unwrap();
    for end in ["-wal", "-shm"] {
        let name = |home: &Home| format!("{}{end}", home.db().display());
        let _ = std::fs::copy(name(&other), name(&one));
    }
    assert!(one.journal().verify().unwrap().is_err());
}

#[test]
fn an_older_copy_put_back_is_noticed_and_nothing_more_is_written() {
    let home = Home::with_calls(5);
    let copy = home.path().join("copy");
    home.journal().backup(&copy).unwrap();
    let journal = home.journal();
    begin(&journal, "later");
    journal.store().close();
    haft_store::Journal::restore(home.path(), &copy).unwrap();
    let journal = home.journal();
    let fault = journal.verify().unwrap().unwrap_err();
    assert_eq!(fault.seq, 6, "{}", fault.what);
    let refused = crate::fixture::block_on(haft_core::Recorder::intend(
        &journal,
        crate::fixture::intent("x", "file.write", serde_json::json!({})),
    ));
    let refused = refused.unwrap_err();
    assert!(
        refused.message.contains("number 6 is signed"),
        "{}",
        refused.message
    );
    assert!(
        refused
            .into_body()
            .hint
            .unwrap()
            .contains("haft journal accept")
    );
    journal.store().close();

    let journal = home.journal();
    assert_eq!(journal.accept("the disk was replaced").unwrap(), (6, true));
    begin(&journal, "goes on");
    journal.store().close();
    let verified = home.journal().verify().unwrap().unwrap();
    assert_eq!(verified.records, 7);
    assert!(
        verified.notices[0].contains("accepted by the owner"),
        "{verified:?}"
    );
    // What was there before is proven as ever.
    home.sql("UPDATE journal SET tool = 'other' WHERE seq = 2");
    let fault = home.journal().verify().unwrap().unwrap_err();
    assert_eq!(fault.seq, 2, "{}", fault.what);
    // Once that is accepted too, it holds from there on.
    let journal = home.journal();
    assert_eq!(journal.accept("looked at").unwrap(), (8, false));
    begin(&journal, "further");
    journal.store().close();
    home.journal().verify().unwrap().unwrap();
    home.sql("UPDATE journal SET tool = 'other' WHERE seq = 9");
    assert_eq!(home.journal().verify().unwrap().unwrap_err().seq, 9);
}

#[test]
fn marks_are_signed() {
    let home = Home::with_calls(1_100);
    let verified = home.journal().verify().unwrap().unwrap();
    assert_eq!(verified.marks, 1);
    for sql in [
        "UPDATE journal_marks SET time = time + 1",
        "UPDATE journal_marks SET seq = seq - 1",
        "UPDATE journal_marks SET hash = zeroblob(32)",
        "UPDATE journal_marks SET signature = zeroblob(64)",
        "UPDATE journal_marks SET kind = 'base'",
        "UPDATE journal_marks SET kind = 'accepted'",
    ] {
        let copy = Home::new();
        for name in ["haft.db", "haft.db-wal", "journal.key", "journal.head"] {
            let _ = std::fs::copy(home.path().join(name), copy.path().join(name));
        }
        assert!(copy.journal().verify().unwrap().is_ok());
        copy.sql(sql);
        assert!(copy.journal().verify().unwrap().is_err(), "{sql}");
    }
}

#[test]
fn without_head_or_key_there_is_no_proof() {
    let home = home();
    std::fs::remove_file(home.path().join("journal.head")).unwrap();
    assert!(home.journal().verify().unwrap().is_err());
    let home = crate::proof::home();
    let head = home.path().join("journal.head");
    let mut bytes = std::fs::read(&head).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= 1);
    std::fs::write(&head, bytes).unwrap();
    assert!(home.journal().verify().unwrap().is_err());
    std::fs::remove_file(home.path().join("journal.key")).unwrap();
    let opened = home.try_journal();
    assert!(matches!(opened, Err(StoreError::KeyGone(_))));
}

/// The end is signed in two places in turn. Whoever spoils the newer one must not make the older one
/// count.
#[test]
fn an_end_in_one_place_alone_is_damage_within_one_start_of_the_machine() {
    let head = |home: &Home| home.path().join("journal.head");
    let spoil: [fn(&mut [u8]); 2] = [|place| place[100] ^= 1, |place| place.fill(0)];
    for spoil in spoil {
        let home = Home::new();
        // One call a process, so that each is signed by itself.
        for name in ["a", "b", "c"] {
            let journal = home.journal();
            begin(&journal, name);
            journal.store().close();
        }
        assert!(home.journal().verify().unwrap().is_ok());
        let mut bytes = std::fs::read(head(&home)).unwrap();
        let generation =
            |place: &[u8]| u64::from_le_bytes(place.get(8..16).unwrap().try_into().unwrap());
        let (first, second) = bytes.split_at_mut(256);
        match generation(first) > generation(second) {
            true => spoil(first),
            false => spoil(second),
        }
        std::fs::write(head(&home), bytes).unwrap();
        home.sql("DELETE FROM journal WHERE seq = 3");
        let fault = home.journal().verify().unwrap().unwrap_err();
        assert!(fault.what.contains("not valid"), "{}", fault.what);
        let call = crate::fixture::intent("x", "file.write", serde_json::json!({}));
        let journal = home.journal();
        let refused = haft_core::Recorder::intend(&journal, call);
        assert!(crate::fixture::block_on(refused).is_err());
        // Power that was lost may do that to one place, so it is said and no more.
        let verified = home.journal_after_restart().verify().unwrap().unwrap();
        assert!(verified.notices[0].contains("not known"), "{verified:?}");

        // The owner goes on, and all is as ever.
        home.journal().verify().unwrap().unwrap_err();
        home.journal().accept("looked at").unwrap();
        begin(&home.journal(), "goes on");
        home.journal().verify().unwrap().unwrap();
    }
}

#[test]
fn a_changed_record_is_not_listed_as_if_it_were_good() {
    let home = home();
    home.sql("UPDATE journal SET tool = 'file.reed' WHERE seq = 7");
    let error = home.journal().list(&Filter::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the store is damaged: record 7 of the journal was changed"
    );
}

/// Damage in the middle of the journal does not show at its end: whoever finds it tells all others,
/// and those that run already hear of it.
#[test]
fn damage_that_anybody_finds_stops_effects_everywhere_until_the_owner_has_looked() {
    type Look = fn(&haft_store::Journal) -> bool;
    let looks: [(&str, Look); 4] = [
        ("verify", |journal| journal.verify().unwrap().is_err()),
        ("list", |journal| journal.list(&Filter::default()).is_err()),
        ("stats", |journal| journal.stats(None).is_err()),
        ("each", |journal| journal.each(None, |_| Ok(())).is_err()),
    ];
    for (name, look) in looks {
        let home = home();
        let running = home.journal();
        begin(&running, "before");
        home.sql("UPDATE journal SET tool = 'file.reed' WHERE seq = 7");
        begin(&running, "nobody has looked yet");
        assert!(look(&home.journal()), "{name}");
        for journal in [&running, &home.journal()] {
            let call = crate::fixture::intent("x", "file.write", serde_json::json!({}));
            let refused = haft_core::Recorder::intend(journal, call);
            let refused = crate::fixture::block_on(refused).unwrap_err();
            assert!(refused.message.contains("record 7"), "{}", refused.message);
        }
        running.store().close();
        let journal = home.journal();
        assert!(!journal.accept("looked at").unwrap().1);
        begin(&journal, "after");
        assert!(!look(&journal), "{name}: what was accepted is no news");
        begin(&journal, "and on");
    }
}

/// What was put right by hand proves itself again, and nothing is in the way.
#[test]
fn a_journal_that_is_whole_again_is_used_again_and_cannot_be_accepted() {
    let home = home();
    home.sql("UPDATE journal SET state = 'failed' WHERE seq = 7");
    let journal = home.journal();
    assert!(journal.stats(None).is_err());
    home.sql("UPDATE journal SET state = 'ok' WHERE seq = 7");
    assert_eq!(journal.accept("why not"), Err(StoreError::Whole));
    begin(&journal, "goes on");
    let verified = journal.verify().unwrap().unwrap();
    assert_eq!(verified.notices, Vec::<String>::new(), "all is proven");
}

/// Whatever was wrong, once it is accepted the journal goes on and proves itself from there.
#[test]
fn any_damage_can_be_accepted() {
    for sql in [
        "UPDATE journal SET body = 'not json' WHERE seq = 7",
        "UPDATE journal SET body = x'ff' WHERE seq = 7",
        "UPDATE journal SET tool = CAST(x'ff' AS TEXT) WHERE seq = 7",
        "UPDATE journal SET hash = zeroblob(31) WHERE seq = 7",
        "DELETE FROM journal WHERE seq = 7",
        "DELETE FROM journal WHERE seq > 1000",
        "UPDATE journal_marks SET signature = zeroblob(64)",
        "UPDATE journal_marks SET kind = 'base'",
    ] {
        let home = Home::with_calls(1_100);
        home.sql(sql);
        let journal = home.journal();
        journal.accept("looked at").unwrap();
        begin(&journal, "goes on");
        journal.verify().unwrap().expect(sql);
        let lines = journal.list(&Filter::default()).unwrap();
        assert_eq!(lines.last().unwrap().call_id, "goes on", "{sql}");
        assert!(journal.stats(None).unwrap().calls >= 1_000, "{sql}");
        // Also where what goes ends at the damage.
        let since = rusqlite::Connection::open(home.db())
            .unwrap()
            .query_row("SELECT time FROM journal WHERE seq = 8", [], |row| {
                row.get(0)
            })
            .unwrap();
        let bytes = u64::MAX;
        journal.trim(&JournalLimits { since, bytes }).expect(sql);
        begin(&journal, "further");
        journal.verify().unwrap().expect(sql);
    }
}

/// Whatever bit flips in the file, nobody is told something that was not written: either the
/// store says that it is damaged, or all that is listed is right.
#[test]
fn no_flipped_bit_makes_a_wrong_answer() {
    let home = home();
    // Everything into the one file, so that it is the file that is hurt.
    home.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    let good = std::fs::read(home.db()).unwrap();
    let expected = told(&home).unwrap();
    let mut noticed = 0;
    let step = 97;
    for at in (0..good.len()).step_by(step) {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        for end in ["-wal", "-shm", ".checked"] {
            let _ = std::fs::remove_file(format!("{}{end}", home.db().display()));
        }
        std::fs::write(home.db(), &bad).unwrap();
        match told(&home) {
            Ok(answer) => assert_eq!(answer, expected, "byte {at}"),
            Err(_) => noticed += 1,
        }
    }
    assert!(noticed > 20, "{noticed} of {}", good.len() / step);
}

fn told(home: &Home) -> Result<Vec<String>, StoreError> {
    let journal = home.journal();
    journal.store().ready()?;
    let lines = journal.list(&Filter::default())?;
    let proof = journal.verify()?;
    proof.map_err(|fault| StoreError::Damaged(fault.what))?;
    Ok(lines
        .iter()
        .map(|line| serde_json::to_string(line).unwrap())
        .collect())
}

#[test]
fn a_cut_or_changed_log_is_noticed() {
    for hurt in ["cut", "flip"] {
        let home = home();
        let log = format!("{}-wal", home.db().display());
        let mut bytes = std::fs::read(&log).unwrap();
        assert!(bytes.len() > 50_000, "the records are in the log");
        match hurt {
            "cut" => bytes.truncate(bytes.len() / 2),
            _ => {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
            }
        }
        std::fs::write(&log, bytes).unwrap();
        let journal = home.journal();
        let whole = journal.store().ready().is_ok() && journal.verify().is_ok_and(|ok| ok.is_ok());
        assert!(!whole, "{hurt}");
    }
}

/// The end is signed by itself, soon after the call was written down, also where nothing follows.
#[test]
fn the_end_is_signed_while_a_call_runs() {
    let home = Home::with_calls(3);
    let head = home.path().join("journal.head");
    let before = std::fs::read(&head).unwrap();
    let journal = home.journal();
    begin(&journal, "runs for long");
    crate::fixture::until(|| std::fs::read(&head).unwrap() != before);
    home.sql("DELETE FROM journal WHERE seq = 4");
    let fault = home.journal().verify().unwrap().unwrap_err();
    assert_eq!(fault.seq, 4, "{}", fault.what);
}

/// Records of calls without effects are not waited for. When power is lost, those may be missing,
/// and nothing else may.
#[test]
fn a_loss_of_power_is_told_apart_from_a_cut() {
    let home = Home::new();
    let journal = home.journal();
    begin(&journal, "on the disk");
    journal.store().close();
    let journal = home.journal();
    read(&journal, "a");
    read(&journal, "b");
    journal.store().close();
    home.sql("DELETE FROM journal WHERE seq > 1");
    assert_eq!(
        home.journal().verify().unwrap().unwrap_err().seq,
        2,
        "in the same start"
    );
    let journal = home.journal_after_restart();
    let verified = journal.verify().unwrap().unwrap();
    assert!(
        verified.notices[0].contains("the last 2 records"),
        "{verified:?}"
    );
    begin(&journal, "goes on");
    journal.store().close();
    let journal = home.journal_after_restart();
    let lines = journal.list(&Filter::default()).unwrap();
    assert_eq!(lines[1].body.lost, Some(2), "the gap is written down");
    assert!(journal.verify().unwrap().is_ok());
    journal.store().close();

    home.sql("DELETE FROM journal WHERE seq > 2");
    let journal = home.journal_after_restart();
    assert!(
        journal.verify().unwrap().is_err(),
        "a call with effects cannot be lost that way"
    );
}

/// Long journals are looked at by two at once; the first fault is found all the same, wherever it is.
#[test]
fn a_long_journal_is_proven_in_two_halves() {
    const ROWS: i64 = 11_000;
    let home = Home::with_calls(ROWS as usize);
    let verify = || home.journal().verify().unwrap();
    assert_eq!(verify().unwrap().records, ROWS as u64);
    let spoil = |seq: i64| {
        home.sql(&format!(
            "UPDATE journal SET tool = tool || 'x' WHERE seq = {seq}"
        ));
    };
    let mend = |seq: i64| {
        home.sql(&format!(
            "UPDATE journal SET tool = substr(tool, 1, length(tool) - 1) WHERE seq = {seq}"
        ));
    };
    let middle = ROWS / 2;
    for seq in [1, middle - 1, middle, middle + 1, ROWS] {
        spoil(seq);
        assert_eq!(verify().unwrap_err().seq, seq);
        mend(seq);
        home.sql(&format!("UPDATE journal SET seq = -1 WHERE seq = {seq}"));
        let fault = verify().unwrap_err();
        assert_eq!(fault.seq, 1, "nothing stands before the first: {fault:?}");
        home.sql("UPDATE journal SET seq = 100000 WHERE seq = -1");
        assert_eq!(verify().unwrap_err().seq, seq, "moved to the end");
        home.sql(&format!(
            "UPDATE journal SET seq = {seq} WHERE seq = 100000"
        ));
    }
    spoil(middle + 10);
    spoil(middle + 20);
    assert_eq!(verify().unwrap_err().seq, middle + 10);
    spoil(3);
    assert_eq!(verify().unwrap_err().seq, 3);
    [3, middle + 10, middle + 20].into_iter().for_each(mend);
    assert_eq!(verify().unwrap().last, ROWS);
}

/// Work under a key is done once, whoever takes the key off the list.
#[test]
fn a_key_that_was_taken_off_the_list_is_known_from_the_journal() {
    use crate::fixture::{block_on, ending, intent};
    use haft_core::Recorder;
    let keyed = |key: &str| {
        let mut call = intent(key, "file.write", serde_json::json!({}));
        call.key = Some(key.into());
        call
    };
    for sql in [
        "DELETE FROM call_keys",
        "DELETE FROM call_keys; DELETE FROM kept",
        "DELETE FROM call_keys WHERE key = 'ONE'",
        "UPDATE call_keys SET key = 'other' WHERE key = 'ONE'",
        "UPDATE call_keys SET seq = 3 WHERE key = 'ONE'",
    ] {
        let home = Home::new();
        let journal = home.journal();
        for key in ["ONE", "TWO"] {
            let seq = block_on(journal.intend(keyed(key))).unwrap();
            journal.ended(keyed(key), Some(seq), ending());
        }
        journal.store().close();
        home.sql(sql);
        let journal = home.journal();
        let refused = block_on(journal.intend(keyed("ONE"))).expect_err(sql);
        assert!(
            refused.message.contains("call `ONE`"),
            "{}",
            refused.message
        );
        block_on(journal.intend(keyed("THREE"))).unwrap();
        // Records that go take their keys with them.
        let none = JournalLimits {
            since: i64::MAX,
            bytes: u64::MAX,
        };
        journal.ended(keyed("THREE"), Some(5), ending());
        journal.trim(&none).unwrap();
        journal.store().close();
        block_on(home.journal().intend(keyed("ONE"))).unwrap();
    }
}
