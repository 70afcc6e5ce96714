//! Arguments as people hand them over: JSON, a file, standard input.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use haft_runtime::parse_arguments;
use serde_json::Value;

use super::fail::Usage;

/// Bytes that are read at most: as arguments, and of a file that haft may have written itself.
const LIMIT: u64 = 64 << 20;
const OWN_LIMIT: u64 = 4 << 30;

/// What `JSON`, `@file` or `-` stands for; none when nothing is given.
pub(crate) fn arguments(given: Option<&str>) -> Result<Option<Value>> {
    let text = match given {
        None => return Ok(None),
        Some("-") => standard_input()?,
        Some(given) => match given.strip_prefix('@') {
            Some(path) => file(Path::new(path))?,
            None => given.to_owned(),
        },
    };
    parse(&text).map(Some)
}

/// JSON, or a usage error that says where it is wrong.
pub(crate) fn parse(text: &str) -> Result<Value> {
    Ok(parse_arguments(text).map_err(|error| {
        let hint = error.hint.as_ref();
        let hint = hint.map(|hint| format!(", {hint}")).unwrap_or_default();
        Usage(format!("{}{hint}", error.message))
    })?)
}

pub(crate) fn standard_input() -> Result<String> {
    text(std::io::stdin().lock(), "standard input", LIMIT)
}

pub(crate) fn file(path: &Path) -> Result<String> {
    file_within(path, LIMIT)
}

/// The same for what haft has written, which may be all there is.
pub(crate) fn own_file(path: &Path) -> Result<String> {
    file_within(path, OWN_LIMIT)
}

fn file_within(path: &Path, limit: u64) -> Result<String> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path)
        .map_err(|error| Usage(format!("cannot read `{name}`: {error}")))?;
    text(file, &format!("`{name}`"), limit)
}

fn text(from: impl Read, name: &str, limit: u64) -> Result<String> {
    let mut bytes = Vec::new();
    from.take(limit + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {name}"))?;
    if bytes.len() as u64 > limit {
        return Err(Usage(format!("{name} is larger than {limit} bytes")).into());
    }
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Usage(format!("{name} is not UTF-8 at offset {offset}")).into()
    })
}
