//! Files that a script on a command line opens by itself: `sed 'w FILE'`, `awk '{print > "FILE"}'`.
//! What is written there literally is named; of what is not understood nobody knows what it writes.

mod awk;
mod sed;

use crate::outputs::values;
use crate::shell::{Word, is_long};

/// What a script opens a file for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opens {
    Reading,
    Writing,
}

/// What a script opens, as it names it. None where it is not understood.
type Opened<'a> = Option<Vec<(&'a str, Opens)>>;

/// How a program is given its script.
struct Options {
    /// Letters whose value is the script
    script: &'static str,
    script_long: &'static [&'static str],
    /// Letters whose value is a file with the script
    file: &'static str,
    file_long: &'static [&'static str],
    /// Other letters with a value, and those whose value is in the same word if there is any
    valued: &'static str,
    attached: &'static str,
    valued_long: &'static [&'static str],
}

const SED: Options = Options {
    script: "e",
    script_long: &["--expression"],
    file: "f",
    file_long: &["--file"],
    valued: "l",
    attached: "i",
    valued_long: &["--line-length"],
};

const AWK: Options = Options {
    script: "e",
    script_long: &["--source"],
    file: "fEil",
    file_long: &["--file", "--exec", "--include", "--load"],
    valued: "FvW",
    attached: "doDpL",
    valued_long: &["--field-separator", "--assign"],
};

/// What the scripts of a program open. None where one is not understood, or not to be seen.
pub(crate) fn opened<'a>(name: &str, known: &[&'a Word]) -> Opened<'a> {
    let (options, read): (&Options, fn(&str) -> Opened<'_>) = match name {
        "sed" | "gsed" => (&SED, sed::opened),
        "awk" | "gawk" | "mawk" | "nawk" => (&AWK, awk::opened),
        _ => return Some(Vec::new()),
    };
    let Options {
        script,
        file,
        valued,
        attached,
        ..
    } = options;
    let others = format!("{script}{valued}{attached}");
    if !values(known, file, options.file_long, &others).is_empty() {
        return None;
    }
    let others = format!("{file}{valued}{attached}");
    let mut scripts = values(known, script, options.script_long, &others);
    if scripts.is_empty() {
        scripts.extend(options.first(known).map(|word| (word, word.text.as_str())));
    }
    let mut found = Vec::new();
    for (_, text) in scripts {
        let named = read(text)?.into_iter();
        found.extend(named.filter(|(file, _)| !STREAMS.contains(file)));
    }
    Some(found)
}

/// Names that stand for the streams of a program.
const STREAMS: &[&str] = &["-", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

impl Options {
    /// The first word that is neither an option nor its value.
    fn first<'a>(&self, known: &[&'a Word]) -> Option<&'a Word> {
        let mut words = known.iter().copied();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if text == "--" {
                return words.next();
            }
            let Some(given) = text.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
                return Some(word);
            };
            let takes_next = match given.starts_with('-') {
                true => {
                    let mut long = self.valued_long.iter();
                    !text.contains('=') && long.any(|option| is_long(text, option))
                }
                false => given
                    .find(|c| self.valued.contains(c) || self.attached.contains(c))
                    .and_then(|at| given[at..].strip_prefix(|c| self.valued.contains(c)))
                    .is_some_and(str::is_empty),
            };
            if takes_next {
                words.next();
            }
        }
        None
    }
}

/// What is left to read of a script.
struct Rest<'s>(&'s str);

impl<'s> Rest<'s> {
    fn peek(&self) -> Option<char> {
        self.0.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.0 = &self.0[next.len_utf8()..];
        Some(next)
    }

