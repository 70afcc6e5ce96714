//! What this machine offers for a sandbox, found out by trying in a process that may be thrown
//! away. Nothing is guessed from versions: containers and distributions switch parts off.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{WaitOptions, geteuid, waitpid};
use rustix::thread::UnshareFlags;

use super::launch::{self, PROBE};
use super::{Isolation, Weaker, mounts, rights, sys};

/// One thing that a sandbox needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    pub name: String,
    pub there: bool,
    /// Why not, or which version
    pub why: String,
}

/// Names that others know too.
pub(super) const LANDLOCK: &str = "landlock";
pub(super) const PROCESS_LIMIT: &str = "process limit";
const OVERLAY: &str = "overlay";

/// Namespaces by the names people know them under.
const NAMESPACES: [(&str, UnshareFlags); 6] = [
    ("mount namespace", UnshareFlags::NEWNS),
    ("pid namespace", UnshareFlags::NEWPID),
    ("ipc namespace", UnshareFlags::NEWIPC),
    ("uts namespace", UnshareFlags::NEWUTS),
    ("network namespace", UnshareFlags::NEWNET),
    ("cgroup namespace", UnshareFlags::NEWCGROUP),
];

/// Ask the launcher, given as program and arguments, what there is.
pub fn probe(launcher: &[OsString]) -> Vec<Feature> {
    let asked = ask(launcher);
    let told = |text: String| -> Vec<Feature> { text.lines().filter_map(parse).collect() };
    match asked {
        Ok(text) => told(text),
        Err(error) => vec![feature("launcher", Err(error))],
    }
}

/// What a sandbox of this kind needs and this machine lacks: while there is any, its commands are
/// refused.
pub fn lacking<'a>(isolation: &Isolation, features: &'a [Feature]) -> Vec<&'a Feature> {
    let needed = |feature: &&Feature| match feature.name.as_str() {
        // Only to try commands out.
        OVERLAY => false,
        LANDLOCK => !isolation.goes_without(Weaker::NoLandlock),
        PROCESS_LIMIT => !isolation.goes_without(Weaker::NoProcessLimit),
        _ => true,
    };
    features
        .iter()
        .filter(|feature| isolation.level.is_enforced() && !feature.there)
        .filter(needed)
        .collect()
}

fn ask(launcher: &[OsString]) -> io::Result<String> {
    let [program, arguments @ ..] = launcher else {
        return Err(io::Error::other("no launcher"));
    };
    let output = Command::new(program)
        .args(arguments)
        .arg(PROBE)
        .env_clear()
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()?;
    String::from_utf8(output.stdout).map_err(io::Error::other)
}

fn parse(line: &str) -> Option<Feature> {
    let mut parts = line.splitn(3, '\t');
    Some(Feature {
        name: parts.next()?.to_owned(),
        there: parts.next()? == "yes",
        why: parts.next().unwrap_or_default().to_owned(),
    })
}

fn feature(name: &str, tried: io::Result<String>) -> Feature {
    Feature {
        name: name.to_owned(),
        there: tried.is_ok(),
        why: tried.unwrap_or_else(|error| error.to_string()),
    }
}

/// The launcher's answer.
pub(super) fn answer() {
    for feature in try_all() {
        let there = if feature.there { "yes" } else { "no" };
        println!("{}\t{there}\t{}", feature.name, feature.why);
    }
}

fn try_all() -> Vec<Feature> {
    let landlock = sys::landlock_version()
        .map(|version| format!("version {version}"))
        .ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported));
    let seccomp = if sys::has_seccomp() {
        Ok(String::new())
    } else {
        Err(io::ErrorKind::Unsupported.into())
    };
    let mut all = vec![
        feature(LANDLOCK, landlock),
        feature("seccomp", seccomp),
        feature("fresh /proc", inside(mounts::fresh_proc)),
        feature(OVERLAY, inside(try_overlay)),
        feature(PROCESS_LIMIT, process_limit()),
        feature("user namespace", own_user_namespace()),
    ];
    for (name, flag) in NAMESPACES {
        all.push(feature(name, sys::unshare(flag).map(|()| String::new())));
    }
    all
}

fn own_user_namespace() -> io::Result<String> {
    launch::new_namespaces(UnshareFlags::NEWUSER)?;
    Ok(String::new())
}

/// Try something as the first process of new namespaces.
fn inside(attempt: fn() -> io::Result<()>) -> io::Result<String> {
    let flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWPID;
    let try_it = || {
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private)?;
        attempt()
    };
    in_child(|| {
        launch::new_namespaces(flags)?;
        in_child(try_it)
    })?;
    Ok(String::new())
}

/// Do something in a process of its own, whose exit code tells how it went.
fn in_child(attempt: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let Some(child) = sys::fork()? else {
        let number = attempt().err().map(|error| error.raw_os_error());
        std::process::exit(number.map_or(0, |number| number.unwrap_or(libc::EIO)));
    };
    let status = waitpid(Some(child), WaitOptions::empty())?;
    match status.and_then(|(_, status)| status.exit_status()) {
        Some(0) => Ok(()),
        Some(number) => Err(io::Error::from_raw_os_error(number)),
        None => Err(io::Error::other("the attempt was killed")),
    }
}

fn try_overlay() -> io::Result<()> {
    let room = Path::new("/tmp");
    mount("tmpfs", room, "tmpfs", MountFlags::empty(), None)?;
    for name in ["lower", "upper", "work"] {
        fs::create_dir(room.join(name))?;
    }
    let options = c"lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work,userxattr";
    mount(
        "overlay",
        room,
        "overlay",
        MountFlags::empty(),
        Some(options),
    )
    .map_err(io::Error::from)
}

/// Root is not bound by the limit of processes that binds everybody else.
fn process_limit() -> io::Result<String> {
    if rights::numbers_are_private() {
        Ok("by process numbers".to_owned())
    } else if geteuid().is_root() {
        Err(io::Error::other("not for root before Linux 6.14"))
    } else {
        Ok("by user".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;

    #[test]
    fn what_a_level_needs() {
        let features: Vec<Feature> = ["landlock", "seccomp", "overlay", "process limit"]
            .map(|name| feature(name, Err(io::ErrorKind::Unsupported.into())))
            .into();
        let check = |level, without: &[Weaker], expected: &[&str]| {
            let isolation = Isolation {
                level,
                without: without.to_vec(),
            };
            let lacking = lacking(&isolation, &features);
            let names: Vec<&str> = lacking.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names, expected);
        };
        check(Level::Shared, &[], &[]);
        check(Level::Scoped, &[], &[]);
        check(
            Level::Sandboxed,
            &[],
            &["landlock", "seccomp", "process limit"],
        );
        let weaker = [Weaker::NoLandlock, Weaker::NoProcessLimit];
        check(Level::AirGapped, &weaker, &["seccomp"]);
    }
}
