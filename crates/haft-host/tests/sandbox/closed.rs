//! What rules close is closed to every program, whatever it does. How a rule is read is not tried
//! here: these close by names.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::{
    Caller, CancelToken, ClosedPaths, ClosedStart, ErrorCode, Mode, ToolContext, ToolError,
};
use haft_host::{Finished, Level, RealPaths, ShellRequest, Watch};

use crate::fixture::{Fixture, SECRET, runtime};

/// Files of this name are not to be read, and what is in this folder not to be changed.
#[derive(Debug)]
struct Closing {
    name: &'static str,
    folder: PathBuf,
}

impl ClosedPaths for Closing {
    fn closes(&self, mode: Mode, path: &Path) -> bool {
        match mode {
            Mode::Read => path.ends_with(self.name),
            Mode::Write => path.starts_with(&self.folder),
        }
    }

    fn reaches(&self, mode: Mode, folder: &Path) -> bool {
        mode == Mode::Read || self.folder.starts_with(folder)
    }

    fn starts(&self, mode: Mode) -> Vec<ClosedStart> {
        match mode {
            Mode::Read => Vec::new(),
            Mode::Write => vec![ClosedStart {
                path: self.folder.clone(),
                exact: false,
            }],
        }
    }
}

fn run(fixture: &Fixture, closing: Closing, line: &str) -> Result<Finished, ToolError> {
    let power = fixture.power(fixture.sandbox(Level::Sandboxed))?;
    let caller = Caller {
        paths: Arc::new(RealPaths),
        ..Caller::alone("s", fixture.work.clone())
    };
    let mut cx = ToolContext::new("c".into(), "t".into(), Arc::new(caller), 1_000, false);
    cx.closed = Some(Arc::new(closing));
    let watch = Watch {
        live: &mut |_| {},
        cancel: &CancelToken::new(),
        session: "s",
    };
    runtime().block_on(async {
        let request = ShellRequest {
            closed: power.closed(&cx).await?,
            ..fixture.request(line)
        };
        power.run(request, watch).await
    })
}

/// Lines against files that may not be read and folders that may not be changed; how many.
pub(crate) fn attacks_fail() -> usize {
    let lines = [
        "cat deep/.key",
        "tar cf - deep",
        "mv deep away; cat away/.key",
        "ln deep/.key k; cat k",
        "cp -r deep /tmp/; cat /tmp/deep/.key",
        "mount --bind deep/.key src; unshare -r umount deep/.key; cat deep/.key",
        "echo evil > src/a.txt",
        "rm -rf src",
        "mv src away; mkdir src; echo evil > src/a.txt",
        "find src -delete",
        "mkdir -p new/deep; echo evil > new/deep/x",
        "ln -s src/a.txt l; echo evil > l",
    ];
    for line in lines {
        for folder in ["src", "new"] {
            let fixture = Fixture::new();
            fs::create_dir(fixture.work.join("deep")).unwrap();
            fs::write(fixture.work.join("deep/.key"), SECRET).unwrap();
            let closing = Closing {
                name: ".key",
                folder: fixture.work.join(folder),
            };
            let finished = run(&fixture, closing, line).unwrap();
            assert!(!finished.output.contains(SECRET), "{line}");
            let kept = fs::read_to_string(fixture.work.join("deep/.key"));
            assert_eq!(kept.unwrap(), SECRET, "{line}");
            match folder {
                "src" => {
                    let kept = fs::read_to_string(fixture.work.join("src/a.txt"));
                    assert_eq!(kept.unwrap(), "a\n", "{line}");
                }
                _ => assert!(!fixture.work.join("new").exists(), "{line}"),
            }
            fixture.unharmed().unwrap();
        }
    }
    refusals();
    lines.len() * 2
}

/// A folder that may not be seen is no place to work in, and what is too much is not left open.
fn refusals() {
    let fixture = Fixture::new();
    let closing = |name| Closing {
        name,
        folder: PathBuf::from("/nonexistent"),
    };
    let code = |found: Result<Finished, ToolError>| found.unwrap_err().code;
    assert_eq!(
        code(run(&fixture, closing("work"), "true")),
        ErrorCode::Denied
    );
    for number in 0..2_000 {
        let folder = fixture.work.join(format!("{number:0>60}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(".key"), SECRET).unwrap();
    }
    assert_eq!(
        code(run(&fixture, closing(".key"), "true")),
        ErrorCode::NotAvailable
    );
}
