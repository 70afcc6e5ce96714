//! Searches over real trees, compared with the plainest way there is to do them.

use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;
use regex::RegexBuilder;

use super::*;
use crate::files::FilesConfig;

struct Tree {
    dir: tempfile::TempDir,
    power: SearchText,
}

impl Tree {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["ws", "out", "ws/home"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let workspace = Workspace::open(FilesConfig {
            workspace: dir.path().join("ws"),
            roots: Vec::new(),
            home: dir.path().join("ws/home"),
        });
        let results = FileResults::new(&dir.path().join("ws/home"));
        let power = SearchText::new(Arc::new(workspace.unwrap()), Some(Arc::new(results)));
        Tree { dir, power }
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join("ws").join(path)
    }

    fn search(&self, query: &TextQuery) -> Result<TextFound, ToolError> {
        let base = self.power.resolve(".")?;
        self.power
            .search_now(&base, query, "session", &CancelToken::new(), None)
    }

    /// Matches as lines of text.
    fn lines(&self, query: &TextQuery) -> Vec<String> {
        let mut lines = Vec::new();
        for file in self.search(query).unwrap().files {
            let path = String::from_utf8_lossy(&file.path).into_owned();
            for found in file.matches {
                lines.push(format!("{path}:{}: {}", found.line, found.content));
            }
        }
        lines
    }

    fn check(&self, query: &TextQuery, expected: &str) {
        assert_eq!(self.lines(query).join(" | "), expected, "{query:?}");
    }
}

fn query(pattern: &str) -> TextQuery {
    TextQuery {
        pattern: pattern.to_owned(),
        ignore: true,
        limit: 100,
        ..TextQuery::default()
    }
}

#[test]
fn ignore_rules_hold_in_a_repository_and_hidden_names_are_left_out() {
    let tree = Tree::new();
    tree.put("a.txt", "x");
    tree.put("b.log", "x");
    tree.put("keep/b.log", "x");
    tree.put("keep/.gitignore", "!b.log\n");
    tree.put(".gitignore", "*.log\n/target/\n");
    tree.put("target/out.txt", "x");
    tree.put(".hidden/a.txt", "x");
    tree.put("sub/.ignore", "quiet.txt\n");
    tree.put("sub/quiet.txt", "x");
    tree.put("home/results/r", "x");
    let check = |query: &TextQuery, expected: &[&str]| {
        let expected: Vec<String> = expected.iter().map(|path| format!("{path}:1: x")).collect();
        tree.check(query, &expected.join(" | "));
    };
    check(
        &query("^x"),
        &["a.txt", "b.log", "keep/b.log", "target/out.txt"],
    );
    tree.put(".git/config", "x");
    tree.put(".git/info/exclude", "/a.txt\n");
    check(&query("^x"), &["keep/b.log"]);
    let hidden = TextQuery {
        hidden: true,
        ..query("^x")
    };
    check(&hidden, &[".hidden/a.txt", "keep/b.log"]);
    let all = TextQuery {
        ignore: false,
        ..query("^x")
    };
    let every = [
        "a.txt",
        "b.log",
        "keep/b.log",
        "sub/quiet.txt",
        "target/out.txt",
    ];
    check(&all, &every);
}

#[test]
fn rules_above_the_folder_that_is_searched_hold_too() {
    let tree = Tree::new();
    std::fs::create_dir(tree.dir.path().join(".git")).unwrap();
    std::fs::write(tree.dir.path().join(".gitignore"), "ws/deep/er/no.txt\n").unwrap();
    tree.put(".gitignore", "*.log\n");
    tree.put("deep/er/no.txt", "x");
    tree.put("deep/er/a.log", "x");
    tree.put("deep/er/yes.txt", "x");
    let base = tree.power.resolve("deep").unwrap();
    let found = tree
        .power
        .search_now(&base, &query("x"), "s", &CancelToken::new(), None)
        .unwrap();
    let paths: Vec<Vec<u8>> = found.files.into_iter().map(|file| file.path).collect();
    assert_eq!(paths, [b"er/yes.txt"]);
}

