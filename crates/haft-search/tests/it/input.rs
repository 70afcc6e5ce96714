//! Queries and tools that nobody would write, and some do.

use haft_search::{Index, ToolDoc};

use crate::catalogue::builtin;

fn index() -> Index {
    let mut index = Index::new();
    index.update(&builtin());
    index
}

#[test]
fn odd_queries_are_answered() {
    let searcher = index().searcher();
    let check = |query: &str| {
        let found = searcher.search(query, 5);
        assert!(found.hits.len() <= 5);
        assert!(
            found.hits.iter().all(|hit| hit.score.is_finite()),
            "{:?}",
            found.hits
        );
    };
    check("x");
    check("字");
    check(&"read the file ".repeat(36)[..500]);
    check(&"read the file ".repeat(7_200));
    check(&"ab".repeat(50_000));
    check(&"文件".repeat(17_000));
    check(&"e\u{301}".repeat(30_000));
    check("\u{0}\u{7}\u{1b}[31mread\u{202e} file\u{feff}");
    check("lire 文件 файл ファイル قراءة ملف");
    check("👩‍👩‍👧‍👦🏳️‍🌈");
    check("\u{fdfa}\u{fdfa}\u{fdfa}");
}

#[test]
fn an_empty_query_fits_nothing() {
    let searcher = index().searcher();
    for query in ["", "   ", "\n\t", "\u{200b}"] {
        let found = searcher.search(query, 5);
        assert!(found.nothing_fits, "{query:?}");
        assert!(found.hits.is_empty(), "{query:?}");
    }
}

#[test]
fn an_empty_index_fits_nothing() {
    let found = Index::new().searcher().search("read a file", 5);
    assert!(found.nothing_fits && found.hits.is_empty() && found.categories.is_empty());
}

#[test]
fn no_hits_where_none_are_asked_for() {
    assert!(index().searcher().search("read a file", 0).hits.is_empty());
}

#[test]
fn odd_tools_can_be_indexed() {
    let mut index = index();
    let long = "word ".repeat(200_000);
    let docs = [
        ToolDoc {
            id: "empty".to_owned(),
            ..ToolDoc::default()
        },
        ToolDoc {
            id: "long".to_owned(),
            description: long.clone(),
            name: long,
            ..ToolDoc::default()
        },
        ToolDoc {
            id: "many".to_owned(),
            parameters: (0..2_000)
                .map(|n| (format!("p{n}"), "text".to_owned()))
                .collect(),
            aliases: vec![String::new(), "\u{0}".to_owned()],
            ..ToolDoc::default()
        },
    ];
    for doc in &docs {
        assert!(index.add(doc));
    }
    let found = index
        .searcher()
        .search("prochitat' fayl / read the file", 3);
    assert!(
        found.hits.iter().any(|hit| hit.id == "file.read"),
        "{:?}",
        found.hits
    );
    assert_eq!(
        Index::from_bytes(&index.to_bytes()).map(|index| index.len()),
        Ok(index.len())
    );
}
