//! Arguments that turn a harmless program into one that writes, runs or reads elsewhere. An
//! allow rule that ends in `*` does not cover them; a rule that spells one out does. A table: a
//! new program is one row.

use crate::shell::{Word, has_letter, has_long, is_long, letters, takes_commands};

struct Traps {
    programs: &'static [&'static str],
    /// One-letter options, also in a cluster: `o` meets `-o`, `-uo`, `-ofile`
    letters: &'static str,
    /// Options by their beginning: `-O` meets `-O` and `-Ofile`
    starts: &'static [&'static str],
    /// Whole words
    words: &'static [&'static str],
    /// Long options, abbreviated or not, with or without `=value`
    long: &'static [&'static str],
    /// Text that no word may hold
    within: &'static [&'static str],
}

const NONE: Traps = Traps {
    programs: &[],
    letters: "",
    starts: &[],
    words: &[],
    long: &[],
    within: &[],
};

const TABLE: &[Traps] = &[
    Traps {
        programs: &["git"],
        starts: &["-c", "-C", "-O"],
        long: &[
            "--output",
            "--output-directory",
            "--ext-diff",
            "--textconv",
            "--no-index",
            "--exec",
            "--exec-path",
            "--upload-pack",
            "--receive-pack",
            "--git-dir",
            "--work-tree",
            "--config-env",
            "--open-files-in-pager",
            "--paginate",
            "--super-prefix",
            "--contents",
            "--pathspec-from-file",
            "--template",
            "--separate-git-dir",
            "--gpg-sign",
            "--show-signature",
            "--recurse-submodules",
            "--extcmd",
            "--tree-filter",
            "--index-filter",
            "--env-filter",
            "--parent-filter",
            "--msg-filter",
            "--commit-filter",
            "--tag-name-filter",
            "--sendmail-cmd",
            "--to-cmd",
            "--cc-cmd",
            "--header-cmd",
            "--smtp-server",
        ],
        ..NONE
    },
    Traps {
        programs: &["find"],
        words: &[
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-delete",
            "-fprint",
            "-fprint0",
            "-fprintf",
            "-fls",
            "-files0-from",
        ],
        ..NONE
    },
    Traps {
        programs: &["fd", "fdfind"],
        letters: "xX",
        long: &[
            "--exec",
            "--exec-batch",
            "--search-path",
            "--base-directory",
            "--ignore-file",
        ],
        ..NONE
    },
    Traps {
        programs: &["grep", "egrep", "fgrep", "zgrep"],
        letters: "f",
        long: &["--file", "--exclude-from"],
        ..NONE
    },
    Traps {
        programs: &["rg"],
        letters: "fz",
        long: &[
            "--pre",
            "--file",
            "--search-zip",
            "--hostname-bin",
            "--ignore-file",
        ],
        ..NONE
    },
    Traps {
        programs: &["wc", "du"],
        letters: "X",
        long: &["--files0-from", "--exclude-from"],
        ..NONE
    },
    Traps {
        programs: &["sort", "shuf"],
        letters: "oT",
        long: &[
            "--output",
            "--compress-program",
            "--files0-from",
            "--random-source",
            "--temporary-directory",
        ],
        ..NONE
    },
    Traps {
        programs: &["split", "csplit"],
        long: &["--filter", "--prefix"],
        ..NONE
    },
    Traps {
        programs: &["tar", "bsdtar"],
        letters: "ICPFTf",
        long: &[
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "--rsh-command",
            "--info-script",
            "--new-volume-script",
            "--files-from",
            "--directory",
            "--file",
            "--absolute-names",
            "--remove-files",
            "--unlink-first",
        ],
        ..NONE
    },
    Traps {
        programs: &["rsync"],
        letters: "e",
        long: &[
            "--rsh",
            "--rsync-path",
            "--files-from",
            "--log-file",
            "--delete",
        ],
        ..NONE
    },
    Traps {
        programs: &["curl"],
        letters: "oOKTdF",
        long: &[
            "--output",
            "--remote-name",
            "--config",
            "--upload-file",
            "--data",
            "--data-binary",
            "--form",
            "--proxy",
            "--unix-socket",
            "--netrc-file",
            "--cookie-jar",
            "--dump-header",
            "--trace",
            "--output-dir",
        ],
        ..NONE
    },
    Traps {
        programs: &["sed", "gsed"],
        letters: "ief",
        long: &["--in-place", "--expression", "--file"],
        ..NONE
    },
    Traps {
        programs: &["awk", "gawk", "mawk", "nawk"],
        letters: "fiEl",
        long: &[
            "--file",
            "--include",
            "--load",
            "--exec",
            "--profile",
            "--dump-variables",
        ],
        within: &["system", "|", ">", "getline", "@", "ENVIRON"],
        ..NONE
    },
    Traps {
        programs: &["man", "less", "more", "most"],
        letters: "PHKLkoO",
        starts: &["+"],
        long: &["--pager", "--html", "--lesskey-file", "--log-file"],
        ..NONE
    },
    Traps {
        programs: &["npm", "pnpm", "yarn", "bun"],
        letters: "C",
        long: &[
            "--prefix",
            "--script-shell",
            "--node-options",
            "--globalconfig",
            "--userconfig",
            "--cwd",
            "--dir",
            "--global",
            "--shell-emulator",
            "--use-node-version",
            "--preload",
            "--config",
        ],
        ..NONE
    },
    Traps {
        programs: &["cargo"],
        starts: &["+", "-Z", "-C"],
        long: &[
            "--config",
            "--manifest-path",
            "--target-dir",
            "--artifact-dir",
            "--out-dir",
            "--lockfile-path",
        ],
        ..NONE
    },
    Traps {
        programs: &["go"],
        words: &[
            "-exec",
            "-toolexec",
            "-o",
            "-C",
            "-overlay",
            "-modfile",
            "-vettool",
        ],
        starts: &[
            "-exec=",
            "-toolexec=",
            "-o=",
            "-C=",
            "-overlay=",
            "-modfile=",
            "-vettool=",
            "-outputdir",
            "-coverprofile",
            "-cpuprofile",
            "-memprofile",
            "-blockprofile",
            "-mutexprofile",
            "-trace",
            "--exec",
            "--toolexec",
        ],
        ..NONE
    },
    Traps {
        programs: &[
            "pytest", "py.test", "jest", "vitest", "mocha", "eslint", "tsc", "ruff", "mypy",
        ],
        starts: &["-p", "-c", "-o", "-r"],
        long: &[
            "--rootdir",
            "--pyargs",
            "--config",
            "--require",
            "--import",
            "--loader",
            "--fix",
            "--output",
            "--output-file",
            "--outDir",
            "--outFile",
            "--basetemp",
            "--plugin",
            "--resolve-plugins-relative-to",
            "--rulesdir",
            "--globalSetup",
            "--setupFiles",
            "--testRunner",
            "--runner",
            "--transform",
            "--project",
            "--build",
        ],
        ..NONE
    },
    Traps {
        programs: &["make", "gmake", "ninja", "just"],
        letters: "fCIdE",
        within: &["="],
        long: &[
            "--file",
            "--makefile",
            "--directory",
            "--eval",
            "--include-dir",
            "--shell",
            "--justfile",
            "--working-directory",
        ],
        ..NONE
    },
    Traps {
        programs: &["gcc", "cc", "clang", "g++", "c++", "clang++", "rustc"],
        letters: "oB",
        starts: &["-wrapper", "@", "-fplugin", "-Xclang", "-C"],
        long: &["--output", "--specs", "--config", "--out-dir", "--emit"],
        ..NONE
    },
    Traps {
        programs: &["jq", "yq"],
        letters: "fiL",
        long: &[
            "--from-file",
            "--rawfile",
            "--slurpfile",
            "--inplace",
            "--argfile",
        ],
        ..NONE
    },
    Traps {
        programs: &["tree", "shuf"],
        letters: "o",
        ..NONE
    },
    Traps {
        programs: &["date"],
        letters: "sf",
        long: &["--set", "--file"],
        ..NONE
    },
    Traps {
        programs: &["file"],
        letters: "mCf",
        long: &["--magic-file", "--compile", "--files-from"],
        ..NONE
    },
    Traps {
        programs: &["xxd", "unzip", "zip", "diff"],
        starts: &["-r", "-d", "-T"],
        long: &["--to-file", "--from-file", "--unzip-command"],
        ..NONE
    },
    Traps {
        programs: &["docker", "podman", "kubectl", "helm"],
        letters: "vHf",
        words: &["exec", "run", "cp", "attach", "debug"],
        long: &[
            "--volume",
            "--mount",
            "--privileged",
            "--host",
            "--kubeconfig",
            "--context",
            "--filename",
            "--pid",
            "--device",
            "--cap-add",
            "--network",
        ],
        ..NONE
    },
];

