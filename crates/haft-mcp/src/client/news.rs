//! News of what a server offers. Since 2026-07-28 a server tells only those who listen.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, RoleClient, ServiceError};
use tokio::time::Instant;

use super::side::Shared;

/// First and longest pause before a server is listened to again that has stopped telling.
const PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Listen for as long as the server is there. What it cannot tell, nobody hears.
pub(super) async fn listen(peer: Peer<RoleClient>, shared: Arc<Shared>) {
    let Some(wanted) = wanted(&peer) else {
        return;
    };
    let mut pause = PAUSE;
    let mut missed = false;
    while !peer.is_transport_closed() {
        let since = Instant::now();
        match peer.listen(wanted.clone()).await {
            Ok(mut subscription) => {
                // What has changed while nobody listened, nobody has told.
                if missed {
                    shared.changed.notify_one();
                }
                while let Ok(Some(_)) = subscription.next().await {
                    shared.changed.notify_one();
                }
            }
            // It will not have it.
            Err(ServiceError::McpError(_)) => return,
            Err(_) => {}
        }
        missed = true;
        // One that ends each time must not keep us busy.
        if since.elapsed() >= LONGEST_PAUSE {
            pause = PAUSE;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// What a server can tell to those who listen; none where it tells everybody, or nothing.
fn wanted(peer: &Peer<RoleClient>) -> Option<SubscriptionFilter> {
    // Older ones tell everybody.
    let info = peer.peer_info();
    let info = info.filter(|info| !info.protocol_version.has_initialize())?;
    let has = &info.capabilities;
    let mut wanted = SubscriptionFilter::new();
    let tells = |list_changed: Option<bool>| list_changed.filter(|tells| *tells);
    wanted.tools_list_changed = has.tools.as_ref().and_then(|t| tells(t.list_changed));
    wanted.prompts_list_changed = has.prompts.as_ref().and_then(|p| tells(p.list_changed));
    wanted.resources_list_changed = has.resources.as_ref().and_then(|r| tells(r.list_changed));
    (wanted != SubscriptionFilter::new()).then_some(wanted)
}
