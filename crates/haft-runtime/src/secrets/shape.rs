//! Classes of bytes, for marks that are known by their shape only.

/// One byte of a needle that is known by its shape only.
#[derive(Clone, Copy)]
pub(super) enum Class {
    Is(u8),
    Digit,
    Hex,
    Alnum,
}

impl Class {
    pub(super) fn members(self) -> &'static [u8] {
        const DIGITS: &[u8] = b"0123456789";
        const ALNUM: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        const EVERY: &[u8; 128] = &ascii();
        match self {
            Class::Is(byte) => std::slice::from_ref(&EVERY[usize::from(byte & 0x7f)]),
            Class::Digit => DIGITS,
            Class::Hex => &ALNUM[..16],
            Class::Alnum => ALNUM,
        }
    }
}

const fn ascii() -> [u8; 128] {
    let mut bytes = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        bytes[byte] = byte as u8;
        byte += 1;
    }
    bytes
}
