//! Patterns that name tools: `*`, `file.*`, `group:fs`, `mcp.github.*`, exact names. A pattern
//! meets a tool under every name it answers to, so that denying `bash` denies `shell.exec`.

use std::collections::BTreeMap;

use haft_core::{Source, ToolSpec, api_name, module_aliases, module_of};

use crate::error::{PolicyError, did_you_mean};

/// How a name may differ from the pattern and still be meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// For what opens: letter by letter
    Exact,
    /// For what closes: an exact name counts in any case
    Loose,
}

/// Every name a tool answers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names(Vec<String>);

impl Names {
    pub(crate) fn of(spec: &ToolSpec) -> Self {
        let aliases = spec.aliases.iter().map(String::as_str);
        let mut names = Names::known(&spec.name, aliases);
        if let Source::Mcp(server) = &spec.source
            && let Some(tool) = spec
                .name
                .strip_prefix("mcp.")
                .and_then(|rest| rest.strip_prefix(server.as_str()))
                .and_then(|rest| rest.strip_prefix('.'))
        {
            names.push(format!("mcp__{server}__{tool}"));
            names.push(format!("mcp:{server}:{tool}"));
        }
        names
    }

    /// The names of a tool of which no more than these is known.
    pub(crate) fn known<'a>(name: &str, aliases: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = Names(Vec::new());
        names.push(name.to_owned());
        let module = module_of(name);
        if let Some(action) = name
            .strip_prefix(module)
            .and_then(|rest| rest.strip_prefix('.'))
        {
            for other in module_aliases(module) {
                names.push(format!("{other}.{action}"));
            }
        }
        for alias in aliases {
            names.push(alias.to_owned());
        }
        for dotted in names.0.clone() {
            names.push(api_name(&dotted, 0));
        }
        names
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    fn push(&mut self, name: String) {
        if !self.0.contains(&name) {
            self.0.push(name);
        }
    }
}

/// One entry of a list of tool patterns, with groups already opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolPattern {
    /// As its owner wrote it
    pub(crate) text: String,
    globs: Vec<String>,
}

impl ToolPattern {
    pub(crate) fn parse(text: &str, groups: &Groups, from: &str) -> Result<Self, PolicyError> {
        let globs = groups.open(text, from)?;
        Ok(ToolPattern {
            text: text.to_owned(),
            globs,
        })
    }

    /// Whether it names tools that come and go: those of servers, nodes and plugins, and groups,
    /// whose names are checked when they are read.
    pub(crate) fn is_about_guests(&self) -> bool {
        const GUESTS: &[&str] = &["mcp", "node", "plugin", "group:"];
        GUESTS.iter().any(|start| self.text.starts_with(start))
    }

    pub(crate) fn matches(&self, names: &Names, reading: Reading) -> bool {
        self.globs.iter().any(|glob| {
            names.0.iter().any(|name| {
                wild(glob, name)
                    || (reading == Reading::Loose
                        && !glob.contains('*')
                        && glob.eq_ignore_ascii_case(name))
            })
        })
    }
}

/// Whether a pattern, as lists of tools take it, names this tool.
pub fn names_tool(pattern: &str, spec: &ToolSpec) -> bool {
    let parsed = Groups::new(&BTreeMap::new(), "")
        .and_then(|groups| ToolPattern::parse(pattern, &groups, ""));
    parsed.is_ok_and(|parsed| parsed.matches(&Names::of(spec), Reading::Exact))
}

/// The first pattern of a list that names the tool.
pub(crate) fn first_match<'a>(
    patterns: &'a [ToolPattern],
    names: &Names,
    reading: Reading,
) -> Option<&'a ToolPattern> {
    patterns
        .iter()
        .find(|pattern| pattern.matches(names, reading))
}

/// Groups by name: the built-in ones, and the owner's in their place or beside them.
#[derive(Debug, Clone)]
pub(crate) struct Groups(BTreeMap<String, Vec<String>>);

const BUILT_IN_GROUPS: &[(&str, &[&str])] = &[
    // git's tools show what files hold, and whoever takes the files away means that too.
    ("fs", &["file.*", "git.*"]),
    ("runtime", &["shell.*", "process.*"]),
    ("web", &["web.*", "browser.*"]),
    ("memory", &["memory.*"]),
];

impl Groups {
    pub(crate) fn new(
        own: &BTreeMap<String, Vec<String>>,
        from: &str,
    ) -> Result<Self, PolicyError> {
        let mut groups: BTreeMap<String, Vec<String>> = BUILT_IN_GROUPS
            .iter()
            .map(|(name, patterns)| {
                let patterns = patterns.iter().map(|&one| one.to_owned()).collect();
                ((*name).to_owned(), patterns)
            })
            .collect();
        for (name, patterns) in own {
            let name = name.strip_prefix("group:").unwrap_or(name);
            groups.insert(name.to_owned(), patterns.clone());
        }
        let groups = Groups(groups);
        for name in groups.0.keys() {
            groups.open(&format!("group:{name}"), from)?;
        }
        Ok(groups)
    }

    fn open(&self, text: &str, from: &str) -> Result<Vec<String>, PolicyError> {
        let mut globs = Vec::new();
        self.open_into(text, from, &mut Vec::new(), &mut globs)?;
        Ok(globs)
    }

