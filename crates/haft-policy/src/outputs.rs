//! Files that a program writes because an option names them, or by their place among its words:
//! `sort -o FILE`, `uniq IN OUT`. What else happens to the words is in `files`. A table: a new
//! program is one row.

use crate::shell::{Word, base, flags, has_letter, has_long, is_long, letters};

/// A word, and what of it is the name of the file.
pub(crate) type Output<'a> = (&'a Word, &'a str);

struct Row {
    programs: &'static [&'static str],
    /// Options by a letter whose value is written
    letters: &'static str,
    long: &'static [&'static str],
    /// Options that are a whole word, their value the next one
    words: &'static [&'static str],
    /// Which words that are no options are written
    operands: Operands,
    /// Other options with a value: by a letter, and by name
    valued: &'static str,
    valued_long: &'static [&'static str],
}

enum Operands {
    None,
    First,
    Second,
    Last,
    Every,
    /// Every one, unless an option says that the answer is printed
    Replaced,
    /// What an address ends in
    Addresses,
}

const NONE: Row = Row {
    programs: &[],
    letters: "",
    long: &[],
    words: &[],
    operands: Operands::None,
    valued: "",
    valued_long: &[],
};

const TABLE: &[Row] = &[
    Row {
        programs: &["sort", "shuf"],
        letters: "o",
        long: &["--output"],
        valued: "ktSTinr",
        ..NONE
    },
    Row {
        programs: &["iconv"],
        letters: "o",
        long: &["--output"],
        valued: "ft",
        ..NONE
    },
    Row {
        programs: &["tree", "base64", "base32"],
        letters: "o",
        valued: "LPIw",
        ..NONE
    },
    Row {
        programs: &["less", "more", "most"],
        letters: "oO",
        long: &["--log-file", "--LOG-FILE"],
        valued: "bhjkpPtTxyz",
        ..NONE
    },
    Row {
        programs: &["curl"],
        letters: "oDc",
        long: &[
            "--output",
            "--output-dir",
            "--dump-header",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--etag-save",
            "--libcurl",
            "--hsts",
            "--alt-svc",
        ],
        valued: "XHduAebmwxTFErtyYzKCPQU",
        ..NONE
    },
    Row {
        programs: &["wget", "wget2"],
        letters: "OoaP",
        long: &[
            "--output-document",
            "--output-file",
            "--append-output",
            "--directory-prefix",
            "--save-cookies",
            "--warc-file",
            "--rejected-log",
        ],
        valued: "neiBtTwQUADRIXl",
        operands: Operands::Addresses,
        ..NONE
    },
    Row {
        programs: &[
            "gcc", "cc", "clang", "g++", "c++", "clang++", "ld", "as", "rustc",
        ],
        letters: "o",
        long: &["--output", "--out-dir"],
        valued: "abcdefghijklmnpqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        ..NONE
    },
    Row {
        programs: &[
            "gpg", "gpg2", "age", "pandoc", "zstd", "lz4", "aria2c", "xmllint", "dot",
        ],
        letters: "o",
        long: &["--output", "--out"],
        valued: "rutfTdDi",
        ..NONE
    },
    Row {
        programs: &["strace", "ltrace", "time"],
        letters: "o",
        long: &["--output"],
        valued: "efpsuEabIOPSX",
        ..NONE
    },
    Row {
        programs: &["go"],
        words: &["-o", "-coverprofile", "-cpuprofile", "-memprofile"],
        ..NONE
    },
    Row {
        programs: &["openssl"],
        words: &["-out", "-keyout", "-writerand"],
        ..NONE
    },
    Row {
        programs: &["find"],
        words: &["-fprint", "-fprint0", "-fprintf", "-fls"],
        ..NONE
    },
    Row {
        // Their values follow at once; a word after them is taken for one, to be on the safe side.
        programs: &["awk", "gawk", "mawk", "nawk"],
        letters: "dop",
        long: &["--profile", "--dump-variables", "--pretty-print"],
        valued: "FvefilEWDL",
        ..NONE
    },
    Row {
        programs: &["patch"],
        letters: "or",
        long: &["--output", "--reject-file"],
        valued: "iBdDFgpVxYz",
        valued_long: &["--input", "--directory", "--strip"],
        operands: Operands::First,
        ..NONE
    },
    Row {
        programs: &["zip"],
        valued: "btnixP",
        operands: Operands::First,
        ..NONE
    },
    Row {
        programs: &["uniq"],
        valued: "fsw",
        valued_long: &["--skip-fields", "--skip-chars", "--check-chars"],
        operands: Operands::Second,
        ..NONE
    },
    Row {
        programs: &["xxd"],
        valued: "cglsonR",
        operands: Operands::Second,
        ..NONE
    },
    Row {
        programs: &["split"],
        valued: "abClnt",
        valued_long: &[
            "--suffix-length",
            "--bytes",
            "--line-bytes",
            "--lines",
            "--number",
            "--separator",
            "--additional-suffix",
            "--filter",
        ],
        operands: Operands::Second,
        ..NONE
    },
    Row {
        programs: &["csplit"],
        letters: "f",
        long: &["--prefix"],
        valued: "bn",
        ..NONE
    },
    Row {
        programs: &["objcopy", "ffmpeg", "convert", "magick"],
        operands: Operands::Last,
        ..NONE
    },
    Row {
        programs: &["strip", "dos2unix", "unix2dos"],
        letters: "o",
        valued: "FIOKNR",
        operands: Operands::Every,
        ..NONE
    },
    Row {
        programs: &[
            "gzip",
            "gunzip",
            "pigz",
            "unpigz",
            "bzip2",
            "bunzip2",
            "pbzip2",
            "xz",
            "unxz",
            "lzma",
            "unlzma",
            "compress",
            "uncompress",
        ],
        valued: "STbp",
        operands: Operands::Replaced,
        ..NONE
    },
];

