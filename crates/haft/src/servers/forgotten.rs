//! What is known of servers that nobody has configured any more.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use haft_core::Module;
use haft_host::Amount;
use haft_store::Values;

use super::{FAILURE, MANIFEST, PLACE, all, identity};
use crate::config::{self, ConfigError};
use crate::home::Home;
use crate::recording::{Recording, failed};

/// How much is known of servers, and how much of that is of servers that are configured neither here
/// nor where they were last looked at from; unless this is a dry run it goes.
pub(crate) fn sweep(
    home: &Home,
    workspace: &Path,
    recording: &Recording,
    dry_run: bool,
) -> Result<(Amount, Amount)> {
    let peek = |kind: &str| Values::peek(home.path(), kind).map_err(failed);
    let places = peek(PLACE)?.into_iter();
    let places: HashMap<String, PathBuf> = places
        .filter_map(|(record, place)| Some((record, String::from_utf8(place).ok()?.into())))
        .collect();
    let mut configured = Configured::new(home);
    let (mut known, mut gone) = (Amount::default(), Amount::default());
    let mut forgotten = HashSet::new();
    for (record, bytes) in [peek(MANIFEST)?, peek(FAILURE)?].into_iter().flatten() {
        let amount = Amount {
            count: 1,
            bytes: bytes.len() as u64,
        };
        known += amount;
        let place = places.get(&record).map_or(workspace, PathBuf::as_path);
        if !configured.has(workspace, &record) && !configured.has(place, &record) {
            gone += amount;
            forgotten.insert(record);
        }
    }
    if !dry_run && !forgotten.is_empty() {
        let values = recording.values().map_err(failed)?;
        for kind in [MANIFEST, FAILURE, PLACE] {
            let forgotten = forgotten.clone();
            let removed = values.remove(kind, move |record, _| forgotten.contains(record));
            removed.wait().map_err(failed)?;
        }
    }
    Ok((known, gone))
}

/// The servers of workspaces.
struct Configured<'a> {
    home: &'a Home,
    modules: Vec<Module>,
    /// None where nobody can tell
    of: BTreeMap<PathBuf, Option<HashSet<String>>>,
}

impl<'a> Configured<'a> {
    fn new(home: &'a Home) -> Self {
        let packs = haft_tools::packs();
        Configured {
            home,
            modules: packs.iter().map(|pack| pack.module).collect(),
            of: BTreeMap::new(),
        }
    }

    /// Whether a server is configured in a workspace, as far as anybody can tell.
    fn has(&mut self, workspace: &Path, record: &str) -> bool {
        if !self.of.contains_key(workspace) {
            let found = self.look(workspace);
            self.of.insert(workspace.to_owned(), found);
        }
        match self.of.get(workspace) {
            Some(Some(records)) => records.contains(record),
            _ => true,
        }
    }

    fn look(&self, workspace: &Path) -> Option<HashSet<String>> {
        let mut loaded = match config::load(self.home, workspace, &self.modules) {
            Ok(loaded) => loaded,
            Err(ConfigError::Workspace { .. }) => return Some(HashSet::new()),
            Err(_) => return None,
        };
        let servers = all(self.home, &mut loaded).ok()?;
        // Of a file that waits for trust, or cannot be read, nobody knows what it will say.
        if !loaded.notices.is_empty() {
            return None;
        }
        let records = servers.iter().map(|(name, (server, from))| {
            let identity = identity(server, *from, &loaded.workspace);
            format!("{name}#{identity}")
        });
        Some(records.collect())
    }
}
