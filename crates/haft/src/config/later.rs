//! Keys and modules that the documents describe and that this version does not have yet. They
//! are told apart from typing mistakes: such a key is right, only too early.

/// Dotted paths of keys; `*` stands for any one name.
const KEYS: &[&str] = &[
    "agents.*.brain.backend",
    "agents.*.brain.model",
    "agents.*.brain.native_tool_use",
    "agents.*.brain.provider",
    "agents.*.model",
    "agents.*.role",
    "agents.*.system_prompt",
    "bus",
    "channels",
    "credential",
    "flows",
    "gateway",
    "isolation.allowedHosts",
    "memory",
    "middleware",
    "node",
    "nodes",
    "pipelines",
    "plugins",
    "runtime.scheduler",
    "runtime.watchers",
    "runtime.workers",
    "setup",
    "store",
    "tools.channels",
    "tools.modules.*.config.*",
    "tools.modules.*.credential",
    "tools.modules.*.middleware",
    "tools.modules.*.setup",
];

/// Modules that tools will come in.
const MODULES: &[&str] = &[
    "agent",
    "agent_spawn",
    "behavior",
    "browser",
    "channels",
    "cron",
    "cron_native",
    "database",
    "dev_tools",
    "google",
    "http",
    "index",
    "lsp",
    "mcp",
    "preview",
    "process",
    "queue",
    "rag",
    "search",
    "task",
    "vector",
    "watch",
    "web",
    "web_preview",
    "widget",
    "workspace",
];

pub(super) fn is_key(path: &[&str]) -> bool {
    KEYS.iter().any(|key| {
        let mut parts = key.split('.');
        path.iter().all(|name| {
            parts
                .next()
                .is_some_and(|part| part == "*" || part == *name)
        }) && parts.next().is_none()
    })
}

pub(super) fn is_module(name: &str) -> bool {
    let first = name.split('.').next().unwrap_or(name);
    MODULES.contains(&first)
}
