//! What programs do to the files that their words name. Rules that close look at what is certain,
//! so that `cp a /etc/x` is as denied as `> /etc/x`; what only may be is asked about, whatever
//! allows the command. Tables: a new program is one word.

use haft_core::Effects;

use crate::command::may_be;
use crate::git;
use crate::named::{Named, Use, as_named, given, here, plain};
use crate::outputs::{outputs, takes_the_name, values};
use crate::scripts::{self, Opens};
use crate::shell::{self, Command, Word, base, flags, has_letter, has_long};
use crate::traps;

/// Which arguments of a program it changes.
enum Changes {
    Every,
    /// The last one, or the one that `-t` names; the others are read
    Last,
    /// Those written `of=FILE`; `if=FILE` is read
    Of,
    /// Every one, but only with `-i`
    InPlace,
}

fn changes(program: &str) -> Option<Changes> {
    Some(match program {
        "rm" | "rmdir" | "unlink" | "shred" | "touch" | "mkdir" | "truncate" | "tee" | "sponge"
        | "chmod" | "chown" | "chgrp" | "mv" | "mkfifo" | "mknod" | "setfacl" | "fallocate" => {
            Changes::Every
        }
        "cp" | "install" | "ln" | "link" | "rsync" | "scp" => Changes::Last,
        "dd" => Changes::Of,
        "sed" | "gsed" | "perl" => Changes::InPlace,
        _ => return None,
    })
}

/// Programs that read the files they are given and do nothing else to them.
const READERS: &[&str] = &[
    "cat",
    "tac",
    "nl",
    "head",
    "tail",
    "wc",
    "sort",
    "uniq",
    "cut",
    "paste",
    "join",
    "comm",
    "cmp",
    "diff",
    "fold",
    "fmt",
    "rev",
    "od",
    "xxd",
    "hexdump",
    "strings",
    "base64",
    "base32",
    "md5sum",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "b2sum",
    "cksum",
    "sum",
    "file",
    "less",
    "more",
    "most",
    "bat",
    "batcat",
    "jq",
    "yq",
    "sed",
    "gsed",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "ack",
    "zcat",
    "bzcat",
    "xzcat",
    "column",
    "expand",
    "unexpand",
    "pr",
    "iconv",
    "find",
    "fd",
    "fdfind",
    "source",
    ".",
];

/// Programs that go through folders without being told to.
const WALKERS: &[&str] = &["rg", "ag", "ack", "tree", "du", "find", "fd", "fdfind"];

/// Programs that unpack into the folder they stand in.
const UNPACKERS: &[&str] = &[
    "tar", "bsdtar", "unzip", "7z", "7za", "7zr", "cpio", "patch", "unrar", "pax", "bsdcpio",
];

/// Programs that tell names and what is known about files, and nothing of what these hold.
const LISTERS: &[&str] = &["ls", "dir", "vdir", "tree", "du", "stat"];

/// Whether a command goes through folders, and nobody reads by it what was not to be read before:
/// what is moved stays what it is, and git shows what it was given to keep, as long as it is not
/// told to look at other files.
fn keeps(program: &str, command: &Command) -> bool {
    let known: Vec<&Word> = command.words.iter().skip(1).collect();
    match program {
        "mv" | "ln" => true,
        "git" => match git::action(&known) {
            Some((action, rest)) => {
                !may_be("grep", action) && !has_long(rest.iter().copied(), &["--no-index"])
            }
            None => true,
        },
        _ => false,
    }
}

/// Whether the commands of a call read files that no word of theirs names.
pub fn reads_around(effects: &Effects) -> bool {
    effects.commands.iter().any(|command| {
        let script = shell::script(command);
        let mut commands = script.commands.iter().flat_map(Command::all);
        commands.any(reads_what_it_finds)
    })
}

pub(crate) fn reads_what_it_finds(command: &Command) -> bool {
    let program = command.words.first().map_or("", |word| base(&word.text));
    let walks = |named: &Named<'_>| named.how == Use::WalksReading;
    // By itself it tells names; what reads them is a command of its own.
    let finds_names = matches!(program, "find" | "fd" | "fdfind") && command.inner.is_empty();
    !finds_names
        && !LISTERS.contains(&program)
        && named(command).iter().any(walks)
        && !keeps(program, command)
}

