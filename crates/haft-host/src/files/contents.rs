//! What files hold, as one word: a yes to a call is bound to it, and it is looked at again before
//! the call runs.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::open::Stamp;

/// Bytes that are read for one question. Past it a file is known by its size and times, which no
/// program but a clock can set back.
const READ: u64 = 64 << 20;

pub(super) fn contents(paths: &[PathBuf]) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut room = READ;
    for path in paths {
        hasher.update(&(path.as_os_str().len() as u64).to_le_bytes());
        hasher.update(path.as_os_str().as_bytes());
        match look(path, &mut room) {
            Ok(word) => hasher.update(word.as_bytes()),
            Err(error) => hasher.update(format!("none {:?}", error.kind()).as_bytes()),
        };
    }
    hasher.finalize().to_hex().to_string()
}

/// One file. Waits for nobody: a pipe is opened without its other end.
fn look(path: &Path, room: &mut u64) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(CWD, path, flags | OFlags::NOFOLLOW, Mode::empty())?;
    let stat = rustix::fs::fstat(&handle)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind != FileType::RegularFile {
        return Ok(format!("{kind:?}"));
    }
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    if size > *room {
        return Ok(format!("{:?}", Stamp::of(&stat)));
    }
    *room -= size;
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::from(handle))?;
    // A file that became a program is another one too.
    Ok(format!("{} {:o}", hasher.finalize(), stat.st_mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_content_is_another_word() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let all = [at("a"), at("b"), at("large"), at("folder")];
        std::fs::create_dir(at("folder")).unwrap();
        let large = File::create(at("large")).unwrap();
        large.set_len(READ + 1).unwrap();
        let mut words = vec![contents(&all)];
        assert_eq!(words[0], contents(&all));
        let mut change = |step: &dyn Fn()| {
            step();
            let word = contents(&all);
            assert!(!words.contains(&word));
            words.push(word);
        };
        change(&|| std::fs::write(at("a"), "x").unwrap());
        change(&|| std::fs::write(at("a"), "y").unwrap());
        change(&|| std::fs::write(at("b"), "y").unwrap());
        change(&|| large.set_len(READ + 2).unwrap());
        change(&|| std::fs::remove_file(at("a")).unwrap());
        change(&|| std::os::unix::fs::symlink("b", at("a")).unwrap());
    }
}
