//! Request state that a client carries for us and cannot change: signed with a key that lives as
//! long as the server, bound to one request, good for a while and once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// How long a client may take to come back.
pub(super) const LIFETIME: Duration = Duration::from_secs(300);

const NONCE: usize = 16;
const DIGEST: usize = 32;
const MAC: usize = 32;

/// What the client brings back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) nonce: [u8; NONCE],
    pub(super) purpose: Purpose,
    /// What it is bound to
    pub(super) digest: [u8; DIGEST],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A question whose yes allows one call
    Approval,
    /// A call that waits for what the client knows
    Inquiry,
}

pub(super) struct Seal {
    key: [u8; 32],
    /// Tickets that are out, and until when they count
    out: Mutex<HashMap<[u8; NONCE], Instant>>,
}

impl Seal {
    pub(super) fn new() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Seal {
            key,
            out: Mutex::default(),
        })
    }

    pub(super) fn issue(
        &self,
        purpose: Purpose,
        digest: [u8; DIGEST],
    ) -> Result<(Ticket, String), getrandom::Error> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce)?;
        let ticket = Ticket {
            nonce,
            purpose,
            digest,
        };
        let now = Instant::now();
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.retain(|_, until| *until > now);
        out.insert(nonce, now + LIFETIME);
        let mut bytes = Vec::with_capacity(NONCE + 1 + DIGEST + MAC);
        bytes.extend_from_slice(&nonce);
        bytes.push(purpose as u8);
        bytes.extend_from_slice(&digest);
        let mac = blake3::keyed_hash(&self.key, &bytes);
        bytes.extend_from_slice(mac.as_bytes());
        Ok((ticket, URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The ticket behind a text, if it is one of ours. It is used up, whatever happens next.
    pub(super) fn redeem(&self, text: &str) -> Option<Ticket> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (body, mac) = bytes.split_at_checked(NONCE + 1 + DIGEST)?;
        let mac: [u8; MAC] = mac.try_into().ok()?;
        // Compared in constant time by blake3.
        if blake3::keyed_hash(&self.key, body) != mac {
            return None;
        }
        let nonce: [u8; NONCE] = body[..NONCE].try_into().ok()?;
        let purpose = match body[NONCE] {
            0 => Purpose::Approval,
            _ => Purpose::Inquiry,
        };
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let until = out.remove(&nonce)?;
        (until > Instant::now()).then_some(Ticket {
            nonce,
            purpose,
            digest: body[NONCE + 1..].try_into().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_counts_once_and_cannot_be_changed() {
        let seal = Seal::new().unwrap();
        let (ticket, text) = seal.issue(Purpose::Approval, [7; 32]).unwrap();
        for place in 0..text.len() {
            let mut forged = text.clone().into_bytes();
            forged[place] = if forged[place] == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).unwrap();
            // The last character carries bits that mean nothing; those forms do not decode.
            assert_eq!(seal.redeem(&forged), None, "{place}");
        }
        assert_eq!(Seal::new().unwrap().redeem(&text), None);
        assert_eq!(seal.redeem(&format!("{text}A")), None);
        assert_eq!(seal.redeem(""), None);
        assert_eq!(seal.redeem(&text), Some(ticket));
        assert_eq!(seal.redeem(&text), None);
    }
}
