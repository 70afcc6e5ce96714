//! How sandboxed commands end: by themselves, by a time limit, and with haft.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use haft_host::Level;

use crate::fixture::Fixture;

pub(crate) fn a_command_is_asked_to_end_before_it_is_made_to() {
    let fixture = Fixture::new();
    let check = |line: &str, output: &str, signal: Option<&str>| {
        let finished = fixture.run_for(Duration::from_millis(400), line);
        assert!(finished.timed_out, "{line}");
        assert_eq!(finished.output, output, "{line}");
        assert_eq!(finished.signal.as_deref(), signal, "{line}");
        assert!(finished.duration < Duration::from_secs(10), "{line}");
    };
    check("echo said; exec sleep 1000", "said\n", Some("SIGTERM"));
    check(
        "trap 'echo bye; exit 3' TERM; sleep 1000 & wait",
        "bye\n",
        None,
    );
    check(
        "trap '' TERM; while :; do sleep 1; done",
        "",
        Some("SIGKILL"),
    );
}

/// Run a line that does not end, and say so by a file.
pub(crate) fn own() {
    let fixture = Fixture::at(Path::new(&std::env::args_os().nth(2).unwrap()));
    fixture.run(Level::Sandboxed, &std::env::args().nth(3).unwrap());
}

/// With no guardian at all: the launcher itself notices.
pub(crate) fn nothing_outlives_haft() {
    for line in [
        "touch ready; @WORK/sleeper 1000",
        "(setsid @WORK/sleeper 1000 &); touch ready; trap '' TERM HUP INT; @WORK/sleeper 1000",
        "env -i setsid @WORK/sleeper 1000 & touch ready; wait",
    ] {
        let fixture = Fixture::new();
        let sleeper = fixture.work.join("sleeper");
        std::os::unix::fs::symlink("/bin/sleep", &sleeper).unwrap();
        let mut haft = Command::new(std::env::current_exe().unwrap())
            .arg("own")
            .arg(&fixture.root)
            .arg(fixture.fill(line))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("no sleeper", || {
            fixture.work.join("ready").exists() && running(&sleeper) > 0
        });
        haft.kill().unwrap();
        haft.wait().unwrap();
        wait_for(line, || running(&sleeper) == 0);
        // And what stood in for missing files is gone with the launcher.
        wait_for("placeholders stay", || {
            !fixture.work.join(".git/commondir").exists()
        });
    }
}

fn running(program: &Path) -> usize {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            words.starts_with(program.to_str().unwrap().as_bytes())
        })
        .count()
}

fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
