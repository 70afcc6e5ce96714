//! Puts the hunks of a patch into a text. A hunk goes where its lines are: at the line it names,
//! or at the one other place where they occur. Whatever else was done to make it fit is said;
//! where it does not fit, nothing is done and the answer says where it nearly would.

use haft_core::ToolError;

use super::nearest::nearest;
use super::unified::{Hunk, Line};

/// A text with all hunks in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Patched {
    pub(super) text: String,
    pub(super) added: usize,
    pub(super) removed: usize,
    /// What did not fit as it was written
    pub(super) notes: Vec<String>,
}

/// `name` is the file's, for the answer to a patch that does not fit.
pub(super) fn apply(name: &str, text: &str, hunks: &[Hunk]) -> Result<Patched, ToolError> {
    let mut patched = Patched {
        text: String::with_capacity(text.len()),
        added: 0,
        removed: 0,
        notes: Vec::new(),
    };
    let adapted = to_line_ends(text, hunks);
    if adapted.is_some() {
        let note = "the patch has LF line ends, the file CRLF: the file's were used";
        patched.notes.push(note.to_owned());
    }
    let hunks = adapted.as_deref().unwrap_or(hunks);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut done = 0;
    let mut shift: isize = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let number = index + 1;
        let at = locate(&lines, hunk, done, shift)
            .map_err(|places| misfit(name, text, hunk, (number, hunks.len()), &places))?;
        let wanted = stated(hunk);
        if at as isize != wanted as isize + shift {
            let note = format!(
                "hunk {number} fitted at line {}, not at {}",
                at + 1,
                wanted + 1
            );
            patched.notes.push(note);
        }
        if hunk.recounted {
            patched.notes.push(format!(
                "the line counts of hunk {number} were wrong: `{}`",
                hunk.header
            ));
        }
        shift = at as isize - wanted as isize;
        lines[done..at]
            .iter()
            .for_each(|line| patched.text.push_str(line));
        done = put(&lines, hunk, at, &mut patched);
    }
    lines[done..]
        .iter()
        .for_each(|line| patched.text.push_str(line));
    Ok(patched)
}

/// 0-based line at which a hunk says it starts.
fn stated(hunk: &Hunk) -> usize {
    // Without old lines the number is that of the line before.
    match hunk.old_lines().next() {
        Some(_) => hunk.start.saturating_sub(1),
        None => hunk.start,
    }
}

/// Where the hunk's old lines are, not before line `from`. The error holds the places between
/// which nothing decides.
fn locate(lines: &[&str], hunk: &Hunk, from: usize, shift: isize) -> Result<usize, Vec<usize>> {
    let old: Vec<&str> = hunk.old_lines().collect();
    let wanted = stated(hunk).checked_add_signed(shift);
    let fits = |at: usize| {
        at >= from
            && at <= lines.len()
            && at + old.len() <= lines.len()
            && old
                .iter()
                .zip(&lines[at..])
                .enumerate()
                .all(|(nth, (old, line))| same(line, old, at + nth + 1 == lines.len()))
    };
    if let Some(at) = wanted.filter(|&at| fits(at)) {
        return Ok(at);
    }
    if old.is_empty() {
        // Nothing tells where it belongs but a line that is not there.
        return Err(Vec::new());
    }
    const ENOUGH: usize = 10;
    let places: Vec<usize> = (from..lines.len())
        .filter(|&at| fits(at))
        .take(ENOUGH)
        .collect();
    match places.as_slice() {
        [only] => Ok(*only),
        _ => Err(places),
    }
}

/// A last line without an end also fits one that the patch gives an end to.
fn same(line: &str, old: &str, is_last: bool) -> bool {
    line == old || (is_last && !line.ends_with('\n') && old.strip_suffix('\n') == Some(line))
}

/// Write the hunk's new lines; answers with the first line after it.
fn put(lines: &[&str], hunk: &Hunk, at: usize, patched: &mut Patched) -> usize {
    let mut next = at;
    for line in &hunk.lines {
        match line {
            Line::Context(_) => {
                // The file's own line: its end may differ from the patch's.
                patched.text.push_str(lines[next]);
                next += 1;
            }
            Line::Remove(_) => {
                patched.removed += 1;
                next += 1;
            }
            Line::Add(text) => {
                if !patched.text.is_empty() && !patched.text.ends_with('\n') {
                    patched.text.push('\n');
                }
                patched.text.push_str(text);
                patched.added += 1;
            }
        }
    }
    next
}

