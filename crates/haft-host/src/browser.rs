//! A person's own browser on a page of somebody else.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::skills::has_program;

/// What opens pages on a desktop.
const DESKTOP: &str = "xdg-open";

/// Show a page in the browser that the person named, as the variable for it does, or in that of
/// their desktop. False where there is none: then somebody has to say where the page is.
pub fn open_page(url: &str, named: Option<&OsStr>, on_desktop: bool) -> bool {
    let named = named.and_then(OsStr::to_str).unwrap_or_default();
    // A list, best first; the rest is for whoever lacks the first.
    let first = named.split(':').find(|one| !one.trim().is_empty());
    let line = match first {
        Some(line) => line,
        None if on_desktop && has_program(DESKTOP) => DESKTOP,
        None => return false,
    };
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    if words.iter().any(|word| word.contains("%s")) {
        for word in &mut words {
            *word = word.replace("%s", url);
        }
    } else {
        words.push(url.to_owned());
    }
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // It stays when we go.
        .process_group(0)
        .spawn()
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_browser_nothing_is_opened() {
        assert!(!open_page("https://a.example/", None, false));
        assert!(!open_page(
            "https://a.example/",
            Some(OsStr::new("")),
            false
        ));
        let missing = Some(OsStr::new("/no/such/browser --new"));
        assert!(!open_page("https://a.example/", missing, false));
        assert!(open_page(
            "https://a.example/",
            Some(OsStr::new("true %s:x")),
            false
        ));
    }
}
