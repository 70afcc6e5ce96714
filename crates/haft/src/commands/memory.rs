//! `haft memory`: the notes as a person sees them: to read, export, import and edit.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use haft_store::{NewNote, Note, Notes, Scope, Shelf, Trust};

use crate::cli::{self, MemoryAction};
use crate::config;
use crate::home::Home;
use crate::recording::{Recording, failed};
use crate::terminal::fail::{self, Failed, Usage};
use crate::terminal::{input, print, show, table};
use crate::wiring::workspace_of;

pub(crate) fn run(command: cli::Memory) -> Result<u8> {
    let home = Home::locate()?;
    let recording = Recording::new(&home);
    let journal = recording.journal().map_err(failed)?;
    let notes = Notes::new(journal.store().clone());
    match command.action {
        MemoryAction::List { json } => list(&notes, json),
        MemoryAction::Export { file } => {
            let text = to_markdown(&sound(notes.after(0).map_err(failed)?));
            match file {
                Some(path) => write_out(&path, text.as_bytes())
                    .with_context(|| format!("cannot write `{}`", path.display()))?,
                None => print::raw(text.as_bytes())?,
            }
            Ok(0)
        }
        MemoryAction::Import { file } => {
            journal.check().map_err(failed)?;
            let found = from_markdown(&input::own_file(&file)?, &project()?)?;
            let added = add(&notes, found)?;
            print::line(&format!("{added} notes were added"));
            Ok(0)
        }
        MemoryAction::Edit { namespace, scope } => {
            journal.check().map_err(failed)?;
            edit(&notes, namespace, &scope)
        }
    }
}

/// Notes are for their owner; a file that is there already is for whom it was.
fn write_out(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text)
}

/// The notes that are as they were written; the others are named.
fn sound(notes: Vec<Note>) -> Vec<Note> {
    let (damaged, sound): (Vec<Note>, Vec<Note>) = notes.into_iter().partition(|note| note.damaged);
    for note in damaged {
        fail::notice(&format!(
            "note {} is damaged and left out: forget it with `memory.forget`, or go back to a copy with `haft restore`",
            note.id
        ));
    }
    sound
}

fn list(notes: &Notes, as_json: bool) -> Result<u8> {
    let all = notes.after(0).map_err(failed)?;
    if as_json {
        show::json(&all)?;
        return Ok(0);
    }
    let rows = all.iter().map(|note| {
        let beginning: String = note.text.chars().take(80).collect();
        vec![
            note.id.to_string(),
            note.namespace.clone(),
            note.scope.as_str().to_owned(),
            note.trust.as_str().to_owned(),
            haft_runtime::visible(&beginning).replace('\n', " "),
        ]
    });
    table::print(&["id", "namespace", "scope", "trust", "note"], rows);
    Ok(0)
}

fn add(notes: &Notes, new: Vec<NewNote>) -> Result<usize> {
    let engine = tokio::runtime::Builder::new_current_thread().build()?;
    let mut added = 0;
    for note in new {
        let (_, fresh) = engine.block_on(notes.add(note)).map_err(failed)?;
        added += usize::from(fresh);
    }
    Ok(added)
}

fn edit(notes: &Notes, namespace: String, scope: &str) -> Result<u8> {
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(std::env::var_os);
    let Some(editor) = editor.filter(|editor| !editor.is_empty()) else {
        bail!(Failed {
            message: "no editor is named".to_owned(),
            hint: Some("set `EDITOR`".to_owned()),
        });
    };
    let Some(scope @ (Scope::User | Scope::Project)) = Scope::parse(scope) else {
        bail!(Usage(format!("not `user` or `project`: `{scope}`")));
    };
    let owner = match scope {
        Scope::Project => project()?,
        _ => String::new(),
    };
    let namespace = haft_tools::checked_namespace(&namespace).map_err(|error| {
        let hint = error.hint.as_ref();
        let hint = hint.map(|hint| format!(", {hint}")).unwrap_or_default();
        Usage(format!("{}{hint}", error.message))
    })?;
    let shelf = Shelf {
        namespace,
        scope,
        owner,
    };
    let on_shelf = |note: &Note| {
        note.namespace == shelf.namespace && note.scope == scope && note.owner == shelf.owner
    };
    let all = sound(notes.after(0).map_err(failed)?);
    let here: Vec<&Note> = all.iter().filter(|note| on_shelf(note)).collect();
    let texts: Vec<&str> = here.iter().map(|note| note.text.as_str()).collect();
    let before = texts.join("\n");
    let after = haft_host::edit_text(&editor, &before).context("the editor")?;
    if after == before {
        print::line("nothing was changed");
        return Ok(0);
    }
    let seen = here.iter().map(|note| note.id).collect();
    let note = NewNote {
        shelf,
        text: after.trim_end_matches('\n').to_owned(),
        source: sources(&here),
        trust: match here.iter().any(|note| note.trust == Trust::Untrusted) {
            true => Trust::Untrusted,
            false => Trust::User,
        },
    };
    let engine = tokio::runtime::Builder::new_current_thread().build()?;
    match engine.block_on(notes.revise(note, seen)).map_err(failed)? {
        None => {
            // Somebody wrote that, and it stands nowhere else.
            print::raw(after.as_bytes())?;
            bail!(Failed {
                message: "others changed these notes meanwhile, so nothing was saved".to_owned(),
                hint: Some("what you wrote stands above: edit the notes again".to_owned()),
            });
        }
        Some(since) => {
            if since > 0 {
                let word = if since == 1 { "note" } else { "notes" };
                print::line(&format!("{since} {word} stored meanwhile stayed"));
            }
            print::line("saved; what was there is kept for `memory.write` with `undo`");
            Ok(0)
        }
    }
}

