//! Long files and functions need a stated reason: a comment line `// Long because …` at the head
//! of the file, or right above or inside the function. A pure list states it the same way.

use crate::finding::Finding;
use crate::source::{Function, Source};
use crate::workspace::Workspace;

const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 70;
const REASON: &str = "// Long because ";

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    workspace
        .crates
        .iter()
        .flat_map(|one| one.shipped().chain(&one.around))
        .flat_map(long_parts)
        .collect()
}

fn long_parts(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    // What stands under `tests/` is a test as a whole.
    if source.path.contains("/tests/") {
        return findings;
    }
    let lines: Vec<&str> = source.text.lines().collect();
    let body = source.body_lines();
    if body > FILE_LINES
        && !lines
            .iter()
            .take_while(|line| is_head(line))
            .any(|l| is_reason(l))
    {
        findings.push(Finding::new(
            &source.path,
            1,
            format!("file body of {body} lines, above {FILE_LINES}"),
            "split it by purpose, or say `// Long because …` at its head",
        ));
    }
    for function in source.functions() {
        if function.body_lines > FUNCTION_LINES && !has_reason(&lines, &function) {
            findings.push(Finding::new(
                &source.path,
                function.first_line,
                format!(
                    "function `{}` of {} lines, above {FUNCTION_LINES}",
                    function.name, function.body_lines
                ),
                "split it, or say `// Long because …` above it",
            ));
        }
    }
    findings
}

fn is_reason(line: &str) -> bool {
    line.trim_start()
        .strip_prefix(REASON)
        .is_some_and(|reason| !reason.trim().is_empty())
}

/// Lines before the first code.
fn is_head(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with("//") || line.starts_with("#!")
}

fn has_reason(lines: &[&str], function: &Function) -> bool {
    let above = lines[..function.first_line - 1]
        .iter()
        .rev()
        .take_while(|line| {
            let line = line.trim_start();
            line.starts_with("//") || line.starts_with("#[")
        });
    let inside = &lines[function.first_line - 1..function.last_line.min(lines.len())];
    above.chain(inside).any(|line| is_reason(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::fixture::source;

    fn check_long(text: &str, expected: &[&str]) {
        let found: Vec<String> = long_parts(&source("a.rs", text))
            .iter()
            .map(|finding| format!("{} {}", finding.line, finding.what))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn long_functions_need_a_reason() {
        let function = |n: usize| format!("fn f() {{\n{}}}\n", "    g();\n".repeat(n));
        check_long(&function(70), &[]);
        check_long(&function(71), &["1 function `f` of 71 lines, above 70"]);
        check_long(
            &format!(
                "// Long because it is one list\n#[inline]\n{}",
                function(71)
            ),
            &[],
        );
        check_long(
            &format!("// Long because\n{}", function(71)),
            &["2 function `f` of 71 lines, above 70"],
        );
        check_long(
            &format!("#[cfg(test)]\nmod tests {{\n{}}}", function(90)),
            &[],
        );
    }

    #[test]
    fn long_files_need_a_reason() {
        let items = |n: usize| "const _: () = ();\n".repeat(n);
        check_long(&items(500), &[]);
        check_long(&items(501), &["1 file body of 501 lines, above 500"]);
        check_long(
            &format!("//! A list.\n\n// Long because a list\n{}", items(501)),
            &[],
        );
        check_long(
            &format!("{}#[cfg(test)]\nmod t {{\n{}}}", items(400), items(200)),
            &[],
        );
    }
}
