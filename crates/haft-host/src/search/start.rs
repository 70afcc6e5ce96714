//! Which ignore rules hold where a walk begins, and what each folder adds to them. Rule files are
//! read through the folder's handle and never through a link, as git does it.

use std::ffi::CStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::entries::Entries;
use super::rules::{IgnoreFile, Rules};
use crate::files::{Resolved, Workspace};

/// Longer rule files are taken for something else.
const LONGEST: u64 = 1 << 20;

#[derive(Default)]
pub(super) struct Start {
    /// From the top folder that has rules to the folder where the walk begins
    pub(super) lead: Vec<u8>,
    pub(super) rules: Rules,
}

/// The rules of the folders above `base`: from the repository's top, or from the workspace where
/// there is no repository.
pub(super) fn rules_above(workspace: &Workspace, base: &Resolved) -> Start {
    let repository = base
        .path()
        .ancestors()
        .find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let top = repository.unwrap_or(workspace.path());
    let Ok(below) = base.path().strip_prefix(top) else {
        return Start::default();
    };
    let mut rules = Rules::default();
    let mut folder = top.to_owned();
    let mut length = 0;
    for name in below {
        add_from(&mut rules, &folder, length);
        folder.push(name);
        length += name.len() + 1;
    }
    Start {
        lead: below.as_os_str().as_bytes().to_owned(),
        rules,
    }
}

fn add_from(rules: &mut Rules, folder: &Path, base: usize) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut entries = Entries::default();
    if let Ok(handle) = rustix::fs::open(folder, flags, Mode::empty())
        && entries.read(&handle).is_ok()
    {
        add_rules(rules, &handle, &entries, base);
    }
}

/// Add what a folder's own rule files say. Its entries' names start at `base` in their paths.
pub(super) fn add_rules(rules: &mut Rules, folder: &OwnedFd, entries: &Entries, base: usize) {
    let (mut git, mut plain, mut repository) = (false, false, false);
    for found in entries.iter() {
        match entries.name(found) {
            b".gitignore" => git = true,
            b".ignore" => plain = true,
            b".git" => repository = true,
            _ => {}
        }
    }
    if repository {
        rules.enter_repository();
        if let Some(file) = read(folder, c".git/info/exclude") {
            rules.add_git(file, base);
        }
    }
    if git
        && rules.in_repository()
        && let Some(file) = read(folder, c".gitignore")
    {
        rules.add_git(file, base);
    }
    if plain && let Some(file) = read(folder, c".ignore") {
        rules.add_plain(file, base);
    }
}

fn read(folder: &OwnedFd, name: &CStr) -> Option<IgnoreFile> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text).ok()?;
    IgnoreFile::parse(&text)
}
