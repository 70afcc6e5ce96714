//! Bytes on their way to a client. What is kept elsewhere, as a list of a thousand tools, is pointed
//! at and not copied.

use std::io::{self, IoSlice};
use std::sync::Arc;

use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Bytes of a buffer that stay for the next message.
const KEPT: usize = 1024 * 1024;

#[derive(Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    /// Texts that stand between the bytes, and where
    texts: Vec<(usize, Arc<str>)>,
}

impl Outgoing {
    pub(crate) fn push(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
    }

    pub(crate) fn point_at(&mut self, text: &Arc<str>) {
        self.texts.push((self.bytes.len(), text.clone()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.texts.is_empty()
    }

    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let mut from = 0;
        let ends = self.texts.iter().map(|(end, text)| (*end, &**text));
        ends.chain([(self.bytes.len(), "")])
            .flat_map(move |(end, text)| {
                let before = &self.bytes[from..end];
                from = end;
                [before, text.as_bytes()]
            })
    }

    /// Everything in one piece.
    pub(crate) fn into_vec(self) -> Vec<u8> {
        match self.texts.is_empty() {
            true => self.bytes,
            false => self.parts().flatten().copied().collect(),
        }
    }

    /// Write everything, in as few steps as the other end takes.
    pub(crate) async fn write_to(
        &mut self,
        writer: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        if self.texts.is_empty() {
            writer.write_all(&self.bytes).await?;
        } else {
            let mut slices: Vec<IoSlice<'_>> = self.parts().map(IoSlice::new).collect();
            let mut left = &mut slices[..];
            // Those that are empty go at once.
            IoSlice::advance_slices(&mut left, 0);
            while !left.is_empty() {
                match writer.write_vectored(left).await? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    written => IoSlice::advance_slices(&mut left, written),
                }
            }
        }
        writer.flush().await?;
        self.texts.clear();
        self.bytes.clear();
        // One large answer must not hold its memory for good.
        self.bytes.shrink_to(KEPT);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn parts_come_out_in_their_order_however_little_is_taken_at_once() {
        let fill = || {
            let mut out = Outgoing::default();
            out.point_at(&"".into());
            out.push(b"a");
            out.point_at(&"bc".into());
            out.point_at(&"d".into());
            out.push(b"ef");
            out
        };
        assert!(Outgoing::default().is_empty());
        assert_eq!(fill().into_vec(), b"abcdef");
        for room in 1..8 {
            let (mut writer, mut reader) = tokio::io::duplex(room);
            let mut out = fill();
            let written = tokio::spawn(async move {
                out.write_to(&mut writer).await.unwrap();
                assert!(out.is_empty());
            });
            let mut read = Vec::new();
            tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut read)
                .await
                .unwrap();
            written.await.unwrap();
            assert_eq!(read, b"abcdef", "{room}");
        }
    }
}
