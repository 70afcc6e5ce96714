//! The one place where everything is wired: config read, powers made, policy compiled, tools
//! registered, a caller seated.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anyhow::{Context, Result};
use haft_core::{
    CallApps, Caller, CancelToken, Identity, Module, Person, Powers, ResultStore, canonical_module,
};
use haft_host::{
    Attachments, Checkpoints, EnvPolicy, FileResults, FilesConfig, KeptResults, Limits,
    LoginConfig, OpenPaths, Outlet, ProcessConfig, ReadSystem, RealPaths, RunProcesses, Sandbox,
    SearchText, WorkersConfig, Workspace,
};
use haft_mcp::{Browser, Fleet, Hands};
use haft_policy::{Layer, Places, Policy, PolicyError, Who};
use haft_runtime::{
    Entry, EventBus, Filters, IndexStore, Injection, RememberRule, Runtime, RuntimeConfig, Session,
};
use haft_tools::{Memory, Reach, ReadJournal};
use serde_json::Value;

use crate::cli::Seat;
use crate::config::{self, Config, IsolationLevel, Loaded};
use crate::filing;
use crate::home::{self, Home};
use crate::kept::{Kept, Listed, Seen};
use crate::recording::Recording;
use crate::remembered::{self, Rules};
use crate::servers;
use crate::skills::{self, Skill};
use crate::terminal::fail::{Failed, Hinted, Usage};

/// First argument of the process that outlives us to end what we started.
pub(crate) const GUARDIAN: &str = "__guardian";
/// First argument of a command on its way out of our session.
pub(crate) const SESSION: &str = "__session";

/// First argument of a process that does a part of a call for us.
pub(crate) const WORKER: &str = "__worker";

/// Where the environment of a login shell is kept between runs.
const LOGIN: &str = "login";

/// First argument of a command whose changes are noted.
pub(crate) const WATCHED: &str = "__watched";

/// First argument of the process that shuts a command into its sandbox.
pub(crate) const LAUNCHER: &str = "__launch";

/// The search index in haft's home; beyond this size something is wrong with it.
const INDEX: &str = "tools.index";
const LARGEST_INDEX: u64 = 512 << 20;

/// The module whose tools are shown wherever the config speaks of it.
const MEMORY: &str = "memory";

/// A runtime with a caller in it.
pub(crate) struct House {
    pub(crate) home: Home,
    pub(crate) loaded: Loaded,
    pub(crate) who: Who,
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) session: Session,
    pub(crate) events: EventBus,
    pub(crate) cancel: CancelToken,
    pub(crate) processes: RunProcesses,
    pub(crate) skills: Vec<Skill>,
    pub(crate) recording: Arc<Recording>,
}

/// What a command wants besides the seat.
#[derive(Default)]
pub(crate) struct Wants {
    pub(crate) person: Option<Arc<dyn Person>>,
    pub(crate) budget: Option<usize>,
    /// It is about to make calls, which are written down
    pub(crate) calls: bool,
    /// Where a search may print while it goes on
    pub(crate) outlet: Option<Outlet>,
    /// There is a later call that can ask about what an earlier one left running
    pub(crate) background: bool,
    /// What is said here about showing tools goes before the config
    pub(crate) injection: Injection,
    /// Shows pages at which to log in to MCP servers
    pub(crate) browser: Option<Arc<dyn Browser>>,
}

