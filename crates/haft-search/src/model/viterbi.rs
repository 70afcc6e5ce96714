//! From text to pieces: the most probable way to cut it, by the pieces' own probabilities.

use super::normal::normalise;
use super::{PIECES, score, trie};

/// The piece that stands for characters the model does not know.
const UNKNOWN: u16 = 0;
/// Ids from here on are pieces; those below are marks.
const FIRST_PIECE: u16 = 3;
/// An unknown character costs this much more than the rarest piece.
const UNKNOWN_COST: f32 = 10.0;

/// The pieces of a text, most probable cut, neighbouring unknown characters as one.
pub fn pieces(text: &str) -> Vec<u16> {
    let text = normalise(text);
    let bytes = text.as_bytes();
    // For each byte offset: the best score of a cut that ends there, and its last piece.
    let mut best = vec![(f32::NEG_INFINITY, 0u32, UNKNOWN); bytes.len() + 1];
    best[0].0 = 0.0;
    let unknown = lowest_score() - UNKNOWN_COST;
    for (start, c) in text.char_indices() {
        let so_far = best[start].0;
        let mut single = false;
        for (length, id) in trie().prefixes(&bytes[start..]) {
            if id < FIRST_PIECE {
                continue;
            }
            single |= length == c.len_utf8();
            offer(&mut best[start + length], so_far + score(id), start, id);
        }
        if !single {
            offer(
                &mut best[start + c.len_utf8()],
                so_far + unknown,
                start,
                UNKNOWN,
            );
        }
    }
    let mut ids = Vec::with_capacity(bytes.len() / 4 + 1);
    let mut end = bytes.len();
    while end > 0 {
        let (_, start, id) = best[end];
        if id != UNKNOWN || ids.last() != Some(&UNKNOWN) {
            ids.push(id);
        }
        end = start as usize;
    }
    ids.reverse();
    ids
}

fn offer(best: &mut (f32, u32, u16), score: f32, start: usize, id: u16) {
    if score > best.0 {
        *best = (score, start as u32, id);
    }
}

fn lowest_score() -> f32 {
    // Pieces are listed from the most to the least probable.
    score((PIECES - 1) as u16)
}
