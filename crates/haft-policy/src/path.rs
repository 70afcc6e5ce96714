//! Globs on absolute paths. `*` and `?` stop at `/`, `**` does not, `[a-z]` and `{a,b}` as usual,
//! a backslash takes the meaning away. Written here because a rule must also be asked whether it
//! could meet something below a folder, or covers all of it, which no glob crate answers.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use haft_core::{ClosedStart, Resource};

use crate::glob::Glob;
use crate::tokens::{Token, escape, literal, states_after, tokens};

/// The folders that patterns start from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// Relative patterns start here; absolute, with links resolved
    pub workspace: PathBuf,
    /// What `~/` stands for
    pub home: Option<PathBuf>,
    /// haft's own files and folders, which no command line may open for writing
    pub own: Arc<[PathBuf]>,
}

/// A compiled pattern; braces are opened into alternatives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathPattern {
    alternatives: Vec<Vec<Token>>,
    /// What lies below, where the pattern ends with a name: that may be a folder
    below: Vec<Vec<Token>>,
    /// For resources that are not paths: the pattern as it stands
    plain: Vec<Vec<Token>>,
    /// `*` or `**` alone: in a rule that closes, that means any path at all
    any: bool,
}

/// More alternatives than this are a mistake or an attack.
const MAX_ALTERNATIVES: usize = 64;

impl PathPattern {
    pub(crate) fn parse(text: &str, places: &Places) -> Result<Self, String> {
        let mut alternatives = Vec::new();
        let mut below = Vec::new();
        let mut plain = Vec::new();
        for one in open_braces(text)? {
            plain.push(tokens(&one)?);
            let (pattern, ends_with_name) = absolute(&one, places)?;
            alternatives.push(tokens(&pattern)?);
            if ends_with_name {
                below.push(tokens(&format!("{pattern}/**"))?);
            }
        }
        Ok(PathPattern {
            alternatives,
            below,
            plain,
            any: matches!(text, "*" | "**"),
        })
    }

    /// The same for a list of folders: what lies below is meant in every case.
    pub(crate) fn with_below(mut self) -> Self {
        self.alternatives.append(&mut self.below);
        self
    }

    /// For rules that close: whether the resource, or anything it holds, is meant.
    pub(crate) fn touches(&self, resource: &Resource) -> bool {
        if self.any {
            return true;
        }
        match resource {
            Resource::File(path) => {
                // `/etc/**` means `/etc` too: removing or replacing it changes all below.
                let text = path.to_string_lossy();
                self.closing()
                    .any(|tokens| matches(tokens, &text) || covers_below(tokens, &text))
            }
            Resource::Tree(path) => {
                let text = path.to_string_lossy();
                self.closing()
                    .any(|tokens| matches(tokens, &text) || reaches_below(tokens, &text))
            }
            Resource::Uri(uri) => matches_any(&self.plain, uri),
        }
    }

    /// What a rule that closes means: a folder with all it holds.
    fn closing(&self) -> impl Iterator<Item = &Vec<Token>> {
        self.alternatives.iter().chain(&self.below)
    }

    /// Where to look for what is meant: the folders before the first wildcards.
    pub(crate) fn starts(&self) -> Vec<ClosedStart> {
        if self.any {
            let path = PathBuf::from("/");
            return vec![ClosedStart { path, exact: false }];
        }
        let start = |tokens: &Vec<Token>| {
            let literal = literal(tokens);
            let text: String = tokens
                .iter()
                .take(literal)
                .filter_map(|token| match token {
                    Token::One(c) => Some(*c),
                    _ => None,
                })
                .collect();
            let exact = literal == tokens.len();
            let folder = text.rsplit_once('/').map_or("", |(folder, _)| folder);
            let path = match (exact, folder) {
                (true, _) => text.as_str(),
                (false, "") => "/",
                (false, folder) => folder,
            };
            ClosedStart {
                path: path.into(),
                exact,
            }
        };
        self.alternatives.iter().map(start).collect()
    }