/// What a program surely writes. `-` stands for its output.
pub(crate) fn outputs<'a>(name: &str, known: &[&'a Word]) -> Vec<Output<'a>> {
    let mut found = Vec::new();
    for row in TABLE.iter().filter(|row| row.programs.contains(&name)) {
        found.extend(values(known, row.letters, row.long, row.valued));
        let after = |(at, word): (usize, &&Word)| {
            let next = known.get(at + 1).copied();
            next.filter(|_| row.words.contains(&word.text.as_str()))
        };
        let named = known.iter().enumerate().filter_map(after);
        found.extend(named.map(|word| (word, word.text.as_str())));
        found.extend(by_place(row, known));
    }
    if replaces(name, known) {
        found.extend(operands(known, &NONE).into_iter().map(whole));
    }
    if name == "curl" && keeps_name(known) {
        found.extend(
            operands(known, &NONE)
                .into_iter()
                .filter_map(last_of_address),
        );
    }
    found.retain(|(_, text)| !text.is_empty() && *text != "-");
    found
}

/// What an option is given, in the same word or the next. `valued` are letters after which a word
/// holds a value and no more options.
pub(crate) fn values<'a>(
    known: &[&'a Word],
    wanted: &str,
    long: &[&str],
    valued: &str,
) -> Vec<Output<'a>> {
    let mut found = Vec::new();
    for (at, &word) in known.iter().enumerate() {
        let text = word.text.as_str();
        let by_name = long.iter().any(|option| is_long(text, option));
        let value = match letters(text) {
            Some(given) => given
                .find(|c| wanted.contains(c) || valued.contains(c))
                .and_then(|at| given[at..].strip_prefix(|c| wanted.contains(c))),
            None => by_name.then(|| text.split_once('=').map_or("", |(_, value)| value)),
        };
        match value {
            Some("") => found.extend(known.get(at + 1).map(|&next| whole(next))),
            Some(value) => found.push((word, value)),
            None => {}
        }
    }
    found
}

fn whole(word: &Word) -> Output<'_> {
    (word, &word.text)
}

/// Words that are neither options nor values of options that take one.
fn operands<'a>(known: &[&'a Word], row: &Row) -> Vec<&'a Word> {
    let mut found = Vec::new();
    let mut words = known.iter().copied();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if text == "--" {
            found.extend(words);
            break;
        }
        let valued = |c: char| row.valued.contains(c) || row.letters.contains(c);
        let takes_next = match letters(text) {
            Some(given) => given.find(valued).is_some_and(|at| at + 1 == given.len()),
            None => {
                let mut long = row.valued_long.iter().chain(row.long);
                !text.contains('=') && long.any(|option| is_long(text, option))
            }
        };
        if takes_next {
            words.next();
        } else if !text.starts_with('-') || text == "-" {
            found.push(word);
        }
    }
    found
}

fn by_place<'a>(row: &Row, known: &[&'a Word]) -> Vec<Output<'a>> {
    let words = operands(known, row);
    let one = |at: usize| words.get(at).map(|&word| whole(word)).into_iter().collect();
    match row.operands {
        Operands::None => Vec::new(),
        Operands::First => one(0),
        Operands::Second => one(1),
        Operands::Last => one(words.len().saturating_sub(1)),
        Operands::Every => words.into_iter().map(whole).collect(),
        Operands::Replaced if prints(known) => Vec::new(),
        Operands::Replaced => {
            let unpacked = words.iter().filter_map(|word| unpacked(word));
            let unpacked: Vec<Output<'a>> = unpacked.collect();
            words.into_iter().map(whole).chain(unpacked).collect()
        }
        Operands::Addresses => words.into_iter().filter_map(last_of_address).collect(),
    }
}

