//! The report in words: the tables of `docs/search.md`.

use std::fmt::Write;

use super::{Report, Row, SCORERS};

impl Report {
    /// The report as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The report as Markdown tables.
    pub fn to_markdown(&self) -> String {
        let mut out = String::new();
        self.quality(&mut out);
        self.details(&mut out);
        self.languages(&mut out);
        self.sizes(&mut out);
        self.abstaining(&mut out);
        self.costs(&mut out);
        out
    }

    /// The set and group of each column: English and the other languages as a whole.
    fn columns(&self) -> Vec<(&str, &str)> {
        self.rows
            .iter()
            .filter(|row| row.scorer == "haft" && matches!(row.group.as_str(), "en" | "x"))
            .map(|row| (row.set.as_str(), row.group.as_str()))
            .collect()
    }

    fn quality(&self, out: &mut String) {
        let columns = self.columns();
        let names: Vec<String> = columns
            .iter()
            .map(|(set, group)| format!("{set} {group}"))
            .collect();
        line(
            out,
            format_args!("nDCG@10\n\n| scorer | {} | mean |", names.join(" | ")),
        );
        line(
            out,
            format_args!("|---{}|", "|---".repeat(columns.len() + 1)),
        );
        for (_, scorer) in SCORERS {
            let figures = columns.iter().filter_map(|(set, group)| {
                let row = self
                    .rows
                    .iter()
                    .find(|row| row.scorer == scorer && row.set == *set && row.group == *group)?;
                Some(row.ndcg_10)
            });
            figures_line(out, scorer, figures.collect());
        }
        for (name, left_out) in [
            ("haft, judged set left out", &self.left_out),
            ("the same, no synonyms or dictionary", &self.left_out_bare),
        ] {
            if !left_out.is_empty() {
                let figures = left_out.iter().map(|one| one.ndcg_10).collect();
                figures_line(out, name, figures);
            }
        }
    }

    fn details(&self, out: &mut String) {
        line(
            out,
            format_args!(
                "\n| set | group | scorer | tools | queries | recall@1 | @3 | @5 | @10 | nDCG@10 | hit@1 | p50 µs | p99 µs |"
            ),
        );
        line(out, format_args!("|---{}|", "|---".repeat(12)));
        for row in self
            .rows
            .iter()
            .filter(|row| matches!(row.group.as_str(), "en" | "x"))
        {
            line(
                out,
                format_args!("| {} | {} {}", row.set, row.group, cells(row)),
            );
        }
    }

    fn languages(&self, out: &mut String) {
        let own = |row: &&Row| row.scorer == "haft" && row.group != "x";
        let sets: Vec<&str> = {
            let mut sets: Vec<&str> = self.rows.iter().map(|row| row.set.as_str()).collect();
            sets.dedup();
            sets
        };
        for set in sets {
            let rows: Vec<&Row> = self
                .rows
                .iter()
                .filter(own)
                .filter(|row| row.set == set)
                .collect();
            if rows.len() < 2 {
                continue;
            }
            let good = rows.iter().filter(|row| row.recall_5 >= 65.0).count();
            line(
                out,
                format_args!(
                    "\n{set} by language: recall@5 (queries); {good} of {} at 65 or above\n",
                    rows.len()
                ),
            );
            let cells: Vec<String> = rows
                .iter()
                .map(|row| format!("{} {:.0} ({})", row.group, row.recall_5, row.queries))
                .collect();
            line(out, format_args!("{}", cells.join(", ")));
        }
    }

    fn sizes(&self, out: &mut String) {
        line(
            out,
            format_args!(
                "\nBy size of the catalogue, distinct tools\n\n| set | scorer | tools | queries | recall@1 | @3 | @5 | @10 | nDCG@10 | hit@1 | p50 µs | p99 µs |"
            ),
        );
        line(out, format_args!("|---{}|", "|---".repeat(11)));
        for row in &self.curves {
            line(out, format_args!("| {} {}", row.set, cells(row)));
        }
    }

    fn costs(&self, out: &mut String) {
        let Some(cost) = &self.cost else { return };
        line(
            out,
            format_args!(
                "\nAn index of {} tools\n\n| what | figure |\n|---|---|",
                cost.tools
            ),
        );
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        line(
            out,
            format_args!("| build, embedding included | {:.0} ms |", cost.build_ms),
        );
        line(
            out,
            format_args!("| add 200 more | {:.1} ms |", cost.add_200_ms),
        );
        line(
            out,
            format_args!("| make a searcher | {:.1} ms |", cost.view_ms),
        );
        line(
            out,
            format_args!(
                "| write, read | {:.1} ms, {:.1} ms |",
                cost.write_ms, cost.read_ms
            ),
        );
        line(
            out,
            format_args!("| written | {:.1} MB |", megabytes(cost.bytes as u64)),
        );
        if let Some(bytes) = cost.memory_bytes {
            line(out, format_args!("| memory | {:.1} MB |", megabytes(bytes)));
        }
        line(
            out,
            format_args!(
                "| first embedding in a process | {:.0} µs |",
                self.first_embedding_us
            ),
        );
    }

    fn abstaining(&self, out: &mut String) {
        line(
            out,
            format_args!(
                "\nSaying \"nothing fits\", percent; in brackets with the judged set left out\n"
            ),
        );
        line(
            out,
            format_args!(
                "| set | answerable refused | own tools removed, caught | another set's catalogue, caught | of 40 tools, answerable refused | of 40 tools, caught |"
            ),
        );
        line(out, format_args!("|---|---|---|---|---|---|"));
        for row in &self.abstention {
            let left_out = row.left_out.unwrap_or([f64::NAN; 5]);
            let cells: Vec<String> = row
                .figures()
                .iter()
                .zip(left_out)
                .map(|(have, left_out)| format!("{have:.1} ({left_out:.1})"))
                .collect();
            line(out, format_args!("| {} | {} |", row.set, cells.join(" | ")));
        }
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}

fn figures_line(out: &mut String, name: &str, figures: Vec<f64>) {
    let mean = figures.iter().sum::<f64>() / figures.len().max(1) as f64;
    let cells: Vec<String> = figures
        .iter()
        .chain([&mean])
        .map(|figure| format!("{figure:.1}"))
        .collect();
    line(out, format_args!("| {name} | {} |", cells.join(" | ")));
}

fn cells(row: &Row) -> String {
    format!(
        "| {} | {} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} | {:.0} |",
        row.scorer,
        row.tools,
        row.queries,
        row.recall_1,
        row.recall_3,
        row.recall_5,
        row.recall_10,
        row.ndcg_10,
        row.hit_1,
        row.p50_us,
        row.p99_us
    )
}
