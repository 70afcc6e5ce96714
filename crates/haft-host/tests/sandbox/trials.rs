//! Lines tried out on an overlay: nothing changes until the commit, and then exactly what the
//! line would have changed itself.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use haft_core::ErrorCode;
use haft_host::{Level, Mark, Verb};

use crate::fixture::{Fixture, runtime};

/// Lines, and how many places each would change.
const LINES: &[(&str, usize)] = &[
    ("true", 0),
    ("cat src/a.txt", 0),
    ("touch src/a.txt", 1),
    ("touch -d @1000000000 src/a.txt src/deep", 2),
    ("touch -d @1000000000 src && echo new > n", 2),
    ("mkdir m && echo 1 > m/f && touch -d @1000000000 m m/f", 2),
    ("echo new > src/n && touch -d @1000000000 src", 2),
    ("echo new > n", 1),
    ("echo more >> src/a.txt", 1),
    ("rm src/a.txt", 1),
    ("rm -rf src", 7),
    ("rm -rf *", 9),
    ("mv src moved", 14),
    ("mv src/a.txt src/b.txt", 2),
    ("sed -i s/a/b/ src/a.txt", 1),
    ("chmod 700 src/a.txt", 1),
    ("chmod 700 src", 1),
    ("mkdir -p x/y/z && echo 1 > x/y/z/f", 4),
    ("rm -rf src && mkdir src && echo anew > src/b.txt", 7),
    ("rm -rf src && echo file > src", 7),
    ("rm one && mkdir one && echo 1 > one/f", 2),
    ("ln -s a.txt src/link", 1),
    ("ln -sf elsewhere src/to", 1),
    ("rm src/to && echo file > src/to", 1),
    ("rm src/to && mkdir src/to && echo 1 > src/to/f", 2),
    ("ln src/a.txt src/hard", 1),
    ("ln src/a.txt src/hard && echo more >> src/hard", 2),
    ("echo 1 > x && ln x y && ln y src/z", 3),
    ("ln src/a.txt h && ln src/a.txt i && chmod 700 src", 3),
    ("cp -r src copy && rm -r src/deep", 10),
    ("for i in 1 2 3; do echo $i > f$i; done; rm f2", 2),
    (
        "printf 'a\\0b' > binary; head -c 100000 /dev/zero > zeros",
        2,
    ),
    (
        "echo x > 'a name with spaces'; echo y > \"$(printf 'line\\nbreak')\"",
        2,
    ),
    ("echo x > \"$(printf 'not \\377 utf8')\"", 1),
    ("echo secret > closed && chmod 000 closed", 1),
    ("mkdir shut && echo x > shut/f && chmod 000 shut", 2),
    ("mkfifo pipe", 0),
];

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fs::remove_file(fixture.work.join("tool")).unwrap();
    fs::create_dir_all(fixture.work.join("src/deep/er")).unwrap();
    fs::write(fixture.work.join("src/deep/er/d.txt"), "d\n").unwrap();
    fs::write(fixture.work.join("src/exe"), "#!/bin/sh\n").unwrap();
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(fixture.work.join("src/exe"), mode).unwrap();
    std::os::unix::fs::symlink("a.txt", fixture.work.join("src/to")).unwrap();
    fs::write(fixture.work.join("one"), "1\n").unwrap();
    fs::create_dir(fixture.work.join("empty")).unwrap();
    fs::write(fixture.work.join(".hidden"), "h\n").unwrap();
    fixture
}

/// Every path under a folder with its mode and content.
fn listing(root: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            let name = folder.strip_prefix(root).unwrap();
            lines.push(format!("{name:?} closed"));
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let found = fs::symlink_metadata(&path).unwrap();
            let content = if found.is_symlink() {
                fs::read_link(&path).unwrap().display().to_string()
            } else if found.is_dir() {
                folders.push(path.clone());
                "/".to_owned()
            } else {
                match fs::read(&path) {
                    Ok(content) => format!("{:?}", String::from_utf8_lossy(&content)),
                    Err(error) => error.to_string(),
                }
            };
            let name = path.strip_prefix(root).unwrap().to_owned();
            let mode = found.permissions().mode() & 0o7777;
            let links = if found.is_file() { found.nlink() } else { 0 };
            // Any other time is the one of the run.
            let old = if found.mtime() == 1_000_000_000 {
                "old"
            } else {
                ""
            };
            lines.push(format!("{name:?} {mode:o} {links} {old} {content}"));
        }
    }
    lines.sort();
    lines
}

