//! What a sandboxed command sees of the file system: the system read-only, next to nothing of
//! people's homes, the workspace writable, temporary folders of its own, a few devices, its own
//! `/proc`, and over what is guarded or hidden another layer. All of it is done in a mount namespace of its own, by the
//! first process in it, before anything foreign runs.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, fstat, stat};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount,
    mount_change, move_mount, open_tree,
};

use super::Level;
use super::guarded::{Guarded, IfMissing, TEMPORARY, data, hidden, writable};
use super::homes::Homes;
use super::newborn::Newborn;
use super::placeholder;
use super::spec::{OverlayDirs, Spec};
use super::sys::{NO_DEV, NO_EXEC, NO_SUID, READ_ONLY, Reach, set_attributes};
use super::trail::trail;

/// A step of the work, for whoever has to say why it failed.
pub(super) type Step = &'static str;

/// Devices that hold nothing and tell nothing.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// The name of the terminal that a command was given. Its own one is in a list of terminals that
/// is not seen inside; whoever asks what the terminal is called looks through `/dev`.
const CONSOLE: &str = "console";

/// The folders that may be written once the view is built.
pub(super) fn writable_folders(spec: &Spec, homes: &Homes) -> Vec<PathBuf> {
    let mut all = writable(spec);
    all.extend(homes.cache.clone());
    if spec.level == Level::AirGapped {
        all.push(spec.workspace.clone());
    }
    all.extend(TEMPORARY.map(PathBuf::from));
    all.push("/dev".into());
    all
}

/// Build the view. What is guarded was made to exist before, or is made here on an overlay.
pub(super) fn build(
    spec: &Spec,
    homes: &Homes,
    guarded: &[Guarded],
    newborns: &[Newborn],
) -> Result<(), (Step, io::Error)> {
    let told = |step: Step| move |error: io::Error| (step, error);
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .map_err(|error| ("private mounts", error.into()))?;
    // Taken while they can be reached, put back when all around them cannot.
    let closed = READ_ONLY | NO_SUID | NO_DEV;
    let mut trees = Vec::new();
    for (place, real) in &homes.shown {
        let tree = copy(real).map_err(told("bind mounts"))?;
        set_attributes(&tree, Path::new(""), closed, Reach::Tree)
            .map_err(told("mount attributes"))?;
        trees.push((place.clone(), tree));
    }
    for place in writable(spec) {
        let tree = match &spec.overlay {
            Some(dirs) => overlay(&place, dirs).map_err(told("overlay"))?,
            None => copy(&place).map_err(told("bind mounts"))?,
        };
        let attributes = match spec.closed.closes(&place) {
            true => closed,
            false => NO_SUID | NO_DEV,
        };
        set_attributes(&tree, Path::new(""), attributes, Reach::Tree)
            .map_err(told("mount attributes"))?;
        trees.push((place, tree));
    }
    for newborn in newborns {
        let tree = copy(&newborn.folder).map_err(told("bind mounts"))?;
        set_attributes(&tree, Path::new(""), NO_SUID | NO_DEV, Reach::Tree)
            .map_err(told("mount attributes"))?;
        trees.push((newborn.place.clone(), tree));
    }
    let devices = devices(spec).map_err(told("devices"))?;
    set_attributes(CWD, Path::new("/"), closed, Reach::Tree).map_err(told("read-only root"))?;
    private_folders(spec).map_err(told("temporary folders"))?;
    minimal_dev(&devices).map_err(told("devices"))?;
    if spec.level == Level::AirGapped {
        for place in data(spec) {
            bury(&place).map_err(told("hidden places"))?;
        }
        temporary_workspace(spec).map_err(told("temporary folders"))?;
    }
    for home in &homes.buried {
        // In a temporary folder it is gone by now.
        fs::create_dir_all(home)
            .and_then(|()| bury(home))
            .map_err(told("hidden places"))?;
    }
    if let Some(cache) = &homes.cache {
        temporary(cache, spec.limits.temporary).map_err(told("temporary folders"))?;
    }
    for (place, tree) in trees {
        put(&tree, &place).map_err(told("workspace"))?;
    }
    for home in &homes.buried {
        set_attributes(CWD, home, closed, Reach::Mount).map_err(told("hidden places"))?;
    }
    set_attributes(CWD, Path::new("/run"), closed, Reach::Mount).map_err(told("read-only root"))?;
    guard(spec, guarded).map_err(told("guarded places"))?;
    let closed = spec.closed.hidden.iter().cloned();
    for place in hidden(spec).into_iter().chain(closed) {
        hide(&place).map_err(told("hidden places"))?;
    }
    Ok(())
}

