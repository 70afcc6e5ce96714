//! When a worker may be started again after starts that failed: a pause that doubles, to thirty
//! seconds at most. One that starts makes good all failures before it.

use std::time::Duration;

use tokio::time::Instant;

const LONGEST: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Backoff {
    first: Duration,
    failures: u32,
    next: Instant,
    why: String,
}

impl Backoff {
    pub(super) fn new(first: Duration) -> Self {
        Backoff {
            first,
            failures: 0,
            next: Instant::now(),
            why: String::new(),
        }
    }

    /// The moment of the next try, and what the last one failed of.
    pub(super) fn next_try(&self) -> (Instant, String) {
        (self.next, self.why.clone())
    }

    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
        self.next = Instant::now();
    }

    pub(super) fn failed(&mut self, why: String) {
        self.next = Instant::now() + pause(self.first, self.failures);
        self.failures = self.failures.saturating_add(1);
        self.why = why;
    }
}

fn pause(first: Duration, failures_before: u32) -> Duration {
    first
        .saturating_mul(2u32.saturating_pow(failures_before))
        .min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_thirty_seconds() {
        let pauses: Vec<u64> = (0..8)
            .chain([u32::MAX])
            .map(|failures| pause(Duration::from_secs(1), failures).as_secs())
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30, 30, 30]);
    }

    #[test]
    fn a_start_makes_good_all_failures() {
        let mut backoff = Backoff::new(Duration::from_secs(1));
        assert!(backoff.next_try().0 <= Instant::now());
        let before = Instant::now();
        for _ in 0..3 {
            backoff.failed("no room".to_owned());
        }
        assert!(backoff.next_try().0 >= before + Duration::from_secs(4));
        assert_eq!(backoff.next_try().1, "no room");
        backoff.succeeded();
        assert!(backoff.next_try().0 <= Instant::now());
        let before = Instant::now();
        backoff.failed("no room".to_owned());
        assert!(backoff.next_try().0 < before + Duration::from_secs(2));
    }
}
