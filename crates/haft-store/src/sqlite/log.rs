//! The write-ahead log as a file. SQLite writes pages into it before they are committed and never
//! cuts off those of a transaction that was given up, so that one which found the disk full would
//! leave it so.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::path::Path;

/// What SQLite writes first, for checksums over words of either order.
const MAGIC: u32 = 0x377f_0682;
const HEADER: usize = 32;
const FRAME: usize = 24;
/// The largest page that SQLite knows.
const LARGEST: usize = 65_536;

/// Cut off what follows the last commit. Nobody may write meanwhile: the caller has begun a
/// transaction that writes. Readers never look beyond the last commit.
pub(super) fn cut(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let length = file.metadata()?.len();
    match committed(&file)? {
        Some(end) if end < length => file.set_len(end),
        _ => Ok(()),
    }
}

/// Where the last commit ends. None for a log that nobody can tell of.
fn committed(file: &File) -> io::Result<Option<u64>> {
    let mut log = BufReader::with_capacity(LARGEST, file);
    let mut header = [0; HEADER];
    if !filled(&mut log, &mut header)? {
        return Ok(None);
    }
    let magic = word(&header, 0);
    let page = word(&header, 8) as usize;
    let sum = Sum::new(magic & 1 == 1).with(&header[..24]);
    let known = magic & !1 == MAGIC && page.is_power_of_two() && (512..=LARGEST).contains(&page);
    if !known || !sum.is(&header[24..]) {
        return Ok(None);
    }
    let mut end = HEADER as u64;
    let (mut at, mut sum) = (end, sum);
    let mut frame = vec![0; FRAME + page];
    while filled(&mut log, &mut frame)? {
        sum = sum.with(&frame[..8]).with(&frame[FRAME..]);
        // Frames of an earlier round of the log have other salts.
        if frame[8..16] != header[16..24] || !sum.is(&frame[16..FRAME]) {
            break;
        }
        at += frame.len() as u64;
        // The last frame of a commit says how large the database is then.
        if word(&frame, 4) != 0 {
            end = at;
        }
    }
    Ok(Some(end))
}

/// Whether all of it could be read.
fn filled(log: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match log.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(word)
}

/// The checksum that runs through the log.
#[derive(Clone, Copy)]
struct Sum {
    big: bool,
    words: [u32; 2],
}

impl Sum {
    fn new(big: bool) -> Self {
        Sum { big, words: [0; 2] }
    }

    fn with(self, bytes: &[u8]) -> Self {
        let [mut one, mut two] = self.words;
        let read = |at: &[u8]| {
            let word = word(at, 0);
            if self.big { word } else { word.swap_bytes() }
        };
        for pair in bytes.chunks_exact(8) {
            one = one.wrapping_add(read(pair)).wrapping_add(two);
            two = two.wrapping_add(read(&pair[4..])).wrapping_add(one);
        }
        Sum {
            words: [one, two],
            ..self
        }
    }

    fn is(&self, stored: &[u8]) -> bool {
        self.words == [word(stored, 0), word(stored, 4)]
    }
}
