//! The settings of a repository that a sandboxed command has made: those that only describe it
//! are kept, by name. A setting can name a program that git runs for whoever works in the
//! repository, so what is not on the list is left out.

/// Settings without a name in the middle.
const PLAIN: &[(&str, &str)] = &[
    ("core", "repositoryformatversion"),
    ("core", "filemode"),
    ("core", "bare"),
    ("core", "logallrefupdates"),
    ("core", "ignorecase"),
    ("core", "precomposeunicode"),
    ("core", "symlinks"),
    ("core", "autocrlf"),
    ("core", "eol"),
    ("core", "safecrlf"),
    ("core", "quotepath"),
    ("core", "abbrev"),
    ("core", "compression"),
    ("extensions", "objectformat"),
    ("extensions", "refstorage"),
    ("user", "name"),
    ("user", "email"),
    ("author", "name"),
    ("author", "email"),
    ("committer", "name"),
    ("committer", "email"),
    ("init", "defaultbranch"),
    ("pull", "rebase"),
    ("pull", "ff"),
    ("push", "default"),
    ("push", "autosetupremote"),
    ("fetch", "prune"),
    ("merge", "ff"),
    ("merge", "conflictstyle"),
    ("rebase", "autostash"),
    ("diff", "renames"),
    ("color", "ui"),
];

/// Settings of something that has a name: `remote.origin.url`.
const NAMED: &[(&str, &str)] = &[
    ("remote", "url"),
    ("remote", "pushurl"),
    ("remote", "fetch"),
    ("remote", "tagopt"),
    ("remote", "prune"),
    ("branch", "remote"),
    ("branch", "merge"),
    ("branch", "rebase"),
    ("branch", "description"),
    ("submodule", "url"),
    ("submodule", "active"),
];

/// A file that is longer is no config of git's making.
const LONGEST: usize = 1 << 20;

/// What may stay of a config file, written anew, and the names of what may not.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sifted {
    pub(super) kept: String,
    pub(super) dropped: Vec<String>,
}

/// Read a config and keep what is harmless. The result is written from what was understood, so
/// nothing that was understood in another way than git would can pass.
pub(super) fn sift(text: &str) -> Sifted {
    let mut sifted = Sifted::default();
    if text.len() > LONGEST {
        sifted.dropped.push("all settings".to_owned());
        return sifted;
    }
    let mut section: Option<Section> = None;
    let mut written: Option<Section> = None;
    for line in text.lines() {
        let mut line = line.trim();
        if line.starts_with('[') {
            let (found, rest) = header(line);
            section = found;
            line = rest.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let Some((section, (key, value))) = section.as_ref().zip(setting(line)) else {
            sifted
                .dropped
                .push("a line that is no plain setting".into());
            continue;
        };
        if !section.may_have(&key) {
            sifted.dropped.push(format!("`{}.{key}`", section.dotted()));
            continue;
        }
        if written.as_ref() != Some(section) {
            sifted.kept.push_str(&section.header());
            written = Some(section.clone());
        }
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        sifted.kept.push_str(&format!("\t{key} = \"{value}\"\n"));
    }
    sifted.dropped.sort();
    sifted.dropped.dedup();
    sifted
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Section {
    name: String,
    of: Option<String>,
}

impl Section {
    fn may_have(&self, key: &str) -> bool {
        let list = if self.of.is_some() { NAMED } else { PLAIN };
        list.contains(&(self.name.as_str(), key))
    }

    fn dotted(&self) -> String {
        match &self.of {
            Some(of) => format!("{}.{of}", self.name),
            None => self.name.clone(),
        }
    }

    fn header(&self) -> String {
        match &self.of {
            Some(of) => format!("[{} \"{of}\"]\n", self.name),
            None => format!("[{}]\n", self.name),
        }
    }
}

/// The section that a line opens, if it is plainly spelled, and what follows on the line.
fn header(line: &str) -> (Option<Section>, &str) {
    let Some((inside, rest)) = line[1..].split_once(']') else {
        return (None, "");
    };
    let (name, of) = match inside.split_once(char::is_whitespace) {
        Some((name, of)) => {
            let of = of
                .trim()
                .strip_prefix('"')
                .and_then(|of| of.strip_suffix('"'));
            (name, of.map(Some))
        }
        None => (inside, Some(None)),
    };
    let plain = |text: &str, more: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || more.contains(c))
    };
    let section = of
        .filter(|of| plain(name, "") && of.is_none_or(|of| plain(of, "._/+@")))
        .map(|of| Section {
            name: name.to_ascii_lowercase(),
            of: of.map(str::to_owned),
        });
    (section, rest)
}

