//! Judging the search: recall, nDCG, abstention and latency on sets of queries whose right tools
//! are known, beside keywords alone, vectors alone and the older formula.
//!
//! Reads files and clocks, so it is behind the feature `eval`; the search itself does neither.

mod abstain;
mod cost;
mod learn;
mod measure;
mod report;
mod sets;

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use serde::Serialize;

pub use abstain::Abstention;
pub use cost::Cost;

use crate::fit::FEATURES;
use crate::query::Lexicon;
use crate::seed::Scorer;
use learn::Sample;
use measure::{Tally, timed};
use sets::{Asked, Set};

const SCORERS: [(Scorer, &str); 4] = [
    (Scorer::Haft, "haft"),
    (Scorer::Keywords, "bm25"),
    (Scorer::Vectors, "vectors"),
    (Scorer::Seed, "seed"),
];
const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// Queries asked of a catalogue of a given size.
const CURVE_QUERIES: usize = 500;

/// Why an evaluation could not run.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot parse `{}`, line {line}: {source}", path.display())]
    Parse {
        path: PathBuf,
        line: usize,
        source: serde_json::Error,
    },
    #[error("a query of `{set}` asks for a tool that is not there: `{id}`")]
    UnknownTool { set: String, id: String },
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// What to evaluate.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Folders to judge in place of the project's sets
    pub data: Vec<PathBuf>,
    /// Where to write each query's ten best ids
    pub dump: Option<PathBuf>,
}

/// Figures of one set, group and scorer; shares in percent, times in microseconds of CPU.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub set: String,
    pub group: String,
    pub scorer: &'static str,
    pub tools: usize,
    pub queries: usize,
    pub recall_1: f64,
    pub recall_3: f64,
    pub recall_5: f64,
    pub recall_10: f64,
    pub ndcg_10: f64,
    pub hit_1: f64,
    pub p50_us: f64,
    pub p99_us: f64,
}

/// nDCG at 10 of one set and group with weights fitted on the other sets.
#[derive(Debug, Clone, Serialize)]
pub struct LeftOut {
    pub set: String,
    pub group: String,
    pub ndcg_10: f64,
}

/// Everything an evaluation found.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub rows: Vec<Row>,
    /// The same by size of the catalogue
    pub curves: Vec<Row>,
    pub left_out: Vec<LeftOut>,
    /// The same without synonyms and dictionary, which were written with the sets in view
    pub left_out_bare: Vec<LeftOut>,
    pub abstention: Vec<Abstention>,
    /// Of an index of all sets' tools, where they are enough
    pub cost: Option<Cost>,
    /// CPU time of the first embedding in this process, microseconds
    pub first_embedding_us: f64,
    /// Weights as fitted on all sets, for `fit.rs`
    pub fitted: Fitted,
}

/// What the sets teach, for taking over into the source.
#[derive(Debug, Clone, Serialize)]
pub struct Fitted {
    pub weights: Vec<f32>,
    pub fit_weights: Vec<f32>,
    pub fit_threshold: f32,
}

/// Run the whole evaluation.
pub fn evaluate(options: &Options) -> Result<Report, EvalError> {
    let (_, first_embedding_us) =
        timed(|| crate::model::unit(&crate::model::pieces("first of all")));
    let sets = sets::read_all(&options.data)?;
    // Before the rest fills memory with what the index would then reuse.
    let cost = cost::measure(&sets::pooled(&sets, 0));
    let mut dump: Dump = match &options.dump {
        Some(path) => {
            let write = |source| EvalError::Write {
                path: path.clone(),
                source,
            };
            Some((
                BufWriter::new(File::create(path).map_err(write)?),
                path.clone(),
            ))
        }
        None => None,
    };
    let rows = judge(&sets, &mut dump)?;
    let samples = |lexicon| -> Vec<Vec<Sample>> {
        let each = sets.iter().map(|set| learn::samples(set, lexicon));
        each.collect()
    };
    let (samples, bare) = (samples(Lexicon::Whole), samples(Lexicon::None));
    let cases: Vec<abstain::Cases> = (0..sets.len())
        .map(|at| {
            let other = sets.get((at + 1) % sets.len()).filter(|_| sets.len() > 1);
            abstain::cases(&sets[at], other)
        })
        .collect();
    let (fit_weights, fit_threshold) = abstain::fit(&cases.iter().collect::<Vec<_>>());
    Ok(Report {
        rows,
        curves: curves(&sets),
        left_out: left_out(&sets, &samples),
        left_out_bare: left_out(&sets, &bare),
        abstention: abstain::judge(&sets, &cases),
        cost,
        first_embedding_us,
        fitted: Fitted {
            weights: learn::fit(&learn::groups(&samples, None)).to_vec(),
            fit_weights: fit_weights.to_vec(),
            fit_threshold,
        },
    })
}

