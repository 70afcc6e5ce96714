//! Config: the owner's `$HAFT_HOME/config.yaml`, under the project's `haft.yaml`, under flags. It
//! is read once, by the binary, which hands values down. A broken file stops haft: a policy that
//! is half understood is no policy.

mod check;
mod error;
mod file;
mod later;
mod merge;
mod narrow;
mod sections;
mod show;
#[cfg(test)]
mod tests;
mod tree;

use std::path::{Path, PathBuf};

use haft_core::Module;
use haft_policy::Layer;
use serde_json::Value;

pub(crate) use error::ConfigError;
use error::Place;
pub(crate) use file::{PROJECT, read_project as read_project_file};
pub(crate) use sections::{Config, IsolationLevel, McpServer};
pub(crate) use show::{Format, schema, show};

use crate::home::Home;
use crate::remembered::Rules;
use crate::trust::{ProjectFile, Standing, Trust};
use file::{OWNER, Parsed};

/// What holds in a workspace.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The workspace, absolute and without links
    pub(crate) workspace: PathBuf,
    /// Values to use. Policy has its own place: `layers`
    pub(crate) effective: Config,
    /// Policies of which the strictest answer counts
    pub(crate) layers: Vec<Layer>,
    /// What the person should know, one line each
    pub(crate) notices: Vec<String>,
    pub(crate) files: Vec<LoadedFile>,
}

/// A config file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadedFile {
    pub(crate) path: PathBuf,
    pub(crate) trusted: bool,
}

impl Loaded {
    /// With the rules that a person has allowed for good.
    pub(crate) fn remembering(mut self, rules: Rules) -> Self {
        let here = rules.of(&self.workspace);
        for layer in &mut self.layers {
            layer.config.remembered.clone_from(&here);
        }
        self.notices.splice(0..0, rules.notice);
        self
    }

    /// Where a word of the config stands, in the file that counts most.
    pub(crate) fn place_of_word(&self, word: &str) -> Option<String> {
        let files = self.files.iter().rev();
        place_of_word(files.map(|file| file.path.as_path()), word)
    }
}

/// Read everything that decides about calls in this workspace. `modules` are the ones whose tools
/// are registered.
pub(crate) fn load(
    home: &Home,
    workspace: &Path,
    modules: &[Module],
) -> Result<Loaded, ConfigError> {
    let loaded = load_files(home, workspace, modules)?;
    Ok(loaded.remembering(Rules::read(home)))
}

/// The same without the rules that a person has allowed for good.
pub(crate) fn load_files(
    home: &Home,
    workspace: &Path,
    modules: &[Module],
) -> Result<Loaded, ConfigError> {
    load_with(home, workspace, modules, file::read_owner(home)?)
}

/// The same, with a file that a person works on in the place of the owner's.
pub(crate) fn load_draft(
    home: &Home,
    workspace: &Path,
    modules: &[Module],
    draft: &Path,
) -> Result<Loaded, ConfigError> {
    let loaded = load_with(home, workspace, modules, Some(file::read_draft(draft)?))?;
    Ok(loaded.remembering(Rules::read(home)))
}

fn load_with(
    home: &Home,
    workspace: &Path,
    modules: &[Module],
    owners: Option<(PathBuf, Vec<u8>)>,
) -> Result<Loaded, ConfigError> {
    let workspace = absolute(workspace)?;
    let mut files = Vec::new();
    let mut notices = Vec::new();

    let mut owner_name = None;
    let mut owner = Parsed::default();
    if let Some((path, bytes)) = owners {
        // A draft is named as what it is.
        owner_name = Some(match path == home.path().join(OWNER) {
            true => OWNER.to_owned(),
            false => file::name_of(&path),
        });
        owner = file::parse(&bytes, &file::name_of(&path), modules, None)?;
        let trusted = true;
        files.push(LoadedFile { path, trusted });
    }
    let layer = |from: String, config: &Config| Layer {
        from,
        config: config.policy(),
    };
    let from = owner_name.as_deref().unwrap_or("defaults");
    let mut layers = vec![layer(from.to_owned(), &owner.config)];
    let mut effective = owner.config.clone();

    if let Some((path, bytes)) = file::read_project(&workspace, PROJECT)? {
        let name = file::name_of(&path);
        let project = file::parse(&bytes, &name, modules, Some(&workspace))?;
        let merged = typed(&merge::over(&owner.given, &project.given), &name)?;
        let trust = Trust::read(home);
        notices.extend(trust.notice.iter().cloned());
        let standing = trust.standing(&workspace, ProjectFile::Config, &bytes);
        let trusted = standing == Standing::Trusted;
        if trusted {
            let from = match &owner_name {
                Some(owner) => format!("{owner} + {PROJECT}"),
                None => PROJECT.to_owned(),
            };
            layers = vec![layer(from, &merged)];
            effective = merged;
        } else {
            notices.push(untrusted_notice(&name, standing));
            effective = narrow::narrowed(&owner.config, &project.config, &name, &mut notices);
            let project_layer = layer(format!("{PROJECT} (not trusted)"), &merged);
            // The same policy twice would only cost time.
            if project_layer.config != layers[0].config {
                layers.push(project_layer);
            }
        }
        files.push(LoadedFile { path, trusted });
    }
    Ok(Loaded {
        workspace,
        effective,
        layers,
        notices,
        files,
    })
}

/// Where a word of the config stands, in the first of the files that has it: `haft.yaml:3:7`.
pub(crate) fn place_of_word<'a>(
    files: impl IntoIterator<Item = &'a Path>,
    word: &str,
) -> Option<String> {
    files.into_iter().find_map(|path| {
        let text = std::fs::read_to_string(path).ok()?;
        let Place { line, column } = tree::Node::parse(&text).ok()?.find(word)?;
        Some(format!("{}:{line}:{column}", file::name_of(path)))
    })
}

/// Whether these bytes are a config that haft understands, before a person is asked to trust them.
pub(crate) fn check_project_file(
    path: &Path,
    bytes: &[u8],
    modules: &[Module],
) -> Result<(), ConfigError> {
    file::parse(bytes, &file::name_of(path), modules, path.parent()).map(drop)
}

/// Where the config files are looked for: the owner's, then the project's.
pub(crate) fn paths(home: &Home, workspace: &Path) -> [PathBuf; 2] {
    [home.path().join(OWNER), workspace.join(PROJECT)]
}

/// A workspace by its one real path, so that it is the same workspace however it was named.
pub(crate) fn absolute(workspace: &Path) -> Result<PathBuf, ConfigError> {
    let found = workspace.canonicalize().and_then(|path| {
        if path.is_dir() {
            Ok(path)
        } else {
            Err(std::io::ErrorKind::NotADirectory.into())
        }
    });
    found.map_err(|error| ConfigError::Workspace {
        path: workspace.to_owned(),
        reason: error.to_string(),
    })
}

fn typed(given: &Value, name: &str) -> Result<Config, ConfigError> {
    file::typed(given).map_err(|problem| ConfigError::Wrong {
        problems: vec![problem.in_file(name)],
    })
}

fn untrusted_notice(name: &str, standing: Standing) -> String {
    let why = match standing {
        Standing::Changed => "has changed since it was trusted",
        _ => "is not trusted",
    };
    format!("`{name}` {why}, so it can only narrow: look at it with `haft trust`")
}