/// Everything that the words of a command name. Words that are expanded are not followed.
pub(crate) fn named(command: &Command) -> Vec<Named<'_>> {
    let Some((program, arguments)) = command.words.split_first() else {
        return Vec::new();
    };
    let name = base(&program.text);
    let known: Vec<&Word> = arguments.iter().filter(|word| word.exact).collect();
    let mut found = match changes(name) {
        Some(Changes::InPlace) if !in_place(&known) => read(name, &known),
        Some(changes) => changed(name, &changes, &known),
        None if name == "git" => git::named(&known),
        None if UNPACKERS.contains(&name) => packs(name, &known),
        None if LISTERS.contains(&name) => given(name, &known, Use::Lists),
        None if READERS.contains(&name) => read(name, &known),
        None => given(name, &known, Use::Unknown),
    };
    let written = outputs(name, &known).into_iter();
    found.extend(written.map(|(word, text)| as_named(word, text, Use::WritesFile)));
    match scripts::opened(name, &known) {
        Some(opened) => found.extend(opened.into_iter().map(|(text, how)| Named {
            text,
            glob: false,
            how: match how {
                Opens::Reading => Use::Reads,
                Opens::Writing => Use::WritesFile,
            },
        })),
        None => found.push(here(Use::WalksWriting)),
    }
    if walks(name, &known) {
        let mut walked: Vec<Named<'_>> = found
            .iter()
            .filter(|one| matches!(one.how, Use::Reads | Use::Lists))
            .map(|one| Named {
                how: Use::WalksReading,
                ..*one
            })
            .collect();
        let none = walked.is_empty() || walked.len() == 1 && traps::may_be_pattern(name, &known);
        if none {
            walked.push(here(Use::WalksReading));
        }
        found.extend(walked);
    }
    found
}

fn in_place(known: &[&Word]) -> bool {
    has_letter(known.iter().copied(), &['i']) || has_long(known.iter().copied(), &["--in-place"])
}

fn changed<'a>(name: &str, changes: &Changes, known: &[&'a Word]) -> Vec<Named<'a>> {
    let words = plain(known);
    let whole = |word: &'a Word, how: Use| as_named(word, &word.text, how);
    match changes {
        // What is moved can be read in its new place.
        Changes::Every if name == "mv" => {
            let words: Vec<&'a Word> = words.collect();
            let sources = words.split_last().map_or(&[][..], |(_, sources)| sources);
            let read = sources.iter().map(|word| whole(word, Use::Reads));
            words
                .iter()
                .map(|word| whole(word, Use::Writes))
                .chain(read)
                .collect()
        }
        Changes::Every if matches!(name, "rm" | "rmdir" | "unlink") => {
            words.map(|word| whole(word, Use::WritesName)).collect()
        }
        Changes::Every | Changes::InPlace => words.map(|word| whole(word, Use::Writes)).collect(),
        Changes::Of => words
            .filter_map(|word| {
                let output = word.text.strip_prefix("of=");
                let input = word.text.strip_prefix("if=");
                output
                    .map(|text| as_named(word, text, Use::Writes))
                    .or(input.map(|text| as_named(word, text, Use::Reads)))
            })
            .collect(),
        Changes::Last => {
            let mut words: Vec<Named<'a>> = words.map(|word| whole(word, Use::Reads)).collect();
            match target(name, known) {
                Some(named) => {
                    words.retain(|word| word.text != named.text);
                    words.push(named);
                }
                None => {
                    if let Some(last) = words.last_mut() {
                        last.how = match name == "ln" && takes_the_name(known) {
                            true => Use::WritesName,
                            false => Use::Writes,
                        };
                    }
                }
            }
            words
        }
    }
}

/// The folder that `-t` names.
fn target<'a>(name: &str, known: &[&'a Word]) -> Option<Named<'a>> {
    let valued = match name {
        "cp" | "ln" => "S",
        "install" => "Sgmo",
        // A `-t` of theirs is about times.
        _ => return None,
    };
    let (word, text) = values(known, "t", &["--target-directory"], valued).pop()?;
    Some(as_named(word, text, Use::Writes))
}

fn read<'a>(name: &str, known: &[&'a Word]) -> Vec<Named<'a>> {
    given(name, known, Use::Reads)
}

