//! Opening, versions, transactions, group commit.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_store::{Durability, Store, StoreError, Tx, VERSION};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::fixture::block_on;

fn place() -> (TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("haft.db");
    (dir, file)
}

fn insert(tx: &mut dyn Tx, owner: &str) -> Result<(), StoreError> {
    let sql = "INSERT INTO blob_refs (owner, hash, time) VALUES ($1, 'h', 0)";
    tx.run(sql, &[owner.into()]).map(drop)
}

fn count(store: &Store) -> i64 {
    store
        .read(|tx| tx.first_int("SELECT count(*) FROM blob_refs", &[]))
        .unwrap()
        .unwrap()
}

#[test]
fn a_new_store_is_for_its_owner_alone_and_has_the_newest_version() {
    let (_dir, file) = place();
    let store = Store::open(&file);
    store.ready().unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    store.close();
    let db = Connection::open(&file).unwrap();
    let version: i64 = db
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, VERSION);
    let mode: String = db
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
}

/// SQLite itself turns one of two away that begin a log at once.
#[test]
fn many_may_make_the_same_store_at_once() {
    for _ in 0..40 {
        let (_dir, file) = place();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let file = &file;
                scope.spawn(move || {
                    let store = Store::open(file);
                    store.ready().unwrap();
                    let owner = number.to_string();
                    let written = store.write(Durability::Power, move |tx| insert(tx, &owner));
                    written.wait().unwrap();
                });
            }
        });
        assert_eq!(count(&Store::open(&file)), 8);
    }
}

/// A process that closes a file loses its locks on it, so looking at a store must not do so: another
/// program would take the log for nobody's.
#[test]
fn a_look_at_the_store_takes_no_lock_from_it() {
    let (_dir, file) = place();
    let store = Store::open(&file);
    store.ready().unwrap();
    let locks = || {
        let held = std::fs::read_to_string("/proc/locks").unwrap();
        let process = std::process::id().to_string();
        let inode = format!(":{}", file.metadata().unwrap().ino());
        let ours = |line: &&str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.contains(&&*process) && words.iter().any(|word| word.ends_with(&inode))
        };
        held.lines().filter(ours).count()
    };
    let before = locks();
    assert!(before > 0);
    Store::peek(&file, 1, |_| Ok(())).unwrap();
    let second = Store::open(&file);
    second.ready().unwrap();
    assert_eq!(locks(), before);
}

/// A large store is looked through once for each start of the machine; what remembers that is the
/// owner's alone, too.
#[test]
fn everything_beside_the_store_is_for_its_owner_alone() {
    let (dir, file) = place();
    let store = Store::open(&file);
    for n in 0..20 {
        let owner = format!("{n}{}", "x".repeat(100_000));
        let done = store.write(Durability::Process, move |tx| insert(tx, &owner));
        done.wait().unwrap();
    }
    store.close();
    Store::open(&file).ready().unwrap();
    let mut names = Vec::new();
    for entry in dir.path().read_dir().unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        let name = entry.file_name().into_string().unwrap();
        assert_eq!(mode, 0o600, "{name}");
        names.push(name);
    }
    assert!(names.contains(&"haft.db.checked".to_owned()), "{names:?}");
}

/// A small store that nobody touched since it was looked through is not looked through again; one
/// that was touched is.
#[test]
fn a_change_by_another_hand_is_looked_for() {
    let (_dir, file) = place();
    Store::open(&file).close();
    Connection::open(&file)
        .unwrap()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let touch = || {
        let opened = std::fs::File::options().write(true).open(&file).unwrap();
        opened.set_modified(long_ago).unwrap();
    };
    touch();
    Store::open(&file).ready().unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[4096..4196].fill(0xff);
    std::fs::write(&file, bytes).unwrap();
    let found = || Store::open(&file).ready();
    assert!(matches!(found(), Err(StoreError::Damaged(_))));
    touch();
    assert_eq!(found(), Ok(()), "the time is all that is looked at");
}