pub(crate) fn a_commit_is_what_the_line_would_have_done() {
    for (line, expected) in LINES {
        let tried = fixture();
        let before = listing(&tried.work);
        let power = tried.power(tried.sandbox(Level::Sandboxed)).unwrap();
        let (finished, trial) = tried.rehearse(&power, line).unwrap();
        assert_eq!(finished.exit_code, Some(0), "{line}: {}", finished.output);
        assert_eq!(listing(&tried.work), before, "{line} changed something");
        let changes: Vec<String> = trial
            .changes
            .iter()
            .map(|change| format!("{:?} {:?}", change.verb(), change.path))
            .collect();
        assert_eq!(changes.len(), *expected, "{line}: {changes:#?}");
        runtime()
            .block_on(power.commit_trial(trial, Mark::default()))
            .unwrap();

        let real = fixture();
        if !line.starts_with("mkfifo") {
            let finished = real.run(Level::Shared, line);
            assert_eq!(finished.exit_code, Some(0), "{line}: {}", finished.output);
        }
        assert_eq!(listing(&tried.work), listing(&real.work), "{line}");
        assert_eq!(
            fs::read_dir(tried.state.join("overlays")).unwrap().count(),
            0
        );
    }
}

pub(crate) fn deleting_everything_names_every_file() {
    let fixture = fixture();
    for number in 0..300 {
        fs::write(fixture.work.join(format!("src/deep/{number}")), "x").unwrap();
    }
    let before = listing(&fixture.work);
    let power = fixture.power(fixture.sandbox(Level::Sandboxed)).unwrap();
    let (_, trial) = fixture.rehearse(&power, "rm -rf *").unwrap();
    assert_eq!(trial.changes.len(), 309);
    assert!(trial.changes.iter().all(|one| one.verb() == Verb::Deleted));
    assert_eq!(listing(&fixture.work), before);
    runtime().block_on(power.discard_trial(trial)).unwrap();
    assert_eq!(listing(&fixture.work), before);
}

pub(crate) fn ids_are_bound_and_good_once() {
    let fixture = fixture();
    let power = fixture.power(fixture.sandbox(Level::Sandboxed)).unwrap();
    let (_, trial) = fixture.rehearse(&power, "echo x > n").unwrap();
    let id = trial.id.clone();
    let busy = power.trial(&id, "s").unwrap_err();
    assert_eq!(busy.code, ErrorCode::Conflict, "{busy}");
    drop(trial);
    for (id, session) in [
        (id.as_str(), "another session"),
        ("", "s"),
        ("../../state", "s"),
        ("00000000000000000000000000000000", "s"),
        (&id.to_uppercase(), "s"),
    ] {
        let error = power.trial(id, session).unwrap_err();
        assert_eq!(error.code, ErrorCode::InputInvalid, "{id} {session}");
    }
    // Another process would find it too.
    let again = fixture.power(fixture.sandbox(Level::Sandboxed)).unwrap();
    let trial = again.trial(&id, "s").unwrap();
    runtime()
        .block_on(again.commit_trial(trial, Mark::default()))
        .unwrap();
    assert_eq!(fs::read_to_string(fixture.work.join("n")).unwrap(), "x\n");
    assert!(again.trial(&id, "s").is_err());
}

/// A folder may become a repository on trial too, without hooks of the command's making.
pub(crate) fn a_repository_can_be_tried_out() {
    let fixture = Fixture::new();
    let plain = fixture.root.join("plain");
    let fixture = fixture.working_in(plain.clone());
    let power = fixture.power(fixture.sandbox(Level::Sandboxed)).unwrap();
    let commit = |line: &str, left_out: &[&str]| {
        let (finished, trial) = fixture.rehearse(&power, line).unwrap();
        assert_eq!(finished.exit_code, Some(0), "{line}: {}", finished.output);
        assert!(!plain.join(".git").exists(), "{line}");
        let mut names: Vec<&str> = trial.left_out.iter().filter_map(|p| p.to_str()).collect();
        names.sort();
        assert_eq!(names, left_out, "{line}");
        runtime()
            .block_on(power.commit_trial(trial, Mark::default()))
            .unwrap();
    };
    commit("echo gitdir: /elsewhere > .git", &[".git"]);
    commit("mkdir -p .git/hooks && echo evil > .git/hooks/x", &[".git"]);
    commit("ln -s @OUT .git", &[".git"]);
    commit(
        "export HOME=@HOME; git init -q -b main && echo x > f && git add f && \
         echo evil > .git/hooks/pre-commit && git config core.fsmonitor ./evil",
        &[".git/hooks/pre-commit", "core.fsmonitor"],
    );
    let git = plain.join(".git");
    assert!(git.join("index").is_file() && !git.join("hooks/pre-commit").exists());
    let config = fs::read_to_string(git.join("config")).unwrap();
    assert!(!config.contains("evil"), "{config}");
    let canary = fs::read_to_string(fixture.outside.join("canary")).unwrap();
    assert_eq!(canary, crate::fixture::CANARY);
}

