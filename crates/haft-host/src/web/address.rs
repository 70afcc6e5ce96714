//! What kind of address it is. Only what is certainly public is public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// From open to closed. Nothing below `Own` is ever reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Public,
    Loopback,
    Private,
    /// An address of this machine
    Own,
    Metadata,
    LinkLocal,
    Reserved,
}

impl Class {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Class::Public => "public",
            Class::Loopback => "loopback",
            Class::Private => "private",
            Class::Own => "this machine's own",
            Class::Metadata => "cloud metadata",
            Class::LinkLocal => "link-local",
            Class::Reserved => "reserved",
        }
    }
}

pub(super) fn class(address: IpAddr) -> Class {
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

/// Endpoints of clouds outside the ranges that are closed anyway.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];

fn v4(address: Ipv4Addr) -> Class {
    if METADATA_V4.contains(&address) {
        return Class::Metadata;
    }
    match address.octets() {
        [127, ..] => Class::Loopback,
        [10, ..] | [192, 168, ..] => Class::Private,
        [172, second, ..] if second & 0xf0 == 16 => Class::Private,
        // Shared by carriers, and by overlay networks.
        [100, second, ..] if second & 0xc0 == 64 => Class::Private,
        [169, 254, ..] => Class::LinkLocal,
        [0, ..] | [192, 0, 0 | 2, _] | [198, 18 | 19, ..] | [198, 51, 100, _] => Class::Reserved,
        [203, 0, 113, _] | [224..=255, ..] => Class::Reserved,
        _ => Class::Public,
    }
}

/// Unique local addresses at which clouds answer.
fn is_metadata(segments: [u16; 8]) -> bool {
    matches!(
        segments,
        [0xfd00, 0xec2, ..]
            | [0xfd20, 0xce, ..]
            | [0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, _]
            | [0xfd00, 0xa9fe, 0xa9fe, ..]
            | [0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200]
    )
}

fn v6(address: Ipv6Addr) -> Class {
    let segments = address.segments();
    if address.is_loopback() {
        return Class::Loopback;
    }
    if is_metadata(segments) {
        return Class::Metadata;
    }
    match segments {
        // What is behind a translator is judged by what it carries.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
        }
        [first, ..] if first & 0xfe00 == 0xfc00 => Class::Private,
        [first, ..] if first & 0xffc0 == 0xfe80 => Class::LinkLocal,
        // Teredo, benchmarks, ORCHID, documentation, 6to4.
        [0x2001, 0 | 2 | 0xdb8, ..] | [0x2002, ..] => Class::Reserved,
        [0x2001, second, ..] if second & 0xffe0 == 0 => Class::Reserved,
        [0x3fff, second, ..] if second & 0xf000 == 0 => Class::Reserved,
        // Global unicast; whatever else there is was never meant for us.
        [first, ..] if first & 0xe000 == 0x2000 => Class::Public,
        _ => Class::Reserved,
    }
}

/// The addresses of this machine, as the kernel lists them.
pub(super) fn own() -> Vec<IpAddr> {
    let mut own = Vec::new();
    let table = std::fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let mut last = None;
    for line in table.lines().map(str::trim_start) {
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse::<Ipv4Addr>().ok();
        } else if line.starts_with("/32 host LOCAL") {
            own.extend(last.map(IpAddr::V4));
        }
    }
    let table = std::fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
    own.extend(table.lines().filter_map(|line| {
        let digits = line.split_whitespace().next()?;
        let bits = u128::from_str_radix(digits, 16).ok()?;
        Some(IpAddr::V6(Ipv6Addr::from(bits)))
    }));
    own
}
