//! Servers at a URL: our own, those of others, and one that goes too far.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::{Call, ErrorCode, Outcome};
use haft_host::{FilesConfig, ProcessConfig, RunProcesses, Workspace};
use haft_mcp::{Fleet, Hands, HttpConfig, HttpServer, RemoteSpec, Server, ServerConfig, Way};
use haft_runtime::{Runtime, Session};
use haft_testkit::mcp::Checker;
use haft_testkit::{House, Says};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::client::NEW;
use crate::faults::Remembered;

const OLD: &str = "2025-11-25";
pub(crate) const TOKEN: &str = "Bearer sesame-and-more";

/// A haft with one server at a URL.
pub(crate) struct Far {
    pub(crate) runtime: Arc<Runtime>,
    session: Session,
    pub(crate) fleet: Fleet,
    _folder: TempDir,
}

impl Far {
    pub(crate) fn at(url: &str, headers: &[(&str, &str)]) -> Far {
        let house = House::builder().person(Arc::new(Says::yes())).build();
        let session = house.session("client");
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(FilesConfig {
            workspace: folder.path().to_owned(),
            roots: Vec::new(),
            home: house.home.path().to_owned(),
        });
        let hands = Hands {
            processes: RunProcesses::new(
                ProcessConfig::default(),
                Arc::new(workspace.unwrap()),
                None,
            ),
            records: Arc::new(Remembered::default()),
            browser: None,
        };
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        let spec = RemoteSpec {
            name: "far".into(),
            identity: String::new(),
            way: Way::Http(HttpServer {
                url: url.into(),
                headers: headers.collect(),
                ..HttpServer::default()
            }),
            timeout: Duration::from_secs(60),
            idle: Duration::from_secs(300),
            disabled_tools: Vec::new(),
            trust_annotations: false,
        };
        let runtime = house.runtime.clone();
        let fleet = Fleet::gather(vec![spec], &runtime, &hands);
        Far {
            runtime,
            session,
            fleet,
            _folder: folder,
        }
    }

    async fn call(&self, tool: &str, args: Value) -> Outcome {
        let name = format!("mcp.far.{tool}");
        self.runtime
            .call(&self.session, Call::new(name.as_str(), args))
            .await
    }
}

/// Our own server, with a token.
async fn ours() -> String {
    ours_with_runtime().await.0
}

pub(crate) async fn ours_with_runtime() -> (String, Arc<Runtime>) {
    let house = House::builder().build();
    let session = house.session("server");
    let config = ServerConfig {
        name: "ours".into(),
        title: "Ours".into(),
        version: "1".into(),
        instructions: None,
    };
    let runtime = house.runtime.clone();
    let server = Server::new(config, runtime.clone(), session).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let config = HttpConfig {
        token: Some("sesame-and-more".into()),
        hosts: Vec::new(),
    };
    tokio::spawn(async move {
        let _kept = house;
        Arc::new(server).serve_http(listener, config).await
    });
    (url, runtime)
}

#[tokio::test]
async fn what_a_server_of_today_changes_is_heard_of() {
    let (url, theirs) = ours_with_runtime().await;
    let far = Far::at(&url, &[("Authorization", TOKEN)]);
    let mut changes = far.runtime.registry().changes();
    far.fleet.look_at("far").await.unwrap();
    let has_echo = || far.runtime.registry().has("mcp.far.test__echo");
    assert!(has_echo());
    // It may not listen yet, so it is told until it has heard.
    while has_echo() {
        let pack = haft_testkit::pack();
        match theirs.registry().unregister("test.echo") {
            Ok(()) => {}
            Err(_) => {
                let echo = pack
                    .tools
                    .iter()
                    .find(|tool| &*tool.spec().name == "test.echo");
                theirs
                    .registry()
                    .register(echo.unwrap().clone(), None)
                    .unwrap();
                theirs.registry().unregister("test.echo").unwrap();
            }
        }
        let _ = tokio::time::timeout(Duration::from_millis(200), changes.changed()).await;
    }
    far.fleet.stop().await;
}

#[tokio::test]
async fn our_own_server_with_a_token() {
    let url = ours().await;
    let far = Far::at(&url, &[]);
    let error = far.fleet.look_at("far").await.unwrap_err();
    assert!(error.message.contains("wants a login"), "{error:?}");
    assert!(error.hint.as_ref().unwrap().contains("haft mcp login far"));
    let far = Far::at(&url, &[("Authorization", TOKEN)]);
    let health = far.fleet.look_at("far").await.unwrap();
    assert!(health.tools > 3, "{health:?}");
    let outcome = far.call("test__echo", json!({"text": "hi"})).await;
    assert!(outcome.text().contains("hi"), "{outcome:?}");
    far.fleet.stop().await;
}

struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The reference server, which speaks an older revision and keeps sessions.
fn everything(port: u16) -> Program {
    let peers = haft_testkit::npm(env!("CARGO_TARGET_TMPDIR"));
    let mut child = Command::new(peers.join("node_modules/.bin/node"))
        .arg(peers.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js"))
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap().contains("listening"));
    // Whatever else it says has to go somewhere.
    std::thread::spawn(move || lines.for_each(drop));
    Program(child)
}

async fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().port()
}

#[tokio::test]
async fn a_server_of_others_with_sessions() {
    let port = free_port().await;
    let program = everything(port);
    let far = Far::at(&format!("http://127.0.0.1:{port}/mcp"), &[]);
    far.fleet.look_at("far").await.unwrap();
    let echo = || far.call("echo", json!({"message": "hello"}));
    let outcome = echo().await;
    assert!(outcome.text().contains("hello"), "{outcome:?}");
    // It goes, and comes back knowing nothing of the session.
    drop(program);
    let outcome = echo().await;
    assert!(outcome.code().is_some(), "{outcome:?}");
    let _program = everything(port);
    let mut outcome = echo().await;
    for _ in 0..5 {
        if outcome.code().is_none() {
            break;
        }
        outcome = echo().await;
    }
    assert!(outcome.text().contains("hello"), "{outcome:?}");
    far.fleet.stop().await;
}

/// What the clients of one server said, a connection at a time.
type Said = Arc<Mutex<Vec<Arc<Mutex<Vec<u8>>>>>>;

/// Passes everything on to the server at a port, and notes what its clients say.
async fn overheard(port: u16) -> (String, Said) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let said = Said::default();
    let connections = said.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let noted = Arc::new(Mutex::new(Vec::new()));
            connections.lock().unwrap().push(noted.clone());
            tokio::spawn(async move {
                let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                tokio::spawn(async move {
                    let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
                });
                let mut part = vec![0; 64 * 1024];
                while let Ok(read @ 1..) = from_client.read(&mut part).await {
                    noted.lock().unwrap().extend_from_slice(&part[..read]);
                    if to_server.write_all(&part[..read]).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (url, said)
}

/// The messages in what was overheard.
fn messages(said: &Said) -> Vec<Value> {
    let mut messages = Vec::new();
    for connection in said.lock().unwrap().iter() {
        let bytes = connection.lock().unwrap();
        let mut rest = std::str::from_utf8(&bytes).unwrap();
        while let Some((head, body)) = rest.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                let named = name.eq_ignore_ascii_case("content-length");
                named.then(|| value.trim().parse::<usize>().unwrap())
            });
            let (message, more) = body.split_at(length.unwrap_or(0));
            if !message.is_empty() {
                messages.push(serde_json::from_str(message).unwrap());
            }
            rest = more;
        }
    }
    messages
}

/// Hold each message against the schema of its revision, and see that these were among them.
fn check_messages(said: &Said, expected: &[(&str, &str)]) {
    let mut heard = Vec::new();
    for message in messages(said) {
        let stated = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let revision = if *stated == NEW { NEW } else { OLD };
        Checker::of(revision).client_says(&message);
        let method = message["method"].as_str().unwrap().to_owned();
        heard.push((revision, method));
    }
    for (revision, method) in expected {
        let found = heard
            .iter()
            .any(|(of, said)| of == revision && said == method);
        assert!(found, "{revision} {method}: {heard:?}");
    }
}

#[tokio::test]
async fn what_servers_hear_is_as_the_schemas_have_it() {
    let url = ours().await;
    let port = url.split([':', '/']).nth(4).unwrap().parse().unwrap();
    let (url, said) = overheard(port).await;
    let far = Far::at(&url, &[("Authorization", TOKEN)]);
    far.fleet.look_at("far").await.unwrap();
    let outcome = far.call("test__echo", json!({"text": "hi"})).await;
    assert!(outcome.text().contains("hi"), "{outcome:?}");
    far.fleet.stop().await;
    let today = ["server/discover", "tools/list", "tools/call"];
    check_messages(&said, &today.map(|method| (NEW, method)));

    let port = free_port().await;
    let _program = everything(port);
    let (url, said) = overheard(port).await;
    let far = Far::at(&url, &[]);
    far.fleet.look_at("far").await.unwrap();
    for (tool, args) in [
        ("echo", json!({"message": "hi"})),
        ("get_prompt", json!({"name": "simple-prompt"})),
    ] {
        let outcome = far.call(tool, args).await;
        assert!(outcome.code().is_none(), "{outcome:?}");
    }
    far.fleet.stop().await;
    let older = [
        "initialize",
        "notifications/initialized",
        "tools/list",
        "resources/list",
        "prompts/list",
        "tools/call",
        "prompts/get",
    ];
    check_messages(&said, &older.map(|method| (OLD, method)));
}

