//! What the test command needs beyond a Rust toolchain, and how it gets it by itself. Package
//! managers ask the registry that the machine is set up with; no host is named here.

use std::process::Command;

use anyhow::{Result, bail};

/// A program that some step runs.
#[derive(Debug)]
pub(crate) struct Need {
    /// Succeeds where the program is there
    probe: &'static [&'static str],
    /// Puts it there
    install: &'static [&'static str],
}

/// Packages from apt, npm and pip join here with the capability that needs them.
pub(crate) const NEEDS: &[Need] = &[
    Need {
        probe: &["git", "--version"],
        install: &["apt-get", "install", "--yes", "git"],
    },
    Need {
        probe: &["strace", "--version"],
        install: &["apt-get", "install", "--yes", "strace"],
    },
    Need {
        probe: &["cargo", "fmt", "--version"],
        install: &["rustup", "component", "add", "rustfmt"],
    },
    Need {
        probe: &["cargo", "clippy", "--version"],
        install: &["rustup", "component", "add", "clippy"],
    },
    Need {
        probe: &["npm", "--version"],
        install: &["apt-get", "install", "--yes", "npm"],
    },
    Need {
        probe: &["python3", "-c", "import venv, ensurepip"],
        install: &["apt-get", "install", "--yes", "python3-venv"],
    },
];

/// Install what is missing.
pub(crate) fn provide(needs: &[Need]) -> Result<()> {
    for need in needs {
        if succeeds(need.probe) {
            continue;
        }
        println!("installing: {}", need.install.join(" "));
        if !succeeds(need.install) || !succeeds(need.probe) {
            bail!(
                "`{}` does not run and `{}` did not help",
                need.probe.join(" "),
                need.install.join(" ")
            );
        }
    }
    Ok(())
}

fn succeeds(command: &[&str]) -> bool {
    let Some((program, arguments)) = command.split_first() else {
        return false;
    };
    Command::new(program)
        .args(arguments)
        .output()
        .is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_that_cannot_be_met_is_an_error() {
        let met = Need {
            probe: &["true"],
            install: &["false"],
        };
        assert!(provide(&[met]).is_ok());
        let unmet = Need {
            probe: &["false"],
            install: &["true"],
        };
        let error = provide(&[unmet]).unwrap_err().to_string();
        assert_eq!(error, "`false` does not run and `true` did not help");
    }
}
