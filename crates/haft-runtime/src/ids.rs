//! Identifiers: ordered ones for calls, unguessable ones for approvals and markers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use uuid::{Builder, NoContext, Timestamp, Uuid};

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
    let mut text = [b'-'; 36];
    let (high, low) = id.as_u64_pair();
    let digits = [high >> 32, high, low >> 32, low].map(|half| hex(half as u32));
    for (place, from) in [
        (0, 0),
        (4, 4),
        (9, 8),
        (14, 12),
        (19, 16),
        (24, 20),
        (28, 24),
        (32, 28),
    ] {
        text[place..place + 4].copy_from_slice(&digits.as_flattened()[from..from + 4]);
    }
    Arc::from(str::from_utf8(&text).unwrap_or_default())
}

/// Eight digits at once: each gets a byte of a word, and those above nine move on to the letters.
fn hex(number: u32) -> [u8; 8] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut digits = u64::from(number);
    digits = (digits | digits << 16) & 0x0000_ffff_0000_ffff;
    digits = (digits | digits << 8) & 0x00ff_00ff_00ff_00ff;
    digits = (digits | digits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    let letters = (digits + 6 * ONES) >> 4 & ONES;
    let letter = u64::from(b'a' - b'0' - 10);
    (digits + u64::from(b'0') * ONES + letters * letter).to_be_bytes()
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
        // A clock before 1970 counts as 1970.
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or_default();
        let time = Timestamp::from_unix(NoContext, since.as_secs(), since.subsec_nanos());
        let (seed, step) = Uuid::new_v7(time).as_u64_pair();
        Seed {
            seed,
            step,
            epoch: (now, since.as_millis() as u64),
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
    let random = random()?;
    let digits = [96, 64, 32, 0].map(|above| hex((random >> above) as u32));
    Ok(String::from_utf8_lossy(digits.as_flattened()).into_owned())
}

/// A number from the system. Several are fetched at a time; each is given out once.
fn random() -> Result<u128, getrandom::Error> {
    static FETCHED: Mutex<Vec<u128>> = Mutex::new(Vec::new());
    let mut fetched = FETCHED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(random) = fetched.pop() {
        return Ok(random);
    }
    let mut bytes = [[0; 16]; 16];
    getrandom::fill(bytes.as_flattened_mut())?;
    let [random, others @ ..] = bytes.map(u128::from_ne_bytes);
    fetched.extend(others);
    Ok(random)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn secret_ids_are_32_digits_and_each_is_another() {
        let ids: HashSet<String> = (0..100).map(|_| secret_id().unwrap()).collect();
        assert_eq!(ids.len(), 100);
        let is_hex = |id: &String| id.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(ids.iter().all(|id| id.len() == 32 && is_hex(id)));
    }

    #[test]
    fn call_ids_are_uuids_in_order_of_time_and_each_is_another() {
        let now = Instant::now();
        let ids: Vec<Arc<str>> = (0..1_000).map(|_| call_id(now)).collect();
        for id in &ids {
            let read = Uuid::parse_str(id).unwrap();
            assert_eq!(
                (read.get_version_num(), read.to_string()),
                (7, id.to_string())
            );
        }
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
        let later = call_id(now + std::time::Duration::from_secs(1));
        assert!(ids.iter().all(|id| *id < later));
    }
}