    /// The same for what a word with a `*` could find. As one file it is what the word names and
    /// the folders of which all is meant; as a tree it is also whatever those hold.
    pub(crate) fn could_touch(&self, glob: &Glob, tree: bool) -> bool {
        self.any
            || self.closing().any(|tokens| {
                glob.names(tokens) || glob.is_held(tokens) || (tree && glob.holds(tokens))
            })
    }

    /// For rules that open: whether all of the resource is meant.
    pub(crate) fn covers(&self, resource: &Resource) -> bool {
        match resource {
            Resource::File(path) => {
                let text = path.to_str();
                text.is_some_and(|text| matches_any(&self.alternatives, text))
            }
            Resource::Tree(path) => path.to_str().is_some_and(|text| {
                let mut all = self.alternatives.iter();
                all.any(|tokens| covers_below(tokens, text))
            }),
            Resource::Uri(uri) => matches_any(&self.plain, uri),
        }
    }
}

/// Some path below could match: some state is still alive after `text/`, and every state can be
/// led to the end.
fn reaches_below(tokens: &[Token], text: &str) -> bool {
    states_after(tokens, &below(text)).alive()
}

/// Every path below matches: a final `**` has been reached.
fn covers_below(tokens: &[Token], text: &str) -> bool {
    let states = states_after(tokens, &below(text));
    tokens.last() == Some(&Token::Everything) && states.fresh[tokens.len() - 1]
}

fn below(text: &str) -> String {
    format!("{}/", text.trim_end_matches('/'))
}

fn matches_any(alternatives: &[Vec<Token>], text: &str) -> bool {
    alternatives.iter().any(|tokens| matches(tokens, text))
}

fn matches(tokens: &[Token], text: &str) -> bool {
    states_after(tokens, text).fresh[tokens.len()]
}

/// The pattern from the root, and whether it ends with a name.
fn absolute(text: &str, places: &Places) -> Result<(String, bool), String> {
    let (base, rest) = if text == "~" || text.starts_with("~/") {
        let home = places
            .home
            .as_deref()
            .ok_or("`~/` stands for nothing: no home folder is known")?;
        (Some(home), text[1..].trim_start_matches('/'))
    } else if text.starts_with('/') {
        (None, text)
    } else {
        (Some(places.workspace.as_path()), text)
    };
    let mut start = PathBuf::from("/");
    let mut kept = Vec::new();
    if let Some(base) = base {
        start.push(base);
    }
    // `.` and `..` are taken out of the pattern, as the host takes them out of the path.
    for part in rest.split('/').filter(|part| !part.is_empty()) {
        match part {
            "." => {}
            ".." if kept.is_empty() => {
                start.pop();
            }
            ".." => {
                kept.pop();
            }
            part => kept.push(part),
        }
    }
    let mut pattern = escape(&clean(&start));
    for part in &kept {
        if !pattern.ends_with('/') {
            pattern.push('/');
        }
        pattern.push_str(part);
    }
    if rest.ends_with('/') && !kept.is_empty() {
        pattern.push_str("/**");
        return Ok((pattern, false));
    }
    let is_name = |last: &&str| !last.contains(['*', '?', '[']);
    Ok((pattern, kept.last().is_some_and(is_name)))
}

fn clean(path: &Path) -> String {
    let mut cleaned = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => cleaned.push(name),
            Component::ParentDir => {
                cleaned.pop();
            }
            _ => {}
        }
    }
    cleaned.to_string_lossy().into_owned()
}

/// `a{b,c}d` becomes `abd` and `acd`.
fn open_braces(text: &str) -> Result<Vec<String>, String> {
    let mut done = Vec::new();
    let mut open = vec![text.to_owned()];
    while let Some(one) = open.pop() {
        let Some((start, end, commas)) = first_braces(&one)? else {
            done.push(one);
            if done.len() > MAX_ALTERNATIVES {
                return Err("too many alternatives in `{}`".to_owned());
            }
            continue;
        };
        if open.len() > MAX_ALTERNATIVES {
            return Err("too many alternatives in `{}`".to_owned());
        }
        let mut from = start + 1;
        for comma in commas.into_iter().chain([end]) {
            open.push(format!(
                "{}{}{}",
                &one[..start],
                &one[from..comma],
                &one[end + 1..]
            ));
            from = comma + 1;
        }
    }
    Ok(done)
}

