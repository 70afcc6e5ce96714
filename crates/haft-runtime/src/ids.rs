//! Identifiers: ordered ones for calls, unguessable ones for approvals and markers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use uuid::{Builder, Uuid};

/// A version 7 UUID. Unique, not secret: its random part is a counter mixed with a seed, so that
/// a call does not pay for the system's randomness; nor for a second look at the clock.
pub(crate) fn call_id(now: Instant) -> Arc<str> {
    static SEED: OnceLock<Seed> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let Seed { seed, step, epoch } = *SEED.get_or_init(|| Seed::new(now));
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mixed = mix(step ^ mix(seed.wrapping_add(count)));
    let mut random = [0; 10];
    random[..8].copy_from_slice(&mixed.to_le_bytes());
    random[8..].copy_from_slice(&(count as u16).to_le_bytes());
    let (start, millis) = epoch;
    let millis = millis + now.saturating_duration_since(start).as_millis() as u64;
    let id = Builder::from_unix_timestamp_millis(millis, &random).into_uuid();
    Arc::from(&*id.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
}

#[derive(Clone, Copy)]
struct Seed {
    seed: u64,
    step: u64,
    /// One moment by both clocks; ids go on from there, whatever happens to the wall's
    epoch: (Instant, u64),
}

impl Seed {
    fn new(now: Instant) -> Self {
        let (seed, step) = Uuid::now_v7().as_u64_pair();
        let millis = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_millis();
        Seed {
            seed,
            step,
            epoch: (now, millis as u64),
        }
    }
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// 128 random bits from the system, as hex.
pub(crate) fn secret_id() -> Result<String, getrandom::Error> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
