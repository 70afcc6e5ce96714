//! Names for commands that go on beside their call.

use std::time::{SystemTime, UNIX_EPOCH};

use uuid::{NoContext, Timestamp, Uuid};

/// A version 7 UUID. A clock before 1970 counts as 1970.
pub(crate) fn fresh() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default();
    let time = Timestamp::from_unix(NoContext, since.as_secs(), since.subsec_nanos());
    Uuid::new_v7(time).to_string()
}
