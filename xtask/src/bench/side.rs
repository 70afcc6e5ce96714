//! One side of a comparison: a program that stays alive and runs a round when it is told to, so
//! that start-up is not measured and rounds can take turns. The lines are in xtask/bench/README.md.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::Bench;
use super::measure::Sample;
use super::peers::output;
use crate::dist;

pub(crate) trait Side {
    fn name(&self) -> &str;

    fn version(&self) -> &str;

    fn round(&mut self) -> Result<Sample>;
}

/// A program that answers lines. Several rows may put different lines to it.
pub(crate) struct Program {
    name: String,
    version: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    pub(crate) fn start(
        name: &str,
        version: &str,
        mut command: Command,
    ) -> Result<Rc<RefCell<Self>>> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{name}`"))?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("its output is not there")?;
        Ok(Rc::new(RefCell::new(Program {
            name: name.to_owned(),
            version: version.to_owned(),
            child,
            input,
            output: BufReader::new(output),
        })))
    }

    /// One of our own examples, as it is shipped.
    pub(crate) fn example(bench: &Bench, package: &str, name: &str) -> Result<Rc<RefCell<Self>>> {
        let program = build_example(bench, package, name)?;
        Program::start("haft", &our_version()?, Command::new(program))
    }

    fn ask(&mut self, line: &str) -> Result<Sample> {
        let answer = self.answer(line)?;
        let wall_ns = answer["ns_per_call"]
            .as_f64()
            .or_else(|| answer["bytes"].as_f64())
            .with_context(|| format!("`{}` gave no `ns_per_call`: {answer}", self.name))?;
        Ok(Sample {
            wall_ns,
            cpu_ns: answer["cpu_ns_per_call"].as_f64(),
        })
    }

    /// Peak of its resident memory in KB, where it can tell.
    pub(crate) fn peak(&mut self) -> Result<u64> {
        let answer = self.answer("memory")?;
        answer["peak_kb"]
            .as_u64()
            .with_context(|| format!("`{}` gave no `peak_kb`: {answer}", self.name))
    }

    pub(crate) fn answer(&mut self, line: &str) -> Result<Value> {
        let input = self.input.as_mut().context("its input is closed")?;
        writeln!(input, "{line}").with_context(|| format!("`{}` does not listen", self.name))?;
        input.flush()?;
        let mut answer = String::new();
        if self.output.read_line(&mut answer)? == 0 {
            bail!("`{}` ended instead of answering `{line}`", self.name);
        }
        serde_json::from_str(&answer)
            .with_context(|| format!("`{}` did not answer with JSON: {answer}", self.name))
    }
}

/// Build an example of ours as haft is shipped; the program.
pub(crate) fn build_example(bench: &Bench, package: &str, name: &str) -> Result<PathBuf> {
    dist::build_part(&bench.root, &["-p", package, "--example", name])?;
    Ok(bench.target.join("dist/examples").join(name))
}

/// Build haft as it is shipped; the program.
pub(crate) fn build_haft(bench: &Bench) -> Result<PathBuf> {
    dist::build(&bench.root, &bench.target)
}

/// The commit that is measured.
pub(crate) fn our_version() -> Result<String> {
    output(Command::new("git").args(["describe", "--always", "--dirty"]))
}

/// A closed input ends the program by the protocol; waiting for it leaves no zombie.
impl Drop for Program {
    fn drop(&mut self) {
        self.input.take();
        let _ = self.child.wait();
    }
}

/// One line put to a program, round after round.
pub(crate) struct Ask {
    program: Rc<RefCell<Program>>,
    line: String,
    name: String,
    version: String,
}

impl Ask {
    pub(crate) fn side(program: &Rc<RefCell<Program>>, line: &str) -> Box<dyn Side> {
        let name = program.borrow().name.clone();
        Ask::named(program, line, &name)
    }

    /// A line whose answer is another side than the program itself, such as a floor it measures.
    pub(crate) fn named(program: &Rc<RefCell<Program>>, line: &str, name: &str) -> Box<dyn Side> {
        Box::new(Ask {
            program: program.clone(),
            line: line.to_owned(),
            name: name.to_owned(),
            version: program.borrow().version.clone(),
        })
    }
}

impl Side for Ask {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn round(&mut self) -> Result<Sample> {
        self.program.borrow_mut().ask(&self.line)
    }
}

/// A side that is made when its row begins: what is dear to have around, or may not come about.
pub(crate) struct Late<F> {
    name: String,
    version: String,
    make: F,
    made: Option<Box<dyn Side>>,
}

impl<F: FnMut() -> Result<Box<dyn Side>> + 'static> Late<F> {
    pub(crate) fn side(name: &str, version: &str, make: F) -> Box<dyn Side> {
        Box::new(Late {
            name: name.to_owned(),
            version: version.to_owned(),
            make,
            made: None,
        })
    }
}

impl<F: FnMut() -> Result<Box<dyn Side>>> Side for Late<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn round(&mut self) -> Result<Sample> {
        let made = match &mut self.made {
            Some(made) => made,
            none => none.insert((self.make)()?),
        };
        made.round()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Rc<RefCell<Program>> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Program::start("shell", "1", command).unwrap()
    }

    #[test]
    fn a_program_answers_line_by_line() {
        let program = shell(
            r#"while read kind n; do echo "{\"ns_per_call\": $n, \"cpu_ns_per_call\": 7}"; done"#,
        );
        let mut single = Ask::side(&program, "single 10");
        let mut batch = Ask::side(&program, "batch 20");
        for _ in 0..2 {
            assert_eq!(single.round().unwrap().wall_ns, 10.0);
            assert_eq!(batch.round().unwrap().wall_ns, 20.0);
        }
        assert_eq!(single.round().unwrap().cpu_ns, Some(7.0));
    }

    #[test]
    fn a_program_that_does_not_keep_to_it_is_an_error() {
        let check = |script: &str, expected: &str| {
            let error = Ask::side(&shell(script), "single 1").round().unwrap_err();
            assert!(format!("{error:#}").contains(expected), "{error:#}");
        };
        check("read line", "ended instead of answering");
        check("read line; echo hello", "did not answer with JSON");
        check("read line; echo '{}'", "gave no `ns_per_call`");
    }
}
