//! Attacks that a shell line can make, and the ordinary work that must still go.

use std::fs;

use haft_core::ErrorCode;
use haft_host::{Isolation, Level, Sandbox};

use crate::fixture::{Fixture, SECRET};

/// A line that says `ESCAPED` when it got somewhere; what it may have done is looked for besides.
/// The marked ones are run without a sandbox too, where they must succeed: an attack that never
/// works shows nothing.
const ATTACKS: &[(&str, Control, &str)] = &[
    (
        "write outside",
        Control::Works,
        "echo x > @OUT/new && echo ESCAPED",
    ),
    (
        "append outside",
        Control::Works,
        "echo x >> @OUT/canary && echo ESCAPED",
    ),
    (
        "remove outside",
        Control::Works,
        "rm @OUT/canary && echo ESCAPED",
    ),
    (
        "move from outside",
        Control::Works,
        "mv @OUT/canary . && echo ESCAPED",
    ),
    (
        "mode outside",
        Control::Works,
        "chmod 777 @OUT/canary && echo ESCAPED",
    ),
    (
        "time outside",
        Control::Works,
        "touch -d @1 @OUT/canary && echo ESCAPED",
    ),
    (
        "through a link",
        Control::Works,
        "ln -s @OUT link; echo x > link/new && echo ESCAPED",
    ),
    (
        "through a link to a file",
        Control::Works,
        "ln -s @OUT/canary l; echo x > l && echo ESCAPED",
    ),
    (
        "through own root",
        Control::Works,
        "echo x > /proc/self/root@OUT/new && echo ESCAPED",
    ),
    (
        "through first root",
        Control::Skip,
        "echo x > /proc/1/root@OUT/new && echo ESCAPED",
    ),
    (
        "through own folder",
        Control::Works,
        "echo x > /proc/self/cwd/../outside/new && echo ESCAPED",
    ),
    (
        "a hard link",
        Control::Works,
        "ln @OUT/canary l && echo x >> l && echo ESCAPED",
    ),
    (
        "rename the workspace",
        Control::Works,
        "mv @WORK @ROOT/moved && echo ESCAPED; mv @ROOT/moved @WORK",
    ),
    (
        "read the state",
        Control::Works,
        "grep -q secret @STATE/secret && echo ESCAPED",
    ),
    (
        "list the state",
        Control::Works,
        "ls -A @STATE | grep . && echo ESCAPED",
    ),
    (
        "write the state",
        Control::Works,
        "echo x > @STATE/new && echo ESCAPED",
    ),
    (
        "state through first root",
        Control::Skip,
        "cat /proc/1/root@STATE/secret && echo ESCAPED",
    ),
    (
        "state through first folder",
        Control::Skip,
        "cat /proc/1/cwd/../state/secret && echo ESCAPED",
    ),
    (
        "uncover the state",
        Control::Skip,
        "umount @STATE; ls -A @STATE | grep . && echo ESCAPED",
    ),
    (
        "read a key",
        Control::Works,
        "grep -q secret @HOME/.ssh/id_rsa && echo ESCAPED",
    ),
    (
        "read a letter",
        Control::Works,
        "grep -q . @HOME/letters/one && echo ESCAPED",
    ),
    (
        "list the home",
        Control::Works,
        "ls -A @HOME | grep letters && echo ESCAPED",
    ),
    (
        "write the home",
        Control::Works,
        "echo x > @HOME/new && echo ESCAPED",
    ),
    (
        "write a toolchain",
        Control::Works,
        "echo evil >> @HOME/.local/bin/hello && echo ESCAPED",
    ),
    (
        "uncover the home",
        Control::Skip,
        "umount @HOME; cat @HOME/letters/one && echo ESCAPED",
    ),
    (
        "homes of others",
        Control::Skip,
        "cat /root/.profile /root/.bashrc /home/*/.profile && echo ESCAPED",
    ),
    (
        "write a start-up file",
        Control::Works,
        "echo evil >> @HOME/.bashrc && echo ESCAPED",
    ),
    (
        "a hook",
        Control::Works,
        "echo evil > .git/hooks/pre-commit && echo ESCAPED",
    ),
    (
        "hooks made anew",
        Control::Works,
        "rmdir .git/hooks && mkdir .git/hooks && echo evil > .git/hooks/x && echo ESCAPED",
    ),
    (
        "hooks moved away",
        Control::Works,
        "mv .git/hooks h && mkdir .git/hooks && echo ESCAPED",
    ),
    (
        "repository moved away",
        Control::Works,
        "mv .git g && mkdir -p .git/hooks && echo ESCAPED",
    ),
    (
        "hooks by a link",
        Control::Works,
        "rmdir .git/hooks && ln -s ../evil .git/hooks && echo ESCAPED",
    ),
    (
        "repository config",
        Control::Works,
        "echo evil >> .git/config && echo ESCAPED",
    ),
    (
        "config replaced",
        Control::Works,
        "echo evil > c && mv c .git/config && echo ESCAPED",
    ),
    (
        "config elsewhere",
        Control::Works,
        "echo ../evil > .git/commondir && echo ESCAPED",
    ),
    (
        "editor tasks",
        Control::Works,
        "echo evil > .vscode/tasks.json && echo ESCAPED",
    ),
    (
        "editor folder moved",
        Control::Works,
        "mv .vscode v && mkdir .vscode && echo ESCAPED",
    ),
    (
        "the system's files",
        Control::Skip,
        "echo x >> /etc/passwd && echo ESCAPED",
    ),
    (
        "the system's passwords",
        Control::Skip,
        "grep -q . /etc/shadow && echo ESCAPED",
    ),
    (
        "a core pattern",
        Control::Skip,
        "echo '|/evil' > /proc/sys/kernel/core_pattern && echo ESCAPED",
    ),
    (
        "a magic key",
        Control::Skip,
        "echo h > /proc/sysrq-trigger && echo ESCAPED",
    ),
    (
        "switches of the kernel",
        Control::Skip,
        "echo x > /sys/kernel/uevent_helper && echo ESCAPED",
    ),
    (
        "control groups",
        Control::Skip,
        "for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do echo $$ > $f && echo ESCAPED; done",
    ),
    (
        "make switches writable",
        Control::Skip,
        "mount -o remount,rw /proc && echo ESCAPED",
    ),
    (
        "make outside writable",
        Control::Skip,
        "mount -o remount,rw / && echo ESCAPED",
    ),
    (
        "a mount",
        Control::Skip,
        "mount -t tmpfs x src && echo ESCAPED",
    ),
    (
        "a user namespace",
        Control::Skip,
        "unshare -Ur true && echo ESCAPED",
    ),
    (
        "another root",
        Control::Skip,
        "chroot / true && echo ESCAPED",
    ),
    (
        "see haft",
        Control::Works,
        "tr '\\0' ' ' < /proc/@PID/cmdline | grep -q suite && echo ESCAPED",
    ),
    (
        "see others",
        Control::Works,
        "test $(ls -d /proc/[0-9]* | wc -l) -gt 8 && echo ESCAPED",
    ),
    (
        "signal haft",
        Control::Works,
        "test $$ -ne @PID && test -d /proc/@PID && kill -0 @PID && tr '\\0' ' ' < /proc/@PID/cmdline | grep -q suite && echo ESCAPED",
    ),
    (
        "look at first memory",
        Control::Skip,
        "cat /proc/1/maps && echo ESCAPED",
    ),
    (
        "first environment",
        Control::Skip,
        "cat /proc/1/environ && echo ESCAPED",
    ),
    (
        "first program",
        Control::Skip,
        "cat /proc/1/exe > /dev/null && echo ESCAPED",
    ),
    (
        "a disk",
        Control::Skip,
        "ls /dev/vd* /dev/sd* /dev/nvme* /dev/mem /dev/kmem 2>/dev/null && echo ESCAPED",
    ),
    (
        "a device",
        Control::Skip,
        "mknod d b 8 0 && echo ESCAPED; mknod d c 1 1 && echo ESCAPED",
    ),
    (
        "run as another",
        Control::Works,
        "cp /bin/sh s && chmod u+s s && echo ESCAPED",
    ),
    (
        "run as another group",
        Control::Works,
        "cp /bin/sh s && chmod 2755 s && echo ESCAPED",
    ),
    (
        "sockets of services",
        Control::Skip,
        "ls -A /run | grep -v current-system && echo ESCAPED",
    ),
    (
        "call haft",
        Control::Skip,
        "@EXE launch probe | grep -q 'user namespace.yes' && echo ESCAPED",
    ),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    /// Succeeds without a sandbox
    Works,
    /// Would harm this machine, needs to be root, or means nothing outside
    Skip,
}

