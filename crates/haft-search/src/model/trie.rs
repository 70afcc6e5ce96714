//! The pieces of the model as a trie in one flat list of 32-bit cells, used where it lies in the
//! binary: no piece is copied and nothing is built at start.
//!
//! A cell holds, from the top: 8 bits of label, 1 bit that says a piece ends here, 23 bits of
//! base. The child for byte `b` of a cell with base `x` is cell `x ^ b`, provided its label is
//! `b`. No two cells share a base, so the label alone proves the parent. The id of a piece that
//! ends at a cell lies in the cell at its base (byte 0, which no text has).

/// The trie over its bytes, four a cell, little endian.
#[derive(Clone, Copy)]
pub struct Trie<'a> {
    cells: &'a [u8],
}

const ENDS: u32 = 1 << 23;
const BASE: u32 = ENDS - 1;

impl<'a> Trie<'a> {
    pub const fn new(cells: &'a [u8]) -> Self {
        Trie { cells }
    }

    fn cell(self, at: u32) -> u32 {
        let at = at as usize * 4;
        self.cells
            .get(at..at + 4)
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(0, u32::from_le_bytes)
    }

    /// Every piece that begins `text`, shortest first: (length in bytes, id).
    pub fn prefixes(self, text: &'a [u8]) -> impl Iterator<Item = (usize, u16)> + 'a {
        let mut cell = self.cell(0);
        let mut length = 0;
        std::iter::from_fn(move || {
            loop {
                let byte = u32::from(*text.get(length)?);
                let child = self.cell((cell & BASE) ^ byte);
                if child >> 24 != byte || byte == 0 {
                    return None;
                }
                cell = child;
                length += 1;
                if cell & ENDS != 0 {
                    let id = self.cell(cell & BASE);
                    return Some((length, id as u16));
                }
            }
        })
    }
}

/// Lay out the trie of these pieces. Only the packing example and tests call it.
pub fn pack(pieces: &[(&[u8], u16)]) -> Vec<u8> {
    let mut pieces = pieces.to_vec();
    pieces.sort_unstable();
    let mut layout = Layout {
        cells: vec![0],
        taken: vec![true],
        based: vec![false],
        cursors: vec![1; 257],
    };
    layout.place(0, &pieces, 0);
    layout
        .cells
        .iter()
        .flat_map(|cell| cell.to_le_bytes())
        .collect()
}

struct Layout {
    cells: Vec<u32>,
    taken: Vec<bool>,
    /// Bases in use: no two cells may share one
    based: Vec<bool>,
    /// Where the search for room for so many children goes on: looking again at what was too
    /// crowded before would make packing quadratic
    cursors: Vec<usize>,
}

impl Layout {
    /// Lay out the children of `cell`, whose pieces share their first `depth` bytes.
    fn place(&mut self, cell: usize, pieces: &[(&[u8], u16)], depth: usize) {
        let mut bytes: Vec<u8> = pieces
            .iter()
            .filter_map(|(piece, _)| piece.get(depth).copied())
            .collect();
        bytes.dedup();
        let ending = pieces.iter().find(|(piece, _)| piece.len() == depth);
        if ending.is_some() {
            bytes.insert(0, 0);
        }
        if bytes.is_empty() {
            return;
        }
        let base = self.free_base(&bytes);
        self.based[base] = true;
        for &byte in &bytes {
            let at = base ^ usize::from(byte);
            self.taken[at] = true;
            self.cells[at] = u32::from(byte) << 24;
        }
        self.cells[cell] |= base as u32;
        if let Some((_, id)) = ending {
            self.cells[cell] |= ENDS;
            self.cells[base] = u32::from(*id);
        }
        let mut rest = &pieces[usize::from(ending.is_some())..];
        while let Some((first, _)) = rest.first() {
            let byte = first[depth];
            let same = rest.partition_point(|(piece, _)| piece[depth] == byte);
            self.place(base ^ usize::from(byte), &rest[..same], depth + 1);
            rest = &rest[same..];
        }
    }

    fn free_base(&mut self, bytes: &[u8]) -> usize {
        let mut at = self.cursors[bytes.len()];
        loop {
            self.grow(at | 255);
            let base = at ^ usize::from(bytes[0]);
            self.grow(base | 255);
            let fits = !self.based[base]
                && base != 0
                && bytes
                    .iter()
                    .all(|byte| !self.taken[base ^ usize::from(*byte)]);
            if fits {
                self.cursors[bytes.len()] = at;
                return base;
            }
            at += 1;
        }
    }

    fn grow(&mut self, last: usize) {
        if self.cells.len() <= last {
            self.cells.resize(last + 1, 0);
            self.taken.resize(last + 1, false);
            self.based.resize(last + 1, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_piece_that_begins_a_text() {
        let check = |pieces: &[&str], text: &str| -> String {
            let numbered: Vec<(&[u8], u16)> = pieces
                .iter()
                .zip(1..)
                .map(|(piece, id)| (piece.as_bytes(), id))
                .collect();
            let cells = pack(&numbered);
            let found: Vec<String> = Trie::new(&cells)
                .prefixes(text.as_bytes())
                .map(|(length, id)| format!("{}={id}", &text[..length]))
                .collect();
            found.join(" ")
        };
        assert_eq!(check(&["a", "ab", "abc", "b"], "abd"), "a=1 ab=2");
        assert_eq!(check(&["é", "éé", "x"], "ééé"), "é=1 éé=2");
        assert_eq!(check(&["a"], ""), "");
        assert_eq!(check(&["a"], "b\0a"), "");
        assert_eq!(check(&["ab"], "a"), "");
    }
}
