//! Finding haft's own tools.

use haft_search::{Index, ToolDoc};

use crate::catalogue::builtin;

fn index() -> Index {
    let mut index = Index::new();
    index.update(&builtin());
    index
}

fn check(query: &str, want: &str) {
    let found = index().searcher().search(query, 5);
    let ids: Vec<&str> = found.hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(ids.first().copied(), Some(want), "{query:?}: {ids:?}");
    assert!(!found.nothing_fits, "{query:?}");
}

#[test]
fn reading_a_file_in_five_languages() {
    for query in [
        "lire un fichier",
        "datei lesen",
        "ファイルを読む",
        "读取文件",
        "прочитать файл",
    ] {
        check(query, "file.read");
    }
}

#[test]
fn plain_requests() {
    check("run the tests with cargo", "shell.exec");
    check("what changed in the repository", "git.status");
    check(
        "which operating system does this computer have",
        "system.info",
    );
    check("send a message to Anna by email", "mail.send");
    check("supprimer un fichier", "file.delete");
    check("descomprimir un archivo zip", "archive.extract");
}

#[test]
fn a_name_typed_whole_comes_first() {
    for query in [
        "file.read",
        "file__read",
        "File.Read",
        " read_file ",
        "Read",
        "filE:read",
    ] {
        check(query, "file.read");
    }
    check("bash", "shell.exec");
    check("Grep", "file.grep");
    check("database.query", "database.query");
}

#[test]
fn the_start_of_a_word_finds_it() {
    check("calend", "calendar.create");
    check("datab", "database.query");
}

#[test]
fn two_servers_with_the_same_tool() {
    let mut index = index();
    for server in ["one", "two"] {
        index.add(&ToolDoc {
            id: format!("mcp.{server}.lookup"),
            name: "lookup".to_owned(),
            category: server.to_owned(),
            server: Some(server.to_owned()),
            description: "Look up a customer.".to_owned(),
            ..ToolDoc::default()
        });
    }
    let first_two = |query: &str| {
        let found = index.searcher().search(query, 2);
        found
            .hits
            .into_iter()
            .map(|hit| hit.id)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(first_two("lookup"), "mcp.one.lookup mcp.two.lookup");
    assert_eq!(
        first_two("mcp__two__lookup").split(' ').next(),
        Some("mcp.two.lookup")
    );
}

#[test]
fn a_rank_can_be_asked_for() {
    let searcher = index().searcher();
    assert_eq!(searcher.rank_of("datei lesen", "file.read"), Some(1));
    let all: Vec<usize> = builtin()
        .iter()
        .filter_map(|tool| searcher.rank_of("datei lesen", &tool.id))
        .collect();
    let mut sorted = all.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (1..=builtin().len()).collect::<Vec<_>>());
    assert_eq!(searcher.rank_of("datei lesen", "no.such"), None);
    let hidden = index().view(|id| id != "file.read");
    assert_eq!(hidden.rank_of("datei lesen", "file.read"), None);
}

#[test]
fn categories_are_named() {
    let found = index().searcher().search("file", 3);
    assert_eq!(
        found.categories.first().map(|(name, _)| name.as_str()),
        Some("file")
    );
}