/// Every attack in a fresh fixture; how many there were.
pub(crate) fn attacks_fail() -> usize {
    for (name, control, line) in ATTACKS {
        let fixture = Fixture::new();
        let finished = fixture.run(Level::Sandboxed, line);
        assert!(
            !finished.output.contains("ESCAPED"),
            "{name}: {}",
            finished.output
        );
        assert!(!finished.output.contains(SECRET), "{name}");
        assert_eq!(finished.level, Level::Sandboxed);
        fixture
            .unharmed()
            .unwrap_or_else(|harm| panic!("{name}: {harm}"));
        if *control == Control::Works {
            let fixture = Fixture::new();
            let finished = fixture.run(Level::Shared, line);
            assert!(
                finished.output.contains("ESCAPED"),
                "{name} shows nothing: {}",
                finished.output
            );
        }
    }
    survivors_and_leaks();
    ATTACKS.len() + 3 + config_does_not_last() + nothing_is_made_beside()
}

/// Beside the workspace nothing is made. Where that is a temporary folder, the sandbox has one of
/// its own, so only a look from outside tells.
fn nothing_is_made_beside() -> usize {
    for (level, made) in [(Level::Sandboxed, false), (Level::Shared, true)] {
        let fixture = Fixture::new();
        fixture.run(level, "mkdir @ROOT/beside");
        assert_eq!(fixture.root.join("beside").exists(), made, "{level}");
    }
    1
}

