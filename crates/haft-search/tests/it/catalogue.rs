//! Catalogues to search: haft's own tools as they would describe themselves, and real ones of
//! the development sets.

use std::io::Read;
use std::path::Path;

use haft_search::ToolDoc;

/// A tool in one line: name, description, parameters, aliases.
fn tool(name: &str, description: &str, parameters: &str, aliases: &str) -> ToolDoc {
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    ToolDoc {
        id: name.to_owned(),
        name: name.to_owned(),
        category: name.split('.').next().unwrap_or_default().to_owned(),
        description: description.to_owned(),
        parameters: words(parameters)
            .into_iter()
            .map(|name| (name, String::new()))
            .collect(),
        aliases: words(aliases),
        ..ToolDoc::default()
    }
}

/// Tools of the kind haft comes with.
pub(crate) fn builtin() -> Vec<ToolDoc> {
    vec![
        tool(
            "file.read",
            "Read a file of the workspace, whole or some lines of it.",
            "path offset limit",
            "read_file Read",
        ),
        tool(
            "file.write",
            "Write text to a file, in place of what it held. Creates the file if it is missing.",
            "path content",
            "write_file Write",
        ),
        tool(
            "file.edit",
            "Replace exact text in a file. The text must occur once, unless replace_all is set.",
            "path search replace replace_all",
            "edit_file Edit",
        ),
        tool(
            "file.list",
            "List the files and folders of a directory.",
            "path depth",
            "list_dir LS",
        ),
        tool(
            "file.glob",
            "Find files whose name matches a pattern.",
            "pattern path",
            "Glob",
        ),
        tool(
            "file.grep",
            "Search the content of files for a regular expression.",
            "pattern path",
            "Grep",
        ),
        tool(
            "file.delete",
            "Delete a file or an empty folder.",
            "path",
            "remove_file",
        ),
        tool(
            "shell.exec",
            "Run a command in a shell and return what it prints.",
            "command timeout cwd",
            "bash Bash",
        ),
        tool(
            "process.list",
            "List the background processes that were started.",
            "",
            "",
        ),
        tool("process.kill", "End a background process.", "id signal", ""),
        tool(
            "system.info",
            "Tell about this machine: operating system, processors, memory, disks.",
            "",
            "",
        ),
        tool(
            "result.read",
            "Read on in a long result that was cut, by its handle.",
            "handle offset",
            "",
        ),
        tool(
            "web.fetch",
            "Fetch a web page and return its text.",
            "url",
            "WebFetch",
        ),
        tool("web.search", "Search the web.", "query", "WebSearch"),
        tool(
            "git.status",
            "Show which files of the repository have changed.",
            "",
            "",
        ),
        tool(
            "git.diff",
            "Show the changes between commits or in the working tree.",
            "path",
            "",
        ),
        tool(
            "memory.remember",
            "Keep a fact for later sessions.",
            "text",
            "",
        ),
        tool(
            "memory.search",
            "Look for facts that were kept.",
            "query",
            "",
        ),
        tool("task.create", "Add a task to the plan.", "title", ""),
        tool(
            "calendar.create",
            "Create an event in the calendar.",
            "title start end",
            "",
        ),
        tool("mail.send", "Send an email.", "to subject body", ""),
        tool(
            "image.resize",
            "Change the size of a picture.",
            "path width height",
            "",
        ),
        tool(
            "archive.extract",
            "Unpack a zip or tar archive.",
            "path target",
            "",
        ),
        tool(
            "database.query",
            "Run an SQL query on a database.",
            "sql",
            "",
        ),
    ]
}

/// The lines of a file of a development set.
pub(crate) fn lines(set: &str, file: &str) -> Vec<serde_json::Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data/sets")
        .join(set)
        .join(file);
    let mut text = String::new();
    let opened = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(opened)
        .read_to_string(&mut text)
        .unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The tools of a development set.
pub(crate) fn tools(set: &str) -> Vec<ToolDoc> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    lines(set, "tools.jsonl.gz")
        .iter()
        .map(|line| ToolDoc {
            id: text(&line["id"]),
            name: text(&line["name"]),
            description: text(&line["description"]),
            category: text(&line["category"]),
            parameters: line["params"]
                .as_object()
                .map(|params| {
                    params
                        .iter()
                        .map(|(name, value)| (name.clone(), text(value)))
                        .collect()
                })
                .unwrap_or_default(),
            ..ToolDoc::default()
        })
        .collect()
}