/// A `/proc` for the processes in here only. Writable until [`close_proc`].
pub(super) fn fresh_proc() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(io::Error::from)
}

/// Root owns the switches of the kernel even without capabilities: they must be read-only.
pub(super) fn close_proc() -> io::Result<()> {
    let closed = READ_ONLY | NO_SUID | NO_DEV | NO_EXEC;
    set_attributes(CWD, Path::new("/proc"), closed, Reach::Mount)
}

fn private_folders(spec: &Spec) -> io::Result<()> {
    for folder in TEMPORARY {
        if fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
            temporary(Path::new(folder), spec.limits.temporary)?;
        }
    }
    // Sockets and pipes of the system's services. On some systems the programs are there too.
    let programs = Path::new("/run/current-system");
    let kept = programs.is_dir().then(|| copy(programs)).transpose()?;
    if Path::new("/run").is_dir() {
        mount_tmpfs(Path::new("/run"), "size=64k,nr_inodes=16,mode=755")?;
        if let Some(kept) = kept {
            fs::create_dir(programs)?;
            put(&kept, programs)?;
        }
    }
    Ok(())
}

fn devices(spec: &Spec) -> io::Result<Vec<(&'static str, OwnedFd)>> {
    let mut devices = Vec::new();
    for name in DEVICES {
        let path = Path::new("/dev").join(name);
        if path.exists() {
            devices.push((name, copy(&path)?));
        }
    }
    if spec.terminal
        && let Some(terminal) = own_terminal()?
    {
        devices.push((CONSOLE, terminal));
    }
    Ok(devices)
}

/// The terminal that is our standard input, by its name out here.
fn own_terminal() -> io::Result<Option<OwnedFd>> {
    let path = fs::read_link("/proc/self/fd/0")?;
    let (own, found) = (fstat(io::stdin())?, stat(&path));
    let same = found.is_ok_and(|found| (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino));
    same.then(|| copy(&path)).transpose()
}

fn minimal_dev(devices: &[(&str, OwnedFd)]) -> io::Result<()> {
    let dev = Path::new("/dev");
    mount_tmpfs(dev, "size=256k,nr_inodes=64,mode=755")?;
    for (name, tree) in devices {
        let path = dev.join(name);
        fs::write(&path, "")?;
        put(tree, &path)?;
    }
    for (name, to) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(to, dev.join(name))?;
    }
    fs::create_dir(dev.join("shm"))?;
    temporary(&dev.join("shm"), 1 << 30)?;
    fs::create_dir(dev.join("pts"))?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount(
        "devpts",
        dev.join("pts"),
        "devpts",
        flags,
        Some(c"newinstance,ptmxmode=0666,mode=620"),
    )
    .map_err(io::Error::from)
}

/// An empty workspace, with the folder that the command is to start in.
fn temporary_workspace(spec: &Spec) -> io::Result<()> {
    temporary(&spec.workspace, spec.limits.temporary)?;
    match spec.cwd.starts_with(&spec.workspace) {
        true => fs::create_dir_all(&spec.cwd),
        false => Ok(()),
    }
}

fn temporary(place: &Path, size: u64) -> io::Result<()> {
    if !place.exists() {
        fs::create_dir_all(place)?;
    }
    mount_tmpfs(place, &format!("size={size},mode=1777"))
}

fn mount_tmpfs(place: &Path, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", place, "tmpfs", flags, Some(options.as_c_str())).map_err(io::Error::from)
}

/// A mount of its own of what is at this path, not yet anywhere to be seen. A link is taken as
/// the link.
fn copy(place: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    open_tree(CWD, place, flags).map_err(io::Error::from)
}

