//! Names of functions without what changes from build to build.

/// A name without the hashes in it. Several functions may share what is left: the same generic code
/// for other types.
pub(super) fn lasting(symbol: &str) -> String {
    let symbol = symbol.split(".llvm.").next().unwrap_or(symbol);
    match symbol.strip_prefix("_R") {
        Some(rest) => format!("_R{}", without_crates(rest)),
        None => without_hash(symbol).to_owned(),
    }
}

/// The older way of mangling ends in `17h`, sixteen digits and `E`.
fn without_hash(symbol: &str) -> &str {
    const END: usize = "17h0123456789abcdefE".len();
    let cut = symbol.len().saturating_sub(END);
    let is_hash = |end: &str| {
        let digits = end
            .strip_prefix("17h")
            .and_then(|end| end.strip_suffix('E'));
        digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    match symbol.get(cut..).is_some_and(is_hash) && symbol.starts_with("_ZN") {
        true => &symbol[..cut],
        false => symbol,
    }
}

/// The newer one names crates as `Cs`, a hash, `_`, and their names.
fn without_crates(symbol: &str) -> String {
    let mut kept = String::with_capacity(symbol.len());
    let mut rest = symbol;
    while let Some((before, after)) = rest.split_once("Cs") {
        kept.push_str(before);
        kept.push_str("Cs");
        let hash = after.bytes().take_while(u8::is_ascii_alphanumeric).count();
        rest = match after.as_bytes().get(hash) {
            Some(b'_') => &after[hash..],
            _ => after,
        };
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::lasting;

    #[test]
    fn what_changes_from_build_to_build_is_cut() {
        let cases = [
            ("_ZN4haft4main17h0123456789abcdefE", "_ZN4haft4main"),
            (
                "_ZN4haft4main17h0123456789abcdefE.llvm.123456",
                "_ZN4haft4main",
            ),
            (
                "_RNvNtCsgEmfK2I1SDS_4core3num3fun",
                "_RNvNtCs_4core3num3fun",
            ),
            ("_RNvCs1a_4core3funCs2b_4haft", "_RNvCs_4core3funCs_4haft"),
            ("sqlite3_open", "sqlite3_open"),
            (
                "_ZN4haft17hnotahashnotahashE",
                "_ZN4haft17hnotahashnotahashE",
            ),
            ("short", "short"),
        ];
        for (symbol, name) in cases {
            assert_eq!(lasting(symbol), name);
        }
    }
}
