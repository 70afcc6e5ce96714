//! Rounds and what becomes of them. The minimum tells what the code can do, the median what it
//! usually does. Ratios are taken within a round, where all sides saw the same machine, and the
//! median of those is held against the bars.

use anyhow::{Result, bail};

use super::side::Side;

/// Rounds that do not count: a peer that compiles while it runs needs a few to come to speed.
pub(crate) const WARM_UP: usize = 3;

/// One round of one side, per call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    pub(crate) wall_ns: f64,
    pub(crate) cpu_ns: Option<f64>,
}

/// What a row must hold. Ours is the first side.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bar {
    /// At most this many times the named peer
    pub(crate) ratio: Option<f64>,
    /// The same for CPU time
    pub(crate) cpu_ratio: Option<f64>,
    /// Never above this
    pub(crate) wall_ns: Option<f64>,
    /// Never above this much memory; the figures of the row are bytes then, and no times
    pub(crate) bytes: Option<f64>,
}

/// A question put to several sides in turn.
pub(crate) struct Row {
    pub(crate) name: String,
    /// Ours first
    pub(crate) sides: Vec<Box<dyn Side>>,
    /// The side that ratios refer to
    pub(crate) peer: String,
    pub(crate) bar: Bar,
}

impl Row {
    /// Take its rounds. A row that cannot be taken has failed, and the others go on.
    pub(crate) fn measure(mut self, rounds: usize) -> RowResult {
        let mut series: Vec<Vec<Sample>> = vec![Vec::new(); self.sides.len()];
        let failed = self.rounds(rounds, &mut series).err();
        let sides = self
            .sides
            .iter()
            .zip(series)
            .map(|(side, samples)| SideResult {
                name: side.name().to_owned(),
                version: side.version().to_owned(),
                wall: Spread::of(samples.iter().map(|sample| sample.wall_ns)),
                cpu: samples
                    .iter()
                    .map(|sample| sample.cpu_ns)
                    .collect::<Option<Vec<f64>>>()
                    .map(|samples| Spread::of(samples.into_iter())),
                samples,
            })
            .collect();
        RowResult {
            name: self.name,
            sides,
            peer: self.peer,
            bar: self.bar,
            failed: failed.map(|error| format!("{error:#}")),
        }
    }

    /// A few rounds each to warm up, then the rounds that count.
    fn rounds(&mut self, rounds: usize, series: &mut [Vec<Sample>]) -> Result<()> {
        if !self.sides.iter().any(|side| side.name() == self.peer) {
            bail!("there is no side called `{}`", self.peer);
        }
        for round in 0..WARM_UP + rounds {
            for (side, samples) in self.sides.iter_mut().zip(&mut *series) {
                let sample = side.round()?;
                if round >= WARM_UP {
                    samples.push(sample);
                }
            }
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
}

impl Spread {
    fn of(samples: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = samples.collect();
        sorted.sort_by(f64::total_cmp);
        let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
        let middle = sorted.len() / 2;
        let median = if sorted.len().is_multiple_of(2) {
            f64::midpoint(at(middle.wrapping_sub(1)), at(middle))
        } else {
            at(middle)
        };
        Spread { min: at(0), median }
    }
}

#[derive(Debug)]
pub(crate) struct SideResult {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) wall: Spread,
    pub(crate) cpu: Option<Spread>,
    /// Round by round
    samples: Vec<Sample>,
}

#[derive(Debug)]
pub(crate) struct RowResult {
    pub(crate) name: String,
    pub(crate) sides: Vec<SideResult>,
    pub(crate) peer: String,
    pub(crate) bar: Bar,
    /// Why there are no figures, or not all
    pub(crate) failed: Option<String>,
}

impl RowResult {
    /// What a side takes as a multiple of the peer's, in the median round.
    pub(crate) fn ratio(&self, side: &SideResult) -> f64 {
        self.ratio_of(side, |sample| Some(sample.wall_ns))
    }

    /// The same for CPU time.
    pub(crate) fn cpu_ratio(&self, side: &SideResult) -> f64 {
        self.ratio_of(side, |sample| sample.cpu_ns)
    }

    fn ratio_of(&self, side: &SideResult, figure: impl Fn(&Sample) -> Option<f64>) -> f64 {
        let peer = self.sides.iter().find(|other| other.name == self.peer);
        let theirs = peer.into_iter().flat_map(|peer| &peer.samples);
        let ratios = side.samples.iter().zip(theirs);
        let ratios = ratios.filter_map(|(ours, theirs)| Some(figure(ours)? / figure(theirs)?));
        Spread::of(ratios).median
    }

