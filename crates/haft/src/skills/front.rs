//! The front matter of a `SKILL.md`: YAML between two lines of three dashes.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Characters of a description that is made of the first paragraph.
const PARAGRAPH: usize = 200;
const LONGEST_NAME: usize = 64;

#[derive(Debug)]
pub(super) struct Front {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) always: bool,
    pub(super) requires: Requires,
    pub(super) body: String,
}

/// What a host must have.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Requires {
    pub(super) bins: Vec<String>,
    pub(super) any_bins: Vec<String>,
    pub(super) env: Vec<String>,
    pub(super) config: Vec<String>,
    pub(super) os: Vec<String>,
    pub(super) capabilities: Vec<String>,
    pub(super) any_capabilities: Vec<String>,
    /// What haft cannot check is not met
    #[serde(flatten)]
    pub(super) unknown: BTreeMap<String, IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Given {
    name: Option<String>,
    description: Option<String>,
    always: bool,
    requires: Option<Requires>,
    metadata: Value,
}

/// Other programs keep the same under their own names; the first that is there counts.
const PROGRAMS: [&str; 4] = ["haft", "gsv", "openclaw", "clawdbot"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Theirs {
    always: bool,
    requires: Option<Requires>,
}

/// The skill in a text, or why it is none.
pub(super) fn parse(text: &str, folder: &str) -> Result<Front, String> {
    let (given, body) = match split(text)? {
        None => (Given::default(), text),
        Some((yaml, body)) => {
            let given = serde_saphyr::from_str::<Given>(yaml).map_err(unreadable)?;
            (given, body)
        }
    };
    let name = given.name.unwrap_or_else(|| folder.to_owned());
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
        return Err(format!(
            "its name is not usable: `{}`: use 1 to 64 of `a-z 0-9 - _`",
            name.escape_debug()
        ));
    }
    let body = body.trim().to_owned();
    if body.is_empty() {
        return Err("it says nothing".to_owned());
    }
    let theirs = theirs(&given.metadata)?;
    Ok(Front {
        name,
        description: given.description.unwrap_or_else(|| first_paragraph(&body)),
        always: given.always || theirs.always,
        requires: given.requires.or(theirs.requires).unwrap_or_default(),
        body,
    })
}

fn theirs(metadata: &Value) -> Result<Theirs, String> {
    // Some write it as JSON in a string.
    let read = metadata.as_str().map(serde_json::from_str::<Value>);
    let metadata = match &read {
        Some(read) => read.as_ref().unwrap_or(&Value::Null),
        None => metadata,
    };
    match PROGRAMS.iter().find_map(|program| metadata.get(program)) {
        None => Ok(Theirs::default()),
        Some(theirs) => Theirs::deserialize(theirs)
            .map_err(|error| format!("its `metadata` cannot be read: {error}")),
    }
}

/// The first line of what the parser says: below it stands a picture of the place, which no table
/// has room for.
fn unreadable(error: serde_saphyr::Error) -> String {
    let said = error.to_string();
    let line = said.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    format!("its front matter cannot be read: {line}")
}

/// Front matter and the rest, if there is any.
fn split(text: &str) -> Result<Option<(&str, &str)>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))
    else {
        return Ok(None);
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Ok(Some((&rest[..at], &rest[at + line.len()..])));
        }
        at += line.len();
    }
    Err("its front matter has no end".to_owned())
}

fn first_paragraph(body: &str) -> String {
    let lines = body
        .lines()
        .skip_while(|line| line.starts_with('#') || line.trim().is_empty());
    let lines: Vec<&str> = lines.take_while(|line| !line.trim().is_empty()).collect();
    let joined = lines.join(" ");
    joined.chars().take(PARAGRAPH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_read_and_mistakes_are_named() {
        let front = parse(
            "---\nname: release\ndescription: How to release\nlicense: MIT\nrequires:\n  bins: [git]\n---\n\n# Steps\n",
            "x",
        )
        .unwrap();
        assert_eq!(
            (front.name.as_str(), front.body.as_str()),
            ("release", "# Steps")
        );
        assert_eq!(front.requires.bins, ["git"]);
        let plain = parse("# Title\n\nFirst words\nof it.\n\nMore", "folder").unwrap();
        assert_eq!(
            (plain.name.as_str(), plain.description.as_str()),
            ("folder", "First words of it.")
        );
        let theirs =
            "---\nname: a\nmetadata:\n  openclaw:\n    requires:\n      anyBins: [x]\n---\nb";
        assert_eq!(parse(theirs, "a").unwrap().requires.any_bins, ["x"]);
        for both in [
            "{openclaw: {requires: {bins: [y]}}, gsv: {requires: {bins: [x]}}, author: me}",
            r#"'{"gsv": {"requires": {"bins": ["x"]}}}'"#,
        ] {
            let front = parse(&format!("---\nmetadata: {both}\n---\nb"), "a").unwrap();
            assert_eq!(front.requires.bins, ["x"], "{both}");
        }
        let words = parse("---\nmetadata: just words\n---\nb", "a").unwrap();
        assert!(words.requires.bins.is_empty());
        let unknown = "---\nname: a\nrequires: {bin: [x], hostRoles: [y]}\n---\nb";
        let unknown = parse(unknown, "a").unwrap().requires.unknown;
        assert!(unknown.keys().eq(["bin", "hostRoles"]), "{unknown:?}");
        let check = |text: &str, want: &str| {
            let error = parse(text, "folder").unwrap_err();
            assert!(error.starts_with(want), "{error}");
            assert!(!error.contains('\n'), "{error}");
        };
        check("---\nname: a\n", "its front matter has no end");
        check(
            "---\nname: [\n---\nb",
            "its front matter cannot be read: line 1",
        );
        check(
            "---\nname: Big Name\n---\nb",
            "its name is not usable: `Big Name`",
        );
        check("---\nname: a\n---\n \n", "it says nothing");
        check(
            "---\nmetadata: {gsv: {requires: {bins: x}}}\n---\nb",
            "its `metadata` cannot be read: ",
        );
    }
}