/// A config that a command leaves for haft: it counts for nothing while it is there, and then it
/// is gone.
fn config_does_not_last() -> usize {
    let lines = [
        "echo evil > haft.yaml",
        "echo evil > c && mv c haft.yaml",
        "ln -s src/a.txt haft.yaml",
    ];
    for line in lines {
        let fixture = Fixture::new();
        let finished = fixture.run(Level::Sandboxed, line);
        let told = "haft: `haft.yaml` was not kept";
        assert!(finished.output.contains(told), "{line}: not said");
        fixture
            .unharmed()
            .unwrap_or_else(|harm| panic!("{line}: {harm}"));
        let fixture = Fixture::new();
        fixture.run(Level::Shared, line);
        assert!(fixture.unharmed().is_err(), "{line} shows nothing");
    }
    let fixture = Fixture::new();
    fs::write(fixture.work.join("haft.yaml"), "mine").unwrap();
    for line in lines.into_iter().chain(["rm haft.yaml"]) {
        let finished = fixture.run(Level::Sandboxed, line);
        assert_ne!(finished.exit_code, Some(0), "{line}");
        let config = fs::read_to_string(fixture.work.join("haft.yaml")).unwrap();
        assert_eq!(config, "mine", "{line}");
    }
    lines.len() * 2 + 1
}

