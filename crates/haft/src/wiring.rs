//! The one place where everything is wired: config read, powers made, policy compiled, tools
//! registered, a caller seated.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap_complete::CompletionCandidate;
use haft_core::{Caller, CancelToken, Identity, Module, Person, Powers, ResultStore};
use haft_host::{
    Attachments, ChangeFiles, EditFiles, EnvPolicy, FileResults, FilesConfig, FindFiles,
    KeptResults, ListFiles, ProcessConfig, ReadFiles, ReadGit, ReadSystem, RealPaths, RunProcesses,
    SearchText, Workspace, WriteFiles,
};
use haft_policy::{Layer, Places, Policy, Who};
use haft_runtime::{EventBus, Filters, RememberRule, Runtime, RuntimeConfig, Session};

use crate::cli::Seat;
use crate::config::{self, Loaded};
use crate::home::{self, Home};
use crate::remembered;
use crate::terminal::fail::Hinted;

/// First argument of the process that outlives us to end what we started.
pub(crate) const GUARDIAN: &str = "__guardian";

/// First argument of the process that shuts a command into its sandbox.
pub(crate) const LAUNCHER: &str = "__launch";

/// A runtime with a caller in it.
pub(crate) struct House {
    pub(crate) home: Home,
    pub(crate) loaded: Loaded,
    pub(crate) who: Who,
    pub(crate) runtime: Runtime,
    pub(crate) session: Session,
    pub(crate) events: EventBus,
    pub(crate) cancel: CancelToken,
}

/// What a command wants besides the seat.
#[derive(Default)]
pub(crate) struct Wants {
    pub(crate) person: Option<Arc<dyn Person>>,
    pub(crate) budget: Option<usize>,
}

impl House {
    pub(crate) fn open(seat: &Seat, wants: Wants) -> Result<House> {
        let home = Home::locate()?;
        let packs = haft_tools::packs();
        let modules: Vec<Module> = packs.iter().map(|pack| pack.module).collect();
        let loaded = config::load(&home, &workspace_of(seat.workspace.as_deref())?, &modules)?;
        let who = Who {
            agent: seat.agent.clone(),
            provider: seat.provider.clone(),
            identity: Identity::Agent,
            profile: seat.profile.clone(),
            autonomy: seat.autonomy,
        };
        let policy = compile(&loaded.layers, &loaded.workspace)?;
        policy.check_who(&who).map_err(Hinted::from)?;
        let runtime = Runtime::new(limits(&loaded, wants.budget), policy)
            .remembering(remember(&home, &loaded));
        runtime.install(&packs)?;
        let events = EventBus::new();
        let cancel = CancelToken::new();
        let caller = Caller {
            session: home::session_id(seat.session.as_deref(), &loaded.workspace)?.into(),
            agent: seat.agent.as_deref().map(Into::into),
            provider: seat.provider.as_deref().map(Into::into),
            identity: Identity::Agent,
            workspace: Arc::new(loaded.workspace.clone()),
            powers: Arc::new(Powers::none()),
            attachments: Arc::new([]),
            events: Arc::new(events.clone()),
            person: wants.person,
            paths: Arc::new(RealPaths),
            results: None,
            cancel: cancel.clone(),
        };
        let caller = empowered(caller, &home, &loaded)?;
        let session = runtime.session(caller, who.clone(), Filters::default());
        Ok(House {
            home,
            loaded,
            who,
            runtime,
            session,
            events,
            cancel,
        })
    }
}

/// The workspace a command means.
pub(crate) fn workspace_of(given: Option<&Path>) -> Result<PathBuf> {
    match given {
        Some(path) => Ok(path.to_owned()),
        None => std::env::current_dir().context("the current folder is gone"),
    }
}

fn limits(loaded: &Loaded, budget: Option<usize>) -> RuntimeConfig {
    let section = &loaded.effective.runtime;
    RuntimeConfig {
        result_budget: budget.unwrap_or(section.result_budget() as usize),
        timeout: Duration::from_millis(section.timeout_ms()),
        max_timeout: Some(Duration::from_millis(section.max_timeout_ms())),
        ..RuntimeConfig::default()
    }
}

fn compile(layers: &[Layer], workspace: &Path) -> Result<Policy, Hinted> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let places = Places {
        workspace: workspace.to_owned(),
        home,
    };
    Policy::compile(layers.to_vec(), places).map_err(Hinted::from)
}

/// Store an "always" rule and give the policy that includes it.
fn remember(home: &Home, loaded: &Loaded) -> RememberRule {
    let home = home.clone();
    let workspace = loaded.workspace.clone();
    let layers = loaded.layers.clone();
    Box::new(move |rule| {
        home.ensure().map_err(|error| error.to_string())?;
        remembered::add(&home, &workspace, rule).map_err(|error| error.to_string())?;
        let rules = remembered::Rules::read(&home).of(&workspace);
        let mut layers = layers.clone();
        for layer in &mut layers {
            layer.config.remembered = rules.clone();
        }
        compile(&layers, &workspace).map_err(|error| error.to_string())
    })
}

/// Every power this host has, for this workspace.
fn empowered(mut caller: Caller, home: &Home, loaded: &Loaded) -> Result<Caller> {
    let config = &loaded.effective;
    let workspace = Arc::new(Workspace::open(FilesConfig {
        workspace: loaded.workspace.clone(),
        roots: config.files.roots.iter().map(PathBuf::from).collect(),
        home: home.path().to_owned(),
    })?);
    let results = Arc::new(FileResults::new(home.path()));
    let processes = RunProcesses::new(
        ProcessConfig {
            max_output: config.shell.max_output(),
            max_timeout: Duration::from_millis(config.runtime.max_timeout_ms()),
            env: EnvPolicy {
                extra: config.isolation.env_vars.clone(),
            },
            guardian: std::env::current_exe()
                .ok()
                .map(|exe| vec![exe.into(), GUARDIAN.into()]),
            ..ProcessConfig::default()
        },
        workspace.clone(),
        Some(results.clone()),
    );
    let search = SearchText::new(workspace.clone(), Some(results.clone()));
    let store: Arc<dyn ResultStore> = results;
    let mut powers = Powers::none();
    powers.insert(ReadSystem::new(
        env!("CARGO_PKG_VERSION"),
        processes.shell().to_owned(),
    ));
    powers.insert(processes);
    powers.insert(ReadFiles::new(workspace.clone()));
    powers.insert(ListFiles::new(workspace.clone()));
    powers.insert(FindFiles::new(workspace.clone()));
    powers.insert(search);
    powers.insert(WriteFiles::new(workspace.clone()));
    powers.insert(EditFiles::new(workspace.clone()));
    powers.insert(ChangeFiles::new(workspace.clone()));
    powers.insert(ReadGit::new(workspace));
    powers.insert(KeptResults::new(store.clone()));
    powers.insert(Attachments);
    caller.powers = Arc::new(powers);
    caller.results = Some(store);
    Ok(caller)
}

/// The tool names that complete what is typed.
pub(crate) fn tool_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    haft_tools::packs()
        .iter()
        .flat_map(|pack| &pack.tools)
        .filter(|tool| tool.spec().name.starts_with(&*typed))
        .map(|tool| {
            let help = tool
                .spec()
                .description
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            CompletionCandidate::new(&*tool.spec().name).help(Some(help.into()))
        })
        .collect()
}
