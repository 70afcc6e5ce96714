//! The destructive classics: what cannot be put back is denied, whatever allows it, and what is
//! only rarely meant is asked about each time. A table of programs, and a few places that no
//! command line may overwrite or empty.

use std::path::Path;

use haft_core::{Mode, Resource};

use crate::call::{CallFacts, Line, Target, Touch};
use crate::command::may_be;
use crate::git;
use crate::glob::Glob;
use crate::judgement::{RuleHit, Verdict};
use crate::profile::DEFAULTS;
use crate::shell::{Command, Word, base, has_letter, has_long, is_long, is_shell};
use crate::tokens::{escape, tokens};

const DISK: &str = "built-in: no command writes to a disk or to memory itself";
const FORMAT: &str = "built-in: no command formats or partitions a disk";
const SYSTEM: &str = "built-in: no command empties or takes over the system or a home";
const POWER: &str = "built-in: no command stops the machine";
const EVERY_PROCESS: &str = "built-in: no command ends every process";
const BOMB: &str = "built-in: no command starts itself without end";
const FORCE_PUSH: &str =
    "built-in: a push that rewrites or removes what others have is asked about";
const DOWNLOAD: &str =
    "built-in: a shell or an interpreter that runs what the network sends is asked about";
const IGNORED: &str = "built-in: giving git what it is told to ignore is asked about";
const CRONTAB: &str = "built-in: removing every job of crontab is asked about";

/// Folders that hold the system; all of one is never removed, moved or given away.
const SYSTEM_FOLDERS: &[&str] = &[
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/usr/sbin",
    "/usr/share",
    "/var",
    "/var/lib",
    "/Applications",
    "/Library",
    "/System",
    "/Users",
];

/// Devices by the beginning of their name; a letter or a digit follows.
const DISKS: &[&str] = &[
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "dm-", "md", "loop", "nbd", "zd",
    "sr", "ram",
];

/// What of the built-in rules a call meets.
fn met(call: &CallFacts<'_>) -> Vec<RuleHit> {
    let mut hits: Vec<RuleHit> = Vec::new();
    let mut hit = |found: Option<(&'static str, Verdict)>| {
        if let Some((rule, effect)) = found {
            let hit = RuleHit::new(rule, DEFAULTS, effect);
            if !hits.contains(&hit) {
                hits.push(hit);
            }
        }
    };
    let opened = call.opened.iter().filter(|one| one.mode == Mode::Write);
    let onto_disk = opened.filter_map(|one| one.resource.path()).any(is_disk);
    hit(onto_disk.then_some((DISK, Verdict::Deny)));
    for line in &call.lines {
        hit(line.script.bomb.then_some((BOMB, Verdict::Deny)));
        let downloads = runs_download(&line.script.commands);
        hit(downloads.then_some((DOWNLOAD, Verdict::Ask)));
        for command in line.script.commands.iter().flat_map(Command::all) {
            hit(by_words(command));
            hit(by_files(call, line, command));
        }
    }
    hits
}

fn by_words(command: &Command) -> Option<(&'static str, Verdict)> {
    let (program, arguments) = command.words.split_first()?;
    let name = base(&program.text);
    let words: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    let on_device = words.iter().any(|word| word.starts_with("/dev/"));
    let denied = |rule| Some((rule, Verdict::Deny));
    match name {
        "mke2fs" | "mkswap" | "mkdosfs" | "mkntfs" | "newfs" | "blkdiscard" if on_device => {
            denied(FORMAT)
        }
        "wipefs" if on_device && words.len() > 1 => denied(FORMAT),
        "fdisk" | "sfdisk" | "cfdisk" | "gdisk" | "sgdisk" | "parted"
            if on_device && !has(&["-l", "--list", "-p", "--print", "print", "-d", "--dump"]) =>
        {
            denied(FORMAT)
        }
        "cryptsetup" if has(&["luksFormat", "erase", "luksErase"]) => denied(FORMAT),
        name if name.starts_with("mkfs") && on_device => denied(FORMAT),
        "shutdown" if !has(&["-c", "--help", "--show"]) => denied(POWER),
        "reboot" | "halt" | "poweroff" if !has(&["--help"]) => denied(POWER),
        "init" | "telinit" if has(&["0", "6"]) => denied(POWER),
        "systemctl" | "loginctl"
            if has(&["poweroff", "reboot", "halt", "kexec", "emergency", "rescue"]) =>
        {
            denied(POWER)
        }
        "killall5" => denied(EVERY_PROCESS),
        "kill" if kills_all(&words) => denied(EVERY_PROCESS),
        "git" if adds_ignored(arguments) => Some((IGNORED, Verdict::Ask)),
        "git" if forces(arguments) => Some((FORCE_PUSH, Verdict::Ask)),
        "crontab" if has(&["-r"]) => Some((CRONTAB, Verdict::Ask)),
        _ => None,
    }
}

