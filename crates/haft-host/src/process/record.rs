//! What is kept of a command's output: its end in memory, and the whole of it in the caller's place
//! once it no longer fits, up to a limit. Output comes in pieces that are handed on as they are:
//! what there is no longer room for in memory is what is put there.

use std::io;

use super::kept::Kept;
use super::text::{Piece, Tail, last_chars};

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

/// Gives a handle, and what is to be filled.
type Open<'a> = dyn FnOnce() -> io::Result<(String, Kept)> + Send + 'a;

/// The output of one command while it runs.
pub(super) struct Record<'a> {
    tail: Tail,
    live: &'a mut (dyn FnMut(&str) + Send),
    keep: Keep<'a>,
    spill: Spill,
    bytes: u64,
    chars: usize,
}

#[derive(Default)]
struct Spill {
    open: Option<(String, Kept)>,
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
            tail: Tail::new(keep.held),
            live,
            keep,
            spill: Spill::default(),
            bytes: 0,
            chars: 0,
        }
    }

    pub(super) fn push(&mut self, piece: Piece) {
        self.bytes += piece.bytes as u64;
        self.chars += piece.chars;
        if piece.text.is_empty() {
            return;
        }
        (self.live)(&piece.text);
        self.tail.push(piece);
        while let Some(piece) = self.tail.surplus() {
            self.spill.put(piece, &mut self.keep);
        }
    }

    pub(super) fn finish(mut self) -> Recorded {
        let output = self.tail.text();
        let truncated = self.tail.dropped();
        if truncated {
            for piece in self.tail.into_pieces() {
                self.spill.put(piece, &mut self.keep);
            }
        }
        self.spill.end(self.bytes, self.keep.max_bytes);
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
    fn put(&mut self, mut piece: String, keep: &mut Keep<'_>) {
        if let Some(open) = keep.open.take() {
            match open() {
                Ok(opened) => self.open = Some(opened),
                Err(error) => self.error = Some(error),
            }
        }
        let Some((_, place)) = &mut self.open else {
            return;
        };
        let room = match self.cut {
            true => 0,
            false => keep.max_bytes.saturating_sub(self.written),
        };
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        if piece.len() > room {
            self.cut = true;
            piece.truncate(piece.floor_char_boundary(room));
        }
        self.written += piece.len() as u64;
        if piece.is_empty() {
            return;
        }
        if let Err(error) = place.put(piece) {
            self.failed(error);
        }
    }

    fn end(&mut self, bytes: u64, max: u64) {
        let Some((_, place)) = &mut self.open else {
            return;
        };
        let note = if self.cut {
            format!("\n{CUT_NOTE}{bytes} bytes, `shell.max_output` keeps {max}]\n")
        } else {
            String::new()
        };
        if let Err(error) = place.put(note).and_then(|()| place.end()) {
            self.failed(error);
        }
    }

    fn failed(&mut self, error: io::Error) {
        self.error = Some(error);
        self.open = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
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

    fn piece_of(text: &str) -> Piece {
        Piece::new(text.to_owned(), text.len())
    }

    fn record(total: usize, max: u64) -> (Recorded, String) {
        let whole = Shared::default();
        let kept = whole.clone();
        let open = move || Ok(("r".to_owned(), Kept::Here(Box::new(kept))));
        let mut live = |_: &str| {};
        let keep = Keep {
            open: Some(Box::new(open)),
            max_bytes: max,
            held: OUTPUT_CHARS,
        };
        let mut record = Record::new(&mut live, keep);
        let lines = "0123456789abcdé\n".repeat(50);
        for _ in 0..total.div_ceil(lines.len()) {
            record.push(piece_of(&lines));
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
            Ok(("r".to_owned(), Kept::Here(Box::new(full))))
        };
        let mut live = |_: &str| {};
        let keep = Keep {
            open: Some(Box::new(open)),
            max_bytes: 1 << 20,
            held: OUTPUT_CHARS,
        };
        let mut record = Record::new(&mut live, keep);
        record.push(piece_of(&"x".repeat(OUTPUT_CHARS + 1)));
        record.push(piece_of("end"));
        let recorded = record.finish();
        assert!(recorded.handle.is_none() && recorded.spill_error.is_some());
        assert!(recorded.output.ends_with("xend"));
    }
}