#[test]
fn a_newer_store_and_a_strange_file_are_refused_untouched() {
    let (_dir, file) = place();
    Store::open(&file).close();
    Connection::open(&file)
        .unwrap()
        .execute_batch("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let before = std::fs::read(&file).unwrap();
    let store = Store::open(&file);
    let known = VERSION;
    assert_eq!(store.ready(), Err(StoreError::Newer { found: 99, known }));
    let refused = store
        .write(Durability::Process, |tx| insert(tx, "x"))
        .wait();
    assert_eq!(refused, Err(StoreError::Newer { found: 99, known }));
    store.close();
    assert_eq!(std::fs::read(&file).unwrap(), before);

    let (_dir, file) = place();
    Connection::open(&file)
        .unwrap()
        .execute_batch("CREATE TABLE mine (a)")
        .unwrap();
    assert!(matches!(
        Store::open(&file).ready(),
        Err(StoreError::Failed(_))
    ));
    std::fs::write(
        &file,
        "not a database, but long enough to be looked at as one".repeat(40),
    )
    .unwrap();
    assert!(matches!(
        Store::open(&file).ready(),
        Err(StoreError::Damaged(_))
    ));
}

#[test]
fn many_writers_share_commits_and_all_stand() {
    let (_dir, file) = place();
    let store = Store::open(&file);
    store.ready().unwrap();
    std::thread::scope(|scope| {
        for who in 0..16 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..8 {
                    let owner = format!("{who}-{n}");
                    let done = store.write(Durability::Power, move |tx| insert(tx, &owner));
                    done.wait().unwrap();
                }
            });
        }
    });
    assert_eq!(count(&store), 128);
    assert_eq!(store.close(), 0);
    assert_eq!(count(&Store::open(&file)), 128);
}

/// Whoever waits for a commit makes it, and what is ready beside it goes along.
#[test]
fn many_on_one_thread_share_commits() {
    const MANY: usize = 64;
    let (_dir, file) = place();
    let store = Store::open(&file);
    store.ready().unwrap();
    let commits = Arc::new(AtomicUsize::new(0));
    block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..MANY {
            let (store, commits) = (store.clone(), commits.clone());
            tasks.spawn(async move {
                let done = store.write(Durability::Power, move |tx| {
                    let commits = commits.clone();
                    let count = move |_| assert!(commits.fetch_add(1, Ordering::Relaxed) < MANY);
                    tx.after_commit("count", Box::new(count));
                    insert(tx, &n.to_string())
                });
                done.done().await.unwrap();
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    });
    assert_eq!(count(&store), MANY as i64);
    store.caught_up().unwrap();
    // The store's thread may have seen the first of them before the rest was there.
    let commits = commits.load(Ordering::Relaxed);
    assert!(commits <= 4, "{commits}");
}

#[test]
fn what_nobody_waits_for_is_done_all_the_same() {
    let (_dir, file) = place();
    let store = Store::open(&file);
    store.ready().unwrap();
    let (sender, done) = std::sync::mpsc::channel();
    let written = store.write(Durability::Power, move |tx| {
        let sender = sender.clone();
        tx.after_commit("told", Box::new(move |_| sender.send(()).unwrap()));
        insert(tx, "alone")
    });
    drop(written);
    done.recv().unwrap();
    assert_eq!(count(&store), 1);
}

/// A panic takes the work beside it along, and says so; the store goes on.
#[test]
fn work_that_panics_leaves_a_store_that_works() {
    let (_dir, file) = place();
    let store = Store::open(&file);
    store.ready().unwrap();
    let beside = store.write(Durability::Power, |tx| insert(tx, "beside"));
    let bad = store.write(Durability::Power, |tx| -> Result<(), StoreError> {
        insert(tx, "half")?;
        panic!("on purpose")
    });
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| bad.wait()));
    assert!(caught.is_err());
    assert_eq!(beside.wait(), Err(StoreError::Closed));
    let good = store.write(Durability::Power, |tx| insert(tx, "good"));
    good.wait().unwrap();
    assert_eq!(count(&store), 1);
    assert_eq!(store.close(), 0);
}

