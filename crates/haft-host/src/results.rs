//! Whole results on disk, behind handles, until the store takes them over. One folder a session,
//! named by a hash, so that a handle alone opens nothing: it must come with the session that
//! made it. A file is locked while it is written, so that nobody takes half of it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::{Capability, KeptResult, Nature, Power, ResultStore, ToolError, session_folder};
use rustix::fs::{FlockOperation, flock};

use crate::blocking::blocking;

const HEX_DIGITS: usize = 32;

/// Keeps results as files that only their owner can read.
#[derive(Debug, Clone)]
pub struct FileResults {
    dir: PathBuf,
}

impl FileResults {
    /// Results under `home/results`; nothing is made before the first one is kept.
    pub fn new(home: &Path) -> Self {
        FileResults {
            dir: home.join("results"),
        }
    }

    /// The same folder as another process has it, from [`FileResults::folder_for_rings`].
    pub(crate) fn at(dir: PathBuf) -> Self {
        FileResults { dir }
    }

    /// Start a result that is written while it comes in.
    pub fn create(&self, session: &str) -> io::Result<ResultWriter> {
        self.begin(session, Nature::default())
    }

    fn begin(&self, session: &str, nature: Nature) -> io::Result<ResultWriter> {
        let folder = self.folder(session);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)?;
        let handle = new_handle(nature.prefix())?;
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(folder.join(&handle))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(ResultWriter {
            handle,
            file: BufWriter::new(file),
        })
    }

    /// Where output that is still coming in lies without a name.
    pub(crate) fn folder_for_rings(&self) -> PathBuf {
        self.dir.clone()
    }

    fn folder(&self, session: &str) -> PathBuf {
        self.dir.join(session_folder(session))
    }
}

impl ResultStore for FileResults {
    fn keep(&self, session: &str, text: &str, nature: Nature) -> io::Result<String> {
        self.begin(session, nature)?.whole(text)
    }

    fn open(&self, session: &str, handle: &str) -> io::Result<Box<dyn KeptResult>> {
        if !is_handle(handle) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let no_follow = rustix::fs::OFlags::NOFOLLOW.bits();
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(no_follow.cast_signed())
            .open(self.folder(session).join(handle))?;
        Ok(Box::new(file))
    }
}

/// A result that is still coming in. What was written can be read behind the handle after a
/// flush, and stays when the writer goes.
#[derive(Debug)]
pub struct ResultWriter {
    handle: String,
    file: BufWriter<File>,
}

impl ResultWriter {
    pub fn handle(&self) -> &str {
        &self.handle
    }

    fn whole(mut self, text: &str) -> io::Result<String> {
        self.write_all(text.as_bytes())?;
        self.finish()
    }

    /// Write out what is buffered, and answer with the handle.
    pub fn finish(mut self) -> io::Result<String> {
        self.file.flush()?;
        Ok(self.handle)
    }
}

impl Write for ResultWriter {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.file.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn new_handle(prefix: &str) -> io::Result<String> {
    let mut random = [0; HEX_DIGITS / 2];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!("{prefix}{:032x}", u128::from_be_bytes(random)))
}

/// Whether this is spelled like one of our handles. Looked at before any path is made of it.
fn is_handle(handle: &str) -> bool {
    Nature::of(handle).is_some_and(|(_, hex)| {
        hex.len() == HEX_DIGITS
            && hex
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// The power to read kept results.
#[derive(Clone)]
pub struct KeptResults(Arc<dyn ResultStore>);

impl Power for KeptResults {
    const CAPABILITIES: &'static [Capability] = &[Capability::StorageResults];
}

impl KeptResults {
    pub fn new(store: Arc<dyn ResultStore>) -> Self {
        KeptResults(store)
    }

    /// Read a result with `work`, off the threads that must not wait. The work looks at its
    /// cancel token itself.
    pub async fn read<T: Send + 'static>(
        &self,
        session: &str,
        handle: &str,
        work: impl FnOnce(&mut dyn BufRead) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let store = self.0.clone();
        let (session, handle) = (session.to_owned(), handle.to_owned());
        blocking(move || {
            let kept = store
                .open(&session, &handle)
                .map_err(|error| unopened(&handle, error))?;
            work(&mut BufReader::with_capacity(64 << 10, kept))
        })
        .await
    }
}

fn unopened(handle: &str, error: io::Error) -> ToolError {
    let shown: String = handle.chars().take(60).collect();
    match error.kind() {
        io::ErrorKind::NotFound => {
            ToolError::not_available(format!("no such result in this session: `{shown}`"))
                .hint("handles come with a truncated result, and work in its session only")
        }
        _ => ToolError::failed(format!("cannot read the kept result: `{shown}`: {error}"))
            .caused_by(error),
    }
}

/// The power to read what the user attached; the caller carries the data.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attachments;

impl Power for Attachments {
    const CAPABILITIES: &'static [Capability] = &[Capability::AttachmentsRead];
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;

    fn read(results: &FileResults, session: &str, handle: &str) -> io::Result<String> {
        let mut text = String::new();
        results.open(session, handle)?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn a_handle_opens_only_for_its_session_and_outlives_the_store() {
        let home = tempfile::tempdir().unwrap();
        let handle = FileResults::new(home.path())
            .keep("one", "whole", Nature::default())
            .unwrap();
        let results = FileResults::new(home.path());
        assert_eq!(read(&results, "one", &handle).unwrap(), "whole");
        assert_eq!(
            read(&results, "two", &handle).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    #[test]
    fn only_handles_become_paths() {
        let home = tempfile::tempdir().unwrap();
        let results = FileResults::new(home.path());
        let handle = results.keep("s", "x", Nature::default()).unwrap();
        std::fs::write(results.folder("s").join("plain"), "x").unwrap();
        let check = |handle: &str, expected: bool| {
            assert_eq!(results.open("s", handle).is_ok(), expected, "{handle}");
        };
        check(&handle, true);
        check("plain", false);
        check("../../x", false);
        check("", false);
        check("r_", false);
        for (untrusted, forgettable) in [(false, false), (true, false), (false, true), (true, true)]
        {
            let nature = Nature {
                untrusted,
                forgettable,
            };
            let handle = results.keep("s", "x", nature).unwrap();
            assert_eq!(Nature::told_by(&handle), nature, "{handle}");
            check(&handle, true);
        }
        assert!(Nature::told_by("x_0").untrusted);
        check(&handle.to_uppercase(), false);
        check(&format!("{handle}/"), false);
        check(&format!("./{handle}"), false);
    }

    #[test]
    fn results_are_for_their_owner_only() {
        let home = tempfile::tempdir().unwrap();
        let results = FileResults::new(home.path());
        let mut writer = results.create("s").unwrap();
        writer.write_all(b"streamed").unwrap();
        let handle = writer.handle().to_owned();
        assert_eq!(writer.finish().unwrap(), handle);
        assert_eq!(read(&results, "s", &handle).unwrap(), "streamed");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&results.folder("s").join(&handle)), 0o600);
        assert_eq!(mode(&results.folder("s")), 0o700);
        assert_eq!(mode(&results.dir), 0o700);
    }
}
