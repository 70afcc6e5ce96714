//! Lines on standard output: colours on a terminal, plain when piped or with `NO_COLOR`. A
//! reader that goes away ends us quietly.

use std::io::{self, ErrorKind, Write};

use haft_policy::Verdict;

use super::fail;
use crate::exit;

pub(crate) fn line(text: &str) {
    let mut out = anstream::stdout().lock();
    quietly(writeln!(out, "{text}"));
}

/// Bytes as they are. A reader that went away has seen enough: that is no error.
pub(crate) fn raw(bytes: &[u8]) -> io::Result<()> {
    match io::stdout().lock().write_all(bytes) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

pub(crate) fn bold(text: &str) -> String {
    format!("\u{1b}[1m{text}\u{1b}[0m")
}

pub(crate) fn verdict(verdict: Verdict) -> String {
    let colour = match verdict {
        Verdict::Allow => 32,
        Verdict::Ask => 33,
        Verdict::Deny => 31,
    };
    let word = match verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "asks a person first",
        Verdict::Deny => "refused",
    };
    format!("\u{1b}[{colour}m{word}\u{1b}[0m")
}

/// An answer that nobody could be given is a failure, unless its reader has left.
fn quietly(result: io::Result<()>) {
    let code = match result {
        Ok(()) => return,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => 0,
        Err(error) => {
            fail::error(&format!("cannot write the answer: {error}"), None);
            exit::FAILED
        }
    };
    std::process::exit(code.into());
}