/// `gzip -c`, `-t` and `-l` leave files as they are.
fn prints(known: &[&Word]) -> bool {
    let words = || known.iter().copied();
    has_letter(words(), &['c', 't', 'l'])
        || has_long(words(), &["--stdout", "--to-stdout", "--test", "--list"])
}

/// The name without the ending that tells how it is packed.
fn unpacked(word: &Word) -> Option<Output<'_>> {
    const ENDINGS: &[&str] = &[".gz", ".z", ".Z", ".bz2", ".xz", ".lzma", ".zst"];
    let stem = |ending: &&str| word.text.strip_suffix(*ending);
    ENDINGS.iter().find_map(stem).map(|stem| (word, stem))
}

fn last_of_address(word: &Word) -> Option<Output<'_>> {
    let address = word.text.split(['?', '#']).next()?;
    address.contains('/').then(|| (word, base(address)))
}

/// Whether every file is written that is read.
fn replaces(name: &str, known: &[&Word]) -> bool {
    let words = || known.iter().copied();
    match name {
        "yq" => has_letter(words(), &['i']) || has_long(words(), &["--inplace", "--in-place"]),
        "awk" | "gawk" => values(known, "i", &["--include"], "Fvfel")
            .iter()
            .any(|(_, library)| base(library).starts_with("inplace")),
        _ => false,
    }
}

fn keeps_name(known: &[&Word]) -> bool {
    const LONG: &[&str] = &["--remote-name", "--remote-name-all"];
    let by_letter = |word: &&Word| {
        let flags = flags(&word.text, "XHduAebmwxTFEoDc");
        flags.is_some_and(|flags| flags.contains('O'))
    };
    known.iter().any(by_letter) || has_long(known.iter().copied(), LONG)
}

/// Whether `ln` is told for certain to take the place of a link that leads to a folder, in place of
/// a name in that folder. What follows `-S` or `--` may look like such an option and be none.
pub(crate) fn takes_the_name(known: &[&Word]) -> bool {
    let words = || known.iter().copied();
    let told = has_letter(words(), &['n', 'T'])
        || has_long(words(), &["--no-dereference", "--no-target-directory"]);
    let unsure = has_letter(words(), &['S'])
        || has_long(words(), &["--suffix"])
        || words().any(|word| word.text == "--");
    told && !unsure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    #[test]
    fn what_is_written_by_an_option_or_by_its_place() {
        let check = |line: &str, expected: &[&str]| {
            let script = shell::parse(line);
            let (program, arguments) = script.commands[0].words.split_first().unwrap();
            let known: Vec<&Word> = arguments.iter().collect();
            let found: Vec<&str> = outputs(&program.text, &known)
                .into_iter()
                .map(|(_, text)| text)
                .collect();
            assert_eq!(found, expected, "{line}");
        };
        check("sort --output out a", &["out"]);
        check("sort --outp=out a", &["out"]);
        check("sort -o out a", &["out"]);
        check("sort -uoout a", &["out"]);
        check("sort -k1 -to a", &[]);
        check("uniq a out", &["out"]);
        check("uniq -f 1 a out", &["out"]);
        check("uniq -cf1 a", &[]);
        check("uniq --skip-f 1 a", &[]);
        check("iconv -f latin1 -o out a", &["out"]);
        check("awk -i inplace 1 out", &["inplace", "1", "out"]);
        check("awk --inc=inplace 1 out", &["1", "out"]);
        check("awk -v i=1 1 a", &[]);
        check("gawk -F: -oout 1 a", &["out"]);
        check("gawk -vp=1 -dout 1 a", &["out"]);
        check("curl -oout https://x/y", &["out"]);
        check("curl -sO https://x/out?a=/b", &["out"]);
        check("curl -XPOST https://x/y", &[]);
        check("wget https://x/out", &["out"]);
        check("wget -qO- x", &[]);
        check("wget -qO out x", &["out"]);
        check("cc -Wno-x -oout a.c", &["out"]);
        check("openssl rand -out out 8", &["out"]);
        check("find . -fprint out", &["out"]);
        check("patch -p1 -i x.diff out", &["out"]);
        check("patch -o out a x.diff", &["out", "a"]);
        check("split -l 5 a out", &["out"]);
        check("csplit -f out a 5", &["out"]);
        check("xxd -r a out", &["out"]);
        check("xxd -l 16 a", &[]);
        check("objcopy a out", &["out"]);
        check("gunzip out.gz", &["out.gz", "out"]);
        check("gzip -dc a.gz", &[]);
        check("yq -i .a=1 out", &[".a=1", "out"]);
        check("zip -r out.zip .", &["out.zip"]);
        check("cat a", &[]);
    }
}
