//! The model inside the binary: 64,000 pieces of words in some 120 languages, each with a row of
//! 256 numbers. A text's vector is the sum of its pieces' rows; there is nothing else to run.
//!
//! Everything is read where the binary holds it. A process that never searches never touches
//! these pages, and one that does pays for the rows it reads.

mod normal;
pub mod trie;
mod viterbi;

pub use viterbi::pieces;

use crate::dot::{self, Raised};
use trie::Trie;

/// Numbers in a row.
pub const DIMENSIONS: usize = 256;
/// Rows in the table.
pub const PIECES: usize = 64_000;

const ROW_BYTES: usize = DIMENSIONS / 2;

/// Rows on cache-line borders, so that none straddles two lines more than it must.
#[repr(C, align(64))]
struct Aligned<const N: usize>([u8; N]);

static TABLE: Aligned<{ PIECES * ROW_BYTES }> =
    Aligned(*include_bytes!("../../data/model/table.i4"));
static SCALES: Aligned<{ PIECES * 4 }> = Aligned(*include_bytes!("../../data/model/scale.f32"));
static SCORES: Aligned<{ PIECES * 4 }> = Aligned(*include_bytes!("../../data/model/scores.f32"));
static TRIE: &[u8] = include_bytes!("../../data/model/pieces.trie");

/// The pieces' trie.
fn trie() -> Trie<'static> {
    Trie::new(TRIE)
}

fn float_at(bytes: &[u8], id: u16) -> f32 {
    let at = usize::from(id) * 4;
    bytes
        .get(at..at + 4)
        .and_then(|four| four.try_into().ok())
        .map_or(0.0, f32::from_le_bytes)
}

/// Log probability of a piece.
fn score(id: u16) -> f32 {
    float_at(&SCORES.0, id)
}

/// What the numbers of a row are to be multiplied by.
pub(crate) fn scale(id: u16) -> f32 {
    float_at(&SCALES.0, id)
}

fn row_bytes(id: u16) -> &'static [u8] {
    let at = usize::from(id) * ROW_BYTES;
    TABLE
        .0
        .get(at..at + ROW_BYTES)
        .unwrap_or(&[0x88; ROW_BYTES])
}

/// A piece's row and scale will be read soon.
pub(crate) fn soon(id: u16) {
    if let Some(row) = row_bytes(id).as_array::<ROW_BYTES>() {
        dot::soon(row);
    }
    if let Some(scale) = SCALES.0.get(usize::from(id) * 4) {
        dot::soon(scale);
    }
}

/// The row of a piece before scaling, each number from −7 to 7 raised by 8. All numbers with an
/// even place come first, then the odd ones, as that is quick to unpack; among such rows that
/// makes no difference.
pub(crate) fn raised_row(id: u16) -> Raised {
    let mut out = [0; DIMENSIONS];
    let (even, odd) = out.split_at_mut(ROW_BYTES);
    for ((even, odd), byte) in even.iter_mut().zip(odd).zip(row_bytes(id)) {
        *even = byte & 15;
        *odd = byte >> 4;
    }
    out
}

/// The sum of the pieces' rows, not yet scaled to length 1.
pub fn sum(ids: &[u16]) -> [f32; DIMENSIONS] {
    let mut even = [0.0; ROW_BYTES];
    let mut odd = [0.0; ROW_BYTES];
    for &id in ids {
        let scale = scale(id);
        for ((even, odd), byte) in even.iter_mut().zip(&mut odd).zip(row_bytes(id)) {
            *even += (f32::from(byte & 15) - 8.0) * scale;
            *odd += (f32::from(byte >> 4) - 8.0) * scale;
        }
    }
    let mut total = [0.0; DIMENSIONS];
    for ((pair, even), odd) in total.chunks_exact_mut(2).zip(even).zip(odd) {
        pair.copy_from_slice(&[even, odd]);
    }
    total
}

/// The vector of a text's pieces, scaled to length 1; all zero where there are none.
pub fn unit(ids: &[u16]) -> [f32; DIMENSIONS] {
    scaled(sum(ids))
}

/// A vector scaled to length 1; one without length stays as it is.
pub(crate) fn scaled(mut vector: [f32; DIMENSIONS]) -> [f32; DIMENSIONS] {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vector
}

/// Tells this model from another one, at the price of a few hundred bytes read.
pub(crate) fn fingerprint() -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in [&TABLE.0[..], &SCALES.0[..], &SCORES.0[..], TRIE] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        for sample in part.chunks(part.len() / 8 + 1) {
            hasher.update(&sample[..sample.len().min(64)]);
        }
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}
