//! What one caller may see and call: a registry snapshot through scopes, filters and policy.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use haft_core::{Exposure, Source, ToolContext, ToolSpec, canonical_module, module_aliases};
use haft_policy::{Bound, Policy, Who};
use haft_search::Searcher;

use crate::definitions::{Definition, DefinitionCache, Form, Shown};
use crate::injection::{Decision, Injection, InjectionMode};
use crate::runtime::Revision;
use crate::{Definitions, Entry, Shape, Snapshot};

/// Which tools exist at all for a caller. Children add scopes to their parent's: they can only
/// narrow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Only these, where given: names, aliases, or `module.*`
    pub allowed: Option<Vec<String>>,
    /// Never these
    pub denied: Vec<String>,
}

/// A caller's choice among sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filters {
    /// Built-in tools must be listed here, by name or toolset, unless the list is empty
    pub toolset: Vec<String>,
    /// MCP servers whose tools are in; all of them when not given
    pub allowed_mcp_servers: Option<Vec<String>>,
    /// Plugins whose tools are in; all of them when not given
    pub allowed_plugins: Option<Vec<String>>,
}

/// A snapshot as one caller sees it. Policy is bound to a tool when the tool is first looked at.
pub struct View {
    revision: Revision,
    snapshot: Arc<Snapshot>,
    policy: Arc<Policy>,
    who: Who,
    scopes: Vec<Scope>,
    filters: Filters,
    bound: Box<[OnceLock<Arc<Bound>>]>,
    /// Positions of the tools that can be seen; it does not change while the view lives
    seen: OnceLock<Box<[usize]>>,
    /// The same by their actions, in lower case
    actions: OnceLock<HashMap<Box<str>, Vec<usize>>>,
    definitions: DefinitionCache,
    /// Made when it is first asked for, so that it holds from turn to turn
    decision: OnceLock<Decision>,
    /// Made at the first search
    searcher: OnceLock<Searcher>,
}

impl View {
    pub(crate) fn new(
        revision: Revision,
        snapshot: Arc<Snapshot>,
        policy: Arc<Policy>,
        who: Who,
        scopes: Vec<Scope>,
        filters: Filters,
    ) -> Self {
        let bound = snapshot.entries().iter().map(|_| OnceLock::new()).collect();
        let definitions = DefinitionCache::default();
        View {
            revision,
            snapshot,
            policy,
            who,
            scopes,
            filters,
            bound,
            seen: OnceLock::new(),
            actions: OnceLock::new(),
            definitions,
            decision: OnceLock::new(),
            searcher: OnceLock::new(),
        }
    }

    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn entry(&self, index: usize) -> &Arc<Entry> {
        &self.snapshot.entries()[index]
    }

    /// What policy says about this tool for this caller.
    pub(crate) fn bound(&self, index: usize) -> &Arc<Bound> {
        self.bound[index]
            .get_or_init(|| Arc::new(self.policy.bind(self.entry(index).spec(), &self.who)))
    }

    /// Why the tool does not exist for this caller, if so: scopes first, then filters.
    pub(crate) fn outside(&self, index: usize) -> Option<String> {
        let entry = self.entry(index);
        let name = &entry.spec().name;
        for scope in &self.scopes {
            if scope.denied.iter().any(|pattern| names(pattern, entry)) {
                return Some(format!("`{name}` is not permitted in this view"));
            }
            let listed =
                |allowed: &Vec<String>| allowed.iter().any(|pattern| names(pattern, entry));
            if scope
                .allowed
                .as_ref()
                .is_some_and(|allowed| !listed(allowed))
            {
                return Some(format!("`{name}` is not permitted in this view"));
            }
        }
        self.filtered(entry)
    }

    /// Whether a tool of a server that is not registered yet could be this caller's.
    pub(crate) fn admits(&self, spec: &ToolSpec) -> bool {
        let filtered = match (&spec.source, &self.filters.allowed_mcp_servers) {
            (Source::Mcp(server), Some(allowed)) => !allowed.contains(server),
            _ => false,
        };
        // Patterns are held against tools that are there; of this one only the kind is known.
        let for_servers = |pattern: &String| pattern.starts_with("mcp") || pattern == "*";
        let in_scope = self.scopes.iter().all(|scope| {
            let allowed = scope.allowed.as_ref();
            allowed.is_none_or(|allowed| allowed.iter().any(for_servers))
        });
        !filtered && in_scope && self.policy.bind(spec, &self.who).visible()
    }