/// What outlives a command, and what it leaves in places that others share.
fn survivors_and_leaks() {
    let fixture = Fixture::new();
    let mark = format!("haft-leak-{}", std::process::id());
    let line = format!("for d in /tmp /var/tmp /dev/shm; do echo x > $d/{mark} || exit 9; done");
    let finished = fixture.run(Level::Sandboxed, &line);
    assert_eq!(finished.exit_code, Some(0), "{}", finished.output);
    for folder in ["/tmp", "/var/tmp", "/dev/shm"] {
        let path = std::path::Path::new(folder).join(&mark);
        assert!(!path.exists(), "{path:?}");
    }
    std::os::unix::fs::symlink("/bin/sleep", fixture.work.join("sleeper")).unwrap();
    let line = "(env -i setsid @WORK/sleeper 1000 &) ; nohup @WORK/sleeper 1000 >/dev/null & true";
    let finished = fixture.run(Level::Sandboxed, line);
    assert_eq!(finished.exit_code, Some(0), "{}", finished.output);
    let sleeper = fixture.fill("@WORK/sleeper");
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        assert!(!words.starts_with(sleeper.as_bytes()), "{:?}", entry.path());
    }
}

pub(crate) fn ordinary_work_is_possible() {
    let fixture = Fixture::new();
    let check = |line: &str, code: i32, output: &str| {
        let finished = fixture.run(Level::Sandboxed, line);
        assert_eq!(
            (finished.exit_code, finished.output.as_str()),
            (Some(code), output),
            "{line}"
        );
    };
    check("pwd", 0, &format!("{}\n", fixture.work.display()));
    check("echo b > src/b.txt && cat src/*.txt", 0, "a\nb\n");
    check(
        "mkdir -p x/y && mv src/b.txt x/y/ && ls x/y && rm -r x",
        0,
        "b.txt\n",
    );
    check("echo err >&2; exit 7", 7, "err\n");
    check("echo x > /tmp/t && cat /tmp/t", 0, "x\n");
    check("echo x > /dev/null; echo y > /dev/stdout", 0, "y\n");
    check("head -c 3 /dev/zero | wc -c | tr -d ' '", 0, "3\n");
    check("test -r /etc/passwd && echo yes", 0, "yes\n");
    check("(sleep 0.01; echo late) & echo first", 0, "first\nlate\n");
    check(
        "echo x > .git/index && cat .git/index && rm .git/index",
        0,
        "x\n",
    );
    check("echo $$", 0, "2\n");
    check("mkfifo p && (echo x > p &) ; cat p; rm p", 0, "x\n");
    check(
        "id -u",
        0,
        &format!("{}\n", rustix::process::geteuid().as_raw()),
    );
    check("@EXE attack own-network", 0, "talked to myself\n");
    let finished = fixture.run(Level::Sandboxed, "kill -SEGV $$");
    assert_eq!(finished.signal.as_deref(), Some("SIGSEGV"));
    assert_eq!(finished.exit_code, None);
    let made = fs::metadata(fixture.work.join("src")).unwrap();
    use std::os::unix::fs::MetadataExt;
    assert_eq!(made.uid(), rustix::process::geteuid().as_raw());
}

/// What is made to be mounted on is gone afterwards, also when two commands shared it.
pub(crate) fn placeholders_come_and_go() {
    let fixture = Fixture::new();
    let plain = fixture.root.join("plain");
    let fixture = fixture.working_in(plain.clone());
    for line in [
        "mkdir .git && echo ESCAPED",
        "mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
        "printf '[core]\\n\\tfsmonitor = evil\\n' > .git/config",
        "echo x > .git && echo ESCAPED",
        "rmdir .git && echo ESCAPED",
        "mv .git g && echo ESCAPED",
    ] {
        let finished = fixture.run(Level::Sandboxed, line);
        assert!(!finished.output.contains("ESCAPED"), "{line}");
        let left: Vec<_> = fs::read_dir(&plain).unwrap().collect();
        assert!(left.is_empty(), "{line}: {left:?}");
    }
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let finished = fixture.run(Level::Sandboxed, "mkdir .git/hooks");
                    assert!(
                        finished.output.contains("no repository"),
                        "{}",
                        finished.output
                    );
                }
            });
        }
    });
    let left: Vec<_> = fs::read_dir(&plain).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    fixture.unharmed_outside().unwrap();
}