type Dump = Option<(BufWriter<File>, PathBuf)>;

/// Ask every query of its set, with every scorer.
fn judge(sets: &[Set], dump: &mut Dump) -> Result<Vec<Row>, EvalError> {
    let mut rows = Vec::new();
    for set in sets {
        for (scorer, name) in SCORERS {
            let mut groups: BTreeMap<String, Tally> = BTreeMap::new();
            let mut asked = HashSet::new();
            for query in &set.queries {
                let (ranked, micros) = timed(|| set.searcher.rank_by(scorer, &query.text, 10));
                let micros = asked.insert(&query.text).then_some(micros);
                for group in groups_of(query) {
                    groups
                        .entry(group)
                        .or_default()
                        .add(&ranked, &query.relevant, micros);
                }
                if let Some((file, path)) = dump {
                    write_line(file, set, name, query, &ranked).map_err(|source| {
                        EvalError::Write {
                            path: path.clone(),
                            source,
                        }
                    })?;
                }
            }
            let tools = set.docs.len();
            rows.extend(
                groups
                    .iter()
                    .map(|(group, tally)| row(&set.name, group, name, tools, tally)),
            );
        }
    }
    Ok(rows)
}

fn write_line(
    file: &mut impl Write,
    set: &Set,
    scorer: &str,
    query: &Asked,
    ranked: &[String],
) -> std::io::Result<()> {
    let line = serde_json::json!({
        "set": set.name, "scorer": scorer, "lang": query.language,
        "query": query.text, "relevant": query.relevant, "top": ranked,
    });
    writeln!(file, "{line}")
}

/// A query counts in English or in all others, and there in its language.
fn groups_of(query: &Asked) -> Vec<String> {
    if query.is_english() {
        vec!["en".to_owned()]
    } else {
        vec!["x".to_owned(), query.language.clone()]
    }
}

fn row(set: &str, group: &str, scorer: &'static str, tools: usize, tally: &Tally) -> Row {
    let [recall_1, recall_3, recall_5, recall_10] = tally.recall();
    Row {
        set: set.to_owned(),
        group: group.to_owned(),
        scorer,
        tools,
        queries: tally.queries,
        recall_1,
        recall_3,
        recall_5,
        recall_10,
        ndcg_10: tally.ndcg(),
        hit_1: tally.hit(),
        p50_us: tally.micros(0.5),
        p99_us: tally.micros(0.99),
    }
}

/// Each set's queries against catalogues of growing size: its own tools first, then distinct
/// tools of the other sets. Only queries whose tools are all there are asked.
fn curves(sets: &[Set]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, set) in sets.iter().enumerate() {
        let pool = sets::pooled(sets, at);
        for size in SIZES.into_iter().filter(|size| *size <= pool.len()) {
            let catalogue = &pool[..size];
            let ids: HashSet<&str> = catalogue.iter().map(|doc| doc.id.as_str()).collect();
            let queries: Vec<&Asked> = set
                .queries
                .iter()
                .filter(|query| query.relevant.iter().all(|id| ids.contains(id.as_str())))
                .collect();
            let step = (queries.len() / CURVE_QUERIES).max(1);
            let searcher = sets::index_of(catalogue).searcher();
            for (scorer, name) in SCORERS {
                let mut tally = Tally::default();
                let mut asked = HashSet::new();
                for query in queries.iter().step_by(step) {
                    let (ranked, micros) = timed(|| searcher.rank_by(scorer, &query.text, 10));
                    let micros = asked.insert(&query.text).then_some(micros);
                    tally.add(&ranked, &query.relevant, micros);
                }
                rows.push(row(&set.name, "all", name, size, &tally));
            }
        }
    }
    rows
}

/// Judge each set with weights fitted on the others.
fn left_out(sets: &[Set], samples: &[Vec<Sample>]) -> Vec<LeftOut> {
    if sets.len() < 2 {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (at, set) in sets.iter().enumerate() {
        let weights: [f32; FEATURES] = learn::fit(&learn::groups(samples, Some(at)));
        for (group, english) in [("en", true), ("x", false)] {
            let judged: Vec<f64> = samples[at]
                .iter()
                .filter(|sample| sample.english == english)
                .map(|sample| sample.ndcg(&weights))
                .collect();
            if !judged.is_empty() {
                all.push(LeftOut {
                    set: set.name.clone(),
                    group: group.to_owned(),
                    ndcg_10: 100.0 * judged.iter().sum::<f64>() / judged.len() as f64,
                });
            }
        }
    }
    all
}
