//! Requests with answers that are looked at: a failed call must not count as a quick one.

use crate::drive::Client;

/// Call the echo with a text of its own, and find that text in the answer.
pub(crate) fn echo(client: &mut dyn Client, tool: &str, number: u64) -> Result<(), String> {
    let text = format!("the text of call {number} and no other");
    let params = format!(r#""name":"{tool}","arguments":{{"text":"{text}"}}"#);
    let answer = client.ask("tools/call", &params)?;
    if contains(answer, text.as_bytes()) && !contains(answer, b"\"isError\":true") {
        return Ok(());
    }
    Err(format!("not an echo: {}", shown(answer)))
}

/// Ask for the tools; there is at least one.
pub(crate) fn list(client: &mut dyn Client) -> Result<(), String> {
    let answer = client.ask("tools/list", "")?;
    if contains(answer, b"\"inputSchema\"") {
        return Ok(());
    }
    Err(format!("no tools: {}", shown(answer)))
}

/// Ask for the tools; there are at least so many.
pub(crate) fn whole_list(client: &mut dyn Client, tools: u64) -> Result<(), String> {
    let answer = String::from_utf8_lossy(client.ask("tools/list", "")?);
    match answer.matches("\"inputSchema\"").count() as u64 {
        listed if listed >= tools => Ok(()),
        listed => Err(format!("{listed} of {tools} tools")),
    }
}

pub(crate) fn shown(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer);
    text.chars().take(400).collect()
}

pub(crate) fn contains(answer: &[u8], part: &[u8]) -> bool {
    answer.windows(part.len()).any(|window| window == part)
}