/// What is guarded cannot be changed by way of a trial, and what is outside cannot be reached.
pub(crate) fn a_trial_is_no_way_out() {
    let fixture = fixture();
    let power = fixture.power(fixture.sandbox(Level::Sandboxed)).unwrap();
    for line in [
        "echo evil > .git/hooks/pre-commit",
        "mv .git g && mkdir -p .git/hooks",
        "echo evil > .git/config",
        "echo evil > haft.yaml; false",
        "echo evil > @OUT/canary",
        "cat @STATE/secret",
        "ls @STATE/overlays/*",
        "ln -s @OUT src/out && echo evil > src/out/canary",
    ] {
        let (finished, trial) = fixture.rehearse(&power, line).unwrap();
        assert_ne!(finished.exit_code, Some(0), "{line}: {}", finished.output);
        runtime()
            .block_on(power.commit_trial(trial, Mark::default()))
            .unwrap();
        assert!(!fixture.work.join(".git/hooks/pre-commit").exists());
        assert!(!fixture.work.join("haft.yaml").exists());
        let canary = fs::read_to_string(fixture.outside.join("canary")).unwrap();
        assert_eq!(canary, crate::fixture::CANARY);
    }
    // A link that leads out is only a link; nothing is written through it later.
    let line = "rm -r src && ln -s @OUT src";
    let (_, trial) = fixture.rehearse(&power, line).unwrap();
    runtime()
        .block_on(power.commit_trial(trial, Mark::default()))
        .unwrap();
    assert!(fixture.work.join("src").is_symlink());
    let (_, trial) = fixture
        .rehearse(&power, "rm src; mkdir src; echo x > src/canary")
        .unwrap();
    runtime()
        .block_on(power.commit_trial(trial, Mark::default()))
        .unwrap();
    let canary = fs::read_to_string(fixture.outside.join("canary")).unwrap();
    assert_eq!(canary, crate::fixture::CANARY);
}

/// A folder that becomes a link after the trial does not lead the commit outside.
pub(crate) fn a_commit_follows_no_link() {
    let fixture = fixture();
    let power = fixture.power(fixture.sandbox(Level::Sandboxed)).unwrap();
    let (_, trial) = fixture.rehearse(&power, "echo evil > src/canary").unwrap();
    fs::rename(fixture.work.join("src"), fixture.work.join("aside")).unwrap();
    std::os::unix::fs::symlink(&fixture.outside, fixture.work.join("src")).unwrap();
    let error = runtime()
        .block_on(power.commit_trial(trial, Mark::default()))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict, "{error}");
    let canary = fs::read_to_string(fixture.outside.join("canary")).unwrap();
    assert_eq!(canary, crate::fixture::CANARY);
}

pub(crate) fn a_change_while_it_ran_is_a_conflict() {
    let fixture = fixture();
    let power = fixture.power(fixture.sandbox(Level::Sandboxed)).unwrap();
    let file = fixture.work.join("src/a.txt");
    let line = "cat src/a.txt > /dev/null; echo more >> src/a.txt; touch ready; \
                until test -e src/go; do sleep 0.01; done";
    let overlays = fixture.state.join("overlays");
    let meddler = std::thread::spawn({
        let (file, work) = (file.clone(), fixture.work.clone());
        move || {
            // The layer is ours to look into while the command waits.
            let ready = || {
                let mut entries = fs::read_dir(&overlays).ok()?;
                let dir = entries.next()?.ok()?.path();
                dir.join("upper/ready").exists().then_some(())
            };
            while ready().is_none() {
                std::thread::yield_now();
            }
            fs::write(&file, "somebody else\n").unwrap();
            fs::write(work.join("src/go"), "").unwrap();
        }
    });
    let (_, trial) = fixture.rehearse(&power, line).unwrap();
    meddler.join().unwrap();
    let error = runtime()
        .block_on(power.commit_trial(trial, Mark::default()))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict, "{error}");
    assert_eq!(fs::read_to_string(file).unwrap(), "somebody else\n");
}

pub(crate) fn where_it_cannot_be_done_it_is_said() {
    let fixture = fixture();
    let air = fixture.power(fixture.sandbox(Level::AirGapped)).unwrap();
    let error = fixture.rehearse(&air, "true").unwrap_err();
    assert_eq!(error.code, ErrorCode::NotAvailable);
    let mut inside = fixture.sandbox(Level::Shared);
    inside.state = fixture.work.join(".state");
    let inside = fixture.power(inside).unwrap();
    let error = fixture.rehearse(&inside, "true").unwrap_err();
    assert_eq!(error.code, ErrorCode::NotAvailable);
    // A session with all rights tries things out in the sandbox all the same.
    let shared = fixture.power(fixture.sandbox(Level::Shared)).unwrap();
    let (finished, trial) = fixture.rehearse(&shared, "echo x > @OUT/new").unwrap();
    assert_eq!(finished.level, Level::Sandboxed);
    assert!(trial.changes.is_empty() && !fixture.outside.join("new").exists());
}