impl House {
    // Long because everything comes together here, one line a part.
    pub(crate) fn open(seat: &Seat, wants: Wants) -> Result<House> {
        let home = Home::locate()?;
        let recording = Arc::new(Recording::new(&home));
        if wants.calls {
            // It opens beside us, and most of what follows does not need it.
            recording.begin_existing();
        }
        let packs = haft_tools::packs();
        let modules: Vec<Module> = packs.iter().map(|pack| pack.module).collect();
        let workspace = workspace_of(seat.workspace.as_deref())?;
        let loaded = config::load_files(&home, &workspace, &modules)?;
        let events = EventBus::new();
        let cancel = CancelToken::new();
        let caller = Caller {
            session: home::session_id(seat.session.as_deref(), &loaded.workspace)
                .map_err(|error| Usage(error.to_string()))?
                .into(),
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
        let (caller, processes) = empowered(
            caller,
            &home,
            &loaded,
            &recording,
            wants.outlet,
            wants.background,
        )?;
        let who = Who {
            agent: seat.agent.clone(),
            provider: seat.provider.clone(),
            identity: Identity::Agent,
            profile: seat.profile.clone(),
            autonomy: seat.autonomy,
        };
        let mut loaded = loaded.remembering(Rules::read_in(&home, &recording));
        let policy = compile(&loaded.layers, &loaded.workspace, &home)
            .map_err(|error| error.placed(|word| loaded.place_of_word(word)))?;
        policy
            .check_who(&who)
            .map_err(|error| Usage(told(&error)))?;
        let runtime = Runtime::new(limits(&loaded, wants.budget), policy)
            .remembering(remember(&home, &loaded, &recording))
            .recording(recording.clone())
            .keeping_index(index_store(&home));
        let runtime = Arc::new(runtime);
        runtime.install(&packs)?;
        check_actions(&runtime, &loaded.layers)?;
        loaded.notices.extend(names_of_nothing(&runtime));
        let hands = Hands {
            processes: processes.clone(),
            records: Arc::new(
                servers::Kept::new(&home, recording.clone())
                    .seen_from(&loaded.workspace)
                    .anew(wants.browser.is_some()),
            ),
            browser: wants.browser,
        };
        let fleet = Arc::new(gathered(&home, &mut loaded, &runtime, &hands));
        let (caller, skills) = skills::handed_to(caller, &runtime, &home, &loaded)?;
        let asked = Injection {
            open_ended: !fleet.unknown().is_empty(),
            ..wants.injection
        };
        let session = runtime.enter(haft_runtime::Seat {
            caller,
            who: who.clone(),
            filters: Filters::default(),
            injection: injection(asked, seat, &mut loaded, &runtime),
            background: wants.background,
        });
        Ok(House {
            home,
            loaded,
            who,
            runtime,
            fleet,
            session,
            events,
            cancel,
            processes,
            recording,
            skills,
        })
    }
}

impl House {
    /// Whether policy would take this rule as a remembered one.
    pub(crate) fn check_rule(&self, rule: &str) -> Result<(), Hinted> {
        let mut layers = self.loaded.layers.clone();
        for layer in &mut layers {
            layer.config.remembered.push(rule.to_owned());
        }
        compile(&layers, &self.loaded.workspace, &self.home).map(|_| ())
    }
}

/// The servers of others, with what is known of their tools.
fn gathered(home: &Home, loaded: &mut Loaded, runtime: &Arc<Runtime>, hands: &Hands) -> Fleet {
    let specs = servers::ready(home, loaded);
    let fleet = Fleet::gather(specs, runtime, hands);
    for server in fleet.unknown() {
        loaded.notices.push(format!(
            "nobody has looked at the MCP server `{server}` yet: run `haft mcp test {server}`"
        ));
    }
    fleet
}

/// The policy with the rules that are remembered by now.
pub(crate) fn current_policy(
    home: &Home,
    loaded: &Loaded,
) -> impl Fn() -> Result<Policy, String> + Send + Sync + use<> {
    let home = home.clone();
    let workspace = loaded.workspace.clone();
    let layers = loaded.layers.clone();
    move || {
        let rules = Rules::read(&home).of(&workspace);
        let mut layers = layers.clone();
        for layer in &mut layers {
            layer.config.remembered = rules.clone();
        }
        compile(&layers, &workspace, &home).map_err(|error| error.to_string())
    }
}

/// Patterns of the config that name no tool: a typo in a deny would protect nothing.
fn names_of_nothing(runtime: &Runtime) -> Vec<String> {
    let snapshot = runtime.registry().snapshot();
    let specs = snapshot.entries().iter().map(|entry| entry.spec());
    runtime.policy().name_nothing(specs)
}

/// A constraint on an action that does not exist would bind nothing: the name must be known.
fn check_actions(runtime: &Runtime, layers: &[Layer]) -> Result<(), Failed> {
    let snapshot = runtime.registry().snapshot();
    for (layer, (key, module)) in layers
        .iter()
        .flat_map(|layer| layer.config.tools.modules.iter().map(move |m| (layer, m)))
    {
        let name = canonical_module(key);
        let actions: Vec<&str> = snapshot
            .entries()
            .iter()
            .map(|entry| entry.spec())
            .filter(|spec| spec.module == name)
            .map(|spec| spec.action())
            .collect();
        for list in ["allowed_actions", "blocked_actions"] {
            let given = module.constraints.0.get(list).and_then(Value::as_array);
            let wrong = given
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .find(|action| snapshot.resolve(&format!("{name}.{action}")).is_none());
            if let Some(action) = wrong {
                return Err(Failed {
                    message: format!(
                        "unknown action in `tools.modules.{key}.constraints.{list}` ({}): `{action}`",
                        layer.from
                    ),
                    hint: Some(format!("`{name}` has {}", actions.join(", "))),
                });
            }
        }
    }
    Ok(())
}

/// The workspace a command means.
pub(crate) fn workspace_of(given: Option<&Path>) -> Result<PathBuf> {
    match given {
        Some(path) if !path.is_dir() => {
            Err(Usage(format!("not a folder: `{}`", path.display())).into())
        }
        Some(path) => Ok(path.to_owned()),
        None => std::env::current_dir().context("the current folder is gone"),
    }
}

fn told(error: &PolicyError) -> String {
    match &error.hint {
        Some(hint) => format!("{}, {hint}", error.message),
        None => error.message.clone(),
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

pub(crate) fn compile(layers: &[Layer], workspace: &Path, home: &Home) -> Result<Policy, Hinted> {
    let state = home.path();
    let real = state.canonicalize().unwrap_or_else(|_| state.to_owned());
    let own = [state.to_owned(), real]
        .into_iter()
        .chain(config::paths(home, workspace));
    let places = Places {
        workspace: workspace.to_owned(),
        home: std::env::var_os("HOME").map(PathBuf::from),
        own: own.collect(),
    };
    Policy::compile(layers.to_vec(), places).map_err(Hinted::from)
}

/// Store an "always" rule and give the policy that includes it.
fn remember(home: &Home, loaded: &Loaded, recording: &Arc<Recording>) -> RememberRule {
    let current = current_policy(home, loaded);
    let recording = recording.clone();
    let workspace = loaded.workspace.clone();
    Box::new(move |rule| {
        remembered::add(&recording, &workspace, rule).map_err(|error| error.to_string())?;
        current()
    })
}

/// How much of the tools models are shown: as asked for, or as the config has it. A direct module
/// without tools is named.
fn injection(asked: Injection, seat: &Seat, loaded: &mut Loaded, runtime: &Runtime) -> Injection {
    let config = &loaded.effective;
    let snapshot = runtime.registry().snapshot();
    for module in &config.runtime.direct_modules {
        let wanted = canonical_module(module);
        let has_tools = |entry: &Arc<Entry>| entry.spec().module == wanted;
        if !snapshot.entries().iter().any(has_tools) {
            let notice = format!("no tools in the module `{module}` of `runtime.direct_modules`");
            loaded.notices.push(notice);
        }
    }
    let mut direct_modules = [asked.direct_modules, config.runtime.direct_modules.clone()].concat();
    // Who has set memory up wants it used: its tools are not left to be found.
    let modules = config.tools.modules.keys();
    direct_modules.extend(
        modules
            .filter(|name| canonical_module(name) == MEMORY)
            .cloned(),
    );
    let window = || config.context_window(seat.agent.as_deref(), seat.provider.as_deref());
    let forced = || config.runtime.tool_injection.map(Into::into);
    Injection {
        context_window: asked.context_window.or_else(window),
        forced: asked.forced.or_else(forced),
        direct_modules,
        open_ended: asked.open_ended,
    }
}

/// The search index stays between runs, so that tools are not embedded again. A store that fails
/// costs time, not the search.
fn index_store(home: &Home) -> IndexStore {
    let (from, to) = (home.clone(), home.clone());
    IndexStore {
        load: Box::new(move || from.read(INDEX, LARGEST_INDEX).ok().flatten()),
        save: Box::new(move |bytes| {
            let _ = to.write(INDEX, bytes);
        }),
    }
}

/// Every power this host has, for this workspace.
fn empowered(
    mut caller: Caller,
    home: &Home,
    loaded: &Loaded,
    recording: &Arc<Recording>,
    outlet: Option<Outlet>,
    background: bool,
) -> Result<(Caller, RunProcesses)> {
    let config = &loaded.effective;
    let workspace = Workspace::open(FilesConfig {
        workspace: loaded.workspace.clone(),
        roots: config.files.roots.iter().map(PathBuf::from).collect(),
        home: home.path().to_owned(),
    })?;
    let workspace = workspace.remembering(Arc::new(Seen::new(recording.clone())));
    let workspace = Arc::new(match config.undo.enabled() {
        true => {
            let checkpoints = Checkpoints::new(home.path(), config.undo.limits());
            workspace.keeping(checkpoints.listed_in(Arc::new(Listed(recording.clone()))))
        }
        false => workspace,
    });
    let results = Arc::new(FileResults::new(home.path()));
    let processes = RunProcesses::new(
        ProcessConfig {
            max_output: config.shell.max_output(),
            max_timeout: Duration::from_millis(config.runtime.max_timeout_ms()),
            env: EnvPolicy {
                extra: config.isolation.env_vars.clone(),
            },
            login: config.shell.login().then(|| LoginConfig {
                folder: Some(home.path().join(LOGIN)),
                deadline: Duration::from_millis(config.shell.login_timeout_ms()),
            }),
            guardian: ourselves(GUARDIAN),
            sandbox: Some(sandbox(home, config)),
            session: ourselves(SESSION),
            watched: ourselves(WATCHED).filter(|_| config.undo.enabled()),
            background,
            workers: workers(config),
            ..ProcessConfig::default()
        },
        workspace.clone(),
        Some(results.clone()),
    );
    let mut search = SearchText::new(workspace.clone(), Some(results.clone()));
    if let Some(outlet) = outlet {
        search = search.pouring(outlet);
    }
    let store: Arc<dyn ResultStore> = Arc::new(Kept {
        coming_in: results,
        recording: recording.clone(),
    });
    let mut powers = Powers::none();
    powers.insert(ReadSystem::new(
        env!("CARGO_PKG_VERSION"),
        processes.shell().to_owned(),
    ));
    powers.insert(processes.clone());
    let level = config.isolation.level();
    filing::empower(&mut powers, level, workspace, search, &processes);
    powers.insert(KeptResults::new(store.clone()));
    powers.insert(Attachments);
    powers.insert(CallApps::default());
    lasting(&mut powers, recording, config);
    caller.powers = Arc::new(powers);
    caller.results = Some(store);
    if !config.isolation.holds().level.is_enforced() {
        caller.paths = Arc::new(OpenPaths);
    }
    Ok((caller, processes))
}

/// What lasts, and how far that reaches by the isolation.
fn lasting(powers: &mut Powers, recording: &Arc<Recording>, config: &Config) {
    let reach = match config.isolation.level() {
        IsolationLevel::Shared => Reach::All,
        IsolationLevel::Scoped | IsolationLevel::Sandboxed => Reach::Own,
        IsolationLevel::AirGapped => Reach::Nothing,
    };
    let (notes, journal) = (recording.clone(), recording.clone());
    let open_notes = move || Ok(notes.journal()?.store().clone());
    let open_journal = move || journal.journal().cloned();
    powers.insert(Memory::new(Arc::new(open_notes), reach));
    powers.insert(ReadJournal::new(Arc::new(open_journal), reach));
}

/// How commands are shut in, and where they are tried out. Without the path of our own program
/// there is no way in, and commands that have to be shut in are refused.
fn sandbox(home: &Home, config: &Config) -> Sandbox {
    Sandbox {
        launcher: ourselves(LAUNCHER).unwrap_or_default(),
        isolation: config.isolation.holds(),
        state: home.path().to_owned(),
        home: std::env::var_os("HOME").map(PathBuf::from),
        roots: config.files.roots.iter().map(PathBuf::from).collect(),
        readable: config
            .isolation
            .readable
            .iter()
            .map(PathBuf::from)
            .collect(),
        limits: Limits::default(),
    }
}

/// Without the path of our own program no worker starts, and what they should do is refused.
fn workers(config: &Config) -> Option<WorkersConfig> {
    let section = &config.workers;
    section.enabled().then(|| WorkersConfig {
        count: section.count() as usize,
        memory: section.memory_mb() << 20,
        // Our allocator takes memory in large pieces ahead of need, and from a reserve of its own
        // goes on without those that the kernel refuses.
        variables: ["MIMALLOC_ARENA_RESERVE", "MIMALLOC_EAGER_COMMIT"]
            .map(|name| (name.into(), "0".into()))
            .into(),
        ..WorkersConfig::new(ourselves(WORKER).unwrap_or_default())
    })
}

/// Our own program in one of its hidden modes.
pub(crate) fn ourselves(mode: &str) -> Option<Vec<OsString>> {
    static EXE: LazyLock<Option<PathBuf>> = LazyLock::new(|| std::env::current_exe().ok());
    let exe = EXE.as_ref()?;
    Some(vec![exe.into(), mode.into()])
}