/// A server that answers oddly, and where it is.
fn odd() -> (Program, String) {
    let mut child = Command::new("python3")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/odd_http.py"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut port).unwrap();
    (Program(child), format!("http://127.0.0.1:{}", port.trim()))
}

#[tokio::test]
async fn a_server_that_has_moved_is_followed_within_its_origin() {
    let (_program, url) = odd();
    let far = Far::at(&format!("{url}/moved"), &[]);
    far.fleet.look_at("far").await.unwrap();
    let outcome = far.call("e400", json!({})).await;
    assert!(outcome.text().contains("not like this"), "{outcome:?}");
    far.fleet.stop().await;
    let far = Far::at(&format!("{url}/away"), &[]);
    let error = far.fleet.look_at("far").await.unwrap_err();
    let told = "it leads elsewhere: `http://127.0.0.2:9/mcp`";
    assert!(error.message.contains(told), "{error:?}");
}

#[tokio::test]
async fn only_what_a_server_turns_away_has_not_happened() {
    let (_program, url) = odd();
    let far = Far::at(&format!("{url}/mcp"), &[]);
    let health = far.fleet.look_at("far").await.unwrap();
    assert_eq!(health.tools, 7, "the bad one alone is left out");
    for (tool, code, words) in [
        ("e500", ErrorCode::Uncertain, "it did run"),
        ("e400", ErrorCode::ExecutionFailed, "not like this"),
        ("e404", ErrorCode::ExecutionFailed, "not here"),
        ("e429", ErrorCode::NotAvailable, "not now"),
        ("page", ErrorCode::Uncertain, "<html>log in</html>"),
    ] {
        let outcome = far.call(tool, json!({})).await;
        assert_eq!(outcome.code(), Some(code), "{tool} {outcome:?}");
        let error = outcome.error.as_ref().unwrap();
        assert!(!error.message.contains("::"), "{error:?}");
        // The server's reason is told, as the server's.
        assert!(!error.message.contains(words), "{error:?}");
        let said = outcome.content[0].as_text().unwrap();
        assert!(
            said.contains(words) && said.contains("untrusted_data"),
            "{said}"
        );
    }
    for tool in ["neither", "told"] {
        let mut call = Call::new(format!("mcp.far.{tool}").as_str(), json!({}));
        call.timeout = Some(Duration::from_secs(20));
        let outcome = far.runtime.call(&far.session, call).await;
        assert_eq!(outcome.code(), Some(ErrorCode::Uncertain), "{outcome:?}");
    }
    far.fleet.stop().await;
}

/// Answers as told: what is asked for, then something that never ends.
async fn endless(kind: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, kind));
        }
    });
    url
}

async fn answer(mut stream: tokio::net::TcpStream, kind: &str) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let Ok(read @ 1..) = stream.read(&mut buffer).await else {
            return;
        };
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((_, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let Ok(message) = serde_json::from_str::<Value>(body) else {
            if text.starts_with("GET") || text.starts_with("DELETE") {
                request.clear();
                let _ = stream
                    .write_all(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n")
                    .await;
            }
            continue;
        };
        request.clear();
        let result = match message["method"].as_str().unwrap() {
            "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "endless", "version": "1"}}),
            "tools/list" => json!({"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}),
            "tools/call" => break,
            _ if message.get("id").is_none() => {
                let _ = stream
                    .write_all(b"HTTP/1.1 202 Yes\r\nContent-Length: 0\r\n\r\n")
                    .await;
                continue;
            }
            _ => {
                let _ = stream
                    .write_all(b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n")
                    .await;
                continue;
            }
        };
        let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\ndata: {{\"x\":\""
    );
    let _ = stream.write_all(head.as_bytes()).await;
    let chunk = vec![b'x'; 1 << 20];
    while stream.write_all(&chunk).await.is_ok() {}
}

#[tokio::test]
async fn an_answer_without_end_is_an_error_of_its_own() {
    for kind in ["application/json", "text/event-stream"] {
        let far = Far::at(&endless(kind).await, &[]);
        far.fleet.look_at("far").await.unwrap();
        let outcome = far.call("work", json!({})).await;
        let error = outcome.error.as_ref().unwrap();
        assert!(error.message.contains("larger than"), "{kind}: {outcome:?}");
        far.fleet.stop().await;
    }
}
