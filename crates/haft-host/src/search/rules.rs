//! What `.gitignore` and `.ignore` files leave out, by the rules of git. Most lines of such files
//! name a file or an ending, so those are compared as bytes; only the others become globs.

use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};

/// What the rules say about one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No rule speaks of it
    Unknown,
    Left,
    /// A rule with `!` takes it back in
    Kept,
}

/// The rules of one file, in the order of its lines.
#[derive(Debug)]
pub(super) struct IgnoreFile(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    keeps: bool,
    only_folders: bool,
    test: Test,
}

#[derive(Debug)]
enum Test {
    /// The name, wherever it is
    Name(Box<[u8]>),
    NameStart(Box<[u8]>),
    NameEnd(Box<[u8]>),
    NameGlob(GlobMatcher),
    /// The path from the folder of the rules
    Path(Box<[u8]>),
    PathGlob(GlobMatcher),
}

/// One entry of a folder, as rules see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    /// From the top folder that has rules; slashes between the names
    pub(super) path: &'a [u8],
    /// Where the name starts in `path`
    pub(super) name: usize,
    pub(super) is_folder: bool,
}

impl IgnoreFile {
    /// None where no line is a rule.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let rules: Vec<Rule> = text
            .split(|&byte| byte == b'\n')
            .filter_map(|line| Rule::parse(line.strip_suffix(b"\r").unwrap_or(line)))
            .collect();
        (!rules.is_empty()).then_some(IgnoreFile(rules))
    }

    /// The last rule that fits decides. `base` is where paths below the rules' folder start.
    fn verdict(&self, candidate: Candidate<'_>, base: usize) -> Verdict {
        let name = &candidate.path[candidate.name..];
        let path = &candidate.path[base..];
        let fitting =
            self.0.iter().rev().find(|rule| {
                (candidate.is_folder || !rule.only_folders) && rule.test.fits(name, path)
            });
        match fitting {
            None => Verdict::Unknown,
            Some(rule) if rule.keeps => Verdict::Kept,
            Some(_) => Verdict::Left,
        }
    }
}

impl Rule {
    fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        if line.starts_with('#') {
            return None;
        }
        let mut glob = trimmed(line);
        let keeps = glob.starts_with('!');
        glob = glob.strip_prefix('!').unwrap_or(glob);
        let only_folders = glob.ends_with('/');
        glob = glob.strip_suffix('/').unwrap_or(glob);
        let anchored = glob.contains('/');
        glob = glob.strip_prefix('/').unwrap_or(glob);
        // `**/x` is any `x`, as is `x` alone.
        let (anchored, glob) = match glob.strip_prefix("**/") {
            Some(rest) if !rest.contains('/') => (false, rest),
            _ => (anchored, glob),
        };
        if glob.is_empty() {
            return None;
        }
        let test = if anchored {
            Test::path(glob)
        } else {
            Test::name(glob)
        };
        Some(Rule {
            keeps,
            only_folders,
            test: test?,
        })
    }
}

/// Spaces at the end do not count, unless the last one is escaped.
fn trimmed(line: &str) -> &str {
    let short = line.trim_end_matches(' ');
    let escaped = short.len() < line.len() && short.ends_with('\\');
    &line[..short.len() + usize::from(escaped)]
}

impl Test {
    fn name(glob: &str) -> Option<Self> {
        let bytes = |text: &str| text.as_bytes().into();
        if is_plain(glob) {
            return Some(Test::Name(bytes(glob)));
        }
        match (glob.strip_prefix('*'), glob.strip_suffix('*')) {
            (Some(end), _) if is_plain(end) => Some(Test::NameEnd(bytes(end))),
            (_, Some(start)) if is_plain(start) => Some(Test::NameStart(bytes(start))),
            _ => compile(glob).map(Test::NameGlob),
        }
    }

    fn path(glob: &str) -> Option<Self> {
        match is_plain(glob) {
            true => Some(Test::Path(glob.as_bytes().into())),
            false => compile(glob).map(Test::PathGlob),
        }
    }

    fn fits(&self, name: &[u8], path: &[u8]) -> bool {
        match self {
            Test::Name(wanted) => **wanted == *name,
            Test::NameStart(start) => name.starts_with(start),
            Test::NameEnd(end) => name.ends_with(end),
            Test::NameGlob(glob) => glob.is_match(as_path(name)),
            Test::Path(wanted) => **wanted == *path,
            Test::PathGlob(glob) => glob.is_match(as_path(path)),
        }
    }
}

fn is_plain(glob: &str) -> bool {
    !glob.contains(['*', '?', '[', '\\'])
}

/// Git knows no braces, so they stand for themselves. A glob that does not compile fits nothing.
fn compile(glob: &str) -> Option<GlobMatcher> {
    let literal = glob.replace('{', "[{]").replace('}', "[}]");
    let glob = GlobBuilder::new(&literal)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .ok()?;
    Some(glob.compile_matcher())
}

fn as_path(bytes: &[u8]) -> &std::path::Path {
    use std::os::unix::ffi::OsStrExt;
    std::path::Path::new(std::ffi::OsStr::from_bytes(bytes))
}

/// The rules in force in one folder: its own and those of the folders above.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    /// From `.ignore` files; they win over git's
    plain: Option<Arc<Level>>,
    git: Option<Arc<Level>>,
    /// `.gitignore` counts only inside a repository
    in_repository: bool,
}

#[derive(Debug)]
struct Level {
    file: IgnoreFile,
    base: usize,
    above: Option<Arc<Level>>,
}

