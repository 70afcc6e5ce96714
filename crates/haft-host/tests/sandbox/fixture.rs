//! A machine in small: a workspace that is a repository, a place outside with something to lose,
//! haft's own state with a secret, and the home of a user with a key.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_core::{CancelToken, ToolError};
use haft_host::{
    ClosedPlaces, FilesConfig, Finished, Isolation, Level, Limits, ProcessConfig, RunProcesses,
    Sandbox, ShellRequest, Trial, Watch, Workspace,
};
use tempfile::TempDir;

pub(crate) const SECRET: &str = "the-secret-of-haft";
/// A program of the user's own.
const HELLO: &str = "#!/bin/sh\necho hello\n";
pub(crate) const CANARY: &str = "something to lose\n";

pub(crate) struct Fixture {
    _dir: Option<TempDir>,
    pub(crate) root: PathBuf,
    pub(crate) work: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) home: PathBuf,
}

/// Where fixtures go: where haft is built, if everybody may go there.
pub(crate) fn open_place() -> PathBuf {
    let built = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let open =
        |path: &Path| fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o001 != 0);
    if fs::create_dir_all(&built).is_ok() && built.ancestors().all(open) {
        built
    } else {
        "/var/tmp".into()
    }
}

/// A folder of this user's own.
pub(crate) fn place_for(user: u32, dir: &Path) -> PathBuf {
    let place = dir.join("place");
    fs::create_dir(&place).unwrap();
    chown(&place, Some(user), Some(user)).unwrap();
    place
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let place = std::env::var_os("HAFT_TEST_PLACE").map_or_else(open_place, PathBuf::from);
        let dir = tempfile::tempdir_in(place).unwrap();
        let root = dir.path().canonicalize().unwrap();
        let mut fixture = Fixture::at(&root);
        fixture._dir = Some(dir);
        for folder in [
            fixture.work.join("src"),
            fixture.work.join(".git/hooks"),
            fixture.work.join(".vscode"),
            fixture.outside.clone(),
            fixture.state.clone(),
            fixture.home.join(".ssh"),
            fixture.home.join("letters"),
            fixture.home.join(".local/bin"),
        ] {
            fs::create_dir_all(folder).unwrap();
        }
        for (path, content) in [
            (fixture.work.join("src/a.txt"), "a\n"),
            (fixture.work.join(".git/config"), "[core]\n"),
            (fixture.work.join(".git/HEAD"), "ref: refs/heads/main\n"),
            (fixture.work.join(".vscode/tasks.json"), "{}\n"),
            (fixture.outside.join("canary"), CANARY),
            (fixture.state.join("secret"), SECRET),
            (fixture.home.join(".ssh/id_rsa"), SECRET),
            (fixture.home.join("letters/one"), SECRET),
            (fixture.home.join(".local/bin/hello"), HELLO),
            (fixture.home.join(".bashrc"), "\n"),
        ] {
            fs::write(path, content).unwrap();
        }
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(fixture.home.join(".local/bin/hello"), open).unwrap();
        bring_tool(&fixture.work);
        fixture
    }

    /// One that another process has made.
    pub(crate) fn at(root: &Path) -> Self {
        Fixture {
            work: root.join("work"),
            outside: root.join("outside"),
            state: root.join("state"),
            home: root.join("home"),
            root: root.to_owned(),
            _dir: None,
        }
    }

    /// With another folder as the workspace.
    pub(crate) fn working_in(mut self, folder: PathBuf) -> Self {
        fs::create_dir_all(&folder).unwrap();
        self.work = folder;
        self
    }

    pub(crate) fn sandbox(&self, level: Level) -> Sandbox {
        Sandbox {
            launcher: launcher(),
            isolation: Isolation::at(level),
            state: self.state.clone(),
            home: Some(self.home.clone()),
            roots: Vec::new(),
            readable: Vec::new(),
            limits: Limits::default(),
        }
    }

    pub(crate) fn files(&self) -> Result<Arc<Workspace>, ToolError> {
        let files = Workspace::open(FilesConfig {
            workspace: self.work.clone(),
            roots: Vec::new(),
            home: self.state.clone(),
        })?;
        Ok(Arc::new(files))
    }

    pub(crate) fn config(&self, sandbox: Sandbox) -> ProcessConfig {
        ProcessConfig {
            shell: Some("/bin/sh".into()),
            sandbox: Some(sandbox),
            ..ProcessConfig::default()
        }
    }

    pub(crate) fn power(&self, sandbox: Sandbox) -> Result<RunProcesses, ToolError> {
        Ok(RunProcesses::new(self.config(sandbox), self.files()?, None))
    }

    pub(crate) fn request(&self, line: &str) -> ShellRequest {
        ShellRequest {
            line: self.fill(line),
            cwd: self.work.clone(),
            timeout: Duration::from_secs(60),
            terminal: None,
            closed: ClosedPlaces::default(),
        }
    }

    pub(crate) fn run_for(&self, time: Duration, line: &str) -> Finished {
        let power = self.power(self.sandbox(Level::Sandboxed)).unwrap();
        let request = ShellRequest {
            timeout: time,
            ..self.request(line)
        };
        let watch = Watch {
            live: &mut |_| {},
            cancel: &CancelToken::new(),
            session: "s",
        };
        runtime().block_on(power.run(request, watch)).unwrap()
    }

    pub(crate) fn run_in(&self, sandbox: Sandbox, line: &str) -> Result<Finished, ToolError> {
        let power = self.power(sandbox)?;
        let watch = Watch {
            live: &mut |_| {},
            cancel: &CancelToken::new(),
            session: "s",
        };
        runtime().block_on(power.run(self.request(line), watch))
    }

    pub(crate) fn rehearse(
        &self,
        power: &RunProcesses,
        line: &str,
    ) -> Result<(Finished, Trial), ToolError> {
        let watch = Watch {
            live: &mut |_| {},
            cancel: &CancelToken::new(),
            session: "s",
        };
        runtime().block_on(power.rehearse(self.request(line), watch))
    }

    pub(crate) fn run(&self, level: Level, line: &str) -> Finished {
        self.run_in(self.sandbox(level), line).unwrap()
    }

    /// Put the places of this machine into a line.
    pub(crate) fn fill(&self, line: &str) -> String {
        line.replace("@OUT", self.outside.to_str().unwrap())
            .replace("@STATE", self.state.to_str().unwrap())
            .replace("@HOME", self.home.to_str().unwrap())
            .replace("@ROOT", self.root.to_str().unwrap())
            .replace("@WORK", self.work.to_str().unwrap())
            .replace("@EXE", self.work.join("tool").to_str().unwrap())
            .replace("@PID", &std::process::id().to_string())
    }

    /// Everything outside of the workspace that could be lost, and what must not appear in it.
    pub(crate) fn unharmed(&self) -> Result<(), String> {
        self.unharmed_outside()?;
        check(self.work.join(".git/config"), "[core]\n")?;
        check(self.work.join(".vscode/tasks.json"), "{}\n")?;
        empty(self.work.join(".git/hooks"), &[])?;
        for name in ["haft.yaml", ".git/commondir"] {
            if self.work.join(name).symlink_metadata().is_ok() {
                return Err(format!("{name} appeared"));
            }
        }
        Ok(())
    }

    /// The same, whatever the workspace is.
    pub(crate) fn unharmed_outside(&self) -> Result<(), String> {
        check(self.outside.join("canary"), CANARY)?;
        check(self.state.join("secret"), SECRET)?;
        check(self.home.join(".bashrc"), "\n")?;
        check(self.home.join(".local/bin/hello"), HELLO)?;
        empty(self.outside.clone(), &["canary"])?;
        empty(self.state.clone(), &["secret"])?;
        let mode = fs::metadata(self.outside.join("canary")).unwrap();
        if mode.permissions().mode() & 0o777 != 0o644 {
            return Err("the mode of the canary changed".into());
        }
        Ok(())
    }
}

fn check(path: PathBuf, content: &str) -> Result<(), String> {
    match fs::read_to_string(&path) {
        Ok(found) if found == content => Ok(()),
        Ok(found) => Err(format!("{path:?} holds {found:?}")),
        Err(error) => Err(format!("{path:?}: {error}")),
    }
}

fn empty(path: PathBuf, expected: &[&str]) -> Result<(), String> {
    let mut names: Vec<String> = fs::read_dir(&path)
        .map_err(|error| format!("{path:?}: {error}"))?
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    (names == expected)
        .then_some(())
        .ok_or_else(|| format!("{path:?} holds {names:?}"))
}

/// This very program where an attacker finds it, wherever it was built.
fn bring_tool(work: &Path) {
    let exe = std::env::current_exe().unwrap();
    if fs::hard_link(&exe, work.join("tool")).is_err() {
        fs::copy(&exe, work.join("tool")).unwrap();
    }
}

/// This very program as the launcher.
pub(crate) fn launcher() -> Vec<OsString> {
    vec![std::env::current_exe().unwrap().into(), "launch".into()]
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}
