use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{Resolved, WriteFiles};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::diff;
use super::target::Target;
use crate::kept;

/// Write a file: create it, with the folders on the way, or replace its whole content. The file
/// is never left half written.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    /// File to write, relative to the workspace
    #[schemars(extend("x-aliases" = ["file_path", "filePath", "file"]))]
    path: String,
    /// The whole new content
    #[schemars(extend("x-aliases" = ["contents", "text"]))]
    content: String,
    #[serde(skip)]
    target: Target,
}

impl Tool for Write {
    const NAME: &'static str = "file.write";
    const REPEAT: Repeat = Repeat::Idempotent;
    const HAS_PREVIEW: bool = true;
    const HAS_VERIFY: bool = true;
    type Power = WriteFiles;

    fn describe(spec: ToolSpec) -> ToolSpec {
        let mut spec = spec
            .titled("Write a file")
            .aliases(&["Write", "write_file", "create_file", "WsWrite"])
            .tags(&["file", "write", "create", "save", "overwrite"])
            .side_effects(&[
                "creates missing parent folders",
                "replaces the file if it is there",
            ])
            .risk(Risk::High)
            .example(
                "Create a file in a new folder",
                json!({"path": "docs/hello.txt", "content": "hello\n"}),
                json!({"bytes": 6}),
            );
        spec.eager_input_streaming = true;
        spec
    }

    fn effects(&self, files: &WriteFiles, cx: &ToolContext) -> Result<Effects, ToolError> {
        let place = self.place(files)?;
        let mut effects = place.writes();
        if cx.dry_run {
            // A preview shows what the file holds now, so it is a read as well.
            effects.accesses.extend(place.reads().accesses);
        }
        Ok(effects)
    }

    async fn run(self, files: &WriteFiles, cx: &ToolContext) -> ToolResult {
        let place = self.place(files)?.clone();
        let bytes = self.content.len();
        let lost = files.write(&place, self.content.into_bytes(), cx).await?;
        let path = place.path().to_string_lossy();
        let output = Output::text(format!("wrote {bytes} bytes to {path}"))
            .and_structured(json!({"path": path, "bytes": bytes}));
        Ok(kept::with_lost(output, &lost))
    }

    async fn preview(self, files: &WriteFiles, cx: &ToolContext) -> ToolResult {
        let place = self.place(files)?;
        if let Some(output) = diff::withheld(place) {
            return Ok(output);
        }
        let before = files.present(place, cx).await?;
        Ok(diff::preview(place, before.as_deref(), &self.content))
    }

    /// The content is either all there or was never put in place.
    async fn verify(self, files: &WriteFiles, cx: &ToolContext) -> Result<bool, ToolError> {
        let place = self.place(files)?;
        let present = files.present(place, cx).await?;
        Ok(present.as_deref() == Some(self.content.as_bytes()))
    }
}

impl Write {
    fn place(&self, files: &WriteFiles) -> Result<&Resolved, ToolError> {
        self.target.get(|| files.resolve(&self.path))
    }
}
