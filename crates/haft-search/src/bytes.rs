//! The index as bytes, so that a restart reads where it would have to embed. The bytes carry a
//! version, the model they were made with and a checksum; anything that does not match is
//! refused, and the caller builds the index anew.

use crate::dot::{self, Row};
use crate::index::{Data, Index, Tool, Vectors};
use crate::keywords::Posting;
use crate::model::{self, DIMENSIONS};

const MAGIC: &[u8; 8] = b"haftfind";
/// Raise with every change of the layout, of the words or of what is embedded.
const VERSION: u32 = 2;
const CHECKSUM: usize = 32;
const HEADER: usize = 8 + 4 + 8;

/// Why bytes could not be read as an index; build it anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    #[error("not an index, or a damaged one")]
    Damaged,
    #[error("an index of another version")]
    OtherVersion,
}

impl Index {
    /// The whole index as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut data = self.data().clone();
        data.clear_free();
        let mut out = Writer::default();
        out.0.extend(MAGIC);
        out.number(VERSION);
        out.0.extend(model::fingerprint().to_le_bytes());
        out.number(data.tools.len() as u32);
        for (slot, tool) in data.tools.iter().enumerate() {
            if let Some(tool) = tool {
                out.tool(tool);
                out.pieces(data.pieces.of(slot));
            }
        }
        for vectors in [&data.whole, &data.head] {
            vectors
                .scales
                .iter()
                .for_each(|scale| out.0.extend(scale.to_le_bytes()));
            vectors
                .rows
                .iter()
                .for_each(|row| out.0.extend(row.iter().map(|x| *x as u8)));
        }
        let words: Vec<_> = data
            .keywords
            .all()
            .filter(|(_, postings)| !postings.is_empty())
            .collect();
        out.number(words.len() as u32);
        for (word, postings) in words {
            out.text(word);
            out.number(postings.len() as u32);
            for posting in postings {
                out.number(posting.slot);
                out.0.extend(posting.count.to_le_bytes());
            }
        }
        let checksum = blake3::hash(&out.0);
        out.0.extend(checksum.as_bytes());
        out.0
    }

    /// Read what [`Index::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Index, LoadError> {
        let body = bytes
            .len()
            .checked_sub(CHECKSUM)
            .ok_or(LoadError::Damaged)?;
        let (body, checksum) = bytes.split_at(body);
        let rest = body.strip_prefix(MAGIC).ok_or(LoadError::Damaged)?;
        if rest.get(..HEADER - 8) != Some(&header()[..]) {
            return Err(LoadError::OtherVersion);
        }
        if blake3::hash(body).as_bytes() != checksum {
            return Err(LoadError::Damaged);
        }
        let mut reader = Reader(&body[HEADER..]);
        reader
            .data()
            .map(Index::from_data)
            .ok_or(LoadError::Damaged)
    }
}

/// Version and model, as they stand after the magic.
fn header() -> [u8; HEADER - 8] {
    let mut header = [0; HEADER - 8];
    header[..4].copy_from_slice(&VERSION.to_le_bytes());
    header[4..].copy_from_slice(&model::fingerprint().to_le_bytes());
    header
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u32);
        self.0.extend(text.as_bytes());
    }

    fn tool(&mut self, tool: &Tool) {
        self.0.extend(tool.key);
        self.text(&tool.id);
        self.text(&tool.name);
        self.text(&tool.category);
        self.number(tool.exact.len() as u32);
        tool.exact.iter().for_each(|name| self.text(name));
        tool.lengths
            .iter()
            .for_each(|length| self.0.extend(length.to_le_bytes()));
    }

    fn pieces(&mut self, (all, name): (&[u16], &[u16])) {
        self.number(all.len() as u32);
        all.iter()
            .for_each(|piece| self.0.extend(piece.to_le_bytes()));
        self.0.extend((name.len() as u16).to_le_bytes());
    }
}

/// Reads from the front; none where the bytes end early or say what cannot be.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn number(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn small(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn float(&mut self) -> Option<f32> {
        self.array().map(f32::from_le_bytes)
    }

    /// A count of things of which each takes at least one byte.
    fn count(&mut self) -> Option<usize> {
        let count = self.number()? as usize;
        (count <= self.0.len()).then_some(count)
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = self.count()?;
        std::str::from_utf8(self.bytes(length)?).ok()
    }

    fn data(&mut self) -> Option<Data> {
        let mut data = Data::default();
        let tools = self.count()?;
        for _ in 0..tools {
            let tool = self.tool()?;
            if data.slot(&tool.id).is_some() {
                return None;
            }
            data.place(tool);
            let pieces: Option<Vec<u16>> = (0..self.count()?).map(|_| self.small()).collect();
            data.pieces.push(&pieces?, self.small()?);
        }
        data.whole = self.vectors(tools)?;
        data.coarse = data.whole.rows.iter().map(dot::coarse).collect();
        data.head = self.vectors(tools)?;
        for _ in 0..self.count()? {
            let word = self.text()?;
            for _ in 0..self.count()? {
                let slot = self.number().filter(|slot| (*slot as usize) < tools)?;
                let count = self.float()?;
                data.keywords.add(word, Posting { slot, count });
            }
        }
        self.0.is_empty().then_some(data)
    }

    fn tool(&mut self) -> Option<Tool> {
        Some(Tool {
            key: self.array()?,
            id: self.text()?.into(),
            name: self.text()?.into(),
            category: self.text()?.into(),
            exact: (0..self.count()?)
                .map(|_| Some(self.text()?.into()))
                .collect::<Option<_>>()?,
            lengths: [self.small()?, self.small()?, self.small()?, self.small()?],
        })
    }

    fn vectors(&mut self, count: usize) -> Option<Vectors> {
        let scales = (0..count)
            .map(|_| self.float())
            .collect::<Option<Vec<f32>>>()?;
        let rows = (0..count)
            .map(|_| Some(self.array::<DIMENSIONS>()?.map(|x| x as i8)))
            .collect::<Option<Vec<Row>>>()?;
        Some(Vectors { rows, scales })
    }
}
