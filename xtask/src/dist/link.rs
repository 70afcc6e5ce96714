//! Standing in for the linker: the compiler calls us, we look up what the functions are called in
//! this build, and hand everything on to the real one.

use std::collections::{HashMap, HashSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail};

use super::names::lasting;

/// Names the list while we stand in.
const LIST: &str = "HAFT_LINK_ORDER";
/// Where the compiler brings a linker that takes such a list.
const LINKER: &str = "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER";
const REAL: &str = "cc";

/// Have a build linked through us, where the linker can be told an order and nobody chose another.
pub(super) fn through_us(build: &mut Command, list: &Path) -> Result<()> {
    let known = cfg!(all(
        target_arch = "x86_64",
        target_os = "linux",
        target_env = "gnu"
    ));
    let chosen = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", LINKER];
    if known && chosen.iter().all(|name| env::var_os(name).is_none()) {
        build.env(LINKER, env::current_exe()?).env(LIST, list);
    }
    Ok(())
}

/// The list, if it is us whom the compiler called.
pub(crate) fn acting_as_linker() -> Option<PathBuf> {
    env::var_os(LIST).map(PathBuf::from)
}

/// Link what the compiler wants linked.
pub(crate) fn link(list: &Path, arguments: &[OsString]) -> Result<ExitStatus> {
    let mut linker = Command::new(REAL);
    // Build scripts are linked, too.
    match output(arguments).filter(|program| is_haft(program)) {
        None => linker.args(arguments),
        Some(program) => {
            let order = program.with_extension("order");
            write_order(list, arguments, &order)?;
            let mut option =
                OsString::from("-Wl,--no-warn-symbol-ordering,--symbol-ordering-file=");
            option.push(&order);
            linker
                .args(arguments.iter().flat_map(|argument| taken_in(argument)))
                .arg(option)
                .args(packed_relocations())
        }
    };
    linker
        .status()
        .with_context(|| format!("cannot run `{REAL}`"))
}

/// The compiler's own library comes into the program: outside it costs every start a search, a few
/// mappings and pages of its own.
fn taken_in(argument: &OsStr) -> Vec<&OsStr> {
    match argument.to_str() {
        Some("-lgcc_s") => ["-lgcc_eh", "-lgcc"].map(OsStr::new).to_vec(),
        _ => vec![argument],
    }
}

/// Places that are to be filled in at each start are told in 30 times fewer bytes where the system
/// can read that.
fn packed_relocations() -> Option<&'static str> {
    const SINCE: (u32, u32) = (2, 36);
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let said = String::from_utf8(said.ok()?.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    let version = (major.parse().ok()?, minor.parse().ok()?);
    (version >= SINCE).then_some("-Wl,-z,pack-relative-relocs")
}

fn output(arguments: &[OsString]) -> Option<PathBuf> {
    let at = arguments.iter().position(|argument| argument == "-o")?;
    arguments.get(at + 1).map(PathBuf::from)
}

fn is_haft(program: &Path) -> bool {
    let stem = program.file_stem().and_then(OsStr::to_str);
    stem.is_some_and(|stem| stem == "haft" || stem.starts_with("haft-"))
}

/// Every function of the list that is in this build, in its order. Where hashes have changed since the
/// list was made, a function is known by the rest of its name; but not where that is the name of many.
fn write_order(list: &Path, arguments: &[OsString], order: &Path) -> Result<()> {
    const MANY: usize = 4;
    let wanted = fs::read_to_string(list).with_context(|| format!("`{}`", list.display()))?;
    let here: HashSet<String> = symbols(arguments.iter().filter(|argument| is_code(argument)))?
        .into_iter()
        .collect();
    let mut lookalikes: HashMap<String, Vec<&String>> = HashMap::new();
    for symbol in &here {
        lookalikes.entry(lasting(symbol)).or_default().push(symbol);
    }
    let mut file = fs::File::create(order)?;
    for symbol in wanted.lines() {
        let others = lookalikes.get(&lasting(symbol));
        match others.filter(|others| others.len() <= MANY) {
            _ if here.contains(symbol) => writeln!(file, "{symbol}")?,
            Some(others) => others
                .iter()
                .try_for_each(|other| writeln!(file, "{other}"))?,
            None => {}
        }
    }
    Ok(())
}

/// Whether functions are in it.
fn is_code(argument: &OsString) -> bool {
    let end = Path::new(argument).extension().and_then(OsStr::to_str);
    matches!(end, Some("o" | "rlib"))
}

/// The functions in these files.
pub(super) fn symbols(files: impl Iterator<Item = impl AsRef<OsStr>>) -> Result<Vec<String>> {
    let listed = Command::new("nm")
        .args(["--format=posix", "--defined-only"])
        .args(files)
        .output()
        .context("cannot run `nm`")?;
    if !listed.status.success() {
        bail!("nm: {}", String::from_utf8_lossy(&listed.stderr).trim());
    }
    let function = |line: &str| {
        let mut words = line.split(' ');
        let (name, kind) = (words.next()?, words.next()?);
        matches!(kind, "t" | "T" | "w" | "W").then(|| name.to_owned())
    };
    let listed = String::from_utf8_lossy(&listed.stdout);
    Ok(listed.lines().filter_map(function).collect())
}
