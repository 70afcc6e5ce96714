//! Files of the workspace as resources. They are found with the tool that lists and read with the
//! tool that reads, so that nothing is seen here that the client could not see by calling them.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_core::Reason;
use haft_mcp::{Reading, Resource};
use haft_policy::Verdict;
use haft_runtime::{Session, mask};
use serde_json::json;

use super::{HouseOffer, Read, uri};

pub(super) const READ: &str = "file.read";
const LIST: &str = "file.list";

/// Any file, by its absolute path.
pub(super) const TEMPLATE: &str = "file://{+path}";

/// Folders that are looked into one by one, where the whole may not be listed.
const FOLDERS: usize = 500;

/// A file or folder of a list.
struct Listed {
    path: String,
    is_folder: bool,
    size: Option<u64>,
}

impl HouseOffer {
    /// The files of the workspace that can be listed without a question; what `.gitignore` names is
    /// left out.
    pub(super) async fn files(&self, session: &Session) -> Vec<Resource> {
        if !self.sees(session, READ) {
            return Vec::new();
        }
        let found = match self.listed(session, "", true).await {
            Some(found) => found,
            None => self.walked(session).await,
        };
        let files = found.into_iter().filter(|one| !one.is_folder);
        files.filter_map(|file| self.resource(&file)).collect()
    }

    /// What a folder of the workspace holds; none where policy would not have it listed.
    async fn listed(&self, session: &Session, folder: &str, all: bool) -> Option<Vec<Listed>> {
        let path = if folder.is_empty() { "." } else { folder };
        let args = json!({"path": path, "recursive": all, "ignore": true});
        if self.verdict(session, LIST, &args) != Some(Verdict::Allow) {
            return None;
        }
        let outcome = self.call(session, LIST, args).await.ok()?;
        let structured = outcome.into_body().structured?;
        let entries = structured["entries"].as_array()?;
        let entries = entries.iter().filter_map(|entry| {
            let name = entry["path"].as_str()?;
            Some(Listed {
                path: match folder {
                    "" => name.to_owned(),
                    _ => format!("{folder}/{name}"),
                },
                is_folder: entry["kind"] != "file",
                size: entry["size"].as_u64(),
            })
        });
        Some(entries.collect())
    }

    /// Folder by folder, leaving out those that are closed.
    async fn walked(&self, session: &Session) -> Vec<Listed> {
        let mut found = Vec::new();
        let mut folders = vec![String::new()];
        let mut looked = 0;
        while let Some(folder) = folders.pop() {
            looked += 1;
            if looked > FOLDERS {
                break;
            }
            let listed = self.listed(session, &folder, false).await;
            for one in listed.into_iter().flatten() {
                match one.is_folder {
                    true => folders.push(one.path),
                    false => found.push(one),
                }
            }
        }
        found
    }

    /// Paths that begin like this, of files that would be listed. A folder ends in a slash: what is
    /// in it comes next.
    pub(super) async fn paths(&self, session: &Session, begun: &str) -> Vec<String> {
        let Ok(below) = Path::new(begun).strip_prefix(&self.workspace) else {
            // The way to the workspace itself.
            let whole = format!("{}/", self.workspace.display());
            return Vec::from_iter(whole.starts_with(begun).then_some(whole));
        };
        let below = below.to_string_lossy();
        let folder = match begun.ends_with('/') {
            true => &*below,
            false => below.rsplit_once('/').map_or("", |(folder, _)| folder),
        };
        let listed = self.listed(session, folder, false).await;
        let paths = listed.into_iter().flatten().filter_map(|one| {
            let path = self.workspace.join(&one.path).to_str()?.to_owned();
            let shown = path.starts_with(begun);
            match one.is_folder {
                true => shown.then(|| format!("{path}/")),
                false => (shown && self.may_be_read(session, &uri::of_path(&path))).then_some(path),
            }
        });
        paths.collect()
    }

    fn resource(&self, file: &Listed) -> Option<Resource> {
        // A name that is no text cannot be asked for.
        if file.path.contains(char::REPLACEMENT_CHARACTER) {
            return None;
        }
        let path = self.workspace.join(&file.path);
        Some(Resource {
            uri: uri::of_path(path.to_str()?),
            name: file.path.clone(),
            mime_type: mime_type(&file.path).map(str::to_owned),
            size: file.size,
            ..Resource::default()
        })
    }

    /// Whether policy leaves a resource open, be it after a question.
    pub(super) fn may_be_read(&self, session: &Session, uri: &str) -> bool {
        match uri::path_of(uri) {
            Some(path) => matches!(
                self.verdict(session, READ, &json!({"path": path})),
                Some(Verdict::Allow | Verdict::Ask)
            ),
            None => true,
        }
    }

    pub(super) async fn read_file(&self, session: &Session, uri: &str, path: &str) -> Read {
        let args = json!({"path": path, "encoding": "base64"});
        let outcome = match self.call(session, READ, args).await {
            Err(error) if error.reason == Some(Reason::NotFound) => return Ok(None),
            outcome => outcome?,
        };
        let structured = outcome.into_body().structured.unwrap_or_default();
        let content = structured["content"].as_str().unwrap_or_default();
        let bytes = STANDARD.decode(content).unwrap_or_default();
        Ok(Some(vec![reading(uri, path, content, bytes)]))
    }
}

/// Text as text, without what must not be shown; anything else as bytes.
fn reading(uri: &str, path: &str, base64: &str, bytes: Vec<u8>) -> Reading {
    let known = mime_type(path);
    let (mime_type, text, blob) = match String::from_utf8(bytes) {
        Ok(text) => {
            let text = mask(&text).text.into_owned();
            (known.unwrap_or("text/plain"), Some(text), None)
        }
        Err(_) => {
            let mime_type = known.unwrap_or("application/octet-stream");
            (mime_type, None, Some(base64.to_owned()))
        }
    };
    Reading {
        uri: uri.to_owned(),
        mime_type: Some(mime_type.to_owned()),
        text,
        blob,
    }
}

/// What the end of a name says about a file.
fn mime_type(path: &str) -> Option<&'static str> {
    let end = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
    Some(match end.as_str() {
        "md" | "markdown" => "text/markdown",
        "txt" | "log" | "toml" | "ini" | "cfg" | "conf" => "text/plain",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" | "cjs" => "text/javascript",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        "wasm" => "application/wasm",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        _ => return None,
    })
}