/// A key with its value, as git would read it. None for anything that is not one plain line.
fn setting(line: &str) -> Option<(String, String)> {
    let (key, value) = match line.split_once('=') {
        Some((key, value)) => (key.trim(), value.trim()),
        None => (line, "true"),
    };
    let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if !is_key {
        return None;
    }
    let mut read = String::new();
    let (mut quoted, mut characters) = (false, value.chars());
    while let Some(c) = characters.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => match characters.next()? {
                c @ ('\\' | '"') => read.push(c),
                _ => return None,
            },
            '#' | ';' if !quoted => break,
            c if c.is_control() && c != '\t' => return None,
            c => read.push(c),
        }
    }
    (!quoted).then(|| (key.to_ascii_lowercase(), read.trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, kept: &str, dropped: &[&str]) {
        let sifted = sift(text);
        assert_eq!(sifted.kept, kept, "{text}");
        assert_eq!(sifted.dropped, dropped, "{text}");
    }

    #[test]
    fn what_describes_a_repository_stays() {
        check(
            "[core]\n\trepositoryformatversion = 0\n\tbare = false ; as usual\n\
             [remote \"origin\"]\n\turl = /srv/a b\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
             [branch \"feature/x\"]\n\tremote = origin\n[user] name = \"A \\\"B\\\"\"\n",
            "[core]\n\trepositoryformatversion = \"0\"\n\tbare = \"false\"\n\
             [remote \"origin\"]\n\turl = \"/srv/a b\"\n\tfetch = \"+refs/heads/*:refs/remotes/origin/*\"\n\
             [branch \"feature/x\"]\n\tremote = \"origin\"\n[user]\n\tname = \"A \\\"B\\\"\"\n",
            &[],
        );
    }

    #[test]
    fn what_runs_something_goes() {
        for (text, dropped) in [
            ("[core]\nfsmonitor = ./evil", "`core.fsmonitor`"),
            ("[CORE]\nhooksPath = x", "`core.hookspath`"),
            ("[core]\nworktree = /home", "`core.worktree`"),
            ("[include]\npath = x", "`include.path`"),
            (
                "[includeIf \"gitdir:/\"]\npath = x",
                "a line that is no plain setting",
            ),
            ("[alias]\nst = !evil", "`alias.st`"),
            ("[filter \"a\"]\nclean = evil", "`filter.a.clean`"),
            ("[remote \"o\"]\nuploadpack = evil", "`remote.o.uploadpack`"),
            ("[remote.o]\nurl = x", "a line that is no plain setting"),
            ("[submodule \"a\"]\nupdate = !evil", "`submodule.a.update`"),
            ("[user]\nname = a\\\nb", "a line that is no plain setting"),
            ("[user]\nname = \"a", "a line that is no plain setting"),
            ("[user]\nname = a\\nb", "a line that is no plain setting"),
            (
                "[user]\n\u{b}name = a\u{b}b",
                "a line that is no plain setting",
            ),
            ("name = a", "a line that is no plain setting"),
        ] {
            let sifted = sift(text);
            assert_eq!(sifted.kept, "", "{text}");
            assert!(
                sifted.dropped.contains(&dropped.to_owned()),
                "{text}: {sifted:?}"
            );
        }
    }

    #[test]
    fn a_value_cannot_open_a_section() {
        let sifted = sift("[user]\nname = x] [core]\n[user] [core]\nhooksPath = y\n");
        assert_eq!(sifted.kept, "[user]\n\tname = \"x] [core]\"\n");
    }
}
