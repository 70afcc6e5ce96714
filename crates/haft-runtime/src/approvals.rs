//! Approvals as records on our side: a question has an unguessable id, and a yes is bound to a
//! digest of exactly the call it was given for. It counts once, until it expires. Nothing in a
//! call's arguments can stand in for it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blake3::Hash;
use haft_core::{Access, Effects, Mode, Resource, ToolContext};
use haft_policy::Policy;
use serde_json::Value;
use thiserror::Error;

use crate::ids;

pub(crate) struct Approvals {
    lifetime: Duration,
    records: Mutex<HashMap<String, Record>>,
}

struct Record {
    digest: Hash,
    expires: Instant,
    granted: bool,
}

/// A granted approval, by id.
pub(crate) struct Approval(pub(crate) String);

/// An approval that was used up: the call may run while the files it is about hold this.
pub(crate) struct Approved(pub(crate) String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum ApprovalError {
    #[error("no such approval")]
    Unknown,
    #[error("the approval has expired")]
    Expired,
    #[error("it was not granted")]
    NotGranted,
    #[error("the call, or a file that it is about, is no longer what was approved")]
    Changed,
}

impl Approvals {
    pub(crate) fn new(lifetime: Duration) -> Self {
        Approvals {
            lifetime,
            records: Mutex::default(),
        }
    }

    pub(crate) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// Open a question about a call; the id names it.
    pub(crate) fn open(&self, digest: Hash) -> Result<String, getrandom::Error> {
        let id = ids::secret_id()?;
        let now = Instant::now();
        let mut records = self.lock();
        records.retain(|_, record| record.expires > now);
        records.insert(
            id.clone(),
            Record {
                digest,
                expires: now + self.lifetime,
                granted: false,
            },
        );
        Ok(id)
    }

    pub(crate) fn grant(&self, id: &str) {
        if let Some(record) = self.lock().get_mut(id) {
            record.granted = true;
        }
    }

    /// Use an approval up, at launch. Whatever the answer, it is gone afterwards.
    pub(crate) fn consume(&self, id: &str, digest: Hash) -> Result<(), ApprovalError> {
        let record = self.lock().remove(id).ok_or(ApprovalError::Unknown)?;
        if record.expires <= Instant::now() {
            Err(ApprovalError::Expired)
        } else if !record.granted {
            Err(ApprovalError::NotGranted)
        } else if record.digest != digest {
            Err(ApprovalError::Changed)
        } else {
            Ok(())
        }
    }

    /// Close a question that was answered with no.
    pub(crate) fn close(&self, id: &str) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everything an approval is bound to: who asks, the tool, its arguments, what it resolves to on
/// this machine (paths, folder, environment, executable, and what the files hold that it is
/// about), and the policy it was judged by.
pub(crate) fn digest(
    cx: &ToolContext,
    args: &Value,
    effects: &Effects,
    contents: &str,
    policy: &Policy,
) -> Hash {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    let caller = &cx.caller;
    part(&caller.session);
    part(caller.agent.as_deref().unwrap_or_default());
    part(caller.provider.as_deref().unwrap_or_default());
    part(&format!("{:?}", caller.identity));
    part(&cx.tool);
    part(&args.to_string());
    part(&format!("{:?}", caller.workspace));
    part(&format!("{effects:?}"));
    part(contents);
    part(policy.revision());
    hasher.finalize()
}

/// What the files hold that a yes is about: those that the call changes, whose difference a person
/// was shown, and programs of the workspace that it runs.
pub(crate) fn contents(cx: &ToolContext, effects: &Effects, policy: &Policy) -> String {
    let caller = &cx.caller;
    let resolve = |cwd: &Path, path: &str| caller.paths.resolve(cwd, path);
    let mut files = policy.own_programs(effects, &resolve);
    let changes = |access: &Access| access.mode == Mode::Write;
    if effects.accesses.iter().any(changes) {
        files.extend(effects.accesses.iter().filter_map(file));
    }
    match files.is_empty() {
        true => String::new(),
        false => caller.paths.contents(&files),
    }
}

fn file(access: &Access) -> Option<PathBuf> {
    match &access.resource {
        Resource::File(path) => Some(path.clone()),
        Resource::Tree(_) | Resource::Uri(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_counts_once_and_only_for_its_call() {
        let hash = |text: &str| blake3::hash(text.as_bytes());
        let approvals = Approvals::new(Duration::from_secs(60));
        let open = |granted: bool| {
            let id = approvals.open(hash("a")).unwrap();
            if granted {
                approvals.grant(&id);
            }
            id
        };
        let id = open(true);
        assert_eq!(approvals.consume(&id, hash("a")), Ok(()));
        assert_eq!(
            approvals.consume(&id, hash("a")),
            Err(ApprovalError::Unknown)
        );
        assert_eq!(
            approvals.consume(&open(false), hash("a")),
            Err(ApprovalError::NotGranted)
        );
        let id = open(true);
        assert_eq!(
            approvals.consume(&id, hash("b")),
            Err(ApprovalError::Changed)
        );
        assert_eq!(
            approvals.consume(&id, hash("a")),
            Err(ApprovalError::Unknown)
        );
        let hasty = Approvals::new(Duration::ZERO);
        let id = hasty.open(hash("a")).unwrap();
        hasty.grant(&id);
        assert_eq!(hasty.consume(&id, hash("a")), Err(ApprovalError::Expired));
    }
}
