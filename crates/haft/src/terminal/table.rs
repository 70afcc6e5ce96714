//! Tables: framed by space, wrapped to the terminal, plain columns when piped.

use std::io::IsTerminal;

use comfy_table::{ContentArrangement, Table, presets};

/// Columns below which cells would be wrapped letter by letter.
const NARROWEST: u16 = 40;

pub(crate) fn print(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    // A terminal that tells no width, or hardly any, wraps by itself.
    if std::io::stdout().is_terminal() && table.width().is_some_and(|width| width >= NARROWEST) {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    if head.iter().any(|title| !title.is_empty()) {
        table.set_header(head.iter().map(|title| title.to_uppercase()));
    }
    let mut any = false;
    for row in rows {
        any = true;
        table.add_row(row);
    }
    if any {
        let text = table.to_string();
        let lines: Vec<&str> = text
            .lines()
            .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end())
            .collect();
        super::print::line(&lines.join("\n"));
    }
}