/// Programs whose arguments are never opened as files.
const NO_PATHS: &[&str] = &[
    "echo", "printf", "true", "false", ":", "seq", "expr", "pwd", "basename", "dirname", "sleep",
    "whoami", "id", "uname", "which", "type",
];

/// Programs whose first argument that is no option is a pattern, not a path.
const PATTERN_FIRST: &[&str] = &[
    "grep", "egrep", "fgrep", "rg", "sed", "gsed", "awk", "gawk", "jq",
];

/// Whether one of the words that a rule's `*` would stand for is a trap of this program.
pub(crate) fn smuggles(program: &str, rest: &[&Word]) -> bool {
    let texts = || rest.iter().map(|word| word.text.as_str());
    if matches!(program, "sed" | "gsed")
        && !texts()
            .find(|text| !text.starts_with('-'))
            .is_some_and(harmless_sed)
    {
        return true;
    }
    // Which of its commands runs is then up to the files that lie about.
    let first = rest.iter().find(|word| !word.text.starts_with('-'));
    if takes_commands(program) && first.is_some_and(|word| word.glob) {
        return true;
    }
    TABLE
        .iter()
        .filter(|row| row.programs.contains(&program))
        .any(|row| texts().any(|text| row.meets(text)))
}

/// Which of these words may be paths.
pub(crate) fn paths<'a>(program: &str, rest: &[&'a Word]) -> Vec<&'a Word> {
    if NO_PATHS.contains(&program) {
        return Vec::new();
    }
    let texts = || rest.iter().map(|word| word.text.as_str());
    let pattern = (PATTERN_FIRST.contains(&program) && !names_pattern(rest))
        .then(|| texts().position(|text| !text.starts_with('-')))
        .flatten();
    rest.iter()
        .enumerate()
        .filter(|(at, _)| Some(*at) != pattern)
        .map(|(_, word)| *word)
        .collect()
}

/// Whether an option gives the pattern, or the file that it stands in.
fn names_pattern(words: &[&Word]) -> bool {
    const LONG: &[&str] = &[
        "--regexp",
        "--file",
        "--expression",
        "--from-file",
        "--source",
        "--exec",
    ];
    let words = || words.iter().copied();
    has_letter(words(), &['e', 'f']) || has_long(words(), LONG)
}

/// Whether no word of these has to be a path: the one there is may be the pattern.
pub(crate) fn may_be_pattern(program: &str, words: &[&Word]) -> bool {
    PATTERN_FIRST.contains(&program) && names_pattern(words)
}

/// Line numbers and the commands that print, delete from the output, or quit.
fn harmless_sed(script: &str) -> bool {
    script
        .chars()
        .all(|c| c.is_ascii_digit() || ",$pdq;! ".contains(c))
}

impl Traps {
    fn meets(&self, text: &str) -> bool {
        if self.words.contains(&text) || self.starts.iter().any(|start| text.starts_with(start)) {
            return true;
        }
        if self.within.iter().any(|part| text.contains(part)) {
            return true;
        }
        self.long.iter().any(|trap| is_long(text, trap))
            || letters(text).is_some_and(|given| given.contains(|c| self.letters.contains(c)))
    }
}
