//! The tokenizer and the table against the texts that came with the model.

use std::io::Read;

use haft_search::model;

#[derive(serde::Deserialize)]
struct Vector {
    text: String,
    ids: Vec<u16>,
    unit8: Vec<f32>,
}

#[test]
fn all_test_vectors_are_reproduced() {
    let packed = include_bytes!("data/vectors.jsonl.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..])
        .read_to_string(&mut text)
        .unwrap();
    let mut count = 0;
    for line in text.lines() {
        let want: Vector = serde_json::from_str(line).unwrap();
        let ids = model::pieces(&want.text);
        assert_eq!(ids, want.ids, "pieces of {:?}", want.text);
        let unit = model::unit(&ids);
        for (have, want_value) in unit.iter().zip(&want.unit8) {
            assert!(
                (have - want_value).abs() < 6e-4,
                "vector of {:?}: {have} {want_value}",
                want.text
            );
        }
        count += 1;
    }
    assert_eq!(count, 757);
}

#[test]
fn the_packed_files_come_from_the_list_of_pieces() {
    let packed = include_bytes!("../../data/model/pieces.tsv.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..])
        .read_to_string(&mut text)
        .unwrap();
    let trie = model::trie::Trie::new(include_bytes!("../../data/model/pieces.trie"));
    let mut scores = Vec::new();
    for (line, id) in text.lines().zip(0u16..) {
        let (piece, score) = line.split_once('\t').unwrap();
        scores.extend(score.parse::<f32>().unwrap().to_le_bytes());
        if id >= 3 {
            let found = trie.prefixes(piece.as_bytes()).last();
            assert_eq!(found, Some((piece.len(), id)), "{piece:?}");
        }
    }
    assert!(scores == include_bytes!("../../data/model/scores.f32"));
}

#[test]
fn the_model_adds_at_most_eleven_megabytes() {
    let sizes = [
        include_bytes!("../../data/model/table.i4").len(),
        include_bytes!("../../data/model/scale.f32").len(),
        include_bytes!("../../data/model/scores.f32").len(),
        include_bytes!("../../data/model/pieces.trie").len(),
    ];
    let sum: usize = sizes.iter().sum();
    assert!(sum <= 11_000_000, "{sum}");
}
