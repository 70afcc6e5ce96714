//! Asking on the terminal: what would happen, why it is asked, and the exact rule that "always"
//! would store. Nobody is there unless a terminal shows our errors and can be read from.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Write};

use anstream::AutoStream;
use haft_core::{Answer, BoxFuture, Inquiry, InquiryKind, Person, Question};
use serde_json::Value;

use super::consult;

const TERMINAL: &str = "/dev/tty";

/// Somebody at this terminal, if there is one.
pub(crate) fn someone_is_there() -> bool {
    std::io::stderr().is_terminal() && open().is_some()
}

fn open() -> Option<File> {
    File::options().read(true).write(true).open(TERMINAL).ok()
}

/// The person at the terminal.
pub(crate) struct AtTheTerminal;

impl Person for AtTheTerminal {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Answer>> {
        let question = question.clone();
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || ask(&question));
            asked.await.ok().flatten()
        })
    }

    fn inquire<'a>(&'a self, inquiry: &'a Inquiry) -> BoxFuture<'a, Option<Value>> {
        if inquiry.kind != InquiryKind::Elicitation {
            return Box::pin(std::future::ready(None));
        }
        let form = inquiry.params.clone();
        Box::pin(async move {
            let asked =
                tokio::task::spawn_blocking(move || consult::fill_in(&form, open()?, open()?));
            asked.await.ok().flatten()
        })
    }
}

/// Says yes to everything, for `--yes`.
pub(crate) struct SaysYes;

impl Person for SaysYes {
    fn ask<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(std::future::ready(Some(Answer::Yes)))
    }
}

fn ask(question: &Question) -> Option<Answer> {
    // Plain where the person wants no colours.
    let mut terminal = AutoStream::auto(open()?);
    let _ = write!(terminal, "{}", told(question));
    let choices = match question.rule {
        Some(_) => "[y]es, [n]o, [a]lways: ",
        None => "[y]es, [n]o: ",
    };
    let mut lines = BufReader::new(open()?).lines();
    loop {
        let _ = write!(terminal, "{choices}").and_then(|()| terminal.flush());
        let answer = lines.next()?.ok()?;
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => return Some(Answer::Yes),
            "n" | "no" => return Some(Answer::No),
            "a" | "always" if question.rule.is_some() => return Some(Answer::Always),
            _ => {}
        }
    }
}

fn told(question: &Question) -> String {
    let mut text = format!(
        "\n\u{1b}[33mhaft asks\u{1b}[0m \u{1b}[1m{}\u{1b}[0m\n",
        question.tool
    );
    for line in question.summary.lines() {
        text.push_str(&format!("  {line}\n"));
    }
    if let Some(detail) = &question.detail {
        text.push('\n');
        for line in detail.lines() {
            text.push_str(&format!("  {line}\n"));
        }
        text.push('\n');
    }
    text.push_str(&format!("  why: {}\n", question.reason));
    if let Some(rule) = &question.rule {
        text.push_str(&format!("  always would store: {rule}\n"));
    }
    text
}

/// A plain question; none when nobody is there.
pub(crate) fn yes_or_no(question: &str) -> Option<bool> {
    if !someone_is_there() {
        return None;
    }
    let mut terminal = open()?;
    let mut lines = BufReader::new(open()?).lines();
    loop {
        let _ = write!(terminal, "{question} [y]es, [n]o: ").and_then(|()| terminal.flush());
        match lines.next()?.ok()?.trim().to_lowercase().as_str() {
            "y" | "yes" => return Some(true),
            "n" | "no" => return Some(false),
            _ => {}
        }
    }
}
