//! The token that clients on HTTP bring: made once, kept in haft's home, readable by the owner.

use anyhow::{Context, Result};

use crate::home::Home;

pub(super) const FILE: &str = "mcp-token";
const LARGEST: u64 = 4_096;

/// The token, made if there is none yet.
pub(super) fn of(home: &Home) -> Result<String> {
    home.ensure()?;
    let _lock = home.lock(FILE)?;
    if let Some(bytes) = home.read(FILE, LARGEST)? {
        let text = String::from_utf8(bytes).context("the token is not text")?;
        let text = text.trim();
        if !text.is_empty() {
            return Ok(text.to_owned());
        }
    }
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).context("no randomness")?;
    let token = blake3::hash(&bytes).to_hex().to_string();
    home.write(FILE, token.as_bytes())?;
    Ok(token)
}
