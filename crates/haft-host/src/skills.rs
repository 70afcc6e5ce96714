//! Skill folders on this machine: each holds a `SKILL.md` and what belongs to it. Links are not
//! followed, sizes are bounded, and a folder has a digest, so that trust can be bound to exactly
//! what was seen.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;

const SKILL: &str = "SKILL.md";
const LARGEST_SKILL: u64 = 256 << 10;
const LARGEST_FILE: u64 = 1 << 20;
const LARGEST_FOLDER: u64 = 16 << 20;
const MOST_FILES: usize = 500;
const MOST_SKILLS: usize = 500;

/// A folder with a `SKILL.md` in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFolder {
    pub path: PathBuf,
    /// What `SKILL.md` says, or why it cannot be used
    pub text: Result<String, String>,
    /// Files beside it, relative, in order
    pub files: Vec<String>,
    /// Of names and content of everything in the folder
    pub digest: String,
}

/// The skills in a folder, by name; none where there is no such folder.
pub fn find_skills(root: &Path) -> Vec<SkillFolder> {
    let Ok(entries) = fs::read_dir(root) else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| fs::symlink_metadata(path.join(SKILL)).is_ok())
        .take(MOST_SKILLS)
        .collect();
    folders.sort();
    folders.into_iter().map(one).collect()
}

fn one(path: PathBuf) -> SkillFolder {
    let text = read_file(&path.join(SKILL), LARGEST_SKILL).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8"))
    });
    let listed = list(&path);
    let (files, digest) = match &listed {
        Ok(files) => (files.clone(), digest(&path, files)),
        Err(_) => (Vec::new(), Ok(String::new())),
    };
    let text = match (text, listed, &digest) {
        (Ok(text), Ok(_), Ok(_)) => Ok(text),
        (Err(error), _, _) => Err(error.to_string()),
        (_, Err(error), _) => Err(error.to_string()),
        (_, _, Err(error)) => Err(error.to_string()),
    };
    SkillFolder {
        files: files.into_iter().filter(|file| file != SKILL).collect(),
        digest: digest.unwrap_or_default(),
        text,
        path,
    }
}

/// The digest of a skill's folder as it is now.
pub fn skill_digest(folder: &Path) -> io::Result<String> {
    digest(folder, &list(folder)?)
}

/// A text file of a skill's folder.
pub fn read_skill_file(folder: &Path, file: &str) -> io::Result<String> {
    let relative = Path::new(file);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !relative.components().all(plain) {
        return Err(io::Error::other("the path leaves the skill's folder"));
    }
    let mut path = folder.to_owned();
    for part in relative.components() {
        path.push(part);
        if fs::symlink_metadata(&path)?.is_symlink() {
            return Err(io::Error::other("links are not followed"));
        }
    }
    String::from_utf8(read_file(&path, LARGEST_FILE)?)
        .map_err(|_| io::Error::other("it is not a text file"))
}

/// Whether a program of this name is on the search path.
pub fn has_program(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    if name.is_empty() || !name.chars().all(plain) || name.starts_with('.') {
        return false;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .any(|folder| {
            fs::metadata(folder.join(name))
                .is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
        })
}

fn read_file(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(largest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        return Err(io::Error::other(format!(
            "it is larger than {largest} bytes"
        )));
    }
    Ok(bytes)
}

/// Every regular file under a folder, relative, in order.
fn list(folder: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(relative) = open.pop() {
        for entry in fs::read_dir(folder.join(&relative))? {
            let entry = entry?;
            let path = relative.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push(path);
            } else if let (true, Some(name)) = (kind.is_file(), path.to_str()) {
                files.push(name.to_owned());
            }
            if files.len() + open.len() > MOST_FILES {
                return Err(io::Error::other(format!("more than {MOST_FILES} files")));
            }
        }
    }
    files.sort();
    Ok(files)
}

fn digest(folder: &Path, files: &[String]) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let mut total = 0;
    for file in files {
        let bytes = read_file(&folder.join(file), LARGEST_FOLDER)?;
        total += bytes.len() as u64;
        if total > LARGEST_FOLDER {
            return Err(io::Error::other(format!(
                "its files are larger than {LARGEST_FOLDER} bytes together"
            )));
        }
        for part in [file.as_bytes(), &bytes] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_read_and_nothing_beyond_them() {
        let dir = tempfile::tempdir().unwrap();
        let skill = dir.path().join("skills/one");
        fs::create_dir_all(skill.join("more")).unwrap();
        fs::write(skill.join(SKILL), "text").unwrap();
        fs::write(skill.join("more/a.txt"), "a").unwrap();
        fs::write(dir.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret"), skill.join("link")).unwrap();
        fs::create_dir(dir.path().join("skills/empty")).unwrap();
        let found = find_skills(&dir.path().join("skills"));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text.as_deref(), Ok("text"));
        assert_eq!(found[0].files, ["more/a.txt"]);
        assert_eq!(read_skill_file(&skill, "more/a.txt").unwrap(), "a");
        for file in ["../../secret", "/etc/passwd", "link", "more", "no"] {
            assert!(read_skill_file(&skill, file).is_err(), "{file}");
        }
        let before = skill_digest(&skill).unwrap();
        assert_eq!(before, found[0].digest);
        fs::write(skill.join("more/a.txt"), "b").unwrap();
        assert_ne!(skill_digest(&skill).unwrap(), before);
        assert!(find_skills(&dir.path().join("nowhere")).is_empty());
    }

    #[test]
    fn programs_are_found_by_plain_names_only() {
        assert!(has_program("sh"));
        for name in [
            "",
            "no-such-program-here",
            "/bin/sh",
            "../bin/sh",
            "sh;ls",
            ".",
        ] {
            assert!(!has_program(name), "{name}");
        }
    }
}