/// Whether a program goes through the folders it is given.
fn walks(name: &str, known: &[&Word]) -> bool {
    let has = |letters: &[char], long: &[&str]| {
        has_letter(known.iter().copied(), letters) || has_long(known.iter().copied(), long)
    };
    match name {
        "grep" | "egrep" | "fgrep" | "zgrep" => has(
            &['r', 'R', 'd'],
            &["--recursive", "--dereference-recursive", "--directories"],
        ),
        "ls" | "dir" | "vdir" => has(&['R'], &["--recursive"]),
        "diff" => has(&['r'], &["--recursive"]),
        "cp" | "scp" | "rsync" => has(&['r', 'R', 'a'], &["--recursive", "--archive"]),
        // Whoever gives them names may name anything.
        "xargs" | "parallel" => true,
        "ln" | "mv" | "zip" => true,
        name => WALKERS.contains(&name),
    }
}

/// Options of tar, cpio and pax that have a value.
const PACK_VALUES: &str = "fbCTXgHIKLNVFEDROMs";

/// Archives: what goes into one is read, otherwise anything here may be changed.
fn packs<'a>(name: &str, known: &[&'a Word]) -> Vec<Named<'a>> {
    const ADDS: &[&str] = &["--append", "--update", "--catenate", "--concatenate"];
    let mode = known.first().map_or("", |word| word.text.as_str());
    let tar = matches!(name, "tar" | "bsdtar");
    let bundled = tar && !mode.starts_with('-');
    let is_mode = |wanted: &[char]| {
        let given = known
            .iter()
            .filter_map(|word| flags(&word.text, PACK_VALUES));
        given
            .chain(bundled.then_some(mode))
            .any(|flags| flags.contains(wanted))
    };
    let has = |long: &[&str]| has_long(known.iter().copied(), long);
    let (puts, takes) = match name {
        "tar" | "bsdtar" => (
            is_mode(&['c', 'r', 'u', 'A']) || has(ADDS),
            is_mode(&['x']) || has(&["--extract", "--get"]),
        ),
        "7z" | "7za" | "7zr" => (matches!(mode, "a" | "u"), matches!(mode, "x" | "e")),
        "cpio" | "bsdcpio" => (is_mode(&['o', 'p']), is_mode(&['i'])),
        "pax" => (is_mode(&['w']), is_mode(&['r'])),
        _ => (false, true),
    };
    let puts = puts || has(&["--create"]);
    let mut found: Vec<Named<'a>> = Vec::new();
    for (how, happens) in [
        (Use::WalksReading, puts),
        (Use::WalksWriting, takes || !puts),
    ] {
        if happens {
            found.extend(plain(known).map(|word| as_named(word, &word.text, how)));
            found.push(here(how));
        }
    }
    if tar && puts {
        let next = known.get(1).filter(|_| bundled && mode.contains('f'));
        let next = next.map(|word| (*word, word.text.as_str()));
        let archives = values(known, "f", &["--file"], PACK_VALUES).into_iter();
        let archives = archives.chain(next);
        found.extend(archives.map(|(word, text)| as_named(word, text, Use::WritesFile)));
    }
    found
}

#[cfg(test)]
mod tests {
    use haft_core::CommandLine;

    use super::*;