#[test]
fn work_that_fails_takes_nothing_else_with_it() {
    let (_dir, file) = place();
    let store = Store::open(&file);
    let good = store.write(Durability::Power, |tx| insert(tx, "good"));
    let bad = store.write(Durability::Power, |tx| {
        insert(tx, "half")?;
        Err::<(), _>(StoreError::Failed("no".into()))
    });
    let twice = store.write(Durability::Power, |tx| {
        insert(tx, "same")?;
        insert(tx, "same")
    });
    let last = store.write(Durability::Power, |tx| insert(tx, "last"));
    good.wait().unwrap();
    assert_eq!(bad.wait(), Err(StoreError::Failed("no".into())));
    assert!(twice.wait().is_err());
    last.wait().unwrap();
    assert_eq!(count(&store), 2);
}

/// What was to follow work that failed does not take the place of what follows the rest.
#[test]
fn what_follows_a_commit_is_of_work_that_stands() {
    let (_dir, file) = place();
    let store = Store::open(&file);
    store.ready().unwrap();
    let (sender, told) = std::sync::mpsc::channel();
    let follows = move |owner: &'static str, result: Result<(), StoreError>| {
        let sender = sender.clone();
        move |tx: &mut dyn Tx| {
            let sender = sender.clone();
            insert(tx, owner)?;
            tx.after_commit("end", Box::new(move |_| sender.send(owner).unwrap()));
            result.clone()
        }
    };
    let good = store.write(Durability::Power, follows("good", Ok(())));
    let no = Err(StoreError::Failed("no".into()));
    let bad = store.write(Durability::Power, follows("bad", no));
    assert!(bad.wait().is_err());
    good.wait().unwrap();
    store.caught_up().unwrap();
    assert_eq!(told.try_iter().collect::<Vec<_>>(), ["good"]);
}

#[test]
fn a_closed_store_says_so() {
    let (_dir, file) = place();
    let store = Store::open(&file);
    assert_eq!(store.close(), 0);
    assert_eq!(store.close(), 0);
    let refused = store
        .write(Durability::Process, |tx| insert(tx, "x"))
        .wait();
    assert_eq!(refused, Err(StoreError::Closed));
}

/// A process that ends writes what is left: by itself where nobody is at it, else by waiting for
/// whoever is.
#[test]
fn a_store_that_is_finished_has_everything_written() {
    let (_dir, file) = place();
    let mut all = 0;
    for number in [0, 1, 20, 2_000, 5_000, 1] {
        let store = Store::open(&file);
        if number != 20 {
            store.ready().unwrap();
        }
        for one in 0..number {
            let owner = format!("{all} {one}");
            store.hand_over(move |tx| insert(tx, &owner));
        }
        assert_eq!(store.finish(), 0);
        // Nothing more is taken on, and nobody waits for what is not.
        store.hand_over(|tx| insert(tx, "late"));
        let late = store.write(Durability::Process, |tx| insert(tx, "late"));
        assert_eq!(late.wait(), Err(StoreError::Closed));
        assert_eq!(store.finish(), 0);
        all += number;
        assert_eq!(count(&Store::open(&file)), all);
    }
}

#[test]
fn readers_see_one_state_and_cannot_write() {
    let (_dir, file) = place();
    let store = Store::open(&file);
    let other = store.clone();
    store
        .read(|tx| {
            let before = tx.first_int("SELECT count(*) FROM blob_refs", &[])?;
            other
                .write(Durability::Process, |tx| insert(tx, "new"))
                .wait()?;
            assert_eq!(tx.first_int("SELECT count(*) FROM blob_refs", &[])?, before);
            assert!(insert(tx, "from a reader").is_err());
            Ok(())
        })
        .unwrap();
    assert_eq!(count(&store), 1);
}

#[test]
fn two_stores_on_one_file_work_together() {
    let (_dir, file) = place();
    let stores = [Store::open(&file), Store::open(&file)];
    std::thread::scope(|scope| {
        for (who, store) in stores.iter().enumerate() {
            scope.spawn(move || {
                for n in 0..30 {
                    let owner = format!("{who}-{n}");
                    let done = store.write(Durability::Process, move |tx| insert(tx, &owner));
                    done.wait().unwrap();
                }
            });
        }
    });
    assert_eq!(count(&stores[0]), 60);
}