impl Rules {
    /// A repository starts here: what lies above no longer counts, `.ignore` files aside.
    pub(super) fn enter_repository(&mut self) {
        self.git = None;
        self.in_repository = true;
    }

    pub(super) fn in_repository(&self) -> bool {
        self.in_repository
    }

    /// Rules of a folder whose entries' names start at `base`.
    pub(super) fn add_git(&mut self, file: IgnoreFile, base: usize) {
        let above = self.git.take();
        self.git = Some(Arc::new(Level { file, base, above }));
    }

    pub(super) fn add_plain(&mut self, file: IgnoreFile, base: usize) {
        let above = self.plain.take();
        self.plain = Some(Arc::new(Level { file, base, above }));
    }

    pub(super) fn verdict(&self, candidate: Candidate<'_>) -> Verdict {
        match nearest(self.plain.as_deref(), candidate) {
            Verdict::Unknown => nearest(self.git.as_deref(), candidate),
            known => known,
        }
    }
}

/// What the nearest folder says that says anything.
fn nearest(mut level: Option<&Level>, candidate: Candidate<'_>) -> Verdict {
    while let Some(here) = level {
        match here.file.verdict(candidate, here.base) {
            Verdict::Unknown => level = here.above.as_deref(),
            known => return known,
        }
    }
    Verdict::Unknown
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    const RULES: &str = "# comment\n\ntarget\n*.log\n!keep.log\n/top.txt\nfolder/\ndoc/*.md\n\
        **/deep\na/**/z\nout/**\ntmp*\n\\#sharp\n\\!bang\nspace \\ \nx[0-9].c\n?.q\n{a,b}.txt\n\
        *.pyc  \nsub/inner\n[broken\n/an*ed\nb*r\n";

    /// Paths that end with a slash are folders.
    const PATHS: &[&str] = &[
        "target/",
        "a/target",
        "x.log",
        "d/x.log",
        "keep.log",
        "d/keep.log",
        "top.txt",
        "d/top.txt",
        "folder",
        "folder/",
        "d/folder/",
        "doc/a.md",
        "doc/b/a.md",
        "d/doc/a.md",
        "deep",
        "x/y/deep/",
        "a/z",
        "a/b/z",
        "a/b/c/z",
        "out/x",
        "tmpfile",
        "d/tmp",
        "#sharp",
        "!bang",
        "space  ",
        "space",
        "x1.c",
        "xx.c",
        "a.q",
        "ab.q",
        "{a,b}.txt",
        "a.txt",
        "m.pyc",
        "sub/inner",
        "d/sub/inner",
        "anted",
        "d/anted",
        "bar",
        "bzzr",
        "plain",
    ];

    #[test]
    fn the_rules_are_those_of_git() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str], input: &str| {
            let input_file = dir.path().join(".input");
            std::fs::write(&input_file, input).unwrap();
            let output = Command::new("git")
                .args(["-c", "core.excludesFile=/dev/null", "-C"])
                .arg(dir.path())
                .args(args)
                .stdin(Stdio::from(std::fs::File::open(&input_file).unwrap()))
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        git(&["init", "-q"], "");
        std::fs::write(dir.path().join(".gitignore"), RULES).unwrap();
        // Asked path by path, without looking at the disk: a slash at the end makes a folder.
        let asked = PATHS.join("\0") + "\0";
        let args = ["check-ignore", "-z", "--stdin", "--no-index", "-v", "-n"];
        let told = git(&args, &asked);
        let words: Vec<&str> = told.split('\0').collect();
        let mut rules = Rules::default();
        rules.enter_repository();
        rules.add_git(IgnoreFile::parse(RULES.as_bytes()).unwrap(), 0);
        let mut compared = 0;
        for answer in words.chunks_exact(4) {
            let (pattern, path) = (answer[2], answer[3]);
            let bare = path.trim_end_matches('/');
            let candidate = |path: &str, is_folder| {
                rules.verdict(Candidate {
                    path: path.as_bytes(),
                    name: path.rfind('/').map_or(0, |slash| slash + 1),
                    is_folder,
                })
            };
            // Git speaks of an entry inside a folder that is left out; we never get there.
            let above = bare.char_indices().filter(|&(_, c)| c == '/');
            let inside_left = above
                .map(|(at, _)| &bare[..at])
                .any(|folder| candidate(folder, true) == Verdict::Left);
            let ours = match candidate(bare, path.ends_with('/')) {
                _ if inside_left => true,
                verdict => verdict == Verdict::Left,
            };
            let theirs = !pattern.is_empty() && !pattern.starts_with('!');
            assert_eq!(ours, theirs, "{path:?}: git goes by `{pattern}`");
            compared += 1;
        }
        assert_eq!(compared, PATHS.len(), "{told}");
    }

    #[test]
    fn the_nearest_rule_counts_and_a_repository_starts_anew() {
        let file = |text: &str| IgnoreFile::parse(text.as_bytes()).unwrap();
        let candidate = Candidate {
            path: b"sub/a.txt",
            name: 4,
            is_folder: false,
        };
        let mut rules = Rules::default();
        rules.add_git(file("*.txt"), 0);
        assert_eq!(rules.verdict(candidate), Verdict::Left);
        let mut below = rules.clone();
        below.add_git(file("!a.txt"), 4);
        assert_eq!(below.verdict(candidate), Verdict::Kept);
        below.add_plain(file("/a.txt"), 4);
        assert_eq!(below.verdict(candidate), Verdict::Left);
        rules.enter_repository();
        assert_eq!(rules.verdict(candidate), Verdict::Unknown);
    }
}
