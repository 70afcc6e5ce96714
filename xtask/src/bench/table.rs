//! Results for people and for programs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::measure::{RowResult, Spread};

pub(crate) fn text(results: &[RowResult]) -> String {
    let mut rows = vec![vec![
        "row".to_owned(),
        "side".to_owned(),
        "min".to_owned(),
        "median".to_owned(),
        "cpu min".to_owned(),
        "cpu median".to_owned(),
        "ratio".to_owned(),
        "cpu ratio".to_owned(),
    ]];
    for result in results {
        let shown = match result.bar.bytes {
            Some(_) => megabytes,
            None => shown,
        };
        for side in &result.sides {
            let cpu = |pick: fn(Spread) -> f64| {
                side.cpu
                    .map_or_else(|| "-".to_owned(), |cpu| shown(pick(cpu)))
            };
            rows.push(vec![
                result.name.clone(),
                side.name.clone(),
                shown(side.wall.min),
                shown(side.wall.median),
                cpu(|spread| spread.min),
                cpu(|spread| spread.median),
                format!("{:.2} x {}", result.ratio(side), result.peer),
                match result.cpu_ratio(side) {
                    ratio if ratio.is_nan() => "-".to_owned(),
                    ratio => format!("{ratio:.2}"),
                },
            ]);
        }
    }
    let mut out = aligned(&rows);
    let versions: BTreeSet<(&str, &str)> = results
        .iter()
        .flat_map(|result| &result.sides)
        .map(|side| (side.name.as_str(), side.version.as_str()))
        .collect();
    out.push('\n');
    for (name, version) in versions {
        out.push_str(&format!("{name}: {version}\n"));
    }
    for result in results {
        for missed in result.missed() {
            out.push_str(&format!("MISSED {}: {missed}\n", result.name));
        }
    }
    out
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns)
        .map(|i| {
            rows.iter()
                .map(|row| row[i].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (i, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            // Writing into a string does not fail.
            let _ = if i < 2 {
                write!(line, "{cell:<width$}  ")
            } else {
                write!(line, "{cell:>width$}  ")
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Nanoseconds in the unit that fits.
fn shown(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} us", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}

pub(crate) fn json(results: &[RowResult], rounds: usize) -> Value {
    let spread = |spread: Spread| json!({"min": spread.min, "median": spread.median});
    let rows: Vec<Value> = results
        .iter()
        .map(|result| {
            let sides: Vec<Value> = result
                .sides
                .iter()
                .map(|side| {
                    json!({
                        "name": side.name,
                        "version": side.version,
                        "wall_ns": spread(side.wall),
                        "cpu_ns": side.cpu.map(spread),
                        "ratio": result.ratio(side),
                        "cpu_ratio": result.cpu_ratio(side),
                    })
                })
                .collect();
            json!({
                "name": result.name,
                "peer": result.peer,
                "sides": sides,
                "bar": {
                    "ratio": result.bar.ratio,
                    "cpu_ratio": result.bar.cpu_ratio,
                    "wall_ns": result.bar.wall_ns,
                    "bytes": result.bar.bytes,
                },
                "missed": result.missed(),
            })
        })
        .collect();
    json!({"rounds": rounds, "rows": rows})
}

#[cfg(test)]
mod tests {
    use super::super::measure::Bar;
    use super::super::measure::tests::measured;
    use super::*;

    #[test]
    fn a_row_is_shown_whole() {
        let bar = Bar {
            ratio: Some(1.0),
            wall_ns: None,
            ..Bar::default()
        };
        let (result, _) = measured(&[0.0, 3000.0], &[0.0, 2000.0], bar);
        let results = [result];
        let expected = "\
row  side      min   median  cpu min  cpu median     ratio  cpu ratio
row  A     3.00 us  3.00 us     5 ns        5 ns  1.50 x B          -
row  B     2.00 us  2.00 us        -           -  1.00 x B          -

A: 1
B: 1
MISSED row: 1.50 x B, above 1.00
";
        assert_eq!(text(&results), expected);
        let json = json(&results, 1);
        assert_eq!(json["rows"][0]["sides"][0]["ratio"], 1.5);
        assert_eq!(json["rows"][0]["missed"][0], "1.50 x B, above 1.00");
        assert_eq!(json["rows"][0]["sides"][1]["cpu_ns"], Value::Null);
    }
}
