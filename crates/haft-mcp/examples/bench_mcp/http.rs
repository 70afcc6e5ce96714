//! A server on HTTP: one connection that stays open, a request and its answer in turn.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::check::shown;
use crate::drive::Client;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Revision {
    /// Each request stands alone
    Newest,
    /// After an `initialize`
    Older,
    /// No MCP at all: what mcp-hub offers to its own clients
    Rest,
}

pub(crate) struct Http {
    revision: Revision,
    port: u16,
    path: String,
    stream: TcpStream,
    /// Header lines that every request has
    headers: String,
    next: u64,
    buffer: Vec<u8>,
    body: Vec<u8>,
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}"#;

/// Parameters of a request that stands alone.
pub(crate) fn alone(params: &str) -> String {
    match params {
        "" => META.to_owned(),
        _ => format!("{params},{META}"),
    }
}

impl Http {
    pub(crate) fn open(
        revision: Revision,
        port: u16,
        path: &str,
        token: Option<&str>,
    ) -> Result<Self, String> {
        let mut headers = format!(
            "Host: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        );
        if let Some(file) = token {
            let token = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
            headers.push_str(&format!("Authorization: Bearer {}\r\n", token.trim()));
        }
        let mut http = Http {
            revision,
            port,
            path: path.to_owned(),
            stream: connected(port)?,
            headers,
            next: 0,
            buffer: Vec::new(),
            body: Vec::new(),
        };
        match revision {
            Revision::Newest => http
                .headers
                .push_str("MCP-Protocol-Version: 2026-07-28\r\n"),
            Revision::Older => http.greet()?,
            Revision::Rest => {}
        }
        Ok(http)
    }

    fn greet(&mut self) -> Result<(), String> {
        let greeting = r#""protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}"#;
        let session = self.send("initialize", greeting, true)?;
        let text = String::from_utf8_lossy(&self.body);
        let json = text.lines().find_map(|line| {
            let line = line.strip_prefix("data:").unwrap_or(line);
            serde_json::from_str::<Value>(line).ok()
        });
        let json = json.ok_or_else(|| format!("no greeting: {}", shown(&self.body)))?;
        let version = json["result"]["protocolVersion"].as_str();
        let version = version.ok_or_else(|| format!("no greeting: {json}"))?;
        self.headers
            .push_str(&format!("MCP-Protocol-Version: {version}\r\n"));
        if let Some(session) = session {
            self.headers
                .push_str(&format!("Mcp-Session-Id: {session}\r\n"));
        }
        self.send("notifications/initialized", "", false)?;
        Ok(())
    }

    /// Send a message and read the response; the session it names.
    fn send(&mut self, method: &str, params: &str, wants: bool) -> Result<Option<String>, String> {
        let mut named = String::new();
        let body = match self.revision {
            Revision::Rest => {
                let params = params.replacen("\"name\"", "\"tool\"", 1);
                format!(r#"{{"server_name":"echo",{params}}}"#)
            }
            _ => {
                self.next += 1;
                let id = match wants {
                    true => format!("\"id\":{},", self.next),
                    false => String::new(),
                };
                let mut params = params.to_owned();
                if self.revision == Revision::Newest {
                    named = format!("Mcp-Method: {method}\r\n");
                    let name = params.strip_prefix("\"name\":\"");
                    if let Some(name) = name.and_then(|rest| rest.split('"').next()) {
                        named.push_str(&format!("Mcp-Name: {name}\r\n"));
                    }
                    params = alone(&params);
                }
                format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{{{params}}}}}"#)
            }
        };
        let request = format!(
            "POST {} HTTP/1.1\r\n{}{named}Content-Length: {}\r\n\r\n{body}",
            self.path,
            self.headers,
            body.len()
        );
        self.stream
            .write_all(request.as_bytes())
            .map_err(|error| error.to_string())?;
        self.response()
    }

    fn response(&mut self) -> Result<Option<String>, String> {
        self.buffer.clear();
        self.body.clear();
        let head = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
            self.more()?;
        };
        let text = String::from_utf8_lossy(&self.buffer[..head]).into_owned();
        let field = |name: &str| {
            text.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case(name)
                    .then(|| value.trim().to_owned())
            })
        };
        let status = text.split_whitespace().nth(1).unwrap_or_default();
        self.buffer.drain(..head);
        if field("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
            self.chunks()?;
        } else {
            let length = field("content-length").and_then(|length| length.parse().ok());
            let length: usize = length.unwrap_or(0);
            while self.buffer.len() < length {
                self.more()?;
            }
            self.body.extend_from_slice(&self.buffer[..length]);
        }
        match status.starts_with('2') {
            true => Ok(field("mcp-session-id")),
            false => Err(format!("status {status}: {}", shown(&self.body))),
        }
    }

    fn chunks(&mut self) -> Result<(), String> {
        loop {
            let Some(end) = find(&self.buffer, b"\r\n") else {
                self.more()?;
                continue;
            };
            let length = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
            let length = usize::from_str_radix(length.trim(), 16).map_err(|e| e.to_string())?;
            while self.buffer.len() < end + 2 + length + 2 {
                self.more()?;
            }
            self.body
                .extend_from_slice(&self.buffer[end + 2..end + 2 + length]);
            self.buffer.drain(..end + 2 + length + 2);
            if length == 0 {
                return Ok(());
            }
        }
    }

    fn more(&mut self) -> Result<(), String> {
        let mut space = [0; 64 * 1024];
        let read = self.stream.read(&mut space);
        match read.map_err(|error| error.to_string())? {
            0 => Err("the connection was closed".to_owned()),
            read => {
                self.buffer.extend_from_slice(&space[..read]);
                Ok(())
            }
        }
    }
}

fn connected(port: u16) -> Result<TcpStream, String> {
    let stream = TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string())?;
    stream
        .set_nodelay(true)
        .map_err(|error| error.to_string())?;
    Ok(stream)
}

fn find(buffer: &[u8], part: &[u8]) -> Option<usize> {
    buffer.windows(part.len()).position(|window| window == part)
}

impl Client for Http {
    fn ask(&mut self, method: &str, params: &str) -> Result<&[u8], String> {
        self.send(method, params, true)?;
        Ok(&self.body)
    }

    fn refresh(&mut self) -> Result<(), String> {
        self.stream = connected(self.port)?;
        Ok(())
    }
}
