//! Judge the search on the development sets, or on folders of one's own:
//!
//!     cargo run --release -p haft-search --features eval --example eval -- \
//!         [--data DIR]… [--json] [--dump FILE]

use std::error::Error;
use std::process::ExitCode;

use haft_search::eval::{Options, evaluate};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("eval: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut options = Options::default();
    let mut json = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .ok_or(format!("`{argument}` needs a value"))
        };
        match argument.as_str() {
            "--data" => options.data.push(value()?.into()),
            "--dump" => options.dump = Some(value()?.into()),
            "--json" => json = true,
            _ => return Err(format!("unknown argument: `{argument}`").into()),
        }
    }
    let report = evaluate(&options)?;
    if json {
        println!("{:#}", report.to_json());
    } else {
        println!("{}", report.to_markdown());
        eprintln!("{:?}", report.fitted);
    }
    Ok(())
}
