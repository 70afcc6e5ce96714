//! The figures: how good a ranking is, how long it took.

use rustix::time::{ClockId, clock_gettime};

/// Sums over queries; figures are means in percent.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) queries: usize,
    recall: [f64; 4],
    ndcg: f64,
    hit: f64,
    micros: Vec<f64>,
}

const DEPTHS: [usize; 4] = [1, 3, 5, 10];

impl Tally {
    /// Count one query's ranking, and its time where its words were not asked for before.
    pub(super) fn add(&mut self, ranked: &[String], relevant: &[String], micros: Option<f64>) {
        self.queries += 1;
        self.micros.extend(micros);
        if relevant.is_empty() {
            return;
        }
        let count = relevant.len() as f64;
        for (sum, depth) in self.recall.iter_mut().zip(DEPTHS) {
            let found = ranked
                .iter()
                .take(depth)
                .filter(|id| relevant.contains(id))
                .count();
            *sum += found as f64 / count;
        }
        self.ndcg += ndcg(ranked, relevant);
        self.hit += f64::from(u8::from(
            ranked.first().is_some_and(|id| relevant.contains(id)),
        ));
    }

    fn percent(&self, sum: f64) -> f64 {
        100.0 * sum / self.queries.max(1) as f64
    }

    /// Recall at 1, 3, 5 and 10.
    pub(super) fn recall(&self) -> [f64; 4] {
        self.recall.map(|sum| self.percent(sum))
    }

    pub(super) fn ndcg(&self) -> f64 {
        self.percent(self.ndcg)
    }

    pub(super) fn hit(&self) -> f64 {
        self.percent(self.hit)
    }

    /// The time that so large a share of the queries stayed under.
    pub(super) fn micros(&self, share: f64) -> f64 {
        let mut sorted = self.micros.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = (sorted.len() as f64 * share).ceil() as usize;
        sorted.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
    }
}

/// nDCG at 10: relevant tools count, and the earlier the more.
pub(super) fn ndcg<T: PartialEq>(ranked: &[T], relevant: &[T]) -> f64 {
    let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
    let have: f64 = ranked
        .iter()
        .take(10)
        .enumerate()
        .filter(|(_, id)| relevant.contains(id))
        .map(|(place, _)| gain(place))
        .sum();
    let ideal: f64 = (0..relevant.len().min(10)).map(gain).sum();
    if ideal > 0.0 { have / ideal } else { 0.0 }
}

/// Run something; its result and the CPU time of this thread in microseconds. Other processes on
/// the machine do not count.
pub(super) fn timed<T>(run: impl FnOnce() -> T) -> (T, f64) {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
    };
    let start = now();
    let result = run();
    (result, now() - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_by_hand() {
        let check = |ranked: &str, relevant: &str, want: &str| {
            let split = |text: &str| {
                text.split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            let mut tally = Tally::default();
            tally.add(&split(ranked), &split(relevant), Some(1.0));
            let [r1, r3, ..] = tally.recall();
            let have = format!("{r1:.1} {r3:.1} {:.1} {:.1}", tally.ndcg(), tally.hit());
            assert_eq!(have, want, "{ranked} / {relevant}");
        };
        check("a b c", "a", "100.0 100.0 100.0 100.0");
        check("b a c", "a", "0.0 100.0 63.1 0.0");
        check("a x b", "a b", "50.0 100.0 92.0 100.0");
        check("", "a", "0.0 0.0 0.0 0.0");
    }
}
