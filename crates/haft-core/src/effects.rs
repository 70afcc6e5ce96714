//! What a call would touch. Tools state it from their arguments, with paths already resolved by
//! the host; policy judges it and the scheduler orders calls by it.

use std::fmt;
use std::path::{Path, PathBuf};

const PROTECTED: &str = "protected:";
const SESSIONS: &str = "process:sessions";

/// Everything one call reads, writes and runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effects {
    pub accesses: Vec<Access>,
    pub commands: Vec<CommandLine>,
    /// Nobody knows what else it touches: it conflicts with every other call that has effects
    pub anything: bool,
    /// With these arguments it only looks, whatever else its tool can do
    pub only_looks: bool,
    /// What else an approval must be bound to: the environment, the executable's identity
    pub fingerprint: Option<String>,
    /// What is there now is gone afterwards: deleted, written over by a move, forgotten
    pub removes: bool,
    /// What it names is larger than what it touches, and nobody knows which part that is: calls of
    /// one session keep their order, and one session does not hold up another
    pub vague: bool,
    /// What it runs goes on behind its answer: no order could hold the one against what others
    /// change meanwhile, so it waits for no command's end
    pub goes_on: bool,
    /// Of the trees it reads, it leaves out what rules deny (`ToolContext::closed`)
    pub skips_closed: bool,
}

/// One resource and what is done to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Access {
    pub mode: Mode,
    pub resource: Resource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    Read,
    Write,
}

/// A thing in the world, shown as a URI.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Resource {
    /// One file or folder, absolute and with symbolic links resolved
    File(PathBuf),
    /// A folder and everything under it
    Tree(PathBuf),
    /// Anything else, compared as text
    Uri(String),
}

/// A program to be run, before policy has looked at it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CommandLine {
    /// A line for a shell, run in this folder
    Shell { line: String, cwd: PathBuf },
    /// A program and its arguments, no shell between
    Argv { argv: Vec<String>, cwd: PathBuf },
}

impl Effects {
    pub fn none() -> Self {
        Effects::default()
    }

    pub fn anything() -> Self {
        Effects {
            anything: true,
            ..Effects::default()
        }
    }

    /// Of a call that only looks, where its tool can do more.
    pub fn looking() -> Self {
        Effects {
            only_looks: true,
            ..Effects::default()
        }
    }

    #[must_use]
    pub fn reads(mut self, resource: Resource) -> Self {
        self.accesses.push(Access {
            mode: Mode::Read,
            resource,
        });
        self
    }

    #[must_use]
    pub fn writes(mut self, resource: Resource) -> Self {
        self.accesses.push(Access {
            mode: Mode::Write,
            resource,
        });
        self
    }

    #[must_use]
    pub fn runs(mut self, command: CommandLine) -> Self {
        self.commands.push(command);
        self
    }

    #[must_use]
    pub fn removing_if(mut self, removes: bool) -> Self {
        self.removes = removes;
        self
    }

    #[must_use]
    pub fn vaguely(mut self) -> Self {
        self.vague = true;
        self
    }

    #[must_use]
    pub fn going_on_if(mut self, goes_on: bool) -> Self {
        self.goes_on = goes_on;
        self
    }

    #[must_use]
    pub fn bound_to(mut self, fingerprint: String) -> Self {
        self.fingerprint = Some(fingerprint);
        self
    }

    /// For a tool that asks `ToolContext::closed` about every file it comes upon in a tree: only
    /// what it is pointed at itself has to be open then.
    #[must_use]
    pub fn skipping_closed(mut self) -> Self {
        self.skips_closed = true;
        self
    }

    pub fn is_none(&self) -> bool {
        self.accesses.is_empty() && self.commands.is_empty() && !self.anything
    }

    /// Whether it says of itself that it only looks, and nothing else that is stated says otherwise.
    pub fn changes_nothing(&self) -> bool {
        let writes = |access: &Access| access.mode == Mode::Write;
        self.only_looks
            && !self.anything
            && self.commands.is_empty()
            && !self.accesses.iter().any(writes)
    }

    /// Whether it has to wait for this one, which came before it. That is where the order of the
    /// two matters, but for what goes on in the background and finds a command at work.
    pub fn waits_for(&self, earlier: &Effects) -> bool {
        !(self.goes_on && earlier.works_in_a_tree()) && self.conflict_with(earlier)
    }

