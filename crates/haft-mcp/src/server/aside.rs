//! Requests that wait for their client to come back with answers. Nobody drives them meanwhile;
//! one whose client stays away is cancelled.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use haft_core::{BoxFuture, CancelToken};

use super::asker::Asker;
use super::seal::LIFETIME;
use crate::wire::Reply;

/// Requests that may wait at once.
const CAPACITY: usize = 256;

/// A request with the work that is under way for it.
pub(super) struct Waiting {
    pub(super) work: BoxFuture<'static, Reply>,
    pub(super) asker: Arc<Asker>,
    pub(super) cancel: CancelToken,
}

#[derive(Default)]
pub(super) struct Aside {
    requests: Mutex<HashMap<[u8; 16], (Instant, Waiting)>>,
}

impl Aside {
    pub(super) fn put(&self, nonce: [u8; 16], waiting: Waiting) {
        let now = Instant::now();
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.retain(|_, (until, waiting)| {
            let stays = *until > now;
            if !stays {
                waiting.cancel.cancel();
            }
            stays
        });
        while requests.len() >= CAPACITY {
            let oldest = requests
                .iter()
                .min_by_key(|(_, (until, _))| *until)
                .map(|(nonce, _)| *nonce);
            let Some((_, waiting)) = oldest.and_then(|nonce| requests.remove(&nonce)) else {
                break;
            };
            waiting.cancel.cancel();
        }
        requests.insert(nonce, (now + LIFETIME, waiting));
    }

    pub(super) fn take(&self, nonce: &[u8; 16]) -> Option<Waiting> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.remove(nonce).map(|(_, waiting)| waiting)
    }
}