#[test]
fn links_are_followed_inside_and_never_for_ever() {
    let tree = Tree::new();
    std::fs::write(tree.dir.path().join("out/secret.txt"), "x outside").unwrap();
    tree.put("a/f.txt", "x");
    tree.put(".ssh/id", "x key");
    symlink("../a", tree.at("a/round")).unwrap();
    symlink("..", tree.at("a/up")).unwrap();
    symlink("a", tree.at("b")).unwrap();
    symlink("b", tree.at("c")).unwrap();
    symlink("a/f.txt", tree.at("f2.txt")).unwrap();
    symlink("nowhere", tree.at("dangling")).unwrap();
    symlink("self", tree.at("self")).unwrap();
    symlink("../../out", tree.at("a/leaves")).unwrap();
    symlink("../out/secret.txt", tree.at("leaves.txt")).unwrap();
    symlink("/proc/self/root", tree.at("magic")).unwrap();
    symlink("home", tree.at("state")).unwrap();
    symlink(".ssh", tree.at("keys")).unwrap();
    tree.put("home/config.yaml", "x");
    let found = tree.lines(&query("x"));
    // Of the two links to one folder it is entered through one.
    assert!(found.contains(&"a/f.txt:1: x".to_owned()), "{found:?}");
    assert!(found.contains(&"f2.txt:1: x".to_owned()), "{found:?}");
    let through = found
        .iter()
        .filter(|line| *line == "b/f.txt:1: x" || *line == "c/f.txt:1: x");
    assert_eq!(through.count(), 1, "{found:?}");
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(tree.search(&query("x")).unwrap().notes.secrets, 1);
}

#[test]
fn what_is_no_text_is_skipped() {
    let tree = Tree::new();
    tree.put("latin1.txt", b"x caf\xe9\n");
    tree.put("nul.bin", b"x\0\n");
    tree.put("utf16.txt", b"\xff\xfex\0\n\0");
    tree.put(
        "late.txt",
        [&b"x\n".repeat(3_000_000)[..], b"\xff"].concat(),
    );
    tree.put("bom.txt", b"\xef\xbb\xbfx\n");
    tree.put("utf8.txt", "x é\n");
    rustix::fs::mkfifoat(rustix::fs::CWD, tree.at("pipe"), 0o600.into()).unwrap();
    tree.put("server.key", "x");
    tree.put(".env", "x");
    let all = TextQuery {
        hidden: true,
        ..query("^x")
    };
    tree.check(&all, "bom.txt:1: x | utf8.txt:1: x é");
    assert_eq!(tree.search(&all).unwrap().notes.secrets, 2);
}

#[test]
fn large_files_are_searched_in_windows() {
    let tree = Tree::new();
    let mut content = String::new();
    for n in 1..=700_000 {
        content.push_str(&format!("line {n}\r\n"));
    }
    tree.put("large.txt", &content);
    assert!(content.len() > 8 << 20);
    let found = TextQuery {
        context: 1,
        ..query("^line [1-7]00000$")
    };
    let files = tree.search(&found).unwrap().files;
    let shown: Vec<String> = files[0]
        .matches
        .iter()
        .map(|m| format!("{} {:?} {} {:?}", m.line, m.before, m.content, m.after))
        .collect();
    assert_eq!(shown.len(), 7);
    let third = r#"300000 ["line 299999"] line 300000 ["line 300001"]"#;
    assert_eq!(shown[2], third);
    assert_eq!(shown[6], r#"700000 ["line 699999"] line 700000 []"#);
}

#[test]
fn the_first_matches_are_always_the_same() {
    let tree = Tree::new();
    for folder in 0..100 {
        for file in 0..100 {
            tree.put(&format!("{folder:02}/{file:02}.txt"), "x\nx\n");
        }
    }
    let first = |limit| {
        let query = TextQuery {
            limit,
            ..query("x")
        };
        let found = tree.search(&query).unwrap();
        (tree.lines(&query), found.more)
    };
    for limit in [1, 3, 100, 777] {
        let (lines, more) = first(limit);
        let mut expected = Vec::new();
        'all: for folder in 0..100 {
            for file in 0..100 {
                for line in 1..=2 {
                    if expected.len() as u64 == limit {
                        break 'all;
                    }
                    expected.push(format!("{folder:02}/{file:02}.txt:{line}: x"));
                }
            }
        }
        assert!(lines == expected && more, "{limit}");
    }
    let long = tree.search(&TextQuery {
        limit: 20_000,
        ..query("x")
    });
    let long = long.unwrap();
    assert_eq!((long.found, long.more), (20_000, false));
    let kept = long.kept.unwrap();
    assert_eq!(kept.chars, 20_000 * "00/00.txt:1: x\n".len() as u64);
    let cut = tree.search(&TextQuery {
        limit: 5_000,
        ..query("x")
    });
    let cut = cut.unwrap();
    assert_eq!((cut.found, cut.more), (5_000, true));
    assert_eq!(cut.kept.unwrap().chars, 5_000 * 15);
    let shown: usize = cut.files.iter().map(|file| file.matches.len()).sum();
    assert_eq!(shown, 1_000);
}

