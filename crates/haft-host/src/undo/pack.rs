//! Small contents of one call, one after the other in one file beside its log. A file for each of
//! a thousand would cost far more than what they hold: to be made, named and waited for.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use super::large::Digest;

/// Contents up to this size are packed; larger ones are kept once for all calls.
pub(super) const SMALL: u64 = 64 << 10;

/// Where in the pack a content lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Packed {
    at: u64,
    length: u64,
}

/// The pack of a call that is at work.
#[derive(Debug)]
pub(super) struct Pack {
    file: File,
    length: u64,
    known: HashMap<Digest, Packed>,
    /// Of everything in it
    hasher: blake3::Hasher,
}

impl Pack {
    pub(super) fn create(draft: &Draft) -> io::Result<Self> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(draft.pack())?;
        Ok(Pack {
            file,
            length: 0,
            known: HashMap::new(),
            hasher: blake3::Hasher::new(),
        })
    }

    /// Keep these bytes, each content once.
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<(Digest, Packed)> {
        let digest = *blake3::hash(bytes).as_bytes();
        if let Some(packed) = self.known.get(&digest) {
            return Ok((digest, *packed));
        }
        let packed = Packed {
            at: self.length,
            length: bytes.len() as u64,
        };
        if let Err(error) = self.file.write_all(bytes) {
            // What comes next must lie where it says.
            self.file.set_len(self.length)?;
            return Err(error);
        }
        self.hasher.update(bytes);
        self.length += packed.length;
        self.known.insert(digest, packed);
        Ok((digest, packed))
    }

    /// The digest of all of it, in hex.
    pub(super) fn digest(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }

    /// Wait for the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// A content of a pack, if it is still what it was.
pub(super) fn read(
    pack: &mut (impl Read + Seek),
    packed: Packed,
    digest: &Digest,
) -> io::Result<Vec<u8>> {
    let damaged = || io::Error::other("the kept content is damaged");
    if packed.length > SMALL {
        return Err(damaged());
    }
    let mut bytes = vec![0; packed.length as usize];
    pack.seek(SeekFrom::Start(packed.at))?;
    pack.read_exact(&mut bytes).map_err(|_| damaged())?;
    match blake3::hash(&bytes) == *digest {
        true => Ok(bytes),
        false => Err(damaged()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_come_out_as_they_went_in() {
        let dir = tempfile::tempdir().unwrap();
        let draft = Draft {
            folder: dir.path().to_owned(),
            id: "c".to_owned(),
        };
        let mut pack = Pack::create(&draft).unwrap();
        let contents = ["one", "", "two", "one"];
        let kept = contents.map(|content| pack.put(content.as_bytes()).unwrap());
        assert_eq!(kept[0], kept[3]);
        let read = |(digest, packed): &(Digest, Packed)| {
            read(&mut File::open(draft.pack()).unwrap(), *packed, digest)
        };
        for (content, kept) in contents.iter().zip(&kept) {
            assert_eq!(read(kept).unwrap(), content.as_bytes());
        }
        assert_eq!(std::fs::read(draft.pack()).unwrap(), b"onetwo");
        assert_eq!(
            pack.digest(),
            super::super::draft::digest_of(&draft.pack()).unwrap()
        );
        std::fs::write(draft.pack(), "onetwO").unwrap();
        assert!(read(&kept[2]).is_err());
        assert!(read(&kept[0]).is_ok());
    }
}