/// `-1` as a target: every process. In the first place it is a signal.
fn kills_all(words: &[&str]) -> bool {
    let targets = match words {
        ["-s" | "-n", _, rest @ ..] => rest,
        ["--", ..] => words,
        [first, rest @ ..] if first.starts_with('-') => rest,
        _ => words,
    };
    targets.contains(&"-1")
}

/// What git is given to keep it shows, and what it ignores is often a secret.
fn adds_ignored(words: &[Word]) -> bool {
    let known: Vec<&Word> = words.iter().collect();
    let Some((action, rest)) = git::action(&known) else {
        return false;
    };
    let is = |names: &[&str]| names.iter().any(|name| may_be(name, action));
    let has = |letter: char, long: &str| {
        let rest = || rest.iter().copied();
        has_letter(rest(), &[letter]) || has_long(rest(), &[long])
    };
    is(&["add", "stage"]) && has('f', "--force") || is(&["stash"]) && has('a', "--all")
}

fn forces(words: &[Word]) -> bool {
    const REWRITES: &[&str] = &[
        "--force",
        "--force-with-lease",
        "--force-if-includes",
        "--mirror",
        "--delete",
        "--prune",
    ];
    let Some(at) = words.iter().position(|word| may_be("push", word)) else {
        return false;
    };
    words[at + 1..].iter().any(|word| {
        let word = word.text.as_str();
        let short = word.starts_with('-') && !word.starts_with("--");
        REWRITES.iter().any(|option| is_long(word, option))
            || (short && word.contains(['f', 'd']))
            || word.starts_with('+')
            || word.starts_with(':')
    })
}

/// Whether a pipe begins with what the network sends and has, anywhere behind that, a program that
/// runs it.
fn runs_download(commands: &[Command]) -> bool {
    let mut fetched = false;
    for command in commands {
        fetched &= command.piped;
        let all = command.all();
        if fetched && all.iter().any(|one| runs_its_input(one)) {
            return true;
        }
        fetched |= all.iter().any(|one| fetches(one));
    }
    false
}

fn fetches(command: &Command) -> bool {
    let program = command.words.first().map_or("", |word| base(&word.text));
    matches!(
        program,
        "curl" | "wget" | "wget2" | "fetch" | "aria2c" | "http" | "https" | "xh" | "curlie"
    ) || matches!(
        program,
        "lynx" | "w3m" | "links" | "nc" | "ncat" | "netcat" | "socat" | "ftp" | "telnet"
    )
}

/// Whether a program runs what comes in: a shell, or an interpreter that is given no other text.
fn runs_its_input(command: &Command) -> bool {
    let Some((program, arguments)) = command.words.split_first() else {
        return false;
    };
    let name = base(&program.text);
    let language = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    // Letters of the options that give the text.
    let given_by: &[char] = match language {
        _ if is_shell(name) => return true,
        "python" | "pypy" => &['c', 'm'],
        "perl" | "ruby" | "lua" | "luajit" | "osascript" | "Rscript" | "julia" => &['e', 'E'],
        "node" | "nodejs" | "bun" => &['e', 'p'],
        "php" => &['r', 'f'],
        "mysql" | "mariadb" => &['e'],
        "psql" => &['c', 'f'],
        "deno" | "R" | "r" | "tclsh" | "wish" | "guile" | "racket" | "irb" | "ghci" | "sqlite"
        | "at" | "batch" | "crontab" | "make" | "gmake" | "ed" | "ex" | "gdb" | "lldb"
        | "parallel" => &[],
        _ => return false,
    };
    let input = |word: &Word| {
        let places = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
        places.contains(&word.text.as_str())
    };
    let stands = |text: &str| match text.strip_prefix('-') {
        // A file that holds the text. For these it is a database, or a task.
        None => !matches!(
            language,
            "mysql" | "mariadb" | "psql" | "sqlite" | "at" | "batch" | "ed" | "ex" | "parallel"
        ),
        Some(option) => {
            let option = option.trim_start_matches(|c: char| "alnsw0123456789u".contains(c));
            option.starts_with(given_by) || option.starts_with("pe")
        }
    };
    let first = arguments.first().map(|word| word.text.as_str());
    arguments.iter().any(input) || !first.is_some_and(stands)
}

