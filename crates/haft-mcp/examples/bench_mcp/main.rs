//! Both ends of an MCP connection, for the rows of `mcp` in `cargo xtask bench`.
//!
//! - `serve haft|rmcp stdio|pipes|older|ADDR TOOLS`: a server with `echo` and TOOLS more tools; rmcp's
//!   on its own stdio, rmcp's or ours on asynchronous pipes, or either on HTTP; `older` is rmcp's on
//!   pipes, without the newest revision
//! - `drive WAY TOOL -- PROGRAM ARG…`: starts a server and answers lines (xtask/bench/README.md) by
//!   calling its `echo`; `WAY` is said in `drive.rs`
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod check;
mod drive;
mod http;
mod lines;
mod serve;

#[global_allocator]
static ALLOCATOR: haft_alloc::Mimalloc = haft_alloc::Mimalloc;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", whose, place, tools] => {
            // One caller is served quickest by one thread, whosever server it is.
            let engine = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            let tools = tools.parse().expect("a number of tools");
            engine.block_on(serve::run(whose, place, tools));
        }
        ["drive", way, tool, "--", program, ref args @ ..] => {
            drive::run(way, tool, program, args);
        }
        _ => panic!("see the head of this file: {words:?}"),
    }
}
