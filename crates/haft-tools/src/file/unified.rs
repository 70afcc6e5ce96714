//! Reads unified diffs as `git diff` and `diff -u` write them, and as models write them: line
//! counts that are wrong are counted anew, and said to be. Where the changes go is found out
//! elsewhere.

use haft_core::ToolError;

const MOST_LINES: usize = 1 << 31;

/// What a patch says about one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FilePatch {
    /// Name before; none for a new file, and where the patch names none
    pub(super) old: Option<String>,
    /// Name after; none for a deleted file
    pub(super) new: Option<String>,
    pub(super) kind: Kind,
    pub(super) old_mode: Option<u32>,
    pub(super) new_mode: Option<u32>,
    pub(super) binary: bool,
    pub(super) hunks: Vec<Hunk>,
    /// It gives names of its own, behind those of the `diff` line
    named: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Modify,
    Create,
    Delete,
    Rename,
    Copy,
}

/// One run of lines that change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) header: String,
    /// 1-based line of the old file it starts at; 0 for an empty one
    pub(super) start: usize,
    pub(super) lines: Vec<Line>,
    /// The header's counts did not fit
    pub(super) recounted: bool,
}

/// A line with its line end, if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    Context(String),
    Remove(String),
    Add(String),
}

impl Line {
    pub(super) fn text(&self) -> &str {
        match self {
            Line::Context(text) | Line::Remove(text) | Line::Add(text) => text,
        }
    }

    pub(super) fn is_old(&self) -> bool {
        !matches!(self, Line::Add(_))
    }

    pub(super) fn is_new(&self) -> bool {
        !matches!(self, Line::Remove(_))
    }
}

impl Hunk {
    /// The lines that must be there.
    pub(super) fn old_lines(&self) -> impl Iterator<Item = &str> {
        self.lines
            .iter()
            .filter(|line| line.is_old())
            .map(Line::text)
    }
}

/// The files of a patch, in its order.
pub(super) fn parse(patch: &str) -> Result<Vec<FilePatch>, ToolError> {
    let lines: Vec<&str> = patch.split_inclusive('\n').collect();
    let mut files: Vec<FilePatch> = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let head = line.trim_end_matches(['\n', '\r']);
        at += 1;
        if let Some(names) = head.strip_prefix("diff --git ") {
            files.push(from_git_header(names));
        } else if is_file_header(&lines[at - 1..]) {
            let new = lines[at].trim_end_matches(['\n', '\r']);
            at += 1;
            named(&mut files, &head[4..], &new[4..])?;
        } else if head.starts_with("@@ ") {
            let (hunk, used) = read_hunk(head, line.ends_with("\r\n"), &lines[at..])?;
            at += used;
            if files.is_empty() {
                files.push(FilePatch::default());
            }
            if let Some(file) = files.last_mut() {
                file.hunks.push(hunk);
            }
        } else if let Some(file) = files.last_mut()
            && file.hunks.is_empty()
        {
            extended_header(file, head)?;
        }
    }
    if files.is_empty() {
        return Err(ToolError::input_invalid("no change found in `patch`").hint(
            "give a unified diff: `--- a/file`, `+++ b/file`, `@@ -1,3 +1,4 @@`, then lines with ` `, `-` or `+`",
        ));
    }
    Ok(files)
}

/// `--- old` with `+++ new` on the next line.
fn is_file_header(lines: &[&str]) -> bool {
    matches!(lines, [first, second, ..]
        if first.starts_with("--- ") && second.starts_with("+++ "))
}

fn from_git_header(names: &str) -> FilePatch {
    let (old, new) = git_names(names).unwrap_or_default();
    FilePatch {
        old: Some(old),
        new: Some(new),
        ..FilePatch::default()
    }
}

/// Both names of a `diff --git` line. They are the same but for the prefix wherever no other
/// line tells them, so a space in them does no harm.
fn git_names(names: &str) -> Option<(String, String)> {
    if names.starts_with('"') {
        let (old, rest) = unquote(names)?;
        let rest = rest.strip_prefix(' ')?;
        let new = match unquote(rest) {
            Some((new, _)) => new,
            None => rest.to_owned(),
        };
        return Some(stripped(old, new));
    }
    for (space, _) in names.match_indices(' ') {
        let (old, new) = (&names[..space], &names[space + 1..]);
        let new = unquote(new).map_or_else(|| new.to_owned(), |(new, _)| new);
        let (old, new) = stripped(old.to_owned(), new);
        if old == new {
            return Some((old, new));
        }
    }
    None
}