/// Put a mount over this path, making a name for it where a private folder above has hidden it.
fn put(tree: &OwnedFd, place: &Path) -> io::Result<()> {
    if fs::symlink_metadata(place).is_err() {
        match FileType::from_raw_mode(fstat(tree)?.st_mode) {
            FileType::Directory => fs::create_dir_all(place)?,
            _ => {
                fs::create_dir_all(place.parent().unwrap_or(place))?;
                fs::write(place, "")?;
            }
        }
    }
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(tree, "", CWD, place, flags).map_err(io::Error::from)
}

/// The workspace with a second layer over it that takes every change.
fn overlay(workspace: &Path, dirs: &OverlayDirs) -> io::Result<OwnedFd> {
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    // The path is one layer; a colon in it would make two.
    let lower = workspace.to_string_lossy().replace('\\', "\\\\");
    fsconfig_set_string(&context, "lowerdir", lower.replace(':', "\\:"))?;
    fsconfig_set_string(&context, "upperdir", &dirs.upper)?;
    fsconfig_set_string(&context, "workdir", &dirs.work)?;
    fsconfig_set_flag(&context, "userxattr")?;
    fsconfig_create(&context)?;
    fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::empty(),
    )
    .map_err(io::Error::from)
}

/// Make what is guarded read-only, and all on the way to it impossible to move away.
fn guard(spec: &Spec, guarded: &[Guarded]) -> io::Result<()> {
    let (mut pinned, mut closed) = (Vec::new(), Vec::new());
    for place in &spec.closed.hidden {
        // Moved away with its folder it would be another path, which no rule closes.
        for root in writable(spec).iter().filter(|root| place.starts_with(root)) {
            pin_parents(root, place, &mut pinned)?;
        }
    }
    for place in guarded {
        // Something else is mounted there, to be written.
        if place.if_missing == IfMissing::Newborn {
            continue;
        }
        let made = matches!(place.if_missing, IfMissing::Folder | IfMissing::File(_));
        if spec.overlay.is_some() && made {
            // On an overlay the name is made in the upper layer, and nobody has to clean up.
            std::mem::forget(placeholder::hold(&place.path, place.if_missing)?);
        }
        for step in trail(&place.root, &place.path) {
            pin_parents(&place.root, &step, &mut pinned)?;
            if !closed.contains(&step) {
                cover(&step, READ_ONLY)?;
                closed.push(step);
            }
        }
    }
    Ok(())
}

fn pin_parents(root: &Path, place: &Path, pinned: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut parents: Vec<&Path> = place
        .ancestors()
        .skip(1)
        .take_while(|parent| *parent != root)
        .collect();
    parents.reverse();
    for parent in parents {
        if !pinned.iter().any(|seen| seen == parent) {
            cover(parent, 0)?;
            pinned.push(parent.to_owned());
        }
    }
    Ok(())
}

/// Mount a place over itself, with these attributes besides: what is mounted on can be neither
/// renamed nor removed.
fn cover(place: &Path, attributes: u64) -> io::Result<()> {
    let tree = copy(place)?;
    let attributes = attributes | NO_SUID | NO_DEV;
    set_attributes(&tree, Path::new(""), attributes, Reach::Tree)?;
    put(&tree, place)
}

/// Put a small empty folder over one with people's data, in which what may be seen can be made.
fn bury(place: &Path) -> io::Result<()> {
    if !place.is_dir() {
        return Ok(());
    }
    mount_tmpfs(place, "size=1m,nr_inodes=1024,mode=755")
}

/// Put nothing in the place of something.
fn hide(place: &Path) -> io::Result<()> {
    let Ok(found) = fs::metadata(place) else {
        return Ok(());
    };
    if found.is_dir() {
        mount_tmpfs(place, "size=4k,nr_inodes=2,mode=555")?;
        return set_attributes(CWD, place, READ_ONLY, Reach::Mount);
    }
    let nothing = copy(Path::new("/dev/null"))?;
    set_attributes(&nothing, Path::new(""), READ_ONLY, Reach::Mount)?;
    // Through a link, if it is one: what it leads to is what is hidden.
    put(&nothing, &fs::canonicalize(place)?)
}
