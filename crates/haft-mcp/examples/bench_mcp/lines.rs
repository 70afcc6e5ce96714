//! A server on its standard streams: a line out, a line in.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use crate::check::shown;
use crate::drive::Client;
use crate::http::{Revision, alone};

pub(crate) struct Lines {
    revision: Revision,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
    line: Vec<u8>,
    answer: Vec<u8>,
}

impl Lines {
    pub(crate) fn greet(child: &mut Child, revision: Revision) -> Self {
        let mut lines = Lines {
            revision,
            input: child.stdin.take().expect("its input"),
            // Large lists come in few pieces.
            output: BufReader::with_capacity(256 * 1024, child.stdout.take().expect("its output")),
            next: 0,
            line: Vec::new(),
            answer: Vec::new(),
        };
        if revision == Revision::Newest {
            lines.ask("server/discover", "").expect("a greeting");
            return lines;
        }
        let greeting = r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}"#;
        lines.ask("initialize", greeting).expect("a greeting");
        lines
            .input
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")
            .expect("a listener");
        lines
    }
}

impl Client for Lines {
    fn ask(&mut self, method: &str, params: &str) -> Result<&[u8], String> {
        self.next += 1;
        let id = self.next;
        self.line.clear();
        let params = match self.revision {
            Revision::Newest => alone(params),
            _ => params.to_owned(),
        };
        let request =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#);
        self.line.extend_from_slice(request.as_bytes());
        self.line.push(b'\n');
        let told = |error: std::io::Error| error.to_string();
        self.input.write_all(&self.line).map_err(told)?;
        let id = format!("\"id\":{id}");
        loop {
            self.answer.clear();
            let read = self.output.read_until(b'\n', &mut self.answer);
            if read.map_err(told)? == 0 {
                return Err("the server has gone".to_owned());
            }
            let answer = &self.answer;
            let ends = [
                &answer[..answer.len().min(200)],
                &answer[answer.len().saturating_sub(200)..],
            ];
            if ends
                .iter()
                .any(|end| crate::check::contains(end, id.as_bytes()))
            {
                return Ok(&self.answer);
            }
            // Anything else is news; an answer to nobody is not.
            if !crate::check::contains(answer, b"\"method\"") {
                return Err(format!("not the answer: {}", shown(answer)));
            }
        }
    }
}
