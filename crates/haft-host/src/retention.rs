//! How long haft keeps what it wrote down for itself. One rule for all of it: nothing older than an
//! age, nothing past a size, oldest first.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// So many things, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    pub count: u64,
    pub bytes: u64,
}

impl std::ops::AddAssign for Amount {
    fn add_assign(&mut self, more: Amount) {
        self.count += more.count;
        self.bytes += more.bytes;
    }
}

/// What may stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub age: Duration,
    /// Bytes of everything together
    pub bytes: u64,
}

/// How often it is looked whether something has to go.
const PAUSE: Duration = Duration::from_secs(6 * 60 * 60);

/// Its time of change tells when it was last looked.
const STAMP: &str = "haft.db.tidied";

/// How many of these may stay: times and sizes, newest first.
pub(crate) fn stay(
    items: impl IntoIterator<Item = (SystemTime, u64)>,
    limit: &Retention,
    now: SystemTime,
) -> usize {
    let mut bytes = 0u64;
    items
        .into_iter()
        .take_while(|(time, size)| {
            bytes = bytes.saturating_add(*size);
            let age = now.duration_since(*time).unwrap_or_default();
            age <= limit.age && bytes <= limit.bytes
        })
        .count()
}

/// Whether it is time to remove what is old. Says so once: others who come now leave it to the
/// first. `home` is haft's own folder.
pub fn tidy_is_due(home: &Path) -> io::Result<bool> {
    let now = SystemTime::now();
    let stamp = home.join(STAMP);
    let last = fs::metadata(&stamp).and_then(|found| found.modified());
    if last.is_ok_and(|time| now.duration_since(time).is_ok_and(|age| age < PAUSE)) {
        return Ok(false);
    }
    let file = File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&stamp)?;
    file.set_modified(now)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_young_and_fits_stays() {
        let now = SystemTime::now();
        let limit = Retention {
            age: Duration::from_secs(100),
            bytes: 10,
        };
        let check = |items: &[(u64, u64)], expected: usize| {
            let items = items
                .iter()
                .map(|(age, size)| (now - Duration::from_secs(*age), *size));
            assert_eq!(stay(items, &limit, now), expected);
        };
        check(&[], 0);
        check(&[(0, 10)], 1);
        check(&[(0, 11)], 0);
        check(&[(0, 4), (50, 6), (60, 1)], 2);
        check(&[(100, 1), (101, 1)], 1);
        check(&[(0, u64::MAX), (1, u64::MAX)], 0);
    }
}