    fn filtered(&self, entry: &Entry) -> Option<String> {
        let spec = entry.spec();
        let name = &spec.name;
        let out = |list: &Option<Vec<String>>, id: &String| {
            list.as_ref().is_some_and(|allowed| !allowed.contains(id))
        };
        match entry.source() {
            Source::Mcp(server) if out(&self.filters.allowed_mcp_servers, server) => Some(format!(
                "`{name}` is not permitted: MCP server `{server}` is filtered out"
            )),
            Source::Plugin(id) if out(&self.filters.allowed_plugins, id) => Some(format!(
                "`{name}` is not permitted: plugin `{id}` is filtered out"
            )),
            Source::Builtin if !spec.always_include && !self.filters.toolset.is_empty() => {
                let in_toolset =
                    |word: &String| spec.toolset.as_ref() == Some(word) || names(word, entry);
                (!self.filters.toolset.iter().any(in_toolset))
                    .then(|| format!("`{name}` is not permitted: it is not in the toolset"))
            }
            _ => None,
        }
    }

    /// The tools this caller can see, by position: in scope, through the filters, not denied.
    pub(crate) fn visible(&self) -> &[usize] {
        self.seen.get_or_init(|| {
            let sees =
                |index: &usize| self.outside(*index).is_none() && self.bound(*index).visible();
            (0..self.bound.len()).filter(sees).collect()
        })
    }

    /// The tools this caller can see.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.visible().iter().map(|&index| self.entry(index))
    }

    /// By any accepted name. What is no name may be an action: it then leads to the one tool that has
    /// it. Only tools that this caller can see count, so that others cannot be felt.
    pub fn resolve(&self, name: &str) -> Option<usize> {
        let named = self.snapshot.resolve(name);
        named.or_else(|| match self.with_action(name) {
            [only] => Some(*only),
            _ => None,
        })
    }

    /// The tools this caller can see that have this action, in upper or lower case.
    pub(crate) fn with_action(&self, action: &str) -> &[usize] {
        // No name has a space in it, and most of what is searched for has.
        if action.contains(char::is_whitespace) {
            return &[];
        }
        let actions = self.actions.get_or_init(|| {
            let mut actions: HashMap<Box<str>, Vec<usize>> = HashMap::new();
            for &index in self.visible() {
                let action = self.entry(index).spec().action().to_lowercase();
                actions.entry(action.into()).or_default().push(index);
            }
            actions
        });
        let found = actions.get(action.to_lowercase().as_str());
        found.map_or(&[], Vec::as_slice)
    }

    /// The search over the tools of this view.
    pub(crate) fn searcher(&self, make: impl FnOnce(&Arc<Snapshot>) -> Searcher) -> &Searcher {
        self.searcher.get_or_init(|| make(&self.snapshot))
    }

    /// How much of the tools a model is told, decided once.
    pub(crate) fn decision(&self, injection: &Injection, cx: &ToolContext) -> Decision {
        *self.decision.get_or_init(|| {
            let sizes = self
                .available(cx)
                .map(|index| self.entry(index))
                .filter(|entry| !entry.spec().exposure.is_meta())
                .map(|entry| Some(Definition::size(entry)));
            Decision::of(injection, sizes)
        })
    }

    /// The same without the numbers, where nothing has to be measured for it.
    pub(crate) fn mode(&self, injection: &Injection, cx: &ToolContext) -> InjectionMode {
        match (injection.forced, injection.context_window) {
            (Some(forced), _) => forced,
            (None, None) => InjectionMode::Direct,
            (None, Some(_)) => self.decision(injection, cx).mode,
        }
    }

    fn available(&self, cx: &ToolContext) -> impl Iterator<Item = usize> {
        let seen = self.visible().iter().copied();
        seen.filter(|&index| self.entry(index).unavailable(cx).is_none())
    }

    /// What a model is told: available tools, within toolset and filters, not denied; as much of
    /// them as was decided. `found` are the names of tools that were hidden and have been found:
    /// they stand behind all others, in the order given. The same object comes back until
    /// something changes.
    pub(crate) fn to_definitions(
        &self,
        shape: Shape,
        cx: &ToolContext,
        injection: &Injection,
        found: &[Arc<str>],
    ) -> Arc<Definitions> {
        let mode = self.mode(injection, cx);
        let form = |index: usize| self.form(index, mode, injection);
        let mut shown: Vec<Shown> = self
            .available(cx)
            .filter_map(|index| Some((index, form(index)?)))
            .collect();
        if mode == InjectionMode::Discovery {
            let decision = self.decision(injection, cx);
            let mut chars = 0;
            let places = found.iter().filter_map(|name| self.snapshot.resolve(name));
            for index in places.filter(|index| self.visible().binary_search(index).is_ok()) {
                let entry = self.entry(index);
                chars += Definition::size(entry);
                let new = shown.iter().all(|(other, _)| *other != index);
                if new && decision.has_room(chars) && entry.unavailable(cx).is_none() {
                    shown.push((index, Form::Full));
                }
            }
        }
        self.definitions.get(shape, shown, &self.snapshot)
    }

    /// How much of one tool a mode tells, if anything.
    fn form(&self, index: usize, mode: InjectionMode, injection: &Injection) -> Option<Form> {
        let spec = self.entry(index).spec();
        let direct = |module: &String| canonical_module(module) == spec.module;
        let domain = || match mode {
            _ if injection.direct_modules.iter().any(direct) => Some(Form::Full),
            InjectionMode::Direct => Some(Form::Full),
            InjectionMode::CompactDirect => Some(Form::Brief),
            InjectionMode::Discovery => None,
        };
        let whole = match mode {
            InjectionMode::Discovery => Form::Lean,
            _ => Form::Full,
        };
        let only = |shown: bool| (shown || injection.open_ended).then_some(whole);
        match spec.exposure {
            Exposure::Domain => domain(),
            Exposure::Direct => Some(Form::Full),
            Exposure::EveryMode => Some(whole),
            Exposure::WithoutSchemas => only(mode != InjectionMode::Direct),
            Exposure::WithoutTools => only(mode == InjectionMode::Discovery),
        }
    }

    /// Up to three names close to a wrong one, of tools this caller can see.
    pub(crate) fn near(&self, wrong: &str) -> Vec<String> {
        let wanted = wrong.to_lowercase();
        let limit = far(&wanted);
        let mut near: Vec<(usize, &str)> = self
            .snapshot
            .all_names()
            .filter(|(name, _)| name.len().abs_diff(wanted.len()) <= limit)
            .filter_map(|(name, index)| {
                let distance = strsim::osa_distance(&wanted, &name.to_lowercase());
                (distance <= limit && self.outside(index).is_none() && self.bound(index).visible())
                    .then(|| (distance, &*self.entry(index).spec().name))
            })
            .collect();
        near.sort_unstable();
        let mut names: Vec<String> = Vec::new();
        for (_, name) in near {
            if !names.iter().any(|seen| seen == name) {
                names.push(name.to_owned());
            }
        }
        names.truncate(3);
        names
    }

    /// Some tools of the module that a wrong name starts with.
    pub(crate) fn of_module(&self, wrong: &str) -> Vec<String> {
        let Some((module, _)) = wrong
            .split_once(['.', ':'])
            .or_else(|| wrong.split_once("__"))
        else {
            return Vec::new();
        };
        let module = canonical_module(module);
        self.tools()
            .filter(|entry| entry.spec().module == module)
            .take(5)
            .map(|entry| entry.spec().name.to_string())
            .collect()
    }
}