    fn open_into(
        &self,
        text: &str,
        from: &str,
        path: &mut Vec<String>,
        globs: &mut Vec<String>,
    ) -> Result<(), PolicyError> {
        let Some(name) = text.strip_prefix("group:") else {
            check_pattern(text, from)?;
            globs.push(text.to_owned());
            return Ok(());
        };
        let Some(patterns) = self.0.get(name) else {
            return Err(PolicyError::new(from, format!("unknown group: `{text}`"))
                .about(text)
                .hint(did_you_mean(name, self.0.keys().map(String::as_str))));
        };
        if path.iter().any(|above| above == name) {
            return Err(
                PolicyError::new(from, format!("group holds itself: `group:{name}`")).about(text),
            );
        }
        path.push(name.to_owned());
        for pattern in patterns {
            self.open_into(pattern, from, path, globs)?;
        }
        path.pop();
        Ok(())
    }
}

fn check_pattern(text: &str, from: &str) -> Result<(), PolicyError> {
    let bad = text.is_empty()
        || text.chars().any(|c| c.is_whitespace() || c.is_control())
        || text.contains(['(', ')']);
    if !bad {
        return Ok(());
    }
    let hint = text
        .contains('(')
        .then(|| "patterns on arguments go under `tools.rules`".to_owned());
    Err(
        PolicyError::new(from, format!("not a tool pattern: `{text}`"))
            .about(text)
            .hint(hint),
    )
}

/// `*` stands for any run of characters, everything else for itself.
pub(crate) fn wild(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, t));
            p += 1;
        } else if pattern.get(p) == Some(&text[t]) {
            p += 1;
            t += 1;
        } else if let Some((star_p, star_t)) = star {
            p = star_p + 1;
            t = star_t + 1;
            star = Some((star_p, t));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn stars() {
        let check = |pattern: &str, text: &str, expected: bool| {
            assert_eq!(wild(pattern, text), expected, "{pattern} {text}");
        };
        check("*", "", true);
        check("file.*", "file.read", true);
        check("file.*", "file", false);
        check("file.*", "profile.read", false);
        check("*.read", "file.read", true);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c-b", false);
        check("", "a", false);
    }

    fn check(pattern: &str, spec: &ToolSpec, exact: bool, loose: bool) {
        let groups = Groups::new(&BTreeMap::new(), "test").unwrap();
        let names = Names::of(spec);
        let parsed = ToolPattern::parse(pattern, &groups, "test").unwrap();
        let got = (
            parsed.matches(&names, Reading::Exact),
            parsed.matches(&names, Reading::Loose),
        );
        assert_eq!(got, (exact, loose), "{pattern} {}", spec.name);
    }

    #[test]
    fn a_tool_is_met_under_all_its_names() {
        let shell = ToolSpec::new("shell.exec", "", json!({})).aliases(&["bash", "Bash"]);
        check("shell.exec", &shell, true, true);
        check("shell__exec", &shell, true, true);
        check("bash", &shell, true, true);
        check("Bash", &shell, true, true);
        check("BASH", &shell, false, true);
        check("bash.exec", &shell, true, true);
        check("SHELL.*", &shell, false, false);
        check("group:runtime", &shell, true, true);
        check("group:fs", &shell, false, false);
        let read = ToolSpec::new("file.read", "", json!({})).aliases(&["Read"]);
        check("filesystem.*", &read, true, true);
        check("filesystem__read", &read, true, true);
        check("fileXread", &read, false, false);
        let mut issue = ToolSpec::new("mcp.git hub.make", "", json!({}));
        issue.source = Source::Mcp("git hub".into());
        check("mcp.*", &issue, true, true);
        let mut issue = ToolSpec::new("mcp.github.make.it", "", json!({}));
        issue.source = Source::Mcp("github".into());
        check("mcp.github.*", &issue, true, true);
        check("mcp__github__*", &issue, true, true);
        check("mcp:github:*", &issue, true, true);
        check("mcp:github:make.it", &issue, true, true);
        check("mcp.git.*", &issue, false, false);
    }

    #[test]
    fn groups_hold_groups_but_never_themselves() {
        let own = |pairs: &[(&str, &[&str])]| -> BTreeMap<String, Vec<String>> {
            pairs
                .iter()
                .map(|(name, patterns)| {
                    let patterns = patterns.iter().map(|&one| one.to_owned()).collect();
                    ((*name).to_owned(), patterns)
                })
                .collect()
        };
        let check = |own: BTreeMap<String, Vec<String>>, pattern: &str, expected: &str| {
            let got = Groups::new(&own, "config.yaml")
                .and_then(|groups| ToolPattern::parse(pattern, &groups, "config.yaml"));
            let got = match got {
                Ok(pattern) => pattern.globs.join(" "),
                Err(error) => format!("{error}; {}", error.hint.clone().unwrap_or_default()),
            };
            assert_eq!(got, expected);
        };
        check(own(&[]), "group:runtime", "shell.* process.*");
        check(
            own(&[("mine", &["group:fs", "web.fetch"])]),
            "group:mine",
            "file.* git.* web.fetch",
        );
        check(own(&[("fs", &["file.read"])]), "group:fs", "file.read");
        check(
            own(&[("a", &["group:b"]), ("b", &["group:a"])]),
            "*",
            "config.yaml: group holds itself: `group:a`; ",
        );
        check(
            own(&[]),
            "group:runtim",
            "config.yaml: unknown group: `group:runtim`; did you mean `runtime`?",
        );
        check(
            own(&[]),
            "shell.exec(ls)",
            "config.yaml: not a tool pattern: `shell.exec(ls)`; patterns on arguments go under `tools.rules`",
        );
    }
}