    #[test]
    fn what_is_done_to_the_words() {
        let check = |line: &str, expected: &str| {
            let script = shell::parse(line);
            let found: Vec<String> = script
                .commands
                .iter()
                .flat_map(Command::all)
                .flat_map(named)
                .map(|one| {
                    let sign = match one.how {
                        Use::Writes => "w",
                        Use::WritesName => "wn",
                        Use::WritesFile => "wf",
                        Use::Reads => "r",
                        Use::Lists => "l",
                        Use::WalksReading => "r*",
                        Use::WalksWriting => "w*",
                        Use::Unknown => "?",
                        Use::Mentions => "m",
                    };
                    format!("{sign}:{}", one.text)
                })
                .collect();
            assert_eq!(found.join(" "), expected, "{line}");
        };
        check("cp a /etc/x", "r:a w:/etc/x");
        check("cp -t /etc a b", "r:a r:b w:/etc");
        check("cp --target-directory=/etc a", "r:a w:/etc");
        check("cp --targ=/etc a", "r:a w:/etc");
        check("cp --targ /etc a", "r:a w:/etc");
        check("cp --rec a b", "r:a w:b r*:a");
        check("sed --in-p s/a/b/ f", "w:s/a/b/ w:f");
        check("grep --recurs x", "r*:.");
        check("grep -r -e x", "r:x r*:x r*:.");
        check("git log --pat", "r*:.");
        check("cp -r a b", "r:a w:b r*:a");
        check("mv a b", "w:a w:b r:a r*:a");
        check("ln -s a b", "r:a w:b r*:a");
        check("ln -sfn a b", "r:a wn:b r*:a");
        check("ln -s --no-targ a b", "r:a wn:b r*:a");
        check("ln -s -Sn a b", "r:a w:b r*:a");
        check("ln -s -- -n b", "w:b r*:.");
        check("tee -a /etc/x", "w:/etc/x");
        check("/bin/rm -rf 'a b' c", "wn:a b wn:c");
        check("dd if=a of=/etc/x", "r:a w:/etc/x");
        check("sed s/a/b/ f", "r:f");
        check("sed -i s/a/b/ f", "w:s/a/b/ w:f");
        check("sed 'w x' f", "r:f wf:x");
        check("sed '1e id' f", "r:f w*:.");
        check("awk '{print > \"x\"}' f", "r:f wf:x");
        check("sudo rm x && cat y", "?:rm ?:x wn:x r:y");
        check("rm g*", "wn:g*");
        check("rm $x", "");
        check("grep x a", "r:a");
        check("grep -r x .", "r:. r*:.");
        check("grep -r x", "r*:.");
        check("rg x", "r*:.");
        check("ls -R src", "l:src r*:src");
        check("ls *.pem", "l:*.pem");
        check("git status", "");
        check("git log main", "m:main");
        check("git checkout -- .", "m:. wf:. w*:.");
        check("git clean -fdx", "w*:.");
        check("git rm a", "m:a wf:a w*:a");
        check("git show HEAD:a/k", "m:HEAD:a/k r:a/k r*:.");
        check("tar xf a.tar", "w*:xf w*:a.tar w*:.");
        check("tar cf a.tar src", "r*:cf r*:a.tar r*:src r*:. wf:a.tar");
        check("tar -czf a.tar", "r*:a.tar r*:. wf:a.tar");
        check("tar -rfa.tar x", "r*:x r*:. wf:a.tar");
        check("tar -xfarchive.tar", "w*:.");
        check("7z a x.7z src", "r*:a r*:x.7z r*:src r*:.");
        check("cp -vt /etc a", "r:a w:/etc");
        check("rsync -t a b", "r:a w:b");
        check("sort -o out a", "r:out r:a wf:out");
        check("zip -r x.zip src", "?:x.zip ?:src wf:x.zip r*:.");
        check("git diff --output=x", "m:x wf:x r*:.");
        check("git archive -o x HEAD", "m:x m:HEAD wf:x r*:.");
        check("npm run x", "?:run ?:x");
        check("echo a", "");
    }

    #[test]
    fn which_lines_read_what_they_come_upon() {
        let check = |line: &str, expected: bool| {
            let effects = Effects::none().runs(CommandLine::Shell {
                line: line.to_owned(),
                cwd: "/w".into(),
            });
            assert_eq!(reads_around(&effects), expected, "{line}");
        };
        for line in [
            "grep -r KEY .",
            "grep -R KEY",
            "grep --recurs KEY",
            "grep -e KEY --rec",
            "grep --direc=recurse KEY .",
            "grep --dir recurse KEY .",
            "grep --deref KEY",
            "diff --rec a b",
            "tar --creat --file x.tar .",
            "zip -r x.zip .",
            "git grep KEY",
            "git --no-pager -C . grep --untracked --no-exclude-standard KEY",
            "git diff --no-i empty .",
            "git --namespace x grep KEY",
            "ls -A | xargs cat",
            "find . -type f | xargs -n1 grep KEY",
            "rg KEY",
            "cat a | sudo rg KEY src",
            "find . -name x -exec cat {} +",
            "sh -c 'grep -r KEY .'",
            "cp -r . /tmp/x",
            "tar cf x.tar .",
            "diff -r a b",
        ] {
            check(line, true);
        }
        for line in [
            "grep KEY a",
            "ls -R",
            "tree",
            "du -sh",
            "git diff",
            "git diff grep",
            "git log -p",
            "find . -name x",
            "fd x",
            "mv a b",
            "npm test",
            "cat a",
            "tar xf x.tar",
        ] {
            check(line, false);
        }
    }
}