    /// Whether it is a command that works on files, and may take its time.
    fn works_in_a_tree(&self) -> bool {
        let tree = |access: &Access| matches!(access.resource, Resource::Tree(_));
        !self.commands.is_empty() && self.accesses.iter().any(tree)
    }

    /// Whether the order of the two calls matters.
    pub fn conflict_with(&self, other: &Effects) -> bool {
        if self.is_none() || other.is_none() {
            return false;
        }
        if self.anything || other.anything {
            return true;
        }
        self.accesses.iter().any(|mine| {
            other.accesses.iter().any(|theirs| {
                (mine.mode == Mode::Write || theirs.mode == Mode::Write)
                    && mine.resource.overlaps(&theirs.resource)
            })
        })
    }
}

impl Resource {
    /// Whether one of the two holds the other, or both are the same.
    pub fn overlaps(&self, other: &Resource) -> bool {
        match (self, other) {
            (Resource::File(a), Resource::File(b)) => a == b,
            (Resource::Tree(tree), Resource::File(file))
            | (Resource::File(file), Resource::Tree(tree)) => file.starts_with(tree),
            (Resource::Tree(a), Resource::Tree(b)) => a.starts_with(b) || b.starts_with(a),
            (Resource::Uri(a), Resource::Uri(b)) => a == b,
            _ => false,
        }
    }

    /// Marks a file that is asked about wherever it lies: keys, start-up files, hooks. It stands
    /// beside the access itself.
    pub fn protected(path: &Path) -> Self {
        Resource::Uri(format!("{PROTECTED}{}", path.display()))
    }

    /// The commands in the background: they live and end with the process that makes the call.
    pub fn sessions() -> Self {
        Resource::Uri(SESSIONS.to_owned())
    }

    /// Whether it is of this process alone, so that no other one can touch it.
    pub fn is_of_this_process(&self) -> bool {
        matches!(self, Resource::Uri(uri) if uri == SESSIONS)
    }

    /// The protected path this marks, if it is such a mark.
    pub fn as_protected(&self) -> Option<&str> {
        match self {
            Resource::Uri(uri) => uri.strip_prefix(PROTECTED),
            Resource::File(_) | Resource::Tree(_) => None,
        }
    }

    pub fn path(&self) -> Option<&Path> {
        match self {
            Resource::File(path) | Resource::Tree(path) => Some(path),
            Resource::Uri(_) => None,
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::File(path) => write!(f, "file://{}", path.display()),
            Resource::Tree(path) => write!(f, "file://{}/**", path.display()),
            Resource::Uri(uri) => f.write_str(uri),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts() {
        let file = |path: &str| Resource::File(path.into());
        let tree = |path: &str| Resource::Tree(path.into());
        let read = |resource| Effects::none().reads(resource);
        let write = |resource| Effects::none().writes(resource);
        let check = |a: Effects, b: Effects, expected: bool| {
            assert_eq!(a.conflict_with(&b), expected, "{a:?} {b:?}");
            assert_eq!(b.conflict_with(&a), expected, "{b:?} {a:?}");
        };
        check(read(file("/w/a")), read(file("/w/a")), false);
        check(read(file("/w/a")), write(file("/w/a")), true);
        check(write(file("/w/a")), write(file("/w/b")), false);
        check(write(tree("/w")), read(file("/w/a/b")), true);
        check(write(tree("/w")), read(file("/wide")), false);
        check(write(tree("/w/a")), write(tree("/w")), true);
        check(Effects::anything(), read(file("/w/a")), true);
        check(Effects::anything(), Effects::none(), false);
        let line = || CommandLine::Shell {
            line: "make".into(),
            cwd: "/w".into(),
        };
        let command = || write(tree("/w")).runs(line());
        let sessions = || write(Resource::sessions());
        let start = || command().writes(Resource::sessions()).going_on_if(true);
        let waits = |later: Effects, earlier: Effects, expected: bool| {
            assert_eq!(later.waits_for(&earlier), expected, "{later:?} {earlier:?}");
        };
        waits(command(), command(), true);
        waits(start(), command(), false);
        waits(start(), start(), false);
        waits(start(), command().writes(Resource::sessions()), false);
        // What it is to run may be written, and room made for it, before it starts.
        waits(start(), write(file("/w/server")), true);
        waits(start(), sessions().runs(line()), true);
        waits(start(), Effects::anything(), true);
        waits(command(), start(), true);
        waits(sessions(), start(), true);
        check(
            write(Resource::Uri("x:1".into())),
            write(Resource::Uri("x:1".into())),
            true,
        );
    }
}