/// The hunks with the file's line ends, where all of the file has CRLF and none of the hunks.
fn to_line_ends(text: &str, hunks: &[Hunk]) -> Option<Vec<Hunk>> {
    let ends = text.matches('\n').count();
    let crlf = ends > 0 && text.matches("\r\n").count() == ends;
    let carriage = |hunk: &Hunk| hunk.lines.iter().any(|line| line.text().contains('\r'));
    if !crlf || hunks.is_empty() || hunks.iter().any(carriage) {
        return None;
    }
    let mut adapted = hunks.to_vec();
    for line in adapted.iter_mut().flat_map(|hunk| &mut hunk.lines) {
        let (Line::Context(text) | Line::Remove(text) | Line::Add(text)) = line;
        *text = text.replace('\n', "\r\n");
    }
    Some(adapted)
}

fn misfit(
    name: &str,
    text: &str,
    hunk: &Hunk,
    (number, all): (usize, usize),
    places: &[usize],
) -> ToolError {
    let error = ToolError::conflict(format!(
        "hunk {number} of {all} does not fit `{name}`: `{}`",
        hunk.header
    ));
    if !places.is_empty() {
        let lines: Vec<String> = places.iter().map(|at| (at + 1).to_string()).collect();
        return error.hint(format!(
            "its lines occur more than once, at lines {}: give more lines around the change",
            lines.join(", ")
        ));
    }
    let old: String = hunk.old_lines().collect();
    let new: String = hunk
        .lines
        .iter()
        .filter(|line| line.is_new())
        .map(Line::text)
        .collect();
    if !new.is_empty() && new != old && text.contains(&new) {
        return error.hint("the file already has these changes");
    }
    match nearest(text, old.trim_end_matches('\n')) {
        Some(places) if !old.is_empty() => error.hint(places),
        _ => error.hint("read the file with `file.read` and make the patch from what it holds now"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::unified;

    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.0 >> 33) as usize % limit
        }

        /// Few different lines, so that hunks could go to many places.
        fn text(&mut self) -> String {
            let ends = ["\n", "\r\n"];
            let end = ends[self.below(2)];
            let lines = ["a", "b", "c", "--- x", "+++ y", "@@ -1 +1 @@", "", "-- "];
            let mut text: String = (0..self.below(30))
                .map(|_| format!("{}{end}", lines[self.below(lines.len())]))
                .collect();
            if self.below(3) == 0 {
                text.truncate(text.trim_end_matches(['\n', '\r']).len());
            }
            text
        }
    }

    #[test]
    fn every_diff_turns_the_old_text_into_the_new() {
        let mut random = Random(1);
        for round in 0..3_000 {
            let (old, new) = (random.text(), random.text());
            let diff = similar::TextDiff::from_lines(&old, &new);
            let patch = diff
                .unified_diff()
                .context_radius(random.below(4))
                .header("a/x", "b/x")
                .to_string();
            if old == new {
                continue;
            }
            let files = unified::parse(&patch).unwrap();
            let patched = apply("x", &old, &files[0].hunks);
            match patched {
                Ok(patched) => {
                    assert_eq!(patched.text, new, "round {round}: {old:?}\n{patch}");
                    assert!(
                        patched.notes.is_empty(),
                        "round {round}: {:?}",
                        patched.notes
                    );
                }
                Err(error) => panic!("round {round}: {error}: {old:?}\n{patch}"),
            }
        }
    }

    #[test]
    fn broken_patches_are_answered_not_crashed_on() {
        let mut random = Random(2);
        let whole = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 1..2\n--- \"a/\\303\\274\"\n+++ b/x\n@@ -1,3 +1,3 @@ f\n a\n-b\n+c\n\\ No newline at end of file\n d\n@@ -99999999999999999999 +1 @@\n+z\n";
        let mut applied = 0;
        for _ in 0..20_000 {
            let mut bytes = whole.as_bytes().to_vec();
            for _ in 0..=random.below(4) {
                if bytes.len() < 2 {
                    break;
                }
                let at = random.below(bytes.len());
                match random.below(3) {
                    0 => drop(bytes.remove(at)),
                    1 => bytes[at] = b" +-@\\\n\r\"9,/"[random.below(11)],
                    _ => bytes.truncate(at.max(1)),
                }
            }
            let patch = String::from_utf8_lossy(&bytes).into_owned();
            for file in unified::parse(&patch).unwrap_or_default() {
                applied += usize::from(apply("x", "a\nb\nd\n", &file.hunks).is_ok());
            }
        }
        assert!(applied > 1_000, "only {applied} could be applied");
    }
}
