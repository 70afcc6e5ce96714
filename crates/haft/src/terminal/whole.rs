//! A result that was kept because it is long, printed whole where the caller has made room for
//! it. It goes out piece by piece, so its size does not matter, and without its secrets.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use anyhow::Result;
use haft_core::Outcome;
use haft_runtime::Session;

/// Read and written at a time; a piece ends with a line.
const PIECE: usize = 256 << 10;

/// Print what is behind the outcome's handle, if all of it is within the budget that was asked
/// for. False if there is nothing to print this way.
pub(crate) fn print(outcome: &Outcome, session: &Session, budget: Option<usize>) -> Result<bool> {
    let meta = &outcome.meta;
    let room = budget.is_some_and(|budget| meta.total_chars <= budget);
    let (Some(handle), true, true) = (&meta.handle, meta.truncated, room) else {
        return Ok(false);
    };
    let caller = session.caller();
    let kept = caller
        .results
        .as_ref()
        .map(|results| results.open(&caller.session, handle));
    let Some(Ok(mut kept)) = kept else {
        return Ok(false);
    };
    match copy(&mut kept, &mut io::stdout().lock()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(true),
    }
}

fn copy(from: &mut dyn Read, to: &mut dyn Write) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut filled = 0;
    loop {
        let got = from.read(&mut piece[filled..])?;
        filled += got;
        let end = match (got, piece[..filled].iter().rposition(|&byte| byte == b'\n')) {
            (0, _) => filled,
            (_, Some(feed)) => feed + 1,
            (_, None) => 0,
        };
        // What a search keeps is text; what a command printed need not be.
        let text = match std::str::from_utf8(&piece[..end]) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(&piece[..end]),
        };
        to.write_all(haft_runtime::mask(&text).text.as_bytes())?;
        if got == 0 {
            return Ok(());
        }
        piece.copy_within(end..filled, 0);
        filled -= end;
        if filled == piece.len() {
            piece.resize(filled * 2, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_out_and_no_secret_does() {
        let token = "ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R";
        let mut text = String::new();
        for n in 0..50_000 {
            text.push_str(&format!("line {n} ü\n"));
        }
        let long = "x".repeat(PIECE + 7);
        let whole = format!("{text}{long}\nno end");
        let mut out = Vec::new();
        copy(&mut whole.as_bytes(), &mut out).unwrap();
        assert!(out == whole.as_bytes());
        let secret = format!("{text}token {token}\nend\n");
        let mut out = Vec::new();
        copy(&mut secret.as_bytes(), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(!out.contains(token) && out.ends_with("end\n"));
    }
}
