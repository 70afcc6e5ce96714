//! What the launcher says about a start: that the command was let go, or what the kernel
//! refused. It comes through a pipe of its own, so that no output can be mistaken for it.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsRawFd, OwnedFd};

use haft_core::ToolError;
use rustix::fs::{OFlags, fcntl_setfl};

use super::launch::{ENDED, READY};
use super::probe::{LANDLOCK, PROCESS_LIMIT};

/// Nothing the launcher says is longer.
const LONGEST: u64 = 4096;

/// Our side of the pipe. The launcher opens the writing end by its number, through our entry in
/// `/proc`: a descriptor that it could inherit would be inherited by every other command that
/// happens to start at the same time.
#[derive(Debug)]
pub struct Report {
    reader: PipeReader,
    writer: PipeWriter,
}

impl Report {
    pub(super) fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        fcntl_setfl(&reader, OFlags::NONBLOCK)?;
        Ok(Report { reader, writer })
    }

    pub(super) fn descriptor(&self) -> i32 {
        self.writer.as_raw_fd()
    }

    /// Ask once the command has ended: whether it ran at all, and how its end came.
    pub(crate) fn check(self) -> Result<End, ToolError> {
        let mut said = Vec::new();
        // No more than there is now: the writing end is still ours.
        let _ = File::from(OwnedFd::from(self.reader))
            .take(LONGEST)
            .read_to_end(&mut said);
        drop(self.writer);
        verdict(&String::from_utf8_lossy(&said))
    }
}

/// How the end of a command came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It had ended before anybody told it to
    ByItself,
    /// It was told to, or nobody could say
    Unsure,
}

fn verdict(said: &str) -> Result<End, ToolError> {
    let (ready, rest) = match said.strip_prefix(READY) {
        Some(rest) => (true, rest),
        None => (false, said),
    };
    match (ready, rest.trim_end().split_once(": ")) {
        (true, None) if rest == ENDED => Ok(End::ByItself),
        (true, None) => Ok(End::Unsure),
        (false, None) => Err(ToolError::failed(
            "the sandbox was ended before it was ready",
        )),
        (true, Some((what, why))) => Err(ToolError::failed(format!(
            "the command cannot be started: {why}"
        ))
        .hint(format!("the trouble is with the {what}"))),
        (false, Some((what, why))) => Err(ToolError::not_available(format!(
            "this machine lacks what the sandbox needs: {what}: {why}"
        ))
        .hint(weaker(what))),
    }
}

/// How the owner can do with less.
fn weaker(what: &str) -> String {
    let without = match what {
        LANDLOCK => Some("no-landlock"),
        PROCESS_LIMIT => Some("no-process-limit"),
        _ => None,
    };
    let choice = match without {
        Some(mode) => format!("`isolation: {{without: [{mode}]}}`"),
        None => "`isolation: {level: shared}`, which is none,".to_owned(),
    };
    format!(
        "`haft doctor` tells what there is; the owner can choose a weaker sandbox with {choice} \
         in `config.yaml`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::ErrorCode;

    #[test]
    fn what_the_launcher_says() {
        let check = |said: &str, expected: Result<End, (ErrorCode, &str)>| {
            let found = verdict(said);
            let found = found.as_ref().map_err(|e| (e.code, e.message.as_str()));
            assert_eq!(found.copied(), expected, "{said}");
        };
        check("ready\n", Ok(End::Unsure));
        check("ready\nended\n", Ok(End::ByItself));
        check(
            "",
            Err((
                ErrorCode::ExecutionFailed,
                "the sandbox was ended before it was ready",
            )),
        );
        check(
            "ready\ncommand: no such file\n",
            Err((
                ErrorCode::ExecutionFailed,
                "the command cannot be started: no such file",
            )),
        );
        check(
            "seccomp: not supported\n",
            Err((
                ErrorCode::NotAvailable,
                "this machine lacks what the sandbox needs: seccomp: not supported",
            )),
        );
    }

    #[test]
    fn a_refusal_says_how_to_do_with_less() {
        let check = |said: &str, part: &str| {
            let hint = verdict(said)
                .unwrap_err()
                .into_body()
                .hint
                .unwrap_or_default();
            assert!(hint.contains(part), "{said}: {hint}");
        };
        check("landlock: x\n", "without: [no-landlock]");
        check("process limit: x\n", "without: [no-process-limit]");
        check("namespaces: x\n", "level: shared");
    }

    #[test]
    fn an_empty_report_does_not_wait() {
        assert!(Report::new().unwrap().check().is_err());
    }
}
