//! `docs/cli.md`: the help of every command, found by following the list of commands in the help.

use std::fmt::Write as _;

use anyhow::Result;

/// The help of one command: the words after `haft`, without `--help`.
type Help<'a> = dyn FnMut(&[&str]) -> Result<String> + 'a;

pub(crate) fn page(help: &mut Help<'_>) -> Result<String> {
    let mut page = String::from(
        "# Command line\n\nWritten by `cargo xtask docs` from `haft --help`; do not edit.\n",
    );
    one_command(&mut page, help, &[])?;
    Ok(page)
}

fn one_command(page: &mut String, help: &mut Help<'_>, command: &[&str]) -> Result<()> {
    let said = help(command)?;
    let lines: Vec<&str> = said.trim().lines().map(str::trim_end).collect();
    let whole = [&["haft"], command].concat().join(" ");
    write!(
        page,
        "\n## `{whole}`\n\n```text\n{}\n```\n",
        lines.join("\n")
    )?;
    for name in subcommands(&said) {
        one_command(page, help, &[command, &[name]].concat())?;
    }
    Ok(())
}

/// Names under "Commands:"; a wrapped description is indented further than a name.
fn subcommands(help: &str) -> Vec<&str> {
    help.lines()
        .skip_while(|line| line.trim_end() != "Commands:")
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_followed() {
        let mut asked = Vec::new();
        let page = page(&mut |command| {
            asked.push(command.join(" "));
            Ok(match command {
                [] => "haft\n\nCommands:\n  call    Call one\n            and wait  \n  config  Look\n  help    Say\n\nOptions:\n  -h\n",
                ["config"] => "Commands:\n  show  Show\n",
                _ => "Usage: x",
            }
            .to_owned())
        })
        .unwrap();
        assert_eq!(asked, ["", "call", "config", "config show"]);
        assert!(
            page.contains("## `haft config show`\n\n```text\nUsage: x\n```\n"),
            "{page}"
        );
    }
}
