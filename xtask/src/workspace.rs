//! The project as the checks see it: crates with their dependencies and sources, and every text
//! file. Built from disk for real use and by hand in tests, so each check is a plain function.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::source::Source;

#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) crates: Vec<Crate>,
    pub(crate) architecture: String,
    /// Every text file that is or would be committed
    pub(crate) texts: Vec<TextFile>,
}

#[derive(Debug, Default)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) description: String,
    /// Relative to the root
    pub(crate) folder: String,
    pub(crate) manifest: String,
    pub(crate) dependencies: Vec<Dependency>,
    /// What stands under `src/`; a build script ships nothing
    pub(crate) sources: Vec<Source>,
    /// `tests/`, `examples/` and `benches/`
    pub(crate) around: Vec<Source>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) for_tests: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Workspace {
    /// Read the project this program was built from.
    pub(crate) fn load() -> Result<Self> {
        let metadata = cargo_metadata(&["--no-deps", "--offline"])?;
        let root = PathBuf::from(text(&metadata["workspace_root"]));
        let mut workspace = Workspace {
            target: PathBuf::from(text(&metadata["target_directory"])),
            architecture: fs::read_to_string(root.join("ARCHITECTURE.md"))
                .context("cannot read `ARCHITECTURE.md`")?,
            texts: text_files(&root)?,
            root,
            crates: Vec::new(),
        };
        for package in array(&metadata["packages"]) {
            let one = load_crate(&workspace.root, package)?;
            workspace.crates.push(one);
        }
        Ok(workspace)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Crate> {
        self.crates.iter().find(|one| one.name == name)
    }
}

impl Crate {
    pub(crate) fn manifest_path(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }

    /// The line of the manifest that begins with this word.
    pub(crate) fn manifest_line(&self, word: &str) -> usize {
        self.manifest
            .lines()
            .position(|line| {
                line.strip_prefix(word)
                    .is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
            })
            .map_or(1, |at| at + 1)
    }

    /// Sources that the crate ships; files that only tests compile are left out.
    pub(crate) fn shipped(&self) -> impl Iterator<Item = &Source> {
        self.sources
            .iter()
            .filter(|source| !self.is_test_file(&source.path))
    }

    /// Whether the file belongs to a module declared as `#[cfg(test)] mod name;`.
    fn is_test_file(&self, path: &str) -> bool {
        self.sources.iter().any(|parent| {
            let folder = module_folder(&parent.path);
            parent.test_modules.iter().any(|name| {
                path == format!("{folder}/{name}.rs")
                    || path.starts_with(&format!("{folder}/{name}/"))
            })
        })
    }
}

/// The folder where the children of this file's module stand.
fn module_folder(path: &str) -> String {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    match file {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    }
}

/// The cargo that started us, in the project it started us from.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    if let Some(folder) = env::var_os("CARGO_MANIFEST_DIR") {
        cargo.current_dir(Path::new(&folder).join(".."));
    }
    cargo
}

/// What `cargo metadata` says, with these further arguments.
pub(crate) fn cargo_metadata(arguments: &[&str]) -> Result<Value> {
    let output = cargo()
        .args(["metadata", "--format-version", "1"])
        .args(arguments)
        .output()
        .context("cannot run `cargo metadata`")?;
    if !output.status.success() {
        bail!(
            "`cargo metadata` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    serde_json::from_slice(&output.stdout).context("`cargo metadata` did not answer with JSON")
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn load_crate(root: &Path, package: &Value) -> Result<Crate> {
    let manifest_path = PathBuf::from(text(&package["manifest_path"]));
    let folder = manifest_path
        .parent()
        .context("a manifest without a folder")?;
    let mut one = Crate {
        name: text(&package["name"]).to_owned(),
        description: text(&package["description"]).to_owned(),
        folder: relative(root, folder),
        manifest: fs::read_to_string(&manifest_path)?,
        ..Crate::default()
    };
    for dependency in array(&package["dependencies"]) {
        one.dependencies.push(Dependency {
            name: text(&dependency["name"]).to_owned(),
            for_tests: dependency["kind"] == "dev",
        });
    }
    for file in rust_files(folder)? {
        let path = relative(root, &file);
        let inside = path.strip_prefix(&one.folder).unwrap_or(&path);
        let shipped = inside.starts_with("/src/");
        let around = ["/tests/", "/examples/", "/benches/"]
            .iter()
            .any(|part| inside.starts_with(part));
        if shipped || around {
            let source = Source::parse(path, fs::read_to_string(&file)?)?;
            let list = if shipped {
                &mut one.sources
            } else {
                &mut one.around
            };
            list.push(source);
        }
    }
    Ok(one)
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Every file git knows or would take, as far as it is text.
fn text_files(root: &Path) -> Result<Vec<TextFile>> {
    let output = Command::new("git")
        // A clone that another user made is a clone all the same.
        .args(["-c", "safe.directory=*"])
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root)
        .output()
        .context("cannot run `git ls-files`")?;
    if !output.status.success() {
        bail!(
            "`git ls-files` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let mut files = Vec::new();
    for path in String::from_utf8_lossy(&output.stdout).split_terminator('\0') {
        // A file deleted but not yet committed as such is listed and not there.
        if let Ok(text) = fs::read_to_string(root.join(path)) {
            files.push(TextFile {
                path: path.to_owned(),
                text,
            });
        }
    }
    Ok(files)
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .to_string_lossy()
        .replace('\\', "/")
}

/// Projects made by hand, for the tests of the checks.
#[cfg(test)]
pub(crate) mod fixture {
    use super::*;

    pub(crate) fn source(path: &str, text: &str) -> Source {
        Source::parse(path, text).unwrap()
    }

    /// A crate with these dependencies; a leading `dev:` makes one for tests only.
    pub(crate) fn a_crate(name: &str, dependencies: &[&str], files: &[(&str, &str)]) -> Crate {
        let folder = format!("crates/{name}");
        Crate {
            name: name.to_owned(),
            description: format!("what {name} is"),
            manifest: format!(
                "[dependencies]\n{} = \"1\"",
                dependencies.join(" = \"1\"\n")
            ),
            dependencies: dependencies
                .iter()
                .map(|&written| Dependency {
                    name: written.trim_start_matches("dev:").to_owned(),
                    for_tests: written.starts_with("dev:"),
                })
                .collect(),
            sources: files
                .iter()
                .map(|(path, text)| source(&format!("{folder}/src/{path}"), text))
                .collect(),
            around: Vec::new(),
            folder,
        }
    }

    pub(crate) fn of(crates: Vec<Crate>) -> Workspace {
        Workspace {
            crates,
            ..Workspace::default()
        }
    }

    /// The findings as lines, for comparison.
    pub(crate) fn lines(findings: &[crate::finding::Finding]) -> Vec<String> {
        findings.iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::a_crate;

    #[test]
    fn files_that_only_tests_compile_are_not_shipped() {
        let one = a_crate(
            "x",
            &[],
            &[
                ("lib.rs", "#[cfg(test)] mod cases; mod a;"),
                ("cases.rs", ""),
                ("cases/more.rs", ""),
                ("a.rs", "#[cfg(test)] mod cases;"),
                ("a/cases.rs", ""),
                ("a/b.rs", ""),
            ],
        );
        let shipped: Vec<&str> = one.shipped().map(|source| source.path.as_str()).collect();
        assert_eq!(
            shipped,
            [
                "crates/x/src/lib.rs",
                "crates/x/src/a.rs",
                "crates/x/src/a/b.rs"
            ]
        );
    }
}
