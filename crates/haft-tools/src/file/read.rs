//! Reads files. What a file holds is found out by the host; this file gives the answer the form
//! that models know: numbered lines, or an image block.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_core::{
    Block, Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{Large, LineRange, ReadFiles, Reading, Resolved};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::reduce;
use super::target::Target;

/// Read a file: text with line numbers, or an image. Use `offset` and `limit` for a part of a
/// large file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    /// File to read, relative to the workspace
    #[schemars(extend("x-aliases" = ["file_path", "filePath", "file"]))]
    path: String,
    /// Lines to leave out at the start (0-based line to begin with)
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["lineStart - 1", "line_start - 1"]))]
    offset: Option<u64>,
    /// Lines to read at most
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["lineEnd - offset", "line_end - offset"]))]
    limit: Option<u64>,
    /// `utf8` for text (other encodings are found out and named) and images, `base64` for the
    /// bytes of any file up to 10 MB
    #[serde(default)]
    encoding: Option<Encoding>,
    #[serde(skip)]
    target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Encoding {
    Utf8,
    Base64,
}

impl Tool for Read {
    const NAME: &'static str = "file.read";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ReadFiles;

    fn describe(spec: ToolSpec) -> ToolSpec {
        let mut spec = spec
            .titled("Read a file")
            .aliases(&["Read", "read_file", "WsRead"])
            .tags(&["file", "read", "text", "image", "open", "view", "cat"])
            .risk(Risk::Low)
            .example(
                "Read the second line",
                json!({"path": "notes.txt", "offset": 1, "limit": 1}),
                json!({"content": "2\tbuy milk", "lines": 1}),
            )
            .example(
                "Read the bytes",
                json!({"path": "notes.txt", "encoding": "base64"}),
                json!({"content": "dG9kbwpidXkgbWlsawo=", "bytes": 14}),
            );
        spec.eager_input_streaming = true;
        spec
    }

    fn effects(&self, files: &ReadFiles, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(self.place(files)?.reads())
    }

    async fn run(self, files: &ReadFiles, cx: &ToolContext) -> ToolResult {
        let place = self.place(files)?;
        if self.encoding == Some(Encoding::Base64) {
            return self.bytes(files, place, cx).await;
        }
        let offset = self.offset.unwrap_or(0);
        let range = LineRange {
            offset,
            limit: self.limit,
            first: Some(reduce::LINES as u64),
        };
        match files.read(place, range, cx).await? {
            Reading::Text {
                numbered,
                lines,
                skipped,
                encoding,
                more,
                large,
            } => {
                if let Some(large) = large {
                    return Ok(beginning(place, &numbered, lines, large));
                }
                let mut shown = match (lines, skipped) {
                    (0, _) if self.limit == Some(0) => "[no lines asked for]".to_owned(),
                    (0, 0) => "[empty file]".to_owned(),
                    (0, _) => format!("[nothing at offset {offset}: the file has {skipped} lines]"),
                    _ => numbered.clone(),
                };
                let mut structured = json!({
                    "path": place.path().to_string_lossy(),
                    "content": numbered,
                    "lines": lines,
                });
                if let Some(encoding) = encoding {
                    shown.push_str(&format!("\n[decoded from {encoding}]"));
                    structured["encoding"] = encoding.as_ref().into();
                }
                if more {
                    let next = offset + lines;
                    shown.push_str(&format!(
                        "\n[stopped after {lines} lines: read on with `offset: {next}`]"
                    ));
                    structured["more"] = true.into();
                }
                Ok(Output::text(shown).and_structured(structured))
            }
            Reading::Image { mime_type, data } => Ok(image(place, &mime_type, &data)),
        }
    }
}

impl Read {
    fn place(&self, files: &ReadFiles) -> Result<&Resolved, ToolError> {
        self.target.get(|| files.resolve(&self.path))
    }

    async fn bytes(&self, files: &ReadFiles, place: &Resolved, cx: &ToolContext) -> ToolResult {
        if self.offset.is_some() || self.limit.is_some() {
            return Err(ToolError::input_invalid(
                "`offset` and `limit` count lines and do not go with `encoding`: `base64`",
            ));
        }
        let data = files.read_bytes(place, cx).await?;
        let content = STANDARD.encode(&data);
        Ok(Output::text(content.clone()).and_structured(json!({
            "path": place.path().to_string_lossy(),
            "content": content,
            "bytes": data.len(),
        })))
    }
}

/// The first lines of a file that is too large for more.
fn beginning(place: &Resolved, numbered: &str, shown: u64, large: Large) -> Output {
    let Large { bytes, lines } = large;
    let counted = lines.map_or(String::new(), |lines| format!("{lines} lines, "));
    let text = format!(
        "[{counted}{bytes} bytes; shown are the first {shown}: read on with `offset: {shown}` and a `limit`, or search with `file.grep`]\n{numbered}"
    );
    let mut structured = json!({
        "path": place.path().to_string_lossy(),
        "content": numbered,
        "shown": shown,
        "bytes": bytes,
        "more": true,
    });
    if let Some(lines) = lines {
        structured["lines"] = lines.into();
    }
    Output::text(text).and_structured(structured)
}

fn image(place: &Resolved, mime_type: &str, data: &[u8]) -> Output {
    let name = place
        .path()
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let mut output = Output::text(format!(
        "Image file: {name} ({mime_type}, {} bytes)",
        data.len()
    ));
    output
        .content
        .push(Block::image(STANDARD.encode(data), mime_type));
    output
}
