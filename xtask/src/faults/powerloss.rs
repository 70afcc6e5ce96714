//! `cargo xtask powerloss`: the power goes at a random moment. What was synced is there; of every
//! write since, any part may be, sector by sector.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::trace::{self, Event};
use super::{Acknowledged, Tally, conclude, load, look, publish};

/// Images that make a page.
const ENOUGH: usize = 2_000;
/// Pieces of work in the load.
const COUNT: &str = "90";
const SECTOR: usize = 512;
/// Images looked at by one process.
const AT_ONCE: usize = 50;

pub(crate) fn run(options: &[&str]) -> Result<bool> {
    let images: usize = match options {
        [] => ENOUGH,
        ["--images", n] => n.parse()?,
        _ => bail!("usage: cargo xtask powerloss [--images N]"),
    };
    let load = load()?;
    let mut rows = Vec::new();
    for (name, mode, share) in [
        ("good", "good", 1),
        ("fault: no wait for the disk", "normal", 10),
        ("fault: effect before intent", "effect-first", 10),
    ] {
        let home = tempfile::tempdir()?;
        let events = trace::of(&load, home.path(), mode, COUNT)?;
        let count = (images / share).max(40);
        rows.push((name.to_owned(), series(&load, home.path(), &events, count)?));
    }
    if images >= ENOUGH {
        publish(
            "Power loss",
            &rows,
            "Each point is an image of the disk at a random moment: everything that was synced, and \
             of every later write a random choice of its sectors. Names in folders count as written \
             at once.",
        )?;
    }
    Ok(conclude(&rows))
}

fn series(load: &Path, home: &Path, events: &[Event], count: usize) -> Result<Tally> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut tally = Tally {
        found: count,
        ..Tally::default()
    };
    let mut left = count;
    while left > 0 {
        let room = tempfile::tempdir()?;
        let mut places: Vec<PathBuf> = Vec::new();
        let mut heard = Vec::new();
        for n in 0..left.min(AT_ONCE) {
            let cut = random.below(events.len() + 1);
            let place = room.path().join(n.to_string());
            heard.push(image(&events[..cut], home, &place, &mut random)?);
            places.push(place);
        }
        left -= places.len();
        for (acknowledged, answer) in heard.iter().zip(look(load, &places)?) {
            tally.hit += 1;
            let before = tally.faults();
            tally.judge(acknowledged, &answer);
            if tally.faults() > before && tally.faults() <= 3 {
                println!("{answer}");
            }
        }
    }
    Ok(tally)
}

/// What a file has on the disk, and what is on its way there.
#[derive(Default, Clone)]
struct File {
    durable: Vec<u8>,
    pending: Vec<Pending>,
    length: usize,
}

#[derive(Clone)]
enum Pending {
    Write(usize, Vec<u8>),
    Cut(usize),
}

fn apply(content: &mut Vec<u8>, step: &Pending) {
    match step {
        Pending::Cut(length) => content.resize(*length, 0),
        Pending::Write(at, data) => {
            let end = at + data.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[*at..end].copy_from_slice(data);
        }
    }
}

/// Make the disk as the loss of power left it, and say what had been acknowledged by then.
fn image(events: &[Event], home: &Path, place: &Path, random: &mut Random) -> Result<Acknowledged> {
    let mut files: Vec<File> = Vec::new();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut acknowledged = Acknowledged::default();
    for event in events {
        let mut number = |file: &String, files: &mut Vec<File>| match names.get(file) {
            Some(number) => *number,
            None => {
                files.push(File::default());
                names.insert(file.clone(), files.len() - 1);
                files.len() - 1
            }
        };
        match event {
            Event::Said(text) => acknowledged.hear(text),
            Event::Write { file, at, data } => {
                let number = number(file, &mut files);
                let file = &mut files[number];
                let at = at.map_or(file.length, |at| at as usize);
                file.length = file.length.max(at + data.len());
                file.pending.push(Pending::Write(at, data.clone()));
            }
            Event::Cut { file, length } => {
                let number = number(file, &mut files);
                files[number].length = *length as usize;
                files[number].pending.push(Pending::Cut(*length as usize));
            }
            Event::Sync { file } => {
                let number = number(file, &mut files);
                let file = &mut files[number];
                for step in std::mem::take(&mut file.pending) {
                    apply(&mut file.durable, &step);
                }
            }
            Event::Link { from, to } => {
                let number = number(from, &mut files);
                names.insert(to.clone(), number);
            }
            Event::Rename { from, to } => {
                let number = number(from, &mut files);
                names.remove(from);
                names.insert(to.clone(), number);
            }
            Event::Remove { file } => drop(names.remove(file)),
        }
    }
    fs::create_dir_all(place)?;
    for (name, number) in names {
        let Ok(inside) = Path::new(&name).strip_prefix(home) else {
            continue;
        };
        // A folder is synced too, and has no content of ours.
        if inside.as_os_str().is_empty() || name.ends_with("-shm") {
            continue;
        }
        let content = settled(&files[number], random);
        let to = place.join(inside);
        fs::write(&to, content)?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&to, mode)?;
    }
    Ok(acknowledged)
}

/// What is left of a file: all that was synced, and some of the rest.
fn settled(file: &File, random: &mut Random) -> Vec<u8> {
    let mut content = file.durable.clone();
    // None of it, all of it, or each sector by chance.
    let chance = [0, 100, 50, 90, 10][random.below(5)];
    for step in &file.pending {
        match step {
            Pending::Cut(_) if random.below(100) < chance => apply(&mut content, step),
            Pending::Cut(_) => {}
            Pending::Write(at, data) => {
                let mut from = 0;
                while from < data.len() {
                    let to = ((at + from) / SECTOR + 1) * SECTOR - at;
                    let to = to.min(data.len());
                    if random.below(100) < chance {
                        let sector = Pending::Write(at + from, data[from..to].to_vec());
                        apply(&mut content, &sector);
                    }
                    from = to;
                }
            }
        }
    }
    content
}

/// The same numbers in every run, so that a fault can be looked at again.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_synced_is_in_every_image() {
        let file = File {
            durable: b"synced".to_vec(),
            pending: vec![Pending::Write(6, vec![b'x'; 2_000]), Pending::Cut(3)],
            length: 3,
        };
        let mut random = Random(1);
        let mut kinds = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let content = settled(&file, &mut random);
            assert!(content.starts_with(b"syn"));
            kinds.insert(content.len());
        }
        assert!(
            kinds.contains(&6) && kinds.contains(&3) && kinds.contains(&2_006),
            "{kinds:?}"
        );
    }
}