/// Where a text comes from that is made of these.
fn sources(notes: &[&Note]) -> Option<String> {
    let mut sources: Vec<&str> = notes.iter().filter_map(|n| n.source.as_deref()).collect();
    sources.sort_unstable();
    sources.dedup();
    (!sources.is_empty()).then(|| sources.join(", "))
}

/// Whose notes those of this workspace are.
fn project() -> Result<String> {
    let workspace = config::absolute(&workspace_of(None)?)?;
    Ok(workspace.to_string_lossy().into_owned())
}

const MARK: &str = "<!-- note";

/// Every note under the heading of its namespace, after a comment that says where it belongs.
fn to_markdown(notes: &[Note]) -> String {
    let mut names: Vec<&str> = notes.iter().map(|note| note.namespace.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut text = String::new();
    for name in names {
        text.push_str(&format!("# {name}\n\n"));
        for note in notes.iter().filter(|note| note.namespace == name) {
            let about = serde_json::json!({
                "scope": note.scope,
                "owner": note.owner,
                "trust": note.trust,
                "source": note.source,
            });
            // A comment ends at the first `-->`, which may stand in a source.
            let about = about.to_string().replace("-->", "--\\u003e");
            text.push_str(&format!("{MARK} {about} -->\n"));
            // Empty lines at the end would pass for those between notes.
            let told = note.text.trim_end_matches('\n').len();
            let mut at = 0;
            for line in note.text.split('\n') {
                let special = is_special(line);
                let last = line.is_empty() && at >= told;
                if special || last || line.starts_with('\\') {
                    text.push('\\');
                }
                text.push_str(line);
                text.push('\n');
                at += line.len() + 1;
            }
            text.push('\n');
        }
    }
    text
}

/// The notes again. Text without a comment before it is a note of the user's own, for the project
/// where it is imported: there every agent finds it.
fn from_markdown(text: &str, project: &str) -> Result<Vec<NewNote>> {
    let mut notes: Vec<(NewNote, Vec<&str>)> = Vec::new();
    let mut namespace = "knowledge".to_owned();
    let mut open = false;
    // Whether a note is under a comment of ours; what is not is taken as it is.
    let mut marked = Vec::new();
    let own = |namespace: &str| NewNote {
        shelf: Shelf {
            namespace: namespace.to_owned(),
            scope: Scope::Project,
            owner: project.to_owned(),
        },
        text: String::new(),
        source: None,
        trust: Trust::User,
    };
    for (at, line) in text.split('\n').enumerate() {
        if let Some(name) = line.strip_prefix("# ") {
            namespace = haft_tools::namespace_of(name);
            open = false;
        } else if let Some(about) = line.strip_prefix(MARK) {
            let about = about.trim().trim_end_matches("-->");
            let about: serde_json::Value = serde_json::from_str(about).map_err(|error| {
                Usage(format!("line {}: not a note's comment: {error}", at + 1))
            })?;
            let mut note = own(&namespace);
            let word = |key: &str| about[key].as_str();
            let place = place_of(word("scope"), word("owner"), project);
            let place = place.map_err(|told| Usage(format!("line {}: {told}", at + 1)))?;
            (note.shelf.scope, note.shelf.owner) = place;
            note.source = word("source").map(str::to_owned);
            note.trust = word("trust").map_or(Trust::Untrusted, Trust::parse);
            notes.push((note, Vec::new()));
            marked.push(true);
            open = true;
        } else {
            if !open && line.trim().is_empty() {
                continue;
            }
            if !open {
                notes.push((own(&namespace), Vec::new()));
                marked.push(false);
                open = true;
            }
            if let Some((_, lines)) = notes.last_mut() {
                lines.push(line);
            }
        }
    }
    Ok(notes
        .into_iter()
        .zip(marked)
        .map(|((mut note, mut lines), marked)| {
            // One empty line parts a note from what follows it, and a person may have left more.
            while lines.last().is_some_and(|line| line.is_empty()) {
                lines.pop();
            }
            let plain = lines.iter().map(|line| match marked {
                true => plain(line),
                false => line,
            });
            note.text = plain.collect::<Vec<&str>>().join("\n");
            note
        })
        .collect())
}

/// A line without the backslash that the export puts before what would not be taken for text.
fn plain(line: &str) -> &str {
    let rest = line.strip_prefix('\\').unwrap_or(line);
    match rest.is_empty() || is_special(rest) || rest.starts_with('\\') {
        true => rest,
        false => line,
    }
}

fn is_special(line: &str) -> bool {
    line.starts_with("# ") || line.starts_with(MARK)
}

/// For whom a note is, by its comment; nobody would see one that is for nobody.
fn place_of(
    scope: Option<&str>,
    owner: Option<&str>,
    project: &str,
) -> Result<(Scope, String), String> {
    let scope = match scope {
        None => Scope::Project,
        Some(word) => Scope::parse(word).ok_or_else(|| format!("no such scope: `{word}`"))?,
    };
    let owner = owner.filter(|owner| !owner.is_empty());
    let owner = match (scope, owner) {
        (Scope::User, _) => "",
        (_, Some(owner)) => owner,
        (Scope::Project, None) => project,
        (Scope::Session | Scope::Agent, None) => {
            return Err(format!("a note for {} needs an `owner`", scope.as_str()));
        }
    };
    Ok((scope, owner.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_exported_comes_back() {
        let note = |id: i64, namespace: &str, text: &str, source: Option<&str>| Note {
            id,
            namespace: namespace.to_owned(),
            scope: Scope::Project,
            owner: "/a project".to_owned(),
            text: text.to_owned(),
            source: source.map(str::to_owned),
            trust: Trust::Untrusted,
            time: 0,
            damaged: false,
            placeless: false,
        };
        let notes = [
            note(1, "knowledge", "plain", None),
            note(
                2,
                "methods",
                "# a heading\n<!-- note x -->\n\\ odd\n\nlast",
                Some("a --> b"),
            ),
            note(3, "knowledge", "ü 漢\n  indented", None),
            note(4, "knowledge", "ends with lines\n\n\n", None),
            note(5, "methods", "\n\nbegins with them\n", None),
            note(6, "methods", "", None),
            note(7, "methods", "\n", None),
            note(8, "methods", "\\\n\\\\\n", None),
            note(9, "methods", "carriage\r\n\r\n", None),
            note(10, "methods", "\\section{a}\n\\# b\n\\\\# c", None),
        ];
        let text = to_markdown(&notes);
        let back = from_markdown(&text, "/w").unwrap();
        assert_eq!(back.len(), notes.len());
        for note in &notes {
            let found = back.iter().find(|found| found.text == note.text);
            let found = found.unwrap_or_else(|| panic!("{:?} is not in {text}", note.text));
            assert_eq!(found.shelf.namespace, note.namespace);
            assert_eq!(found.shelf.owner, note.owner);
            assert_eq!(found.source, note.source);
            assert_eq!(found.trust, note.trust);
        }
        let own = "just a thought\nof mine\n\n# My methods (2026)\n\ntest first\n";
        let own = from_markdown(own, "/w").unwrap();
        assert_eq!(own[0].text, "just a thought\nof mine");
        assert_eq!(
            (own[0].shelf.scope, own[0].shelf.owner.as_str()),
            (Scope::Project, "/w")
        );
        assert_eq!(
            (own[1].shelf.namespace.as_str(), own[1].trust),
            ("my-methods-2026", Trust::User)
        );
        assert!(from_markdown("<!-- note {broken -->\n", "/w").is_err());
    }
}