#[test]
fn a_cancelled_search_ends_and_says_so() {
    let tree = Tree::new();
    tree.put("a.txt", "x");
    let cancel = CancelToken::new();
    cancel.cancel();
    let base = tree.power.resolve(".").unwrap();
    let found = tree
        .power
        .search_now(&base, &query("x"), "s", &cancel, None);
    let found = found.unwrap();
    assert!(found.notes.stopped && found.files.is_empty());
}

/// Every line that the regex matches, file by file, the slow way.
fn naive(root: &Path, pattern: &str) -> Option<Vec<String>> {
    let regex = RegexBuilder::new(pattern).build().ok()?;
    let mut lines = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            if text.contains('\0') {
                continue;
            }
            let shown = path.strip_prefix(root).unwrap().display();
            for (n, line) in text.lines().enumerate() {
                if regex.is_match(line) {
                    let content: String = line.chars().take(200).collect();
                    lines.push(format!("{shown}:{}: {content}", n + 1));
                }
            }
        }
    }
    lines.sort();
    Some(lines)
}

fn pieces(all: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(all), 0..most).prop_map(|parts| parts.concat())
}

const PATTERN: &[&str] = &[
    "a", "b", "ab", "foo", "é", "\\w+", "\\s", "\\S", "[^a]", ".", ".*", "^", "$", "\\b", "\\B",
    "(a|b)", "x*", "(foo|)", "a{2,}", "\\r", "(?i)B", "\\A", "\\z", "(?m)$", "[a-z]+", "\\d", " ",
    "_", "|",
];
const CONTENT: &[&str] = &[
    "a",
    "b",
    "ab",
    "foo",
    "aa",
    "é",
    "ß",
    "1",
    "_",
    " ",
    "\t",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "x",
    "B",
    "\u{1f600}",
    "\u{feff}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_same_matches_as_a_naive_scan(
        pattern in pieces(PATTERN, 5),
        files in prop::collection::vec((0..4_u8, pieces(CONTENT, 40), 0..12_u8), 1..12),
    ) {
        let tree = Tree::new();
        std::fs::remove_dir(tree.at("home")).unwrap();
        for (n, (folder, text, spoil)) in files.iter().enumerate() {
            let mut content = text.trim_start_matches('\u{feff}').as_bytes().to_owned();
            match spoil {
                0 => content.push(0xff),
                1 => content.push(0),
                _ => {}
            }
            tree.put(&format!("{folder}/{}/f{n}", folder % 2), content);
        }
        let Some(expected) = naive(&tree.at(""), &pattern) else {
            return Ok(());
        };
        let all = TextQuery { ignore: false, hidden: true, limit: 999, ..query(&pattern) };
        let mut found = tree.lines(&all);
        found.sort();
        prop_assert_eq!(found, expected);
    }
}
