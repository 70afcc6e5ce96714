//! What a project file may change before a person has trusted it: numbers become smaller, nothing
//! else. Policy is not judged here: there the untrusted file is a layer of its own, and the
//! strictest layer wins.

use haft_policy::ToolsConfig;

use super::sections::{
    Config, IsolationLevel, IsolationSection, JournalSection, ResultsSection, UndoSection,
    WorkersSection,
};

// Long because it is a list of independent keys.
/// The owner's settings with what the project file makes tighter. What it would widen is left
/// out and named in `notices`.
pub(super) fn narrowed(
    owner: &Config,
    project: &Config,
    file: &str,
    notices: &mut Vec<String>,
) -> Config {
    let mut config = owner.clone();
    let mut ignored = |key: &str, reason: String| {
        notices.push(format!("`{key}` in `{file}` is ignored: {reason}"));
    };
    let mut smaller =
        |key: &str, holds: u64, wanted: Option<u64>, into: &mut Option<u64>| match wanted {
            Some(wanted) if wanted < holds => *into = Some(wanted),
            Some(wanted) if wanted > holds => {
                ignored(key, format!("{wanted} is more than {holds}"));
            }
            _ => {}
        };
    smaller(
        "runtime.result_budget",
        owner.runtime.result_budget(),
        project.runtime.result_budget,
        &mut config.runtime.result_budget,
    );
    smaller(
        "runtime.timeout_ms",
        owner.runtime.timeout_ms(),
        project.runtime.timeout_ms,
        &mut config.runtime.timeout_ms,
    );
    smaller(
        "runtime.max_timeout_ms",
        owner.runtime.max_timeout_ms(),
        project.runtime.max_timeout_ms,
        &mut config.runtime.max_timeout_ms,
    );
    smaller(
        "shell.max_output",
        owner.shell.max_output(),
        project.shell.max_output,
        &mut config.shell.max_output,
    );
    if let Some(reason) = extra(&project.files.roots, &owner.files.roots) {
        ignored("files.roots", reason);
    }
    let (ours, theirs) = (&owner.runtime, &project.runtime);
    if let Some(reason) = extra(&theirs.direct_modules, &ours.direct_modules) {
        ignored("runtime.direct_modules", reason);
    }
    if let Some(reason) = extra(&project.dev.skills, &owner.dev.skills) {
        ignored("dev.skills", reason);
    }
    let owners = || "it is the owner's to choose".to_owned();
    if theirs.tool_injection.is_some() && theirs.tool_injection != ours.tool_injection {
        ignored("runtime.tool_injection", owners());
    }
    if theirs.context_window.is_some() && theirs.context_window != ours.context_window {
        ignored("runtime.context_window", owners());
    }
    let (ours, theirs) = (&owner.shell, &project.shell);
    if theirs.login.is_some_and(|login| login != ours.login())
        || theirs
            .login_timeout_ms
            .is_some_and(|time| time != ours.login_timeout_ms())
    {
        ignored("shell.login", owners());
    }
    if project.workers != WorkersSection::default() && project.workers != owner.workers {
        ignored("workers", "it is the owner's to choose".to_owned());
    }
    for key in owners_own(project) {
        ignored(key, "what is kept is the owner's choice".to_owned());
    }
    if !project.mcp.servers.is_empty() {
        ignored("mcp.servers", "they start programs".to_owned());
    }
    if !project.mcp.allowed_hosts.is_empty() {
        ignored("mcp.allowed_hosts", owners());
    }
    config.isolation.level = isolated(&owner.isolation, &project.isolation, &mut ignored);
    refused_too(&mut config.tools, &project.tools);
    config
}

/// What the project refuses or asks about. Calls are judged by its layer; this is for whoever looks
/// at what holds.
fn refused_too(tools: &mut ToolsConfig, project: &ToolsConfig) {
    let lists = [
        (&mut tools.deny, &project.deny),
        (&mut tools.rules.deny, &project.rules.deny),
        (&mut tools.rules.ask, &project.rules.ask),
        (&mut tools.hooks.confirm, &project.hooks.confirm),
    ];
    for (into, from) in lists {
        let more = from.iter().filter(|one| !into.contains(one)).cloned();
        let more: Vec<String> = more.collect();
        into.extend(more);
    }
}

/// The stricter of two levels.
fn isolated(
    owner: &IsolationSection,
    project: &IsolationSection,
    ignored: &mut dyn FnMut(&str, String),
) -> Option<IsolationLevel> {
    if let Some(reason) = extra(&project.env_vars, &owner.env_vars) {
        ignored("isolation.envVars", reason);
    }
    if let Some(reason) = extra(&project.readable, &owner.readable) {
        ignored("isolation.readable", reason);
    }
    let weaker = |mode| !owner.without.contains(mode);
    if project.without.iter().any(weaker) {
        ignored("isolation.without", "it is more open".to_owned());
    }
    match project.level {
        Some(wanted) if wanted > owner.level() => return Some(wanted),
        Some(wanted) if wanted < owner.level() => {
            ignored("isolation.level", "it is more open".to_owned());
        }
        _ => {}
    }
    owner.level
}

/// What a list would add to the one that holds.
fn extra(wanted: &[String], held: &[String]) -> Option<String> {
    let new: Vec<String> = wanted
        .iter()
        .filter(|item| !held.contains(item))
        .map(|item| format!("`{}`", item.escape_debug()))
        .collect();
    (!new.is_empty()).then(|| format!("it adds {}", new.join(", ")))
}

/// Sections that a project file cannot set, and does.
fn owners_own(project: &Config) -> Vec<&'static str> {
    let given = [
        ("undo", project.undo != UndoSection::default()),
        ("results", project.results != ResultsSection::default()),
        ("journal", project.journal != JournalSection::default()),
    ];
    given
        .into_iter()
        .filter_map(|(key, given)| given.then_some(key))
        .collect()
}
