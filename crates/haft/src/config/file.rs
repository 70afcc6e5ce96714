//! One config file: read safely, parsed, checked, and brought to the names haft uses. Nothing of
//! a broken file is used.

use std::fs;
use std::path::{Path, PathBuf};

use haft_core::Module;
use rustix::fs::OFlags;
use serde_json::{Map, Value};

use super::check;
use super::error::{ConfigError, Place, Problem};
use super::sections::Config;
use super::tree::{Kind, Node};
use crate::home::{Home, HomeError, open_regular, read_at_most};

pub(super) const OWNER: &str = "config.yaml";
pub(crate) const PROJECT: &str = "haft.yaml";

/// A config that is longer was not written by a person.
const LARGEST: u64 = 1 << 20;

/// What a file says, checked.
#[derive(Debug)]
pub(super) struct Parsed {
    /// Only what is given, for laying over another file
    pub(super) given: Value,
    pub(super) config: Config,
}

impl Default for Parsed {
    fn default() -> Parsed {
        Parsed {
            given: Value::Object(Map::new()),
            config: Config::default(),
        }
    }
}

/// The owner's file, if there is one.
pub(super) fn read_owner(home: &Home) -> Result<Option<(PathBuf, Vec<u8>)>, ConfigError> {
    let bytes = home.read(OWNER, LARGEST)?;
    Ok(bytes.map(|bytes| (home.path().join(OWNER), bytes)))
}

/// A file that a person names.
pub(super) fn read_draft(path: &Path) -> Result<(PathBuf, Vec<u8>), ConfigError> {
    let Some((file, _)) = open_regular(path, OFlags::empty())? else {
        return Err(ConfigError::Unusable {
            path: path.to_owned(),
            reason: "it is not there".to_owned(),
        });
    };
    let bytes = read_at_most(path, file, LARGEST)?;
    Ok((path.to_owned(), bytes))
}

/// A file of the project, if it is there. It comes from elsewhere: a link could show any file of
/// the owner's, so links are not followed.
pub(crate) fn read_project(
    workspace: &Path,
    name: &str,
) -> Result<Option<(PathBuf, Vec<u8>)>, ConfigError> {
    let path = workspace.join(name);
    let is_link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
    if is_link {
        return Err(ConfigError::Unusable {
            path,
            reason: "it is a symbolic link".to_owned(),
        });
    }
    let Some((file, _)) = open_regular(&path, OFlags::NOFOLLOW)? else {
        return Ok(None);
    };
    let bytes = read_at_most(&path, file, LARGEST)?;
    Ok(Some((path, bytes)))
}

/// A file as a person would name it: by the shorter path where it lies below the current one.
pub(super) fn name_of(path: &Path) -> String {
    let below = std::env::current_dir()
        .ok()
        .and_then(|current| path.strip_prefix(current).ok());
    below.unwrap_or(path).display().to_string()
}

/// Read what a file says. Relative directories in it start at `base`; without one they are
/// mistakes.
pub(super) fn parse(
    bytes: &[u8],
    name: &str,
    modules: &[Module],
    base: Option<&Path>,
) -> Result<Parsed, ConfigError> {
    let wrong = |problems: Vec<Problem>| ConfigError::Wrong {
        problems: problems
            .into_iter()
            .map(|problem| problem.in_file(name))
            .collect(),
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let place = place_of(&bytes[..error.valid_up_to()]);
        wrong(vec![Problem::new(place, "text is not UTF-8")])
    })?;
    let mut root = Node::parse(text).map_err(|problem| wrong(vec![problem]))?;
    let mut problems = check::problems(&root, modules);
    if problems.is_empty() {
        check::rename_modules(&mut root);
        problems = make_absolute(&mut root, base);
    }
    if !problems.is_empty() {
        return Err(wrong(problems));
    }
    let given = match root.to_value() {
        Value::Null => return Ok(Parsed::default()),
        given => given,
    };
    let config = typed(&given).map_err(|problem| wrong(vec![problem]))?;
    Ok(Parsed { given, config })
}

/// The typed form of a config whose keys and values were checked before.
pub(super) fn typed(given: &Value) -> Result<Config, Problem> {
    serde_path_to_error::deserialize(given).map_err(|error| {
        let path = error.path().to_string();
        Problem::somewhere(format!("`{path}` cannot be read: {}", error.into_inner()))
    })
}

/// Lists of paths, which become absolute, so that a list of two files has one meaning.
const PATHS: &[(&str, &str)] = &[("files", "roots"), ("isolation", "readable")];

fn make_absolute(root: &mut Node, base: Option<&Path>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (section, key) in PATHS {
        let list = root.get_mut(section).and_then(|node| node.get_mut(key));
        let Some(Node {
            kind: Kind::List(paths),
            ..
        }) = list
        else {
            continue;
        };
        for node in paths {
            if let Kind::Scalar(Value::String(text)) = &mut node.kind {
                match absolute(text, base, &format!("{section}.{key}")) {
                    Ok(path) => *text = path,
                    Err(message) => problems.push(Problem::new(node.place, message)),
                }
            }
        }
    }
    problems
}

fn absolute(text: &str, base: Option<&Path>, key: &str) -> Result<String, String> {
    let path = match (text.strip_prefix("~/"), base) {
        (Some(rest), _) => std::env::home_dir()
            .ok_or_else(|| format!("`HOME` is not set, so `{text}` is nowhere"))?
            .join(rest),
        (None, _) if text == "~" => {
            std::env::home_dir().ok_or_else(|| "`HOME` is not set".to_owned())?
        }
        (None, _) if Path::new(text).is_absolute() => PathBuf::from(text),
        (None, Some(base)) if !text.is_empty() => base.join(text),
        _ => return Err(format!("`{key}` takes absolute paths here: `{text}`")),
    };
    path.into_os_string()
        .into_string()
        .map_err(|path| HomeError::NotUtf8(path.into()).to_string())
}

/// Where the next character after this text stands.
fn place_of(before: &[u8]) -> Place {
    let text = String::from_utf8_lossy(before);
    let line = text.matches('\n').count() + 1;
    let column = text.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Place {
        line: line as u64,
        column: column as u64,
    }
}
