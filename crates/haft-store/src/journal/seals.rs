//! Seals of what lies in the store beside the journal and allows something. Nobody without the key
//! of the home can make one.

use std::path::Path;

use super::key::Key;
use crate::StoreError;

pub(crate) struct Seals(Key);

impl Seals {
    /// None in a home that has no key, where nothing can be proven.
    pub(crate) fn of(home: &Path) -> Result<Option<Seals>, StoreError> {
        match Key::is_there(home) {
            true => Ok(Some(Seals(Key::load(home, true)?))),
            false => Ok(None),
        }
    }

    /// The seal of a value under its kind and name. Each part is preceded by its length, so that no
    /// text can pass for two.
    pub(crate) fn seal(&self, kind: &str, name: &str, value: &[u8]) -> String {
        let mut text = b"haft kept ".to_vec();
        for part in [kind.as_bytes(), name.as_bytes(), value] {
            text.extend_from_slice(&(part.len() as u64).to_le_bytes());
            text.extend_from_slice(part);
        }
        self.0.digest(text)
    }
}