type Braces = (usize, usize, Vec<usize>);

fn first_braces(text: &str) -> Result<Option<Braces>, String> {
    let (mut start, mut depth, mut commas) = (0, 0usize, Vec::new());
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match c {
            '\\' => escaped = true,
            '{' => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            ',' if depth == 1 => commas.push(at),
            '}' if depth == 1 => return Ok(Some((start, at, commas))),
            '}' if depth > 1 => depth -= 1,
            _ => {}
        }
    }
    if depth > 0 {
        return Err("`{` is never closed".to_owned());
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> PathPattern {
        let places = Places {
            workspace: "/w/[x]".into(),
            home: Some("/home/me".into()),
            own: Arc::default(),
        };
        PathPattern::parse(text, &places).unwrap()
    }

    /// touches file, covers file, touches tree, covers tree
    fn check(text: &str, path: &str, expected: [bool; 4]) {
        let pattern = pattern(text);
        let file = Resource::File(path.into());
        let tree = Resource::Tree(path.into());
        let got = [
            pattern.touches(&file),
            pattern.covers(&file),
            pattern.touches(&tree),
            pattern.covers(&tree),
        ];
        assert_eq!(got, expected, "{text} on {path}");
    }

    #[test]
    fn globs_on_paths() {
        check("/etc/**", "/etc/passwd", [true, true, true, true]);
        check("/etc/**", "/etc/a/b", [true, true, true, true]);
        check("/etc/**", "/etc", [true, false, true, true]);
        check("/etc/**", "/etcetera", [false; 4]);
        check("/etc/**", "/", [false, false, true, false]);
        check("/etc/*", "/etc/a", [true, true, true, false]);
        check("/etc/*", "/etc/a/b", [false; 4]);
        check("/etc/", "/etc/a/b", [true, true, true, true]);
        check("/etc", "/etc/a/b", [true, false, true, false]);
        check("/etc", "/etc", [true, true, true, false]);
        check("/**/.env", "/w/.env/a", [true, false, true, false]);
        check("/**/.env", "/w/a/.env", [true, true, true, false]);
        check("/**/.env", "/.env", [true, true, true, false]);
        check("/**/.env", "/w/a.env", [false, false, true, false]);
        check("/a/**/b", "/a/b", [true, true, true, false]);
        check("/a/**.key", "/a/b/c.key", [true, true, true, false]);
        check("**", "/anything", [true, false, true, false]);
        check("**", "/w/[x]/a/b", [true, true, true, true]);
        check("src/*.rs", "/w/[x]/src/a.rs", [true, true, true, false]);
        check("./src/../x", "/w/[x]/x", [true, true, true, false]);
        check("../y", "/w/y", [true, true, true, false]);
        check("~/.ssh/**", "/home/me/.ssh/id", [true, true, true, true]);
        check("/etc/../root/*", "/root/a", [true, true, true, false]);
        check("/{a,b{c,d}}/x", "/bd/x", [true, true, true, false]);
        check("/[a-c]?", "/bz", [true, true, true, false]);
        check("/[!a-c]?", "/bz", [false; 4]);
        check("/a\\*", "/ab", [false; 4]);
        check(&escape("/a*[b]{c}"), "/a*[b]{c}", [true, true, true, false]);
    }

    #[test]
    fn uris_are_text() {
        let pattern = pattern("https://example.org/**");
        assert!(pattern.covers(&Resource::Uri("https://example.org/a/b".into())));
        assert!(!pattern.covers(&Resource::Uri("https://example.com/a".into())));
    }

    #[test]
    fn broken_patterns_are_errors() {
        for text in ["/[a", "/{a", &"{a,b}".repeat(10)] {
            assert!(
                PathPattern::parse(text, &Places::default()).is_err(),
                "{text}"
            );
        }
    }
}
