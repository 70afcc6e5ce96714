//! haft as a client of the official conformance suite: `conformance_client URL` puts the server at
//! that URL among the tools of a runtime and calls what it offers, as a model would. The suite says
//! in its environment which calls it wants and who we are; nothing below knows its scenarios.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::{Answer, BoxFuture, Call, Inquiry, InquiryKind, Person, Question};
use haft_host::{
    FilesConfig, Follow, ProcessConfig, Reach, RunProcesses, Web, WebRequest, Workspace,
    http::Method,
};
use haft_mcp::{Browser, Fleet, Hands, HttpServer, OauthSpec, Record, Records, RemoteSpec, Way};
use haft_testkit::House;
use serde_json::{Value, json};

/// Where the suite says that this client describes itself.
const ABOUT: &str = "https://conformance-test.local/client-metadata.json";

#[derive(Default)]
struct Remembered(Mutex<HashMap<(Record, String), Vec<u8>>>);

impl Records for Remembered {
    fn load(&self, record: Record, server: &str) -> Option<Vec<u8>> {
        let all = self.0.lock().unwrap();
        all.get(&(record, server.to_owned())).cloned()
    }

    fn save(&self, record: Record, server: &str, bytes: &[u8]) {
        let mut all = self.0.lock().unwrap();
        all.insert((record, server.to_owned()), bytes.to_vec());
    }
}

/// Agrees to everything, and leaves the fields of forms as they are.
struct Agrees;

impl Person for Agrees {
    fn ask<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(std::future::ready(Some(Answer::Yes)))
    }

    fn inquire<'a>(&'a self, inquiry: &'a Inquiry) -> BoxFuture<'a, Option<Value>> {
        let answer = (inquiry.kind == InquiryKind::Elicitation)
            .then(|| json!({"action": "accept", "content": {}}));
        Box::pin(std::future::ready(answer))
    }
}

/// Goes to a page and on to where it leads, as a browser does for somebody who is logged in.
struct Follows(Web);

impl Browser for Follows {
    fn show<'a>(&'a self, url: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut request = WebRequest::new(Method::GET, url);
            request.follow = Follow::Anywhere;
            if let Err(error) = self.0.send(request).await {
                eprintln!("the page: {error}");
            }
        })
    }
}

/// Arguments that a schema would take.
fn arguments(schema: &Value) -> Value {
    let mut arguments = json!({});
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        arguments[name] = match property["type"].as_str() {
            Some("number" | "integer") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            Some("string") => json!("test"),
            _ => continue,
        };
    }
    arguments
}

#[tokio::main]
async fn main() {
    let url = std::env::args().next_back().expect("a URL");
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let text = |key: &str| context[key].as_str().map(str::to_owned);
    let house = House::builder().person(Arc::new(Agrees)).build();
    let session = house.session("client");
    let workspace = Workspace::open(FilesConfig {
        workspace: house.workspace.path().to_owned(),
        roots: Vec::new(),
        home: house.home.path().to_owned(),
    });
    let workspace = Arc::new(workspace.expect("a workspace"));
    let hands = Hands {
        processes: RunProcesses::new(ProcessConfig::default(), workspace, None),
        records: Arc::new(Remembered::default()),
        browser: Some(Arc::new(Follows(Web::new(Reach::near(&url).unwrap())))),
    };
    let spec = RemoteSpec {
        name: "suite".into(),
        identity: String::new(),
        way: Way::Http(HttpServer {
            url,
            headers: Vec::new(),
            private: false,
            oauth: OauthSpec {
                client_id: text("client_id"),
                client_secret: text("client_secret"),
                client_metadata_url: Some(ABOUT.into()),
                scopes: Vec::new(),
            },
        }),
        timeout: Duration::from_secs(20),
        idle: Duration::from_secs(300),
        disabled_tools: Vec::new(),
        trust_annotations: false,
    };
    let fleet = Fleet::gather(vec![spec], &house.runtime, &hands);
    if let Err(error) = fleet.look_at("suite").await {
        eprintln!("{error:?}");
        std::process::exit(1);
    }
    let wanted = context["toolCalls"].as_array().cloned();
    let calls: Vec<(String, Value)> = match wanted {
        Some(calls) => calls
            .iter()
            .map(|call| {
                let name = call["name"].as_str().unwrap();
                (format!("mcp.suite.{name}"), call["arguments"].clone())
            })
            .collect(),
        None => house
            .runtime
            .registry()
            .snapshot()
            .entries()
            .iter()
            .map(|entry| entry.spec())
            .filter(|spec| spec.name.starts_with("mcp.suite."))
            .map(|spec| (spec.name.to_string(), arguments(&spec.input_schema)))
            .collect(),
    };
    for (name, arguments) in calls {
        let outcome = house
            .runtime
            .call(&session, Call::new(name.as_str(), arguments))
            .await;
        eprintln!("{name}: {:?} {}", outcome.code(), outcome.text());
    }
    fleet.stop().await;
}
