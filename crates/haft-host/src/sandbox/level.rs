//! How far a command is kept away from the rest of the machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// From open to closed; a child may only go further down this list.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The caller's own rights on this machine
    Shared,
    /// The same rights, with only its own runs to look back on
    Scoped,
    /// The workspace to write in, the rest to read or hidden, no network
    #[default]
    Sandboxed,
    /// A temporary place only, no network, hardly any environment
    AirGapped,
}

impl Level {
    pub const ALL: [Level; 4] = [
        Level::Shared,
        Level::Scoped,
        Level::Sandboxed,
        Level::AirGapped,
    ];

    /// The name as configuration and outcomes have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Shared => "shared",
            Level::Scoped => "scoped",
            Level::Sandboxed => "sandboxed",
            Level::AirGapped => "air-gapped",
        }
    }

    pub fn parse(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.as_str() == name)
    }

    /// Whether the kernel has to enforce something.
    pub fn is_enforced(self) -> bool {
        self >= Level::Sandboxed
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a caller is kept to. A level says what is meant; `without` what the owner knows to be
/// missing on this machine and goes without.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    pub level: Level,
    pub without: Vec<Weaker>,
}

/// A weaker mode that the owner chose by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weaker {
    /// Mounts alone say what may be written, for kernels without Landlock
    NoLandlock,
    /// A command of root's may start as many processes as it likes, for kernels before 6.14
    NoProcessLimit,
}

impl Isolation {
    pub fn at(level: Level) -> Self {
        Isolation {
            level,
            without: Vec::new(),
        }
    }

    /// What holds for a child that asks for `wanted`: never less than its parent has.
    #[must_use]
    pub fn stricter(&self, wanted: &Isolation) -> Isolation {
        let level = self.level.max(wanted.level);
        let without = if self.level.is_enforced() {
            let both = |weaker: &&Weaker| wanted.without.contains(weaker);
            self.without.iter().filter(both).copied().collect()
        } else {
            wanted.without.clone()
        };
        Isolation { level, without }
    }

    pub(super) fn goes_without(&self, weaker: Weaker) -> bool {
        self.without.contains(&weaker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_never_freer() {
        for parent in Level::ALL {
            for child in Level::ALL {
                let weak = Isolation {
                    level: child,
                    without: vec![Weaker::NoLandlock],
                };
                let held = Isolation::at(parent).stricter(&weak);
                assert!(held.level >= parent && held.level >= child);
                assert!(held.without.is_empty() || !parent.is_enforced());
            }
        }
    }

    #[test]
    fn names() {
        for level in Level::ALL {
            assert_eq!(Level::parse(level.as_str()), Some(level));
            let json = serde_json::to_string(&level).unwrap();
            assert_eq!(json, format!("\"{level}\""));
        }
        assert_eq!(Level::parse("open"), None);
        assert_eq!(Level::default(), Level::Sandboxed);
    }
}
