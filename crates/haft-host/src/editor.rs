//! A person's own editor on a text of ours.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::process::Command;

/// Let a person change a text in the editor they named, and give what they saved. The editor may
/// be a command with arguments, as the variable for it often is.
pub fn edit_text(editor: &OsStr, text: &str) -> io::Result<String> {
    let mut file = tempfile::Builder::new()
        .prefix("haft-")
        .suffix(".md")
        .tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "$HAFT_EDITOR \"$1\"", "haft"])
        .arg(file.path())
        .env("HAFT_EDITOR", editor);
    let status = command.status()?;
    if !status.success() {
        return Err(io::Error::other(format!("the editor ended with {status}")));
    }
    // Editors often put a new file in the place of the old one.
    std::fs::read_to_string(file.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_editor_saved_comes_back() {
        let edited = edit_text(OsStr::new("sed -i s/old/new/"), "an old text\n").unwrap();
        assert_eq!(edited, "an new text\n");
        assert!(edit_text(OsStr::new("false"), "x").is_err());
    }
}
