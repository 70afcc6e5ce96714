//! What a program wrote, in order, from the log of strace.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// One thing that reached the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// Bytes for a file, at a place or at its end
    Write {
        file: String,
        at: Option<u64>,
        data: Vec<u8>,
    },
    Cut {
        file: String,
        length: u64,
    },
    Sync {
        file: String,
    },
    Link {
        from: String,
        to: String,
    },
    Rename {
        from: String,
        to: String,
    },
    Remove {
        file: String,
    },
    /// What the program said
    Said(String),
}

const CALLS: &str = "trace=pwrite64,write,fsync,fdatasync,ftruncate,link,linkat,rename,renameat,renameat2,unlink,unlinkat";

/// Run the load once and give everything it wrote into its home.
pub(super) fn of(load: &Path, home: &Path, mode: &str, count: &str) -> Result<Vec<Event>> {
    let log = tempfile::NamedTempFile::new()?;
    let status = Command::new("strace")
        .args([
            "-f", "-qq", "-y", "-xx", "-s", "10000000", "-e", CALLS, "-o",
        ])
        .arg(log.path())
        .arg(load)
        .arg("run")
        .arg(home)
        .args([mode, count])
        .stdout(std::process::Stdio::null())
        .status()
        .context("strace")?;
    if !status.success() {
        bail!("the load ended with {status}");
    }
    let text = std::fs::read_to_string(log.path())?;
    parse(&text, &home.display().to_string())
}

fn parse(log: &str, home: &str) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    let mut unfinished: HashMap<&str, String> = HashMap::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let rest = rest.trim_start();
        let whole = if let Some(start) = rest.strip_suffix("<unfinished ...>") {
            unfinished.insert(thread, start.trim_end().to_owned());
            continue;
        } else if rest.starts_with("<... ") {
            let end = rest.split_once("resumed>").map_or("", |(_, end)| end);
            match unfinished.remove(thread) {
                Some(start) => format!("{start}{end}"),
                None => continue,
            }
        } else {
            rest.to_owned()
        };
        events.extend(event(&whole, home)?);
    }
    Ok(events)
}

/// The event that a line tells of, if it is about the home or said aloud.
fn event(line: &str, home: &str) -> Result<Option<Event>> {
    let Some((call, rest)) = line.split_once('(') else {
        return Ok(None);
    };
    let failed = rest
        .rsplit_once(" = ")
        .is_none_or(|(_, result)| result.starts_with('-'));
    if failed {
        return Ok(None);
    }
    let texts = strings(rest)?;
    let path = |at: usize| -> Option<String> {
        let text = String::from_utf8_lossy(texts.get(at)?).into_owned();
        text.starts_with(home).then_some(text)
    };
    // The file behind a descriptor stands between angle brackets.
    let opened = rest
        .split_once('<')
        .and_then(|(_, rest)| rest.split_once('>'))
        .map(|(name, _)| String::from_utf8_lossy(&unhex(name)).into_owned())
        .filter(|name| name.starts_with(home));
    let arguments: Vec<&str> = rest
        .rsplit_once(')')
        .map_or(rest, |(arguments, _)| arguments)
        .rsplit(", ")
        .collect();
    let last = || {
        arguments
            .first()
            .and_then(|text| text.trim().parse::<u64>().ok())
    };
    Ok(match (call, opened) {
        ("write", None) if rest.starts_with("1<") => texts
            .first()
            .map(|data| Event::Said(String::from_utf8_lossy(data).into_owned())),
        ("write", Some(file)) => texts.first().map(|data| Event::Write {
            file,
            at: None,
            data: data.clone(),
        }),
        ("pwrite64", Some(file)) => {
            let at = last().context("a write without a place")?;
            texts.first().map(|data| Event::Write {
                file,
                at: Some(at),
                data: data.clone(),
            })
        }
        ("ftruncate", Some(file)) => last().map(|length| Event::Cut { file, length }),
        ("fsync" | "fdatasync", Some(file)) => Some(Event::Sync { file }),
        ("link" | "linkat", _) => path(0)
            .zip(path(1))
            .map(|(from, to)| Event::Link { from, to }),
        ("rename" | "renameat" | "renameat2", _) => path(0)
            .zip(path(1))
            .map(|(from, to)| Event::Rename { from, to }),
        ("unlink" | "unlinkat", _) => path(0).map(|file| Event::Remove { file }),
        _ => None,
    })
}

/// The quoted strings of a line. One that was cut short would make every image wrong.
fn strings(text: &str) -> Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, start)) = rest.split_once('"') {
        let Some((inside, after)) = start.split_once('"') else {
            break;
        };
        if after.starts_with("...") {
            bail!("strace cut a write short");
        }
        found.push(unhex(inside));
        rest = after;
    }
    Ok(found)
}

/// `\x41b` is `Ab`.
fn unhex(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let code = rest
            .strip_prefix("\\x")
            .and_then(|hex| u8::from_str_radix(hex.get(..2)?, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            None => {
                let end = rest.char_indices().nth(1).map_or(rest.len(), |(at, _)| at);
                bytes.extend_from_slice(&rest.as_bytes()[..end]);
                rest = &rest[end..];
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_strace() {
        let log = "7 write(1<pipe:[9]>, \"\\x72\\x6f\\x77\\x20\\x31\\x0a\", 6) = 6\n\
                   7 pwrite64(5</h/haft.db-wal>, \"\\x00\\xff\", 2, 32) = 2\n\
                   7 fdatasync(5</h/haft.db-wal> <unfinished ...>\n\
                   8 write(9</h/effects>, \"\\x31\\x0a\", 2) = 2\n\
                   7 <... fdatasync resumed>) = 0\n\
                   7 pwrite64(5</elsewhere>, \"\\x00\", 1, 0) = 1\n\
                   7 unlink(\"\\x2f\\x68\\x2f\\x61\") = 0\n\
                   7 pwrite64(5</h/haft.db>, \"\\x00\", 1, 0) = -1 ENOSPC (No space left on device)\n";
        let write = |file: &str, at: Option<u64>, data: &[u8]| Event::Write {
            file: file.to_owned(),
            at,
            data: data.to_vec(),
        };
        assert_eq!(
            parse(log, "/h").unwrap(),
            [
                Event::Said("row 1\n".to_owned()),
                write("/h/haft.db-wal", Some(32), &[0, 255]),
                write("/h/effects", None, b"1\n"),
                Event::Sync {
                    file: "/h/haft.db-wal".to_owned()
                },
                Event::Remove {
                    file: "/h/a".to_owned()
                },
            ]
        );
        assert!(parse("7 write(1<p>, \"\\x00\"..., 900) = 900\n", "/h").is_err());
    }
}
