//! What is kept of a command's output: its end in memory, the whole of it behind the caller's
//! writer once it no longer fits, up to a limit.

use std::io::{self, Write};

use super::text::{Decoder, Tail, last_chars};

/// Characters of output that a finished command answers with.
pub const OUTPUT_CHARS: usize = 200_000;
/// How the last line of a kept output begins that is not all of it.
pub const CUT_NOTE: &str = "[cut: the command wrote ";
/// Characters of the end that are always there.
pub const TAIL_CHARS: usize = 4_000;

/// The place for the whole output, and how much of it is kept there. It is opened once, when the
/// output outgrows its answer.
pub(super) struct Keep<'a> {
    pub(super) open: Option<Box<Open<'a>>>,
    pub(super) max_bytes: u64,
    /// Characters that are held in memory
    pub(super) held: usize,
}

/// Gives a handle, and what to write to.
type Open<'a> = dyn FnOnce() -> io::Result<(String, Box<dyn Write + Send>)> + Send + 'a;

/// The output of one command while it runs.
pub(super) struct Record<'a> {
    decoder: Decoder,
    tail: Tail,
    live: &'a mut (dyn FnMut(&str) + Send),
    keep: Keep<'a>,
    spill: Spill,
    bytes: u64,
    chars: usize,
}

#[derive(Default)]
struct Spill {
    open: Option<(String, Box<dyn Write + Send>)>,
    written: u64,
    /// Text came that no longer fitted
    cut: bool,
    error: Option<io::Error>,
}

/// What a [`Record`] comes to.
pub(super) struct Recorded {
    pub(super) output: String,
    pub(super) tail: String,
    pub(super) truncated: bool,
    pub(super) bytes: u64,
    pub(super) chars: usize,
    pub(super) handle: Option<String>,
    /// Bytes of the beginning that it holds, if that is not all
    pub(super) kept_bytes: Option<u64>,
    pub(super) spill_error: Option<io::Error>,
}

impl<'a> Record<'a> {
    pub(super) fn new(live: &'a mut (dyn FnMut(&str) + Send), keep: Keep<'a>) -> Self {
        Record {
            decoder: Decoder::default(),
            tail: Tail::new(keep.held),
            live,
            keep,
            spill: Spill::default(),
            bytes: 0,
            chars: 0,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let text = self.decoder.push(bytes);
        self.take(&text);
    }

    fn take(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        // Counting is dear, and next to all output is plain.
        let chars = match text.is_ascii() {
            true => text.len(),
            false => text.chars().count(),
        };
        if self.tail.would_drop(chars)
            && let Some(open) = self.keep.open.take()
        {
            match open() {
                Ok(opened) => self.spill.open = Some(opened),
                Err(error) => self.spill.error = Some(error),
            }
            for piece in self.tail.so_far() {
                self.spill.write(piece, self.keep.max_bytes);
            }
        }
        self.spill.write(text, self.keep.max_bytes);
        self.tail.push(text, chars);
        self.chars += chars;
        (self.live)(text);
    }

    pub(super) fn finish(mut self) -> Recorded {
        let rest = self.decoder.finish();
        self.take(rest);
        self.spill.finish(self.bytes, self.keep.max_bytes);
        let truncated = self.tail.dropped();
        let output = self.tail.into_text();
        Recorded {
            tail: last_chars(&output, TAIL_CHARS).to_owned(),
            output,
            truncated,
            bytes: self.bytes,
            chars: self.chars,
            kept_bytes: self.spill.cut.then_some(self.spill.written),
            handle: self.spill.open.map(|(handle, _)| handle),
            spill_error: self.spill.error,
        }
    }
}

impl Spill {
    /// A disk that is full ends the copy, not the command.
    fn write(&mut self, text: &str, max: u64) {
        let Some((_, writer)) = &mut self.open else {
            return;
        };
        let room = usize::try_from(max.saturating_sub(self.written)).unwrap_or(usize::MAX);
        let fits = if self.cut {
            ""
        } else {
            text.get(..text.floor_char_boundary(room))
                .unwrap_or_default()
        };
        self.cut |= fits.len() < text.len();
        self.written += fits.len() as u64;
        if let Err(error) = writer.write_all(fits.as_bytes()) {
            self.error = Some(error);
            self.open = None;
        }
    }

    fn finish(&mut self, bytes: u64, max: u64) {
        let Some((_, writer)) = &mut self.open else {
            return;
        };
        let note = if self.cut {
            format!("\n{CUT_NOTE}{bytes} bytes, `shell.max_output` keeps {max}]\n")
        } else {
            String::new()
        };
        let written = writer
            .write_all(note.as_bytes())
            .and_then(|()| writer.flush());
        if let Err(error) = written {
            self.error = Some(error);
            self.open = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);
    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn record(total: usize, max: u64) -> (Recorded, String) {
        let whole = Shared::default();
        let kept = whole.clone();
        let open = move || Ok(("r".to_owned(), Box::new(kept) as Box<dyn Write + Send>));
        let mut live = |_: &str| {};
        let keep = Keep {
            open: Some(Box::new(open)),
            max_bytes: max,
            held: OUTPUT_CHARS,
        };
        let mut record = Record::new(&mut live, keep);
        let line = "0123456789abcdé\n".as_bytes();
        for piece in line.repeat(total.div_ceil(line.len())).chunks(1000) {
            record.push(piece);
        }
        let recorded = record.finish();
        let bytes = whole.0.lock().unwrap().clone();
        (recorded, String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn small_output_is_not_spilled() {
        let (recorded, whole) = record(10_000, 1 << 20);
        assert!(!recorded.truncated && recorded.handle.is_none() && whole.is_empty());
        assert_eq!(recorded.tail.chars().count(), TAIL_CHARS);
        assert!(recorded.output.ends_with(&recorded.tail));
    }

    #[test]
    fn large_output_is_whole_behind_the_spill() {
        let (recorded, whole) = record(1_000_000, 10 << 20);
        assert!(recorded.truncated && recorded.handle.is_some());
        assert_eq!(recorded.output.chars().count(), OUTPUT_CHARS);
        assert_eq!(whole.len() as u64, recorded.bytes);
        assert_eq!(whole.chars().count(), recorded.chars);
        assert!(whole.ends_with(&recorded.output));
    }

    #[test]
    fn the_cut_is_stated() {
        let (recorded, whole) = record(1_000_000, 300_007);
        assert!(recorded.handle.is_some() && whole.len() < 300_200);
        let kept = recorded.kept_bytes.unwrap();
        assert!((300_000..=300_007).contains(&kept), "{kept}");
        assert!(whole.ends_with(&format!(
            "\n[cut: the command wrote {} bytes, `shell.max_output` keeps 300007]\n",
            recorded.bytes
        )));
    }

    #[test]
    fn a_full_disk_ends_the_copy_and_not_the_command() {
        let open = || {
            let full = std::fs::OpenOptions::new().write(true).open("/dev/full")?;
            Ok(("r".to_owned(), Box::new(full) as Box<dyn Write + Send>))
        };
        let mut live = |_: &str| {};
        let keep = Keep {
            open: Some(Box::new(open)),
            max_bytes: 1 << 20,
            held: OUTPUT_CHARS,
        };
        let mut record = Record::new(&mut live, keep);
        record.push(&b"x".repeat(OUTPUT_CHARS + 1));
        record.push(b"end");
        let recorded = record.finish();
        assert!(recorded.handle.is_none() && recorded.spill_error.is_some());
        assert!(recorded.output.ends_with("xend"));
    }
}
