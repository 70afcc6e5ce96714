//! Searches as a person makes them: cut by default, whole where room was made.

use std::collections::BTreeSet;

use crate::place::Place;

fn lines(place: &Place, args: &[&str]) -> Vec<String> {
    let mut words = vec!["call", "file.grep"];
    words.extend(args);
    let output = place.haft().args(words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_search_prints_everything_where_the_budget_allows_it() {
    let place = Place::new();
    let token = "ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R";
    for n in 0..30 {
        place.file(&format!("{n:02}.txt"), "needle here\nnothing\n".repeat(100));
    }
    place.file("keys.txt", format!("needle {token}\n"));
    let short = lines(&place, &[r#"{"pattern": "needle"}"#]);
    assert_eq!(short.len(), 101);
    assert!(short[100].starts_with("[only the first 100"));

    let all = r#"{"pattern": "needle", "limit": 1000000}"#;
    let whole = lines(&place, &[all, "--budget", "10000000"]);
    assert_eq!(whole.last().unwrap(), "[3001 matches]");
    let mut expected: BTreeSet<String> = (0..30)
        .flat_map(|file| (0..100).map(move |n| (file, 2 * n + 1)))
        .map(|(file, line)| format!("{file:02}.txt:{line}: needle here"))
        .collect();
    expected.insert("keys.txt:1: needle ***6q7R".to_owned());
    let found: BTreeSet<String> = whole[..whole.len() - 1].iter().cloned().collect();
    assert_eq!(found, expected);

    // Without the room, all of it stays behind a handle.
    let kept = lines(&place, &[all]);
    assert!(kept.len() <= 1_003, "{}", kept.len());
    assert!(kept.iter().any(|line| line.contains("r_")), "{kept:?}");
}