impl Snapshot {
    /// Words of a scope that mean no tool, a line each, with the nearest one that does.
    pub fn named_by_none<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let entries = self.entries();
        let means_none = |word: &&str| !entries.iter().any(|entry| names(word, entry));
        let modules = entries.iter().map(|entry| &entry.spec().module);
        let modules: BTreeSet<String> = modules.map(|module| format!("{module}.*")).collect();
        let told = |word: &str| {
            let known = self.all_names().map(|(name, _)| name);
            let known = known.chain(modules.iter().map(String::as_str));
            let near = known.map(|name| (strsim::osa_distance(word, name), name));
            match near.min().filter(|(distance, _)| *distance <= far(word)) {
                Some((_, name)) => format!("`{word}` names no tool; did you mean `{name}`?"),
                None => format!("`{word}` names no tool"),
            }
        };
        words.into_iter().filter(means_none).map(told).collect()
    }
}

/// How many letters of a word may be wrong for it to be a slip.
fn far(word: &str) -> usize {
    (word.chars().count() / 3).clamp(1, 3)
}

/// Whether a word of a scope or toolset means this tool: `*`, `module.*`, any of its names, or a
/// pattern as rules take it.
fn names(word: &str, entry: &Entry) -> bool {
    let spec = entry.spec();
    if word == "*" || word == &*spec.name || word == &**entry.api_name() {
        return true;
    }
    if let Some(prefix) = word.strip_suffix(".*") {
        let prefix = canonical_module(prefix);
        let rest = spec.name.strip_prefix(prefix);
        if rest.is_some_and(|rest| rest.starts_with('.')) {
            return true;
        }
    }
    if word.contains(['*', ':']) || word.starts_with("mcp") {
        return haft_policy::names_tool(word, spec);
    }
    spec.aliases.iter().any(|alias| alias == word)
        || module_aliases(&spec.module).any(|module| {
            word.strip_prefix(module)
                .and_then(|rest| rest.strip_prefix('.'))
                == Some(spec.action())
        })
}
