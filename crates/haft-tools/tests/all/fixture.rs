use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::{
    Block, Caller, DynTool, Effects, Output, Powers, ResultStore, ToolContext, ToolError,
};
use haft_host::{
    ChangeFiles, Checkpoints, EditFiles, FileResults, FilesConfig, FindFiles, KeptResults,
    ListFiles, ReadFiles, ReadGit, RealPaths, SearchText, UndoConfig, UndoFiles, Workspace,
    WriteFiles,
};
use serde_json::Value;

/// A workspace `ws` with a folder `out` beside it, and haft's home beside both.
pub(crate) struct Fixture {
    dir: tempfile::TempDir,
    caller: Arc<Caller>,
    tools: Vec<Arc<dyn DynTool>>,
    runtime: tokio::runtime::Runtime,
}

/// What a call says it touches, and what came of it.
pub(crate) struct Answer {
    pub(crate) effects: Option<Effects>,
    pub(crate) result: Result<Output, ToolError>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["ws", "ws-evil", "out", "home"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("out/secret.txt"), "top secret").unwrap();
        let root = dir.path().join("ws");
        Fixture::over(dir, &root)
    }

    /// A caller whose workspace is `root`.
    pub(crate) fn over(dir: tempfile::TempDir, root: &Path) -> Self {
        let home = dir.path().join("home");
        let workspace = Workspace::open(FilesConfig {
            workspace: root.to_owned(),
            roots: Vec::new(),
            home: home.clone(),
        })
        .unwrap();
        let checkpoints = Checkpoints::new(&home, UndoConfig::default());
        let workspace = Arc::new(workspace.keeping(checkpoints));
        let kept = Arc::new(FileResults::new(&home));
        let results: Arc<dyn ResultStore> = kept.clone();
        let mut powers = Powers::none();
        powers.insert(ReadFiles::new(workspace.clone()));
        powers.insert(WriteFiles::new(workspace.clone()));
        powers.insert(EditFiles::new(workspace.clone()));
        powers.insert(ChangeFiles::new(workspace.clone()));
        powers.insert(UndoFiles::new(workspace.clone()));
        powers.insert(ReadGit::new(workspace.clone()));
        powers.insert(ListFiles::new(workspace.clone()));
        powers.insert(FindFiles::new(workspace.clone()));
        powers.insert(SearchText::new(workspace.clone(), Some(kept)));
        powers.insert(KeptResults::new(results.clone()));
        let caller = Caller {
            powers: Arc::new(powers),
            paths: Arc::new(RealPaths),
            results: Some(results),
            ..Caller::alone("session", workspace.path().to_owned())
        };
        Fixture {
            dir,
            caller: Arc::new(caller),
            tools: haft_tools::packs()
                .into_iter()
                .flat_map(|pack| pack.tools)
                .collect(),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
        }
    }

    /// A place in the folder that holds workspace and all: `ws/a.txt`.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at("ws").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn content(&self, path: &str) -> String {
        std::fs::read_to_string(self.at("ws").join(path)).unwrap()
    }

    pub(crate) fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    /// Let somebody else call.
    pub(crate) fn be(&mut self, caller: Caller) {
        self.caller = Arc::new(caller);
    }

    pub(crate) fn tool(&self, name: &str) -> &Arc<dyn DynTool> {
        let mut tools = self.tools.iter();
        tools.find(|tool| &*tool.spec().name == name).unwrap()
    }

    pub(crate) fn context(&self, name: &str, budget: usize, dry_run: bool) -> ToolContext {
        ToolContext::new(
            "call".into(),
            name.into(),
            self.caller.clone(),
            budget,
            dry_run,
        )
    }

    pub(crate) fn call(&self, name: &str, args: Value) -> Answer {
        self.call_with(name, args, &self.context(name, 80_000, false))
    }

    pub(crate) fn call_with(&self, name: &str, args: Value, cx: &ToolContext) -> Answer {
        let prepared = match self.tool(name).prepare(&args) {
            Ok(prepared) => prepared,
            Err(error) => {
                return Answer {
                    effects: None,
                    result: Err(error),
                };
            }
        };
        let effects = match prepared.effects(cx) {
            Ok(effects) => effects,
            Err(error) => {
                return Answer {
                    effects: None,
                    result: Err(error),
                };
            }
        };
        let result = self.runtime.block_on(async {
            if cx.dry_run {
                prepared.preview(cx).await
            } else {
                prepared.run(cx).await
            }
        });
        Answer {
            effects: Some(effects),
            result,
        }
    }

    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    pub(crate) fn preview(&self, name: &str, args: Value) -> Answer {
        self.call_with(name, args, &self.context(name, 80_000, true))
    }
}

impl Answer {
    pub(crate) fn structured(self) -> Value {
        self.result.unwrap().into_body().structured.unwrap()
    }

    pub(crate) fn error(self) -> ToolError {
        self.result.unwrap_err()
    }

    pub(crate) fn text(&self) -> String {
        match &self.result {
            Ok(output) => texts(output),
            Err(error) => error.to_string(),
        }
    }
}

pub(crate) fn texts(output: &Output) -> String {
    let mut text = String::new();
    for block in &output.content {
        if let Block::Text { text: more, .. } = block {
            text.push_str(more);
        }
    }
    text
}
