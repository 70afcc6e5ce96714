//! The place on this machine to which a browser comes back after a login.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const PATH: &str = "/callback";
/// Bytes of a request; only its first line counts.
const LARGEST: usize = 16 * 1024;
const LONGEST: Duration = Duration::from_secs(5);
const PAGE: &str = "You can close this window and go back to haft.\n";

/// Listens on loopback, at a port that was free.
pub struct Callback {
    listener: TcpListener,
    port: u16,
}

impl Callback {
    pub async fn listen() -> io::Result<Callback> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        Ok(Callback { listener, port })
    }

    /// Where a browser is to come back to.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// The URL with which a browser has come back, by the state that it was sent off with. Any
    /// page in the browser can come here; one that does not know the state is not heard.
    pub async fn came(&self, state: &str) -> io::Result<String> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            // Whoever connects and says nothing is not waited for.
            let serving = tokio::time::timeout(LONGEST, served(stream, state));
            if let Ok(Ok(Some(query))) = serving.await {
                return Ok(format!("{}?{query}", self.url()));
            }
        }
    }
}

/// Answer one request; the query if it is the one that is waited for.
async fn served(mut stream: TcpStream, state: &str) -> io::Result<Option<String>> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut buffer).await?;
        if read == 0 || request.len() > LARGEST {
            return Ok(None);
        }
        request.extend_from_slice(&buffer[..read]);
    }
    let request = String::from_utf8_lossy(&request);
    let mut words = request.lines().next().unwrap_or_default().split(' ');
    let query = match (words.next(), words.next()) {
        (Some("GET"), Some(path)) => path
            .strip_prefix(PATH)
            .and_then(|rest| rest.strip_prefix('?')),
        _ => None,
    };
    let knows = |query: &&str| {
        let mut states = query
            .split('&')
            .filter_map(|one| one.strip_prefix("state="));
        states.next() == Some(state) && states.next().is_none()
    };
    let query = query.filter(knows);
    let (status, page) = match query {
        Some(_) => ("200 OK", PAGE),
        None => ("404 Not Found", ""),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    Ok(query.map(str::to_owned))
}