/// Ordinary work with git goes, from the first `git init` on.
pub(crate) fn git_works() {
    let fixture = Fixture::new();
    let plain = fixture.root.join("plain");
    let fixture = fixture.working_in(plain.clone());
    let check = |line: &str, output: &str| {
        // The home of who builds may be closed to the user of this test.
        let line = format!("export HOME=@HOME; {line}");
        let finished = fixture.run(Level::Sandboxed, &line);
        assert_eq!(finished.output, output, "{line}");
        assert_eq!(finished.exit_code, Some(0), "{line}");
    };
    check(
        "git init -q -b main && git config user.name n && git config user.email e && \
         echo x > f && git add f && git commit -qm one && git log --format=%s",
        "one\n",
    );
    check(
        "echo y >> f && git commit -qam two && git log --format=%s",
        "two\none\n",
    );
    check("git clone -q . sub && cat sub/f", "x\ny\n");
    check(
        "git checkout -qb other && git mv f g && git status -s -uno",
        "R  f -> g\n",
    );
    let hooks = fs::read_dir(plain.join(".git/hooks")).unwrap();
    let hooks = hooks.map(|hook| hook.unwrap().file_name().into_string().unwrap());
    assert!(hooks.into_iter().all(|hook| hook.ends_with(".sample")));
    let finished = fixture.run(Level::Sandboxed, "git config core.fsmonitor ./evil");
    assert_ne!(finished.exit_code, Some(0));
    fixture.unharmed_outside().unwrap();
}

/// git clones only into a folder that it finds empty. What the clone would run, and a config for
/// haft, stay behind and are named.
pub(crate) fn a_clone_fills_the_workspace() {
    let fixture = Fixture::new();
    let (plain, origin) = (fixture.root.join("plain"), fixture.home.join("origin"));
    let fixture = fixture.working_in(origin.clone());
    let made = fixture.run(
        Level::Shared,
        "git init -q -b main && git config user.name n && git config user.email e && \
         mkdir src && echo x > src/f && ln -s src/f link && git add . && git commit -qm one",
    );
    assert_eq!(made.exit_code, Some(0), "{}", made.output);
    let fixture = fixture.working_in(plain.clone());
    let sandbox = || Sandbox {
        readable: vec![origin.clone()],
        ..fixture.sandbox(Level::Sandboxed)
    };
    let line = "export HOME=@HOME; git clone -q @HOME/origin . && git log --format=%s && \
                echo evil > .git/hooks/pre-commit && chmod +x .git/hooks/* && \
                git config core.fsmonitor ./evil && echo evil > haft.yaml";
    let finished = fixture.run_in(sandbox(), line).unwrap();
    assert_eq!(finished.exit_code, Some(0), "{}", finished.output);
    assert_eq!(finished.level, Level::Sandboxed);
    let mut told: Vec<&str> = finished.output.lines().collect();
    told.sort();
    let expected = [".git/hooks/pre-commit", "core.fsmonitor", "haft.yaml"]
        .map(|name| format!("haft: `{name}` was not kept: it is a person's to make"));
    assert_eq!(told[..3], expected, "{}", finished.output);
    assert_eq!(told[3..], ["one"]);
    assert_eq!(fs::read_to_string(plain.join("link")).unwrap(), "x\n");
    for name in [".git/hooks/pre-commit", "haft.yaml"] {
        assert!(plain.join(name).symlink_metadata().is_err(), "{name}");
    }
    let config = fs::read_to_string(plain.join(".git/config")).unwrap();
    assert!(!config.contains("evil"), "{config}");
    let finished = fixture
        .run_in(
            sandbox(),
            "export HOME=@HOME; git status -s; git log --format=%s",
        )
        .unwrap();
    assert_eq!(finished.output, "one\n");
}

