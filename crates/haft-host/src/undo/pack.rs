//! Small contents of one call, one after the other in one file beside its log. A file for each of
//! a thousand would cost far more than what they hold: to be made, named and waited for.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::blobs::Digest;

/// Contents up to this size are packed; larger ones are kept once for all calls.
pub(super) const SMALL: u64 = 64 << 10;

const ENDING: &str = "pack";

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
}

/// The pack that belongs to a log.
pub(super) fn beside(log: &Path) -> PathBuf {
    log.with_extension(ENDING)
}

impl Pack {
    pub(super) fn create(log: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(beside(log))?;
        Ok(Pack {
            file,
            length: 0,
            known: HashMap::new(),
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
        self.length += packed.length;
        self.known.insert(digest, packed);
        Ok((digest, packed))
    }

    /// Wait for the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// A content of a pack, if it is still what it was.
pub(super) fn read(pack: &Path, packed: Packed, digest: &Digest) -> io::Result<Vec<u8>> {
    let damaged = || io::Error::other("the kept content is damaged");
    if packed.length > SMALL {
        return Err(damaged());
    }
    let mut bytes = vec![0; packed.length as usize];
    File::open(pack)?.read_exact_at(&mut bytes, packed.at)?;
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
        let log = dir.path().join("c.log");
        let mut pack = Pack::create(&log).unwrap();
        let contents = ["one", "", "two", "one"];
        let kept = contents.map(|content| pack.put(content.as_bytes()).unwrap());
        assert_eq!(kept[0], kept[3]);
        for (content, (digest, packed)) in contents.iter().zip(&kept) {
            let bytes = read(&beside(&log), *packed, digest).unwrap();
            assert_eq!(bytes, content.as_bytes());
        }
        assert_eq!(std::fs::read(beside(&log)).unwrap(), b"onetwo");
        std::fs::write(beside(&log), "onetwO").unwrap();
        assert!(read(&beside(&log), kept[2].1, &kept[2].0).is_err());
        assert!(read(&beside(&log), kept[0].1, &kept[0].0).is_ok());
    }
}
