//! The config as a person or an editor reads it.

use haft_host::looks_secret;
use haft_runtime::mask;
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
    let mut config = config.spelled_out();
    for server in config.mcp.servers.values_mut() {
        for (key, value) in server.env.iter_mut().chain(&mut server.headers) {
            hide(key, value);
        }
        if let Some(secret) = &mut server.oauth.client_secret {
            hide("client_secret", secret);
        }
        for arg in &mut server.args {
            *arg = mask(arg).text.into_owned();
        }
    }
    Ok(match format {
        Format::Yaml => serde_saphyr::to_string(&config)?,
        Format::Json => serde_json::to_string_pretty(&config)? + "\n",
    })
}

/// A secret that was written out is not printed; a place that names one is.
fn hide(key: &str, value: &mut String) {
    let names_one = value.starts_with("secret:") || value.contains("${");
    if looks_secret(key) && !names_one {
        *value = "***".to_owned();
    } else {
        *value = mask(value).text.into_owned();
    }
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