/// A repository of the command's making is seen outside when it has been looked through, and not
/// a moment before.
pub(crate) fn a_new_repository_runs_nothing() {
    let fixture = Fixture::new();
    let plain = fixture.root.join("plain");
    let fixture = fixture.working_in(plain.clone());
    let git = plain.join(".git");
    let line = "git init -q && echo evil > .git/hooks/pre-commit && chmod +x .git/hooks/* && \
                git config core.fsmonitor ./evil && git config core.hooksPath . && \
                git config user.name kept && touch ready && \
                while [ ! -e go ]; do sleep 0.01; done";
    let finished = std::thread::scope(|scope| {
        let running = scope.spawn(|| fixture.run(Level::Sandboxed, line));
        while !plain.join("ready").exists() {
            assert!(!running.is_finished(), "{:?}", running.join());
            std::thread::yield_now();
        }
        assert_eq!(fs::read_dir(&git).unwrap().count(), 0, "seen too early");
        fs::write(plain.join("go"), "").unwrap();
        running.join().unwrap()
    });
    for part in [
        "`.git/hooks/pre-commit`",
        "`core.fsmonitor`",
        "`core.hookspath`",
    ] {
        assert!(finished.output.contains(part), "{}", finished.output);
    }
    assert!(git.join("HEAD").is_file() && !git.join("hooks/pre-commit").exists());
    let config = fs::read_to_string(git.join("config")).unwrap();
    assert!(
        config.contains("kept") && !config.contains("evil"),
        "{config}"
    );
    fixture.unharmed_outside().unwrap();
}

/// Of a home nothing is seen but what programs need, what the owner names and the repository that
/// the workspace is in; and a workspace in a home works like any other.
pub(crate) fn a_home_is_out_of_sight() {
    let fixture = Fixture::new();
    let home = fixture.home.clone();
    for (name, content) in [
        (".cargo/registry/index", "index\n"),
        (".cargo/credentials.toml", SECRET),
        (".config/app/token", SECRET),
        (".gitconfig", "[user]\n\tname = n\n\temail = e\n"),
        ("dotfiles/nvm/node", "node\n"),
        ("notes/today", "today\n"),
        ("src/Cargo.toml", "[workspace]\n"),
        ("src/.git/HEAD", "ref: refs/heads/main\n"),
    ] {
        fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
        fs::write(home.join(name), content).unwrap();
    }
    std::os::unix::fs::symlink("dotfiles/nvm", home.join(".nvm")).unwrap();
    let fixture = fixture.working_in(home.join("src/part"));
    let sandbox = Sandbox {
        readable: vec![home.join("notes")],
        ..fixture.sandbox(Level::Sandboxed)
    };
    let check = |line: &str, code: i32, output: &str| {
        let finished = fixture.run_in(sandbox.clone(), line).unwrap();
        assert_eq!(finished.output, output, "{line}");
        assert_eq!(finished.exit_code, Some(code), "{line}");
    };
    check(
        "find @HOME -type f | sed s:^@HOME/:: | sort",
        0,
        ".cargo/registry/index\n.gitconfig\n.local/bin/hello\n.nvm/node\ndotfiles/nvm/node\n\
         notes/today\nsrc/.git/HEAD\nsrc/Cargo.toml\n",
    );
    check(
        "@HOME/.local/bin/hello; cat @HOME/.nvm/node",
        0,
        "hello\nnode\n",
    );
    check("HOME=@HOME git config user.name", 0, "n\n");
    check(
        "(echo x > ../new || echo x > @HOME/notes/new) 2>/dev/null || echo closed",
        0,
        "closed\n",
    );
    check(
        "echo x > made && cat made ../Cargo.toml",
        0,
        "x\n[workspace]\n",
    );
    check("echo x > @HOME/.cache/c && cat @HOME/.cache/c", 0, "x\n");
    check("ls -A @HOME/.cache", 0, "");
    assert!(fixture.work.join("made").is_file() && !home.join(".cache").exists());
    assert!(!home.join("src/new").exists() && !home.join("notes/new").exists());
    fixture.unharmed_outside().unwrap();
}

