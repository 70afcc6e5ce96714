//! Turn the list of pieces (`piece`, tab, log probability; line number = id) into the two files
//! the binary holds: `pieces.trie` and `scores.f32`.
//!
//!     cargo run -p haft-search --example pack_model -- data/model/pieces.tsv.gz data/model

use std::error::Error;
use std::fs;
use std::io::Read;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(list), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("give the list of pieces and the folder to write to".into());
    };
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(list)?).read_to_string(&mut text)?;
    let (trie, scores) = pack(&text)?;
    fs::write(folder.join("pieces.trie"), trie)?;
    fs::write(folder.join("scores.f32"), scores)?;
    Ok(())
}

fn pack(text: &str) -> Result<(Vec<u8>, Vec<u8>), Box<dyn Error>> {
    let mut pieces = Vec::new();
    let mut scores = Vec::new();
    for (line, id) in text.lines().zip(0u16..) {
        let (piece, score) = line.split_once('\t').ok_or("a line without a tab")?;
        scores.extend(score.parse::<f32>()?.to_le_bytes());
        // The first three are marks, never found in a text.
        if id >= 3 {
            pieces.push((piece.as_bytes(), id));
        }
    }
    Ok((haft_search::model::trie::pack(&pieces), scores))
}
