//! A place to run haft in: a home, a workspace and a way to call, all in a temporary directory.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const HAFT: &str = env!("CARGO_BIN_EXE_haft");

/// Longer than anything here takes; only a hang reaches it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Configs with and without a sandbox, for what must hold either way.
pub(crate) const LEVELS: [&str; 2] = [
    "isolation: {level: shared}\n",
    "isolation: {level: sandboxed}\n",
];

pub(crate) struct Place {
    /// Removes everything when dropped
    _root: TempDir,
    pub(crate) home: PathBuf,
    pub(crate) workspace: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Place {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        let (home, workspace) = (real.join("home"), real.join("work"));
        for dir in [&home, &workspace, &real.join("person")] {
            fs::create_dir(dir).unwrap();
            fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).unwrap();
        }
        let place = Place {
            _root: root,
            home,
            workspace,
        };
        place.file("README.md", "# a workspace\n");
        place
    }

    /// With the owner's config.
    pub(crate) fn with_config(yaml: &str) -> Place {
        let place = Place::new();
        place.config(yaml);
        place
    }

    pub(crate) fn config(&self, yaml: &str) {
        fs::write(self.home.join("config.yaml"), yaml).unwrap();
    }

    /// A file in the workspace, with the folders on the way.
    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.workspace.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.workspace.join(path)).unwrap()
    }

    /// A path beside home and workspace.
    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        self.home.parent().unwrap().join(path)
    }

    /// `haft` with nothing of this machine's settings, in the workspace.
    pub(crate) fn haft(&self) -> Command {
        let mut command = Command::new(HAFT);
        self.settle(&mut command);
        command
    }

    pub(crate) fn settle(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.beside("person"))
            .env("HAFT_HOME", &self.home)
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .current_dir(&self.workspace)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    pub(crate) fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ran {
        finish(self.haft().args(args))
    }

    pub(crate) fn run_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut child = self
            .haft()
            .args(args)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let feeding = std::thread::spawn(move || {
            // A process that stops reading has said enough.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        feeding.join().unwrap();
        Ran::of(output)
    }

    /// The outcome of one call, with more flags.
    pub(crate) fn call(&self, tool: &str, args: &Value, flags: &[&str]) -> Value {
        let args = args.to_string();
        let mut line = vec!["call", tool, &args, "--json"];
        line.extend(flags);
        self.run(line).json()
    }

    /// The outcome of one call that is allowed and does what it should.
    #[track_caller]
    pub(crate) fn done(&self, tool: &str, args: &Value) -> Value {
        let outcome = self.call(tool, args, &["--yes"]);
        assert_eq!(verdict(&outcome), "ok", "{outcome}");
        outcome
    }

    /// The outcomes of many calls in one process, with more flags.
    pub(crate) fn batch(&self, calls: &Value, flags: &[&str]) -> Vec<Value> {
        let mut line = vec!["batch", "--json"];
        line.extend(flags);
        let ran = self.run_with_input(&line, calls.to_string().as_bytes());
        ran.json().as_array().unwrap().clone()
    }
}

pub(crate) fn finish(command: &mut Command) -> Ran {
    Ran::of(command.output().unwrap())
}

/// What a process left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    fn of(output: std::process::Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("output is UTF-8"),
            err: String::from_utf8(output.stderr).expect("errors are UTF-8"),
        }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Ran {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Ran {
        let said = self.out.contains(text) || self.err.contains(text);
        assert!(said, "`{text}` is not in {self:?}");
        self
    }
}

/// An outcome in short: `ok`, or its code.
pub(crate) fn verdict(outcome: &Value) -> String {
    match outcome["error"]["code"].as_str() {
        Some(code) if outcome["ok"] == false => code.to_owned(),
        None if outcome["ok"] == true => "ok".to_owned(),
        _ => panic!("ok and error disagree: {outcome}"),
    }
}

/// The text blocks of an outcome.
pub(crate) fn text(outcome: &Value) -> String {
    outcome["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect()
}

/// Look again and again until it is so.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Processes whose command line holds the marker.
pub(crate) fn processes_with(marker: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(marker) {
            found.push(pid);
        }
    }
    found
}