    /// The bars that our side did not hold, in words.
    pub(crate) fn missed(&self) -> Vec<String> {
        if let Some(failed) = &self.failed {
            return vec![failed.clone()];
        }
        let Some(ours) = self.sides.first() else {
            return vec!["nothing was measured".to_owned()];
        };
        let mut missed = Vec::new();
        let ratio = self.ratio(ours);
        // Negated, so that a figure that is no number holds no bar.
        if let Some(bar) = self.bar.ratio
            && !matches!(ratio.partial_cmp(&bar), Some(o) if o.is_le())
        {
            missed.push(format!("{ratio:.2} x {}, above {bar:.2}", self.peer));
        }
        let ratio = self.cpu_ratio(ours);
        if let Some(bar) = self.bar.cpu_ratio
            && !matches!(ratio.partial_cmp(&bar), Some(o) if o.is_le())
        {
            missed.push(format!(
                "{ratio:.2} x {} in CPU time, above {bar:.2}",
                self.peer
            ));
        }
        let wall = ours.wall.median;
        if let Some(bar) = self.bar.wall_ns
            && !matches!(wall.partial_cmp(&bar), Some(o) if o.is_le())
        {
            missed.push(format!("{wall:.0} ns, above {bar:.0} ns"));
        }
        if let Some(bar) = self.bar.bytes
            && !matches!(wall.partial_cmp(&bar), Some(o) if o.is_le())
        {
            missed.push(format!("{wall:.0} bytes, above {bar:.0}"));
        }
        missed
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::super::side::Late;
    use super::*;

    struct Scripted {
        name: &'static str,
        samples: Vec<f64>,
        round: usize,
        turns: Rc<RefCell<String>>,
    }

    impl Side for Scripted {
        fn name(&self) -> &str {
            self.name
        }

        fn version(&self) -> &str {
            "1"
        }

        fn round(&mut self) -> Result<Sample> {
            self.turns.borrow_mut().push_str(self.name);
            self.round += 1;
            Ok(Sample {
                wall_ns: self.samples[self.round.saturating_sub(WARM_UP)],
                cpu_ns: (self.name == "A").then_some(5.0),
            })
        }
    }

    /// A measured row of two scripted sides; the first sample of each is given while warming up.
    pub(crate) fn measured(a: &[f64], b: &[f64], bar: Bar) -> (RowResult, String) {
        let turns = Rc::new(RefCell::new(String::new()));
        let side = |name, samples: &[f64]| {
            Box::new(Scripted {
                name,
                samples: samples.to_vec(),
                round: 0,
                turns: turns.clone(),
            }) as Box<dyn Side>
        };
        let row = Row {
            name: "row".into(),
            sides: vec![side("A", a), side("B", b)],
            peer: "B".into(),
            bar,
        };
        let result = row.measure(a.len() - 1);
        let turns = turns.borrow().clone();
        (result, turns)
    }

    #[test]
    fn rounds_interleave_and_the_warm_up_does_not_count() {
        let (result, turns) = measured(
            &[99.0, 4.0, 1.0, 3.0],
            &[99.0, 2.0, 6.0, 4.0],
            Bar::default(),
        );
        let (slow_for_a_while, _) = measured(
            &[99.0, 1.0, 1.0, 9.0, 9.0, 9.0],
            &[99.0, 2.0, 2.0, 2.0, 18.0, 18.0],
            Bar::default(),
        );
        assert_eq!(slow_for_a_while.ratio(&slow_for_a_while.sides[0]), 0.5);
        assert_eq!(turns, "AB".repeat(WARM_UP + 3));
        assert_eq!(
            result.sides[0].wall,
            Spread {
                min: 1.0,
                median: 3.0
            }
        );
        assert_eq!(
            result.sides[1].wall,
            Spread {
                min: 2.0,
                median: 4.0
            }
        );
        assert_eq!(result.ratio(&result.sides[0]), 0.75);
        assert_eq!(
            result.sides[0].cpu,
            Some(Spread {
                min: 5.0,
                median: 5.0
            })
        );
        assert_eq!(result.sides[1].cpu, None);
    }

    #[test]
    fn bars_can_be_missed() {
        let check = |ratio, wall_ns, expected: &[&str]| {
            let bar = Bar {
                ratio,
                wall_ns,
                ..Bar::default()
            };
            let (result, _) = measured(&[0.0, 30.0, 50.0], &[0.0, 20.0, 20.0], bar);
            assert_eq!(result.missed(), expected);
        };
        check(Some(2.0), Some(40.0), &[]);
        check(Some(1.0), None, &["2.00 x B, above 1.00"]);
        check(None, Some(39.0), &["40 ns, above 39 ns"]);
        let bar = Bar {
            bytes: Some(39.0),
            ..Bar::default()
        };
        let (result, _) = measured(&[0.0, 40.0], &[0.0, 20.0], bar);
        assert_eq!(result.missed(), ["40 bytes, above 39"]);
        let bar = Bar {
            wall_ns: Some(1.0),
            // The other side has no CPU time.
            cpu_ratio: Some(1.0),
            ..Bar::default()
        };
        let (result, _) = measured(&[0.0, f64::NAN], &[0.0, 1.0], bar);
        assert_eq!(result.missed().len(), 2);
    }

    #[test]
    fn a_row_that_cannot_be_taken_has_missed() {
        let row = Row {
            name: "row".into(),
            sides: vec![Late::side("gone", "1", || bail!("not installed"))],
            peer: "gone".into(),
            bar: Bar::default(),
        };
        assert_eq!(row.measure(3).missed(), ["not installed"]);
    }
}
