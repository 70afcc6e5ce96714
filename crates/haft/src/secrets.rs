//! Secrets of the owner, for `secret:NAME` in the config of MCP servers. Each value is sealed with
//! a key that lies beside the file: a copy of the file alone tells nothing, and nothing here is
//! readable by anybody but the owner. Whoever can read all of haft's home can read the secrets.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::home::Home;
use crate::terminal::fail::Failed;

const FILE: &str = "secrets.json";
const KEY: &str = "secrets.key";
const KEY_BYTES: usize = 32;
const LARGEST: u64 = 16 << 20;
/// Bytes of one value.
pub(crate) const LARGEST_VALUE: usize = 64 << 10;

/// Names to sealed values: the nonce, then the text with its tag.
type Sealed = BTreeMap<String, String>;

pub(crate) fn check_name(name: &str) -> Result<()> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > 64 || !name.chars().all(good) {
        bail!(Failed {
            message: format!("not a name for a secret: `{}`", name.escape_debug()),
            hint: Some("use up to 64 of `A-Z a-z 0-9 _ - .`".to_owned()),
        });
    }
    Ok(())
}

/// The names of all secrets.
pub(crate) fn names(home: &Home) -> Result<Vec<String>> {
    Ok(sealed(home)?.into_keys().collect())
}

/// Keep a secret; one of the same name is replaced.
pub(crate) fn set(home: &Home, name: &str, value: &str) -> Result<()> {
    check_name(name)?;
    let _lock = home.lock(FILE)?;
    let mut all = sealed(home)?;
    let key = match key(home)? {
        Some(key) => key,
        None => made(home)?,
    };
    all.insert(name.to_owned(), seal(&key, name, value)?);
    home.write_json(FILE, &all)?;
    Ok(())
}

/// Forget a secret; false if there was none.
pub(crate) fn remove(home: &Home, name: &str) -> Result<bool> {
    let _lock = home.lock(FILE)?;
    let mut all = sealed(home)?;
    let was_there = all.remove(name).is_some();
    if was_there {
        home.write_json(FILE, &all)?;
    }
    Ok(was_there)
}

/// The value of a secret, if there is one of this name.
pub(crate) fn get(home: &Home, name: &str) -> Result<Option<String>> {
    let Some(sealed) = sealed(home)?.remove(name) else {
        return Ok(None);
    };
    let opened = key(home)?.and_then(|key| open(&key, name, &sealed));
    match opened {
        Some(value) => Ok(Some(value)),
        None => bail!(Failed {
            message: format!("the secret `{name}` cannot be opened: it or its key was changed"),
            hint: Some(format!("set it again: `haft secret set {name}`")),
        }),
    }
}

fn sealed(home: &Home) -> Result<Sealed> {
    match home.read(FILE, LARGEST)? {
        None => Ok(Sealed::new()),
        Some(bytes) => serde_json::from_slice(&bytes)
            .with_context(|| format!("`{}` cannot be read", home.path().join(FILE).display())),
    }
}

fn key(home: &Home) -> Result<Option<LessSafeKey>> {
    let Some(bytes) = home.read(KEY, 1024)? else {
        return Ok(None);
    };
    Ok(UnboundKey::new(&CHACHA20_POLY1305, &bytes)
        .ok()
        .map(LessSafeKey::new))
}

fn made(home: &Home) -> Result<LessSafeKey> {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes).context("no randomness")?;
    home.write(KEY, &bytes)?;
    key(home)?.context("the key is not a key")
}

fn seal(key: &LessSafeKey, name: &str, value: &str) -> Result<String> {
    let mut nonce = [0; NONCE_LEN];
    getrandom::fill(&mut nonce).context("no randomness")?;
    let mut text = value.as_bytes().to_vec();
    // The name is part of what is sealed: one value cannot be passed off as another.
    let sealing = key.seal_in_place_append_tag(
        Nonce::assume_unique_for_key(nonce),
        Aad::from(name),
        &mut text,
    );
    if sealing.is_err() {
        bail!("the value could not be sealed");
    }
    Ok(BASE64_STANDARD.encode([&nonce[..], &text].concat()))
}

fn open(key: &LessSafeKey, name: &str, sealed: &str) -> Option<String> {
    let mut bytes = BASE64_STANDARD.decode(sealed).ok()?;
    let (nonce, text) = bytes.split_at_mut_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let text = key.open_in_place(nonce, Aad::from(name), text).ok()?;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn what_is_set_comes_back_and_is_sealed_on_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(&dir.path().join("haft")).unwrap();
        assert_eq!(get(&home, "A").unwrap(), None);
        set(&home, "A", "open sesame").unwrap();
        set(&home, "B", "other").unwrap();
        assert_eq!(get(&home, "A").unwrap().as_deref(), Some("open sesame"));
        assert_eq!(names(&home).unwrap(), ["A", "B"]);
        for file in [FILE, KEY] {
            let path = home.path().join(file);
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
            let bytes = fs::read(&path).unwrap();
            assert!(!bytes.windows(11).any(|part| part == b"open sesame"));
        }
        assert!(remove(&home, "A").unwrap());
        assert!(!remove(&home, "A").unwrap());
        assert_eq!(get(&home, "A").unwrap(), None);
    }

    #[test]
    fn a_value_that_was_moved_or_changed_does_not_open() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(&dir.path().join("haft")).unwrap();
        set(&home, "A", "open sesame").unwrap();
        let mut all = sealed(&home).unwrap();
        let value = all["A"].clone();
        all.insert("B".into(), value.clone());
        all.insert("A".into(), value.replace(&value[20..21], "_"));
        home.write_json(FILE, &all).unwrap();
        for name in ["A", "B"] {
            let error = get(&home, name).unwrap_err().to_string();
            assert!(error.contains("cannot be opened"), "{error}");
        }
    }
}
