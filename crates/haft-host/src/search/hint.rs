//! What every match of a pattern holds: a text, or a sign with the kinds of bytes beside it.
//! Looking for that is many times quicker than running a regex, so lines without it are never
//! shown to the regex.

use memchr::{memchr, memmem};
use regex_syntax::hir::{Class, Hir, HirKind, Literal};

/// Shorter texts stand in too many lines to sort any out.
const SHORTEST: usize = 2;
/// More kinds of bytes than this beside a sign sort out too little.
const FEW: usize = 64;

#[derive(Debug)]
pub(super) enum Required {
    Text(Box<memmem::Finder<'static>>),
    Sign {
        sign: u8,
        before: Option<Bytes>,
        after: Option<Bytes>,
    },
}

/// A set of bytes.
#[derive(Debug, Clone)]
pub(super) struct Bytes(Box<[bool; 256]>);

impl Required {
    /// The longest text that a match cannot do without, if there is one worth looking for.
    pub(super) fn of(hir: &Hir) -> Option<Self> {
        let mut texts = Vec::new();
        collect(hir, &mut texts);
        let text = texts.into_iter().max_by_key(Vec::len)?;
        match text.len() >= SHORTEST {
            true => Some(Required::Text(Box::new(
                memmem::Finder::new(&text).into_owned(),
            ))),
            false => sign(hir),
        }
    }

    /// Where it stands next, counted from the start of the buffer.
    pub(super) fn find(&self, buffer: &[u8], mut from: usize) -> Option<usize> {
        let (sign, before, after) = match self {
            Required::Text(finder) => return Some(finder.find(buffer.get(from..)?)? + from),
            Required::Sign {
                sign,
                before,
                after,
            } => (*sign, before, after),
        };
        loop {
            let at = memchr(sign, buffer.get(from..)?)? + from;
            let fits = |bytes: &Option<Bytes>, beside: Option<&u8>| match (bytes, beside) {
                (None, _) => true,
                (Some(bytes), Some(&byte)) => bytes.0[usize::from(byte)],
                (Some(_), None) => false,
            };
            if fits(after, buffer.get(at + 1)) && fits(before, buffer[..at].last()) {
                return Some(at);
            }
            from = at + 1;
        }
    }

    #[cfg(test)]
    pub(super) fn shown(&self) -> String {
        let count = |bytes: &Option<Bytes>| bytes.as_ref().map(Bytes::len);
        match self {
            Required::Text(finder) => String::from_utf8_lossy(finder.needle()).into_owned(),
            Required::Sign {
                sign,
                before,
                after,
            } => format!("{} {:?} {:?}", *sign as char, count(before), count(after)),
        }
    }
}

fn collect(hir: &Hir, texts: &mut Vec<Vec<u8>>) {
    match hir.kind() {
        HirKind::Literal(Literal(bytes)) => texts.push(bytes.to_vec()),
        HirKind::Repetition(repetition) if repetition.min > 0 => collect(&repetition.sub, texts),
        HirKind::Capture(capture) => collect(&capture.sub, texts),
        HirKind::Concat(parts) => {
            let mut run = Vec::new();
            for part in parts {
                match part.kind() {
                    HirKind::Literal(Literal(bytes)) => run.extend_from_slice(bytes),
                    // An anchor takes no room: what stands around it stands together.
                    HirKind::Look(_) => {}
                    _ => {
                        texts.push(std::mem::take(&mut run));
                        collect(part, texts);
                    }
                }
            }
            texts.push(run);
        }
        _ => {}
    }
}

/// A punctuation mark between classes of bytes, as in `[A-Z]+_[0-9]`.
fn sign(hir: &Hir) -> Option<Required> {
    let HirKind::Concat(parts) = hir.kind() else {
        return None;
    };
    for (n, part) in parts.iter().enumerate() {
        let HirKind::Literal(Literal(bytes)) = part.kind() else {
            continue;
        };
        let &[sign] = &bytes[..] else {
            continue;
        };
        let beside = |n: usize, side: Side| Bytes::of(parts.get(n)?, side);
        let before = n.checked_sub(1).and_then(|n| beside(n, Side::Last));
        let after = beside(n + 1, Side::First);
        let few = |bytes: &Option<Bytes>| bytes.as_ref().is_some_and(|bytes| bytes.len() <= FEW);
        if sign.is_ascii_punctuation() && (few(&before) || few(&after)) {
            return Some(Required::Sign {
                sign,
                before,
                after,
            });
        }
    }
    None
}

#[derive(Debug, Clone, Copy)]
enum Side {
    First,
    Last,
}

impl Bytes {
    /// Every byte that a match can start or end with; none if it can be empty.
    fn of(hir: &Hir, side: Side) -> Option<Self> {
        if hir
            .properties()
            .minimum_len()
            .is_none_or(|length| length == 0)
        {
            return None;
        }
        match hir.kind() {
            HirKind::Literal(Literal(bytes)) => {
                let byte = match side {
                    Side::First => bytes.first(),
                    Side::Last => bytes.last(),
                };
                let mut set = Bytes::none();
                set.add(*byte?, *byte?);
                Some(set)
            }
            HirKind::Class(class) => Some(Bytes::of_class(class)),
            HirKind::Repetition(repetition) => Bytes::of(&repetition.sub, side),
            HirKind::Capture(capture) => Bytes::of(&capture.sub, side),
            HirKind::Concat(parts) => match side {
                Side::First => Bytes::of(parts.first()?, side),
                Side::Last => Bytes::of(parts.last()?, side),
            },
            HirKind::Alternation(parts) => {
                let mut all = Bytes::none();
                for part in parts {
                    let one = Bytes::of(part, side)?;
                    all.0.iter_mut().zip(&*one.0).for_each(|(a, b)| *a |= b);
                }
                Some(all)
            }
            HirKind::Empty | HirKind::Look(_) => None,
        }
    }

    fn of_class(class: &Class) -> Self {
        let mut set = Bytes::none();
        match class {
            Class::Unicode(class) => {
                for range in class.ranges() {
                    let (start, end) = (u32::from(range.start()), u32::from(range.end()));
                    if start < 0x80 {
                        set.add(start as u8, end.min(0x7f) as u8);
                    }
                    if end >= 0x80 {
                        set.add(0x80, 0xff);
                    }
                }
            }
            Class::Bytes(class) => {
                for range in class.ranges() {
                    set.add(range.start(), range.end());
                }
            }
        }
        set
    }

    fn none() -> Self {
        Bytes(Box::new([false; 256]))
    }

    fn add(&mut self, first: u8, last: u8) {
        self.0[usize::from(first)..=usize::from(last)].fill(true);
    }

    fn len(&self) -> usize {
        self.0.iter().filter(|&&held| held).count()
    }
}