    /// As long as characters are such ones.
    fn take(&mut self, such: impl Fn(char) -> bool) -> &'s str {
        let end = self.0.find(|c| !such(c)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    /// Pass over a part that ends in `end`. In a pattern, where `end` in brackets is read
    /// differently by different programs, that is not understood.
    fn part(&mut self, end: char, pattern: bool) -> Option<()> {
        while let Some(c) = self.next() {
            match c {
                c if c == end => return Some(()),
                '\\' => drop(self.next()?),
                '[' if pattern => self.brackets(end)?,
                _ => {}
            }
        }
        None
    }

    fn brackets(&mut self, end: char) -> Option<()> {
        self.take(|c| c == '^');
        let mut first = true;
        loop {
            match self.next()? {
                ']' if !first => return Some(()),
                c if c == end => return None,
                // A class, or how a program reads a backslash here: it does not matter which.
                '[' if self.peek().is_some_and(|c| ":.=".contains(c)) => {
                    let kind = self.next()?;
                    self.take(|c| c != kind && c != end);
                    if self.next()? == end || self.next()? != ']' {
                        return None;
                    }
                }
                '\\' => return None,
                _ => {}
            }
            first = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    #[test]
    fn files_that_a_script_opens() {
        let check = |line: &str, expected: Option<&[&str]>| {
            let script = shell::parse(line);
            let (program, arguments) = script.commands[0].words.split_first().unwrap();
            let known: Vec<&Word> = arguments.iter().collect();
            let found = opened(&program.text, &known);
            let found = found.map(|all| {
                let sign = |how| if how == Opens::Reading { "r" } else { "w" };
                let told = all
                    .iter()
                    .map(|(file, how)| format!("{}:{file}", sign(*how)));
                told.collect::<Vec<String>>()
            });
            let expected = expected.map(|all| all.iter().map(|&one| one.to_owned()).collect());
            assert_eq!(found, expected, "{line}");
        };
        check("cat 'w x'", Some(&[]));
        check("sed s/a/b/ f", Some(&[]));
        check("sed -n 'w out' f", Some(&["w:out"]));
        check("sed -ne 'w out' -e '1W o2' f", Some(&["w:out", "w:o2"]));
        check("sed --expression='w out' f", Some(&["w:out"]));
        check("sed -i.bak 's/a/b/w out' f", Some(&["w:out"]));
        check("sed -ie 's/a/b/w out' f", Some(&["w:out"]));
        check("sed -l 5 'w out' f", Some(&["w:out"]));
        check("sed 's/a/b/gw out' f", Some(&["w:out"]));
        check("sed 's,w x,b, ; s|a|w|' f", Some(&[]));
        check("sed '/x/,/y/!{p;w out\n}' f", Some(&["w:out"]));
        check("sed '\\,x,Iw out' f", Some(&["w:out"]));
        check("sed '1~2,+3r in' f", Some(&["r:in"]));
        check("sed 'w /dev/stdout' f", Some(&[]));
        check("sed ':a;N;$!ba;s/\\n/ /g;w out' f", Some(&["w:out"]));
        check("sed '1i\\\nw text\nw out' f", Some(&["w:out"]));
        check("sed 'y/abc/xyz/;$d' f", Some(&[]));
        check("sed 's/[[:space:]]*$//' f", Some(&[]));
        check("sed 's/[/]/x/;w out/' f", None);
        check("sed '1e rm' f", None);
        check("sed 's/a/b/e' f", None);
        check("sed -f x f", None);
        check("sed 'w' f", None);
        check("awk '{print $1}' f", Some(&[]));
        check("awk '{print $1 > \"out\"}' f", Some(&["w:out"]));
        check(
            "awk -F: -v a=1 '{printf(\"%s\", $1) >> \"out\"}' f",
            Some(&["w:out"]),
        );
        check("gawk -e '{print > \"out\"}' f", Some(&["w:out"]));
        check(
            "awk -F , '$1 > 5 {print $2; n++} END {print n}' f",
            Some(&[]),
        );
        check("awk '{print ($1 > \"a\")}' f", Some(&[]));
        check("awk '/a>\"b\"/ {print $1/2}' f", Some(&[]));
        check("awk '{print $1,\n$2 > \"out\"}' f", Some(&["w:out"]));
        check(
            "awk '{print \"x\" > \"/dev/stderr\"} # > \"n\"' f",
            Some(&[]),
        );
        check("awk '{print > $1}' f", None);
        check("awk '{print > \"a\" n}' f", None);
        check("awk '{print > \"\\x61\"}' f", None);
        check("awk '{print | \"sh\"}' f", None);
        check("awk '{a = b || c; print a}' f", Some(&[]));
        check("awk 'BEGIN {system(\"id\")}'", None);
        check("awk '{if (1) /\"/; print > \"f\" #\"}' f", None);
        check("awk '{n = i++ / 2 ; print > \"f\" ; x / 3}' f", None);
        check("awk -f x f", None);
    }
}
