//! Crate arrows: a crate may use crates of lower layers only, as ARCHITECTURE.md tables them.

use crate::finding::Finding;
use crate::workspace::{Crate, Dependency, Workspace};

const FILE: &str = "ARCHITECTURE.md";
const TESTKIT: &str = "haft-testkit";

/// One row of the crate table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    /// None for crates that only development uses
    layer: Option<u32>,
    name: String,
    description: String,
    line: usize,
}

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let rows = crate_table(&workspace.architecture);
    let mut findings = Vec::new();
    for row in &rows {
        if workspace.find(&row.name).is_none() {
            findings.push(Finding::new(
                FILE,
                row.line,
                format!("crate in the table that does not exist: `{}`", row.name),
                "take the row out; a crate arrives with its capability",
            ));
        }
    }
    for one in &workspace.crates {
        let Some(row) = rows.iter().find(|row| row.name == one.name) else {
            findings.push(Finding::new(
                one.manifest_path(),
                1,
                format!("crate that is not in the table: `{}`", one.name),
                format!("add a row to the crate table of {FILE}"),
            ));
            continue;
        };
        if row.description != one.description {
            findings.push(Finding::new(
                one.manifest_path(),
                one.manifest_line("description"),
                format!("description differs from the table: `{}`", one.description),
                format!("write the same line here and in {FILE}:{}", row.line),
            ));
        }
        let wrong = one
            .dependencies
            .iter()
            .filter_map(|dependency| wrong_arrow(one, row, dependency, &rows));
        findings.extend(wrong);
    }
    findings
}

fn wrong_arrow(one: &Crate, row: &Row, dependency: &Dependency, rows: &[Row]) -> Option<Finding> {
    let target = rows.iter().find(|row| row.name == dependency.name)?;
    let allowed = match (row.layer, target.layer) {
        _ if dependency.for_tests && target.name == TESTKIT => true,
        (Some(from), Some(to)) => to < from,
        (None, Some(_)) => true,
        (_, None) => false,
    };
    (!allowed).then(|| {
        Finding::new(
            one.manifest_path(),
            one.manifest_line(&dependency.name),
            format!(
                "`{}` (layer {}) may not use `{}` (layer {})",
                row.name,
                layer_name(row.layer),
                target.name,
                layer_name(target.layer)
            ),
            "use crates of lower layers only; where something low must start something high, \
             let the binary hand it a function",
        )
    })
}

fn layer_name(layer: Option<u32>) -> String {
    layer.map_or_else(|| "dev".to_owned(), |layer| layer.to_string())
}

/// Rows such as "| 2 | `haft-tools` | The leaves |".
fn crate_table(architecture: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, line) in architecture.lines().enumerate() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", layer, name, description, ""] = cells[..] else {
            continue;
        };
        let layer = match layer {
            "dev" => None,
            number => match number.parse() {
                Ok(layer) => Some(layer),
                Err(_) => continue,
            },
        };
        rows.push(Row {
            layer,
            name: name.trim_matches('`').to_owned(),
            description: description.to_owned(),
            line: at + 1,
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::fixture::{a_crate, lines, of};

    const TABLE: &str = "\
| layer | crate | one line |
|---|---|---|
| 2 | `top` | what top is |
| 1 | `left` | what left is |
| 1 | `right` | what right is |
| 0 | `base` | what base is |
| dev | `haft-testkit` | what haft-testkit is |
";

    fn check_arrows(changed: Crate, expected: &[&str]) {
        let mut crates = vec![
            a_crate("top", &["left", "base", "serde"], &[]),
            a_crate("left", &["base", "dev:haft-testkit"], &[]),
            a_crate("right", &["base"], &[]),
            a_crate("base", &[], &[]),
            a_crate("haft-testkit", &["top"], &[]),
        ];
        crates.retain(|one| one.name != changed.name);
        crates.push(changed);
        let mut workspace = of(crates);
        workspace.architecture = TABLE.to_owned();
        assert_eq!(lines(&check(&workspace)), expected);
    }

    const CURE: &str = "use crates of lower layers only; where something low must start \
                        something high, let the binary hand it a function";

    #[test]
    fn a_whole_house_has_no_findings() {
        check_arrows(a_crate("base", &["serde"], &[]), &[]);
    }

    #[test]
    fn arrows_upward_and_sideways_are_found() {
        let up = format!(
            "crates/base/Cargo.toml:2: `base` (layer 0) may not use `top` (layer 2); {CURE}"
        );
        check_arrows(a_crate("base", &["top"], &[]), &[&up]);
        let side = format!(
            "crates/left/Cargo.toml:2: `left` (layer 1) may not use `right` (layer 1); {CURE}"
        );
        check_arrows(a_crate("left", &["right"], &[]), &[&side]);
        let dev = format!(
            "crates/left/Cargo.toml:2: `left` (layer 1) may not use `haft-testkit` (layer dev); {CURE}"
        );
        check_arrows(a_crate("left", &["haft-testkit"], &[]), &[&dev]);
    }

    #[test]
    fn the_table_and_the_crates_agree() {
        check_arrows(
            a_crate("extra", &[], &[]),
            &[
                "crates/extra/Cargo.toml:1: crate that is not in the table: `extra`; \
               add a row to the crate table of ARCHITECTURE.md",
            ],
        );
        let mut other = a_crate("base", &[], &[]);
        other.description = "something else".into();
        check_arrows(
            other,
            &[
                "crates/base/Cargo.toml:1: description differs from the table: `something else`; \
               write the same line here and in ARCHITECTURE.md:6",
            ],
        );
        let mut workspace = of(Vec::new());
        workspace.architecture = "| 1 | `gone` | x |".into();
        assert_eq!(
            lines(&check(&workspace)),
            [
                "ARCHITECTURE.md:1: crate in the table that does not exist: `gone`; \
              take the row out; a crate arrives with its capability"
            ]
        );
    }
}
