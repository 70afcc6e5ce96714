//! Servers with the same tools: ours through the registry and the whole pipeline, its calls written
//! down; rmcp's as its handler trait is meant to be used.

use std::borrow::Cow;
use std::sync::Arc;

use haft_core::{
    DynTool, Effects, Output, Repeat, Tool as OurTool, ToolContext, ToolError, ToolResult,
    ToolSpec, typed,
};
use haft_mcp::{HttpConfig, Server, ServerConfig as OurConfig};
use haft_store::{Journal, JournalConfig};
use haft_testkit::{House, catalogue, repeating};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::transport::{stdio, stdio_pipes};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;

pub(crate) async fn run(whose: &str, place: &str, tools: usize) {
    let more: Vec<ToolSpec> = match tools {
        0 => Vec::new(),
        _ => catalogue("sealtools").into_iter().take(tools).collect(),
    };
    assert_eq!(more.len(), tools, "the set has fewer tools");
    match (whose, place) {
        ("rmcp", "stdio") => rmcp_over(bare(more), stdio()).await,
        ("rmcp", "pipes") => rmcp_over(bare(more), stdio_pipes()).await,
        ("rmcp", "older") => rmcp_over(bare(more).older(), stdio_pipes()).await,
        ("rmcp", address) => rmcp_http(bare(more), address).await,
        ("haft", "pipes") => {
            let (reader, writer) = haft_host::standard_streams().unwrap();
            ours(more).serve_stream(reader, writer).await.unwrap();
        }
        ("haft", address) => {
            let listener = TcpListener::bind(address).await.unwrap();
            let config = HttpConfig::default();
            ours(more).serve_http(listener, config).await.unwrap();
        }
        _ => panic!("no such server: {whose} {place}"),
    }
}

/// Say the same again
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Echo {
    /// What to say
    text: String,
}

impl OurTool for Echo {
    const NAME: &'static str = "bench.echo";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ();

    fn effects(&self, _power: &(), _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::none())
    }

    async fn run(self, _power: &(), _cx: &ToolContext) -> ToolResult {
        Ok(Output::text(self.text))
    }
}

fn ours(more: Vec<ToolSpec>) -> Arc<Server> {
    // The folder goes with the machine's temporary files: the process ends by a signal.
    let home = tempfile::tempdir().unwrap().keep();
    let journal = Journal::open(JournalConfig {
        home,
        mask: haft_runtime::mask_value,
        boot: None,
    })
    .unwrap();
    let house = House::builder().recording(Arc::new(journal)).build();
    let session = house.session("bench");
    let registry = house.runtime.registry();
    registry.register(typed::<Echo>(), None).unwrap();
    let more = more.into_iter().map(repeating);
    registry
        .register_all(more.collect::<Vec<Arc<dyn DynTool>>>())
        .unwrap();
    let config = OurConfig {
        name: "bench".into(),
        title: "bench".into(),
        version: "1".into(),
        instructions: None,
    };
    Arc::new(Server::new(config, house.runtime.clone(), session).unwrap())
}

#[derive(Clone)]
struct Bare {
    tools: Arc<[Tool]>,
    revisions: &'static [ProtocolVersion],
}

impl Bare {
    /// As servers are that know nothing of 2026-07-28.
    fn older(mut self) -> Self {
        self.revisions = ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25);
        self
    }
}

fn bare(more: Vec<ToolSpec>) -> Bare {
    let echo = json!({
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What to say"}},
        "required": ["text"],
        "additionalProperties": false,
    });
    let tool = |name: &str, description: &str, schema: &serde_json::Value| {
        let schema = schema.as_object().cloned().unwrap();
        let mut tool = Tool::new(name.to_owned(), description.to_owned(), Arc::new(schema));
        tool.annotations = Some(ToolAnnotations::new().read_only(true));
        tool
    };
    let mut tools = vec![tool("echo", "Say the same again", &echo)];
    for spec in &more {
        let name = spec.name.rsplit('.').next().unwrap_or_default();
        tools.push(tool(name, &spec.description, &spec.input_schema));
    }
    Bare {
        tools: tools.into(),
        revisions: ProtocolVersion::KNOWN_VERSIONS,
    }
}

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(self.revisions)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, rmcp::ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, rmcp::ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let text = arguments.get("text").and_then(|text| text.as_str());
        let text = text.ok_or_else(|| rmcp::ErrorData::invalid_params("no `text`", None))?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

async fn rmcp_over<R, W>(server: Bare, streams: (R, W))
where
    R: tokio::io::AsyncRead + Send + Unpin + 'static,
    W: tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let serving = server.serve(streams).await.unwrap();
    serving.waiting().await.unwrap();
}

async fn rmcp_http(server: Bare, address: &str) {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let router = axum::Router::new().fallback_service(service);
    let listener = TcpListener::bind(address).await.unwrap();
    use axum::serve::ListenerExt;
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await.unwrap();
}