/// Take the prefixes off where both sides have theirs: `a/` and `b/`, or git's mnemonic ones.
fn stripped(old: String, new: String) -> (String, String) {
    const PREFIXES: &[(&str, &str)] = &[
        ("a/", "b/"),
        ("i/", "w/"),
        ("c/", "i/"),
        ("c/", "w/"),
        ("o/", "w/"),
    ];
    let side = |name: &str, prefix: &str| match name {
        "/dev/null" => Some(name.to_owned()),
        name => name.strip_prefix(prefix).map(str::to_owned),
    };
    PREFIXES
        .iter()
        .find_map(|(a, b)| Some((side(&old, a)?, side(&new, b)?)))
        .unwrap_or((old, new))
}

/// The names of `---` and `+++` lines, for the file that the line before was about or a new one.
fn named(files: &mut Vec<FilePatch>, old: &str, new: &str) -> Result<(), ToolError> {
    let (old, new) = stripped(plain_name(old), plain_name(new));
    let goes_on = files
        .last()
        .is_some_and(|file| file.hunks.is_empty() && !file.named);
    if !goes_on {
        files.push(FilePatch::default());
    }
    let Some(file) = files.last_mut() else {
        return Ok(());
    };
    file.named = true;
    let given = |name: String| (name != "/dev/null").then_some(name);
    let (old, new) = (given(old), given(new));
    match (&old, &new) {
        (None, None) => {
            return Err(ToolError::input_invalid(
                "`patch` has a file that is `/dev/null` before and after",
            ));
        }
        (None, Some(_)) => file.kind = Kind::Create,
        (Some(_), None) => file.kind = Kind::Delete,
        // Renames are told by their own lines; elsewhere the name after counts.
        _ => {}
    }
    if !matches!(file.kind, Kind::Rename | Kind::Copy) {
        file.old = match file.kind {
            Kind::Modify => new.clone(),
            _ => old,
        };
        file.new = new;
    }
    Ok(())
}

/// A name as it stands on a `---` line: quoted, or with a time behind a tab.
fn plain_name(text: &str) -> String {
    match unquote(text) {
        Some((name, _)) => name,
        None => text
            .split('\t')
            .next()
            .unwrap_or_default()
            .trim_end()
            .to_owned(),
    }
}

fn extended_header(file: &mut FilePatch, line: &str) -> Result<(), ToolError> {
    let mode = |text: &str| {
        u32::from_str_radix(text.trim(), 8)
            .map_err(|_| ToolError::input_invalid(format!("not a file mode: `{line}`")))
    };
    let name = |text: &str| unquote(text).map_or_else(|| text.to_owned(), |(name, _)| name);
    if let Some(text) = line.strip_prefix("old mode ") {
        file.old_mode = Some(mode(text)?);
    } else if let Some(text) = line.strip_prefix("new mode ") {
        file.new_mode = Some(mode(text)?);
    } else if let Some(text) = line.strip_prefix("new file mode ") {
        file.new_mode = Some(mode(text)?);
        file.kind = Kind::Create;
        file.old = None;
    } else if let Some(text) = line.strip_prefix("deleted file mode ") {
        file.old_mode = Some(mode(text)?);
        file.kind = Kind::Delete;
        file.new = None;
    } else if let Some(text) = line.strip_prefix("rename from ") {
        file.kind = Kind::Rename;
        file.old = Some(name(text));
    } else if let Some(text) = line.strip_prefix("copy from ") {
        file.kind = Kind::Copy;
        file.old = Some(name(text));
    } else if let Some(text) = line
        .strip_prefix("rename to ")
        .or_else(|| line.strip_prefix("copy to "))
    {
        file.new = Some(name(text));
    } else if line.starts_with("Binary files ") || line == "GIT binary patch" {
        file.binary = true;
    }
    Ok(())
}

/// A name in quotes, the way git writes names with unusual characters, and what comes after.
fn unquote(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut bytes = Vec::new();
    let mut rest = inner.as_bytes();
    loop {
        match rest {
            [b'"', after @ ..] => {
                let used = text.len() - after.len();
                return Some((String::from_utf8(bytes).ok()?, &text[used..]));
            }
            [
                b'\\',
                a @ b'0'..=b'3',
                b @ b'0'..=b'7',
                c @ b'0'..=b'7',
                after @ ..,
            ] => {
                bytes.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = after;
            }
            [b'\\', escaped, after @ ..] => {
                bytes.push(match escaped {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'a' => 7,
                    b'b' => 8,
                    b'f' => 12,
                    b'v' => 11,
                    other => *other,
                });
                rest = after;
            }
            [byte, after @ ..] => {
                bytes.push(*byte);
                rest = after;
            }
            [] => return None,
        }
    }
}

