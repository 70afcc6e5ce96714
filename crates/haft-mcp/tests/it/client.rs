//! A client that sends lines and reads lines, and a server with the fixture tools behind it.

use std::sync::Arc;

use haft_core::{
    Inquiry, InquiryKind, Output, Repeat, Tool, ToolContext, ToolError, ToolResult, typed,
};
use haft_mcp::{Server, ServerConfig};
use haft_testkit::mcp::Checker;
use haft_testkit::{House, HouseBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

pub(crate) const NEW: &str = "2026-07-28";

/// A client at one end of a stream.
pub(crate) struct Client {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: Option<WriteHalf<DuplexStream>>,
    next: u64,
    /// Methods and revisions of what was asked, by id
    asked: Vec<(String, String)>,
    /// What requests are of that do not say so themselves
    agreed: String,
    /// What came beside the answers
    pub(crate) heard: Vec<Value>,
    serving: JoinHandle<std::io::Result<()>>,
    pub(crate) server: Arc<Server>,
}

impl Client {
    pub(crate) fn of(house: HouseBuilder) -> Client {
        Client::with(house, |server| server)
    }

    pub(crate) fn with(house: HouseBuilder, change: impl FnOnce(Server) -> Server) -> Client {
        let house = house.build();
        let session = house.session("client");
        house
            .runtime
            .registry()
            .register_all([typed::<Form>(), typed::<TwoForms>(), typed::<LateForm>()])
            .unwrap();
        let House {
            runtime,
            workspace,
            home,
            ..
        } = house;
        // The folders live as long as the process; the machine clears its temporary folder.
        let _ = (workspace.keep(), home.keep());
        let config = ServerConfig {
            name: "test".into(),
            title: "Test".into(),
            version: "1".into(),
            instructions: None,
        };
        let server = Server::new(config, runtime, session).unwrap();
        let server = Arc::new(change(server));
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let serving = tokio::spawn({
            let server = server.clone();
            async move {
                let (reader, writer) = tokio::io::split(theirs);
                server.serve_stream(reader, writer).await
            }
        });
        let (reader, writer) = tokio::io::split(ours);
        Client {
            lines: BufReader::new(reader).lines(),
            writer: Some(writer),
            next: 0,
            asked: Vec::new(),
            agreed: "2025-11-25".to_owned(),
            heard: Vec::new(),
            serving,
            server,
        }
    }

    pub(crate) async fn send(&mut self, message: impl AsRef<str>) {
        let line = format!("{}\n", message.as_ref());
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(line.as_bytes()).await.unwrap();
    }

    /// The next message of any kind. It is held against the official schema of its revision.
    pub(crate) async fn next(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().expect("an answer");
        let message: Value = serde_json::from_str(&line).expect("JSON");
        self.check(&message);
        message
    }

    fn check(&self, message: &Value) {
        let asked = message["id"]
            .as_u64()
            .filter(|_| message.get("method").is_none());
        if let Some((method, revision)) = asked.and_then(|id| self.asked.get(id as usize - 1)) {
            // There is no schema of what came before.
            if revision.as_str() >= "2025-06-18" {
                Checker::of(revision).answers(method, message);
            }
        } else if message.get("method").is_some() {
            let subscription = "io.modelcontextprotocol/subscriptionId";
            let of_subscription = message["params"]["_meta"].get(subscription).is_some();
            let revision = if of_subscription { NEW } else { &self.agreed };
            if revision >= "2025-06-18" {
                Checker::of(revision).server_says(message);
            }
        }
    }

    /// Send a request and wait for its answer; what comes before is kept.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        self.answer_to(id).await
    }

    pub(crate) async fn start(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let revision = version.as_str().filter(|version| *version == NEW);
        let revision = revision.unwrap_or(&self.agreed).to_owned();
        self.asked.push((method.to_owned(), revision));
        let message =
            json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.send(message.to_string()).await;
        self.next
    }

    pub(crate) async fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// The same for what the schema of the revision does not have: an extension.
    pub(crate) async fn unchecked_answer_to(&mut self, id: u64) -> Value {
        self.asked[id as usize - 1].1.clear();
        self.answer_to(id).await
    }

    pub(crate) async fn initialize(&mut self, version: &str, capabilities: Value) -> Value {
        self.agreed = match version {
            "2024-11-05" | "2025-03-26" | "2025-06-18" => version.to_owned(),
            _ => "2025-11-25".to_owned(),
        };
        let params = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "client", "version": "1"},
        });
        let answer = self.request("initialize", params).await;
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        answer["result"].clone()
    }

    /// Go away, and wait until the server has noticed.
    pub(crate) async fn leave(mut self) -> std::io::Result<()> {
        self.writer.take().unwrap().shutdown().await.unwrap();
        while let Ok(Some(_)) = self.lines.next_line().await {}
        self.serving.await.unwrap()
    }
}

/// Parameters of a request that speaks for itself.
pub(crate) fn alone(params: Value, capabilities: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
    });
    params
}

pub(crate) fn text(answer: &Value) -> String {
    let blocks = answer["result"]["content"].as_array().expect("content");
    let texts: Vec<&str> = blocks.iter().filter_map(|b| b["text"].as_str()).collect();
    texts.join("\n")
}

/// Ask the caller for a name
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Form {}

fn form(key: &str) -> Inquiry {
    Inquiry {
        key: key.into(),
        kind: InquiryKind::Elicitation,
        params: json!({
            "message": format!("your {key}?"),
            "requestedSchema": {
                "type": "object",
                "properties": {key: {"type": "string"}},
                "required": [key],
            },
        }),
    }
}

impl Tool for Form {
    const NAME: &'static str = "test.form";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ();

    async fn run(self, _power: &(), cx: &ToolContext) -> ToolResult {
        let answer = cx.inquire(&form("name")).await;
        let answer = answer.ok_or_else(|| ToolError::failed("nobody to ask"))?;
        Ok(Output::text(format!(
            "you are {}",
            answer["content"]["name"]
        )))
    }
}

/// Ask for a name, then for a city and a colour at once
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TwoForms {}

impl Tool for TwoForms {
    const NAME: &'static str = "test.forms";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ();

    async fn run(self, _power: &(), cx: &ToolContext) -> ToolResult {
        let name = cx.inquire(&form("name")).await.unwrap_or_default();
        let (city, colour) = (form("city"), form("colour"));
        let (city, colour) = tokio::join!(cx.inquire(&city), cx.inquire(&colour));
        Ok(Output::text(format!(
            "{} {} {}",
            name["content"]["name"],
            city.unwrap_or_default()["content"]["city"],
            colour.unwrap_or_default()["content"]["colour"]
        )))
    }
}

/// Work for long, and ask for a name in the end
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LateForm {}

impl Tool for LateForm {
    const NAME: &'static str = "test.late_form";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ();

    async fn run(self, _power: &(), cx: &ToolContext) -> ToolResult {
        // Tests that call this hold the clock.
        tokio::time::sleep(std::time::Duration::from_secs(10)).await;
        let answer = cx.inquire(&form("name")).await;
        let answer = answer.ok_or_else(|| ToolError::failed("nobody to ask"))?;
        Ok(Output::text(format!(
            "at last, {}",
            answer["content"]["name"]
        )))
    }
}
