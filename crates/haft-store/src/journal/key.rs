//! The key that signs the journal. It lies beside the store, for its owner alone: whoever holds
//! it can sign, and nobody else.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;

use ed25519_dalek::{Signature, Signer, SigningKey, Verifier};

use crate::{StoreError, paths};

const FILE: &str = "journal.key";

pub(super) struct Key {
    seed: [u8; 32],
    /// Made from the seed when something is signed, which few runs do
    signing: OnceLock<SigningKey>,
    /// For the head, which is signed at every commit and read by us alone
    pub(super) head: [u8; 32],
}

impl Key {
    pub(super) fn is_there(home: &Path) -> bool {
        home.join(FILE).exists()
    }

    /// The key of this home; a new one where nothing was signed yet.
    pub(super) fn load(home: &Path, something_is_signed: bool) -> Result<Key, StoreError> {
        let path = home.join(FILE);
        if !path.exists() {
            if something_is_signed {
                return Err(StoreError::KeyGone(path.display().to_string()));
            }
            make(&path)?;
        }
        paths::seen_file(&path)?;
        let text = fs::read_to_string(&path)
            .map_err(|error| StoreError::io(&path.display().to_string(), &error))?;
        let seed = from_hex(text.trim())
            .ok_or_else(|| StoreError::Damaged(format!("not a key: `{}`", path.display())))?;
        Ok(Key {
            signing: OnceLock::new(),
            head: blake3::derive_key("haft 2026 journal head", &seed),
            seed,
        })
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.signing().sign(message).to_bytes()
    }

    fn signing(&self) -> &SigningKey {
        self.signing
            .get_or_init(|| SigningKey::from_bytes(&self.seed))
    }

    pub(super) fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature).is_ok_and(|signature| {
            let key = self.signing().verifying_key();
            key.verify(message, &signature).is_ok()
        })
    }

    /// A digest that nobody without the key can make by guessing the text.
    pub(super) fn digest(&self, content: impl AsRef<[u8]>) -> String {
        let hash = blake3::keyed_hash(&self.head, content.as_ref());
        hash.to_hex()[..32].to_owned()
    }
}

/// Make a key. Of several processes that do so at once, all take the first one's.
fn make(path: &Path) -> Result<(), StoreError> {
    let failed = |error: std::io::Error| StoreError::io(&path.display().to_string(), &error);
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| StoreError::Failed(error.to_string()))?;
    let text: String = seed.iter().map(|byte| format!("{byte:02x}")).collect();
    let fresh = paths::beside(path, "new");
    let mut file = paths::own_file(&fresh)?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(failed)?;
    let linked = fs::hard_link(&fresh, path);
    let _ = fs::remove_file(&fresh);
    match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(failed(error)),
        _ => paths::sync_folder(path).map_err(failed),
    }
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut seed = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in seed.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    Some(seed)
}