/// A hunk and how many lines it took. `carriage` says that every line of the patch, its headers
/// too, came with a carriage return that is not the file's.
fn read_hunk(head: &str, carriage: bool, lines: &[&str]) -> Result<(Hunk, usize), ToolError> {
    let (start, counts) = hunk_numbers(head).ok_or_else(|| {
        ToolError::input_invalid(format!("not a hunk header: `{head}`"))
            .hint("write it as `@@ -line,count +line,count @@`")
    })?;
    let mut hunk = Hunk {
        header: head.to_owned(),
        start,
        lines: Vec::new(),
        recounted: false,
    };
    if let Some(used) = read_counted(&mut hunk, counts, carriage, lines) {
        return Ok((hunk, used));
    }
    hunk.recounted = true;
    let used = read_all(&mut hunk, carriage, lines);
    if hunk.lines.is_empty() {
        return Err(ToolError::input_invalid(format!(
            "hunk has no lines: `{head}`"
        )));
    }
    Ok((hunk, used))
}

fn hunk_numbers(head: &str) -> Option<(usize, (usize, usize))> {
    let ranges = head.strip_prefix("@@ -")?.split(" @@").next()?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.trim().parse().ok()?, count.trim().parse().ok()?))
    };
    let ((start, old), (_, new)) = (range(old)?, range(new)?);
    // No file has more lines; a larger number is a mistake.
    (start <= MOST_LINES).then_some((start, (old, new)))
}

/// As many lines as the header says; none if that does not fit.
fn read_counted(
    hunk: &mut Hunk,
    counts: (usize, usize),
    carriage: bool,
    lines: &[&str],
) -> Option<usize> {
    hunk.lines.clear();
    let mut used = 0;
    let (mut old, mut new) = (0, 0);
    while (old, new) != counts {
        let before = hunk.lines.len();
        push_line(hunk, lines.get(used)?, carriage)?;
        for line in &hunk.lines[before..] {
            old += usize::from(line.is_old());
            new += usize::from(line.is_new());
        }
        if old > counts.0 || new > counts.1 {
            return None;
        }
        used += 1;
    }
    if lines.get(used).is_some_and(|line| line.starts_with('\\')) {
        push_line(hunk, lines[used], carriage)?;
        used += 1;
    }
    let next = lines.get(used).copied().unwrap_or_default();
    let more = next.starts_with([' ', '+', '-']);
    (!more || ends_hunk(&lines[used..])).then_some(used)
}

/// Every line that can be one of a hunk.
fn read_all(hunk: &mut Hunk, carriage: bool, lines: &[&str]) -> usize {
    hunk.lines.clear();
    let mut used = 0;
    // Empty lines at the end are between this hunk and what follows, not part of it.
    let (mut last_kept, mut kept_lines) = (0, 0);
    while let Some(line) = lines.get(used) {
        if ends_hunk(&lines[used..]) || push_line(hunk, line, carriage).is_none() {
            break;
        }
        used += 1;
        if !line.trim_end_matches(['\n', '\r']).is_empty() {
            (last_kept, kept_lines) = (used, hunk.lines.len());
        }
    }
    hunk.lines.truncate(kept_lines);
    last_kept
}

/// Whether something else than a hunk's line starts here: another file, or a mail's signature.
fn ends_hunk(lines: &[&str]) -> bool {
    is_file_header(lines)
        || lines
            .first()
            .is_some_and(|line| line.trim_end_matches(['\n', '\r']) == "-- ")
}

fn push_line(hunk: &mut Hunk, line: &str, carriage: bool) -> Option<()> {
    if line.starts_with('\\') {
        // "No newline at end of file" is about the line before.
        let (Line::Context(text) | Line::Remove(text) | Line::Add(text)) = hunk.lines.last_mut()?;
        if text.ends_with('\n') {
            text.pop();
        }
        return Some(());
    }
    let body = line.strip_suffix('\n').unwrap_or(line);
    let body = match carriage {
        true => body.strip_suffix('\r').unwrap_or(body),
        false => body,
    };
    let text = |text: &str| format!("{text}\n");
    let line = match body.split_at_checked(1) {
        Some((" ", rest)) => Line::Context(text(rest)),
        Some(("-", rest)) => Line::Remove(text(rest)),
        Some(("+", rest)) => Line::Add(text(rest)),
        // An empty line of context that lost its space on the way.
        _ if body.is_empty() || body == "\r" => Line::Context(text(body)),
        _ => return None,
    };
    hunk.lines.push(line);
    Some(())
}