pub(crate) fn a_home_as_workspace_keeps_its_start_up_files() {
    let fixture = Fixture::new();
    let home = fixture.home.clone();
    std::os::unix::fs::symlink("dotfiles/zshrc", home.join(".zshrc")).unwrap();
    fs::create_dir(home.join("dotfiles")).unwrap();
    fs::write(home.join("dotfiles/zshrc"), "good\n").unwrap();
    let fixture = fixture.working_in(home.clone());
    for line in [
        "echo evil >> .bashrc && echo ESCAPED",
        "echo evil > .bash_profile && echo ESCAPED",
        "rm .bashrc && echo evil > .bashrc && echo ESCAPED",
        "echo evil >> .zshrc && echo ESCAPED",
        "echo evil >> dotfiles/zshrc && echo ESCAPED",
        "rm .zshrc && echo ESCAPED",
        "ln -sf src .zshrc && echo ESCAPED",
        "mv dotfiles d && mkdir dotfiles && echo evil > dotfiles/zshrc && echo ESCAPED",
        "cat .ssh/id_rsa | grep . && echo ESCAPED",
        "mv .ssh s && echo ESCAPED",
    ] {
        let finished = fixture.run(Level::Sandboxed, line);
        assert!(
            !finished.output.contains("ESCAPED"),
            "{line}: {}",
            finished.output
        );
        assert_eq!(fs::read_to_string(home.join(".bashrc")).unwrap(), "\n");
        assert_eq!(fs::read_to_string(home.join(".zshrc")).unwrap(), "good\n");
        assert!(!home.join(".bash_profile").exists(), "{line}");
    }
}

pub(crate) fn an_air_gapped_command_sees_no_data() {
    let fixture = Fixture::new();
    let check = |line: &str, output: &str| {
        let finished = fixture.run(Level::AirGapped, line);
        assert_eq!(finished.output, output, "{line}");
        assert_eq!(finished.level, Level::AirGapped);
    };
    check("pwd; ls -A", &format!("{}\n", fixture.work.display()));
    check(
        "echo x > f && cat f; echo y > /tmp/t && cat /tmp/t",
        "x\ny\n",
    );
    check(
        "ls -A @HOME /home /root 2>/dev/null | grep -v ':$' | grep .",
        "",
    );
    check("grep -c 127.0.0.1 /proc/net/fib_trie", "0\n");
    check(
        "env | cut -d= -f1 | grep -Ev '^(PATH|HOME|TMPDIR|PWD|OLDPWD|_|SHLVL|HAFT_CALL)$'",
        "",
    );
    assert!(!fixture.work.join("f").exists());
    fixture.unharmed().unwrap();
}

pub(crate) fn what_is_missing_refuses() {
    let fixture = Fixture::new();
    let refused = |sandbox: Sandbox, code: ErrorCode, part: &str| {
        let error = fixture.run_in(sandbox, "echo ran > proof").unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert!(error.message.contains(part), "{error}");
        assert!(!fixture.work.join("proof").exists());
    };
    let sandbox = fixture.sandbox(Level::Sandboxed);
    refused(
        Sandbox {
            launcher: Vec::new(),
            ..sandbox.clone()
        },
        ErrorCode::NotAvailable,
        "launcher",
    );
    refused(
        Sandbox {
            state: fixture.root.clone(),
            ..sandbox.clone()
        },
        ErrorCode::NotAvailable,
        "haft's own files",
    );
    refused(
        Sandbox {
            launcher: vec!["/bin/true".into()],
            ..sandbox.clone()
        },
        ErrorCode::ExecutionFailed,
        "before it was ready",
    );
    // A sandbox within a sandbox needs what the outer one took away.
    let inner = fixture.run(Level::Sandboxed, "@EXE launch probe");
    assert!(
        inner.output.contains("user namespace\tno\t"),
        "{}",
        inner.output
    );
    let features = haft_host::probe(&crate::fixture::launcher());
    assert!(
        features.len() >= 12 && features.iter().all(|one| one.there),
        "{features:?}"
    );
    assert!(
        Isolation::at(Level::AirGapped)
            .stricter(&sandbox.isolation)
            .level
            == Level::AirGapped
    );
}