/// Devices that are written to, and system folders that are emptied, moved or given away.
fn by_files(
    call: &CallFacts<'_>,
    line: &Line,
    command: &Command,
) -> Option<(&'static str, Verdict)> {
    let touches = call.touches(line, command);
    let written = |touch: &&Touch| touch.sure && touch.mode == Mode::Write;
    let device = touches
        .iter()
        .filter(written)
        .any(|touch| match &touch.target {
            Target::Path(resource) => resource.path().is_some_and(is_disk),
            Target::Glob { .. } => false,
        });
    if device {
        return Some((DISK, Verdict::Deny));
    }
    let mode = takes_all(command)?;
    let whole = touches
        .iter()
        .filter(|touch| touch.sure && touch.mode == mode)
        .any(|touch| match &touch.target {
            Target::Path(Resource::File(path) | Resource::Tree(path)) => {
                call.system_folders().any(|folder| folder == path.as_path())
            }
            Target::Path(Resource::Uri(_)) => false,
            Target::Glob { glob, .. } => empties(glob, call),
        });
    whole.then_some((SYSTEM, Verdict::Deny))
}

/// Whether a command does something to all that its words hold, and how those words count.
fn takes_all(command: &Command) -> Option<Mode> {
    let (program, arguments) = command.words.split_first()?;
    let starts = |option: &str| arguments.iter().any(|word| word.text.starts_with(option));
    let has = |letters: &[char], long: &[&str]| {
        has_letter(arguments, letters) || has_long(arguments, long)
    };
    let takes = |condition: bool, mode: Mode| condition.then_some(mode);
    match base(&program.text) {
        "rm" => takes(has(&['r', 'R'], &["--recursive"]), Mode::Write),
        "chmod" | "chown" | "chgrp" | "setfacl" => {
            takes(has(&['R'], &["--recursive"]), Mode::Write)
        }
        "mv" => Some(Mode::Write),
        "rsync" => takes(starts("--del"), Mode::Write),
        "find" => takes(
            starts("-delete") || !command.inner.is_empty() && removes(command),
            Mode::Read,
        ),
        _ => None,
    }
}

fn removes(command: &Command) -> bool {
    let names = command.inner.iter().flat_map(Command::all);
    names
        .filter_map(|inner| inner.words.first())
        .any(|word| matches!(base(&word.text), "rm" | "shred" | "unlink"))
}

/// Whether a word finds a system folder, or everything in one.
fn empties(glob: &Glob, call: &CallFacts<'_>) -> bool {
    if glob.is_anything() {
        return false;
    }
    let names = |path: &str| tokens(&escape(path)).is_ok_and(|path| glob.names(&path));
    call.system_folders().any(|folder| {
        let folder = folder.to_string_lossy();
        let inside = folder.trim_end_matches('/');
        // Names that nobody has: what finds them finds everything.
        names(&folder)
            || names(&format!("{inside}/\u{1}\u{2}\u{1}"))
            || names(&format!("{inside}/.\u{1}\u{2}\u{1}"))
    })
}

fn is_disk(path: &Path) -> bool {
    if path == Path::new("/proc/sysrq-trigger") {
        return true;
    }
    let Ok(name) = path.strip_prefix("/dev") else {
        return false;
    };
    let name = name.to_string_lossy();
    matches!(&*name, "mem" | "kmem" | "port" | "root")
        || name.starts_with("mapper/")
        || name.starts_with("disk/")
        || DISKS.iter().any(|start| {
            let follows = name
                .strip_prefix(start)
                .and_then(|rest| rest.chars().next());
            follows.is_some_and(|c| c.is_ascii_alphanumeric())
        })
}

impl CallFacts<'_> {
    /// The built-in rules of one effect that this call meets.
    pub(crate) fn classics(&self, effect: Verdict) -> Vec<RuleHit> {
        if self.lines.is_empty() {
            return Vec::new();
        }
        let mut hits = met(self);
        hits.retain(|hit| hit.effect == effect.as_str());
        hits
    }

    fn system_folders(&self) -> impl Iterator<Item = &Path> {
        SYSTEM_FOLDERS.iter().map(Path::new).chain(self.home())
    }
}
