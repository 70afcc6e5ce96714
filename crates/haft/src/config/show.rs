//! The config as a person or an editor reads it.

use serde_json::{Value, json};

use super::check;
use super::sections::Config;

/// How `haft config show` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Yaml,
    Json,
}

/// The values that hold, with defaults spelled out.
pub(crate) fn show(config: &Config, format: Format) -> anyhow::Result<String> {
    let config = config.spelled_out();
    Ok(match format {
        Format::Yaml => serde_saphyr::to_string(&config)?,
        Format::Json => serde_json::to_string_pretty(&config)? + "\n",
    })
}

/// The JSON Schema of a config file, for editors.
pub(crate) fn schema() -> Value {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "haft config",
    });
    if let (Value::Object(into), Value::Object(from)) = (&mut schema, check::schema()) {
        into.extend(from.clone());
    }
    schema
}
