//! Reading the sets: folders with `tools.jsonl` and `queries.jsonl`, plain or gzipped.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::EvalError;
use crate::{Index, Searcher, ToolDoc};

/// The development sets that come with the project.
pub(super) const DEFAULT_SETS: &[&str] = &["metatool", "bfcl", "sealtools", "tldr", "ha_intents"];

/// A query and the tools that answer it.
pub(super) struct Asked {
    pub(super) text: String,
    pub(super) language: String,
    pub(super) relevant: Vec<String>,
}

impl Asked {
    pub(super) fn is_english(&self) -> bool {
        self.language == "en"
    }
}

/// A catalogue and what is asked of it.
pub(super) struct Set {
    pub(super) name: String,
    pub(super) docs: Vec<ToolDoc>,
    pub(super) queries: Vec<Asked>,
    pub(super) index: Index,
    pub(super) searcher: Searcher,
}

#[derive(Deserialize)]
struct ToolLine {
    id: String,
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    params: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    server: Option<String>,
}

#[derive(Deserialize)]
struct QueryLine {
    query: String,
    relevant: Vec<String>,
    #[serde(default)]
    lang: Option<String>,
}

/// Read the folders given, or the sets of the project.
pub(super) fn read_all(folders: &[PathBuf]) -> Result<Vec<Set>, EvalError> {
    if !folders.is_empty() {
        return folders.iter().map(|folder| read(folder)).collect();
    }
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/sets");
    DEFAULT_SETS
        .iter()
        .map(|name| read(&home.join(name)))
        .collect()
}

/// Read one folder.
pub(super) fn read(folder: &Path) -> Result<Set, EvalError> {
    let name = folder
        .canonicalize()
        .ok()
        .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .unwrap_or_else(|| folder.display().to_string());
    let docs: Vec<ToolDoc> = lines::<ToolLine>(folder, "tools.jsonl")?
        .into_iter()
        .map(doc)
        .collect();
    let queries: Vec<QueryLine> = lines(folder, "queries.jsonl")?;
    let ids: HashSet<&str> = docs.iter().map(|doc| doc.id.as_str()).collect();
    let queries: Vec<Asked> = queries
        .into_iter()
        .map(|line| Asked {
            text: line.query,
            language: line.lang.unwrap_or_else(|| "en".to_owned()),
            relevant: line.relevant,
        })
        .collect();
    for query in &queries {
        if let Some(id) = query.relevant.iter().find(|id| !ids.contains(id.as_str())) {
            return Err(EvalError::UnknownTool {
                set: name,
                id: id.clone(),
            });
        }
    }
    let index = index_of(&docs);
    let searcher = index.searcher();
    Ok(Set {
        name,
        docs,
        queries,
        index,
        searcher,
    })
}

/// An index of these tools.
pub(super) fn index_of<'a>(docs: impl IntoIterator<Item = &'a ToolDoc>) -> Index {
    let mut index = Index::new();
    for doc in docs {
        index.add(doc);
    }
    index
}

fn doc(line: ToolLine) -> ToolDoc {
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        other => other
            .get("description")
            .and_then(|text| text.as_str())
            .unwrap_or_default()
            .to_owned(),
    };
    ToolDoc {
        id: line.id,
        name: line.name,
        category: line.category.unwrap_or_default(),
        server: line.server,
        description: line.description,
        parameters: line
            .params
            .into_iter()
            .map(|(name, value)| (name, text(value)))
            .collect(),
        ..ToolDoc::default()
    }
}

fn lines<T: DeserializeOwned>(folder: &Path, file: &str) -> Result<Vec<T>, EvalError> {
    let plain = folder.join(file);
    let packed = folder.join(format!("{file}.gz"));
    let (path, packed) = if packed.exists() && !plain.exists() {
        (packed, true)
    } else {
        (plain, false)
    };
    let read = |source| EvalError::Read {
        path: path.clone(),
        source,
    };
    let opened = File::open(&path).map_err(read)?;
    let reader: Box<dyn Read> = if packed {
        Box::new(flate2::read::GzDecoder::new(opened))
    } else {
        Box::new(opened)
    };
    let mut all = Vec::new();
    for (number, line) in BufReader::new(reader).lines().enumerate() {
        let line = line.map_err(read)?;
        if line.trim().is_empty() {
            continue;
        }
        all.push(
            serde_json::from_str(&line).map_err(|source| EvalError::Parse {
                path: path.clone(),
                line: number + 1,
                source,
            })?,
        );
    }
    Ok(all)
}

/// Tools of all sets without repeats, those of `first` before the others: the way to large
/// catalogues of distinct real tools. Ids are made unique by the set's name.
pub(super) fn pooled(sets: &[Set], first: usize) -> Vec<ToolDoc> {
    let mut seen: HashMap<(String, String), ()> = HashMap::new();
    let mut pool = Vec::new();
    let order = std::iter::once(first).chain((0..sets.len()).filter(|other| *other != first));
    for set in order {
        for doc in &sets[set].docs {
            let text = (doc.name.clone(), doc.description.clone());
            let new = seen.insert(text, ()).is_none();
            // The judged set keeps every tool, even two that read the same.
            if new || set == first {
                let mut doc = doc.clone();
                if set != first {
                    doc.id = format!("{}/{}", sets[set].name, doc.id);
                }
                pool.push(doc);
            }
        }
    }
    pool
}
