//! News of what a server offers. Since 2026-07-28 a server tells only those who listen.

use std::sync::Arc;

use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, RoleClient};

use super::side::Shared;

/// Listen for as long as the server tells. What it cannot tell, nobody hears.
pub(super) async fn listen(peer: Peer<RoleClient>, shared: Arc<Shared>) {
    let Some(info) = peer.peer_info() else {
        return;
    };
    // Older ones tell everybody.
    if info.protocol_version.has_initialize() {
        return;
    }
    let has = &info.capabilities;
    let mut wanted = SubscriptionFilter::new();
    let tells = |list_changed: Option<bool>| list_changed.filter(|tells| *tells);
    wanted.tools_list_changed = has.tools.as_ref().and_then(|t| tells(t.list_changed));
    wanted.prompts_list_changed = has.prompts.as_ref().and_then(|p| tells(p.list_changed));
    wanted.resources_list_changed = has.resources.as_ref().and_then(|r| tells(r.list_changed));
    if wanted == SubscriptionFilter::new() {
        return;
    }
    let Ok(mut subscription) = peer.listen(wanted).await else {
        return;
    };
    while let Ok(Some(_)) = subscription.next().await {
        shared.changed.notify_one();
    }
}
