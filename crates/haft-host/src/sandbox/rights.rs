//! What the launcher gives up before the command runs, for itself and all that follows.

use std::fs;
use std::io;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, geteuid, set_dumpable_behavior, setrlimit,
};
use rustix::system::uname;
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits,
    set_no_new_privs,
};

use super::spec::Limits;

/// Bound what each process may take.
pub(super) fn limit(limits: &Limits) -> io::Result<()> {
    let set = |resource, value: u64| {
        let current = rustix::process::getrlimit(resource);
        // The present ceiling may be lower than what is wanted here, and nobody may lift it.
        let value = current.maximum.map_or(value, |maximum| maximum.min(value));
        let limit = Rlimit {
            current: Some(value),
            maximum: Some(value),
        };
        setrlimit(resource, limit).map_err(io::Error::from)
    };
    set(Resource::Core, 0)?;
    set(Resource::Fsize, limits.file_size)?;
    set(Resource::Nofile, limits.open_files)?;
    // What a process really writes to, where a limit on addresses would hit every runtime that
    // reserves more than it uses.
    set(Resource::Data, limits.memory)?;
    set(Resource::Memlock, 64 << 20)?;
    set(Resource::Nproc, limits.processes)
}

/// Give out numbers for only so many processes, and none for users inside. Whether the number of
/// processes is bound now. To be called with the own `/proc` mounted and still writable.
pub(super) fn bound_processes(most: u64) -> bool {
    let _ = fs::write("/proc/sys/user/max_user_namespaces", "0");
    // When memory runs out, this goes before anything of the user's.
    let _ = fs::write("/proc/self/oom_score_adj", "800");
    // The limit of processes binds everybody but root.
    let bound = !geteuid().is_root();
    if !numbers_are_private() {
        return bound;
    }
    let most = most.max(LEAST_NUMBERS).to_string();
    fs::write("/proc/sys/kernel/pid_max", most).is_ok() || bound
}

/// The kernel takes no smaller range of process numbers.
const LEAST_NUMBERS: u64 = 301;

/// Whether a pid namespace has a range of numbers of its own. Asked by version: on an older
/// kernel root would change the range of the whole machine by trying.
pub(super) fn numbers_are_private() -> bool {
    let system = uname();
    let release = system.release().to_string_lossy();
    let mut parts = release.split('.').map(|part| part.parse::<u32>());
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (6, 14),
        _ => false,
    }
}

/// Have no capability and get none back, not even by being root.
pub(super) fn drop_capabilities() -> io::Result<()> {
    for number in 0..64u32 {
        let Some(capability) = CapabilitySet::from_bits(1u64 << number) else {
            break;
        };
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // Past the last one that this kernel knows.
            Err(rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(error.into()),
        }
    }
    set_capabilities_secure_bits(
        CapabilitiesSecureBits::NO_ROOT
            | CapabilitiesSecureBits::NO_ROOT_LOCKED
            | CapabilitiesSecureBits::NO_SETUID_FIXUP
            | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED,
    )?;
    clear_ambient_capability_set()?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none)?;
    set_no_new_privs(true)?;
    // Nobody inside may look into the first process, which came from outside.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// Writing beneath these places only, whatever the mounts say; signals and abstract sockets stay
/// inside. False where the kernel has no Landlock at all.
pub(super) fn fence<'a>(
    writable: impl IntoIterator<Item = &'a Path>,
) -> Result<bool, landlock::RulesetError> {
    let newest = ABI::V6;
    let reading = AccessFs::from_read(newest);
    let everything = AccessFs::from_all(newest);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(everything)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    if let Ok(root) = PathFd::new("/") {
        rules = rules.add_rule(PathBeneath::new(root, reading))?;
    }
    for place in writable {
        // What is not there needs no right.
        if let Ok(place) = PathFd::new(place) {
            rules = rules.add_rule(PathBeneath::new(place, everything))?;
        }
    }
    let status = rules.restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}
