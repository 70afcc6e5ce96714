//! The shipped pipeline, timed: a no-op tool with an eight-field schema, fifty rules, a budget,
//! and a listener that reads every event. Reads commands on stdin, one a line, and answers each
//! with one line of JSON:
//!
//! - `single N`: N calls, one after the other
//! - `batch N`: N calls, in batches of a hundred
//! - `resolve N`: N name look-ups among 10,000 tools; `bare_map N` the same in a hash map
//! - `definitions N`: all definitions of 10,000 tools, N times for a new caller; `unchanged N` for
//!   the same one again; `bare_json N` only writes the same text
//! - `journal_adds N`: by how much N calls take longer where each is written down
//! - `memory`: resident kilobytes with and without the 10,000 tools

#![allow(clippy::expect_used)]

use std::collections::HashMap;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use haft_core::{
    Call, Caller, DynTool, Effects, Output, Repeat, Tool, ToolContext, ToolError, ToolResult,
    ToolSpec, typed,
};
use haft_policy::{Layer, Places, Policy, PolicyConfig, Who};
use haft_runtime::{EventBus, Filters, Listener, Runtime, RuntimeConfig, Session, Shape};
use haft_store::{Durability, Journal, JournalConfig};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: haft_alloc::Mimalloc = haft_alloc::Mimalloc;

const TOOLS: usize = 10_000;
const BATCH: usize = 100;

/// Do nothing
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct Noop {
    /// A path
    #[schemars(length(min = 1))]
    path: String,
    /// Some text
    #[serde(default)]
    content: Option<String>,
    /// A number
    #[serde(default)]
    offset: Option<u32>,
    /// Another number
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    limit: Option<u32>,
    /// A switch
    #[serde(default)]
    recursive: bool,
    /// A choice
    mode: Mode,
    /// Some words
    #[serde(default)]
    tags: Vec<String>,
    /// A fraction
    #[serde(default)]
    ratio: Option<f64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Text,
    Binary,
    Auto,
}

impl Tool for Noop {
    const NAME: &'static str = "bench.noop";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ();

    fn effects(&self, _power: &(), _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::none())
    }

    async fn run(self, _power: &(), _cx: &ToolContext) -> ToolResult {
        Ok(Output::text("ok"))
    }
}

/// The same name and eight fields as the peer's, made once as there.
fn noop() -> (Arc<str>, Arc<Value>) {
    let args = json!({
        "path": "src/main.rs", "content": "hello", "offset": 10, "limit": 200,
        "recursive": true, "mode": "text", "tags": ["a", "b"], "ratio": 0.5,
    });
    (Noop::NAME.into(), args.into())
}

/// One of many: a real schema under another name.
fn renamed(number: usize) -> Arc<dyn DynTool> {
    let noop = typed::<Noop>();
    let mut spec: ToolSpec = noop.spec().clone();
    spec.name = format!("many.tool_{number}").into();
    spec.module = "many".into();
    spec.reword(|words| {
        words.description =
            format!("Do nothing, in the way of number {number}, and say so at length");
    });
    Arc::new(Renamed { noop, spec })
}

struct Renamed {
    noop: Arc<dyn DynTool>,
    spec: ToolSpec,
}

impl DynTool for Renamed {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn unavailable(&self, cx: &ToolContext) -> Option<String> {
        self.noop.unavailable(cx)
    }

    fn prepare(&self, args: &Value) -> Result<Box<dyn haft_core::Prepared>, ToolError> {
        self.noop.prepare(args)
    }
}

fn runtime() -> Runtime {
    runtime_with(None)
}

fn runtime_with(journal: Option<&Journal>) -> Runtime {
    let mut config = PolicyConfig::default();
    for n in 0..20 {
        config
            .tools
            .rules
            .allow
            .push(format!("shell.exec(program{n} status *)"));
        config
            .tools
            .rules
            .deny
            .push(format!("file.write(/etc/{n}/**)"));
    }
    for n in 0..10 {
        config.tools.rules.ask.push(format!("mcp.server{n}.*"));
    }
    let layer = Layer {
        from: "bench".into(),
        config,
    };
    let policy = Policy::compile(vec![layer], Places::default()).expect("a good policy");
    let mut runtime = Runtime::new(RuntimeConfig::default(), policy);
    if let Some(journal) = journal {
        runtime = runtime.recording(Arc::new(journal.clone()));
    }
    runtime
        .registry()
        .register(typed::<Noop>(), None)
        .expect("a free name");
    runtime
}

fn session(runtime: &Runtime, bus: &EventBus) -> Session {
    let caller = Caller {
        events: Arc::new(bus.clone()),
        ..Caller::alone("bench", "/")
    };
    runtime.session(caller, Who::default(), Filters::default())
}

struct Clock {
    wall: Instant,
    cpu: Duration,
}

impl Clock {
    fn start() -> Self {
        Clock {
            wall: Instant::now(),
            cpu: cpu(),
        }
    }

    fn per(&self, count: usize) -> Value {
        let each = |time: Duration| time.as_nanos() as f64 / count.max(1) as f64;
        json!({"ns_per_call": each(self.wall.elapsed()), "cpu_ns_per_call": each(cpu() - self.cpu)})
    }
}

/// Time on a processor; everything here runs on one thread.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = stat
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}

struct Bench {
    runtime: Runtime,
    session: Session,
    bus: EventBus,
}

impl Bench {
    fn new() -> Self {
        Bench::of(runtime())
    }

    fn of(runtime: Runtime) -> Self {
        let bus = EventBus::new();
        let session = session(&runtime, &bus);
        Bench {
            runtime,
            session,
            bus,
        }
    }

    async fn single(&self, count: usize) -> Value {
        let mut listener = self.bus.listen();
        let (name, args) = noop();
        let mut heard = 0;
        let clock = Clock::start();
        for _ in 0..count {
            let call = Call::new(name.clone(), args.clone());
            let outcome = black_box(self.runtime.call(&self.session, call).await);
            assert!(outcome.ok, "{outcome:?}");
            heard += heard_by(&mut listener);
        }
        assert_eq!(heard, count * 2, "every event is read");
        clock.per(count)
    }

    async fn batch(&self, count: usize) -> Value {
        let mut listener = self.bus.listen();
        let (name, args) = noop();
        let mut heard = 0;
        let batches = count.div_ceil(BATCH);
        let clock = Clock::start();
        for _ in 0..batches {
            let calls = (0..BATCH)
                .map(|_| Call::new(name.clone(), args.clone()))
                .collect();
            let outcomes = black_box(self.runtime.execute_parallel(&self.session, calls).await);
            assert!(outcomes.iter().all(|outcome| outcome.ok));
            heard += heard_by(&mut listener);
        }
        assert_eq!(heard, batches * BATCH * 2, "every event is read");
        clock.per(batches * BATCH)
    }
}

/// Calls with a journal and without, in turns of a thousand; what was written is on its way out
/// before the next turn, so that each pays for its own.
async fn journal_adds(plain: &Bench, count: usize) -> Value {
    const TURN: usize = 1_000;
    let home = tempfile::tempdir().expect("a folder");
    let journal = Journal::open(JournalConfig {
        home: home.path().to_owned(),
        mask: haft_runtime::mask_value,
        boot: None,
    })
    .expect("a journal");
    journal.store().ready().expect("a store");
    let written = Bench::of(runtime_with(Some(&journal)));
    let mut adds = Vec::new();
    for _ in 0..count.div_ceil(TURN) {
        let one = |value: Value| value["ns_per_call"].as_f64().unwrap_or(f64::NAN);
        let with = one(written.single(TURN).await);
        let barrier = journal.store().write(Durability::Process, |_| Ok(()));
        barrier.done().await.expect("a store");
        adds.push(with - one(plain.single(TURN).await));
    }
    adds.sort_by(f64::total_cmp);
    json!({"ns_per_call": adds[adds.len() / 2]})
}

fn heard_by(listener: &mut Listener) -> usize {
    std::iter::from_fn(|| black_box(listener.try_next())).count()
}

fn with_many() -> Runtime {
    let runtime = runtime();
    let tools = (0..TOOLS).map(renamed);
    runtime.registry().register_all(tools).expect("free names");
    runtime
}

/// The 10,000 tools, made once.
fn many() -> &'static Runtime {
    static MANY: OnceLock<Runtime> = OnceLock::new();
    MANY.get_or_init(with_many)
}

/// Half of them as models write them.
fn names() -> Vec<String> {
    let name = |n| match n % 2 {
        0 => format!("many.tool_{n}"),
        _ => format!("many__tool_{n}"),
    };
    (0..TOOLS).map(name).collect()
}

fn look_up(count: usize, find: impl Fn(&str) -> bool) -> Value {
    let names = names();
    let clock = Clock::start();
    for n in 0..count {
        assert!(black_box(find(&names[n * 7919 % TOOLS])));
    }
    clock.per(count)
}

fn resolve(count: usize) -> Value {
    let snapshot = many().registry().snapshot();
    look_up(count, |name| snapshot.resolve(name).is_some())
}

fn bare_map(count: usize) -> Value {
    let map: HashMap<String, usize> = names().into_iter().zip(0..).collect();
    look_up(count, |name| map.contains_key(name))
}

fn definitions(count: usize) -> Value {
    let bus = EventBus::new();
    let clock = Clock::start();
    for _ in 0..count {
        let session = session(many(), &bus);
        assert!(black_box(session.definitions(many(), Shape::Anthropic).json()).len() > TOOLS);
    }
    clock.per(count)
}

/// The same list a second time.
fn unchanged(count: usize) -> Value {
    let session = session(many(), &EventBus::new());
    let first = session.definitions(many(), Shape::Anthropic).json();
    let clock = Clock::start();
    for _ in 0..count {
        let again = session.definitions(many(), Shape::Anthropic).json();
        assert!(Arc::ptr_eq(&first, &black_box(again)));
    }
    clock.per(count)
}

/// Nothing but writing the same definitions as JSON.
fn bare_json(count: usize) -> Value {
    let session = session(many(), &EventBus::new());
    let json = session.definitions(many(), Shape::Anthropic).json();
    let ready: Value = serde_json::from_str(&json).expect("JSON");
    let clock = Clock::start();
    for _ in 0..count {
        assert_eq!(black_box(ready.to_string()).len(), json.len());
    }
    clock.per(count)
}

fn memory() -> Value {
    let before = resident_kb();
    let runtime = with_many();
    let after = resident_kb();
    let bus = EventBus::new();
    let session = session(&runtime, &bus);
    session.definitions(&runtime, Shape::Anthropic).json();
    json!({"before_kb": before, "tools_kb": after - before, "definitions_kb": resident_kb() - after})
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let bench = Bench::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let mut words = line.split_whitespace();
        let command = words.next().unwrap_or_default();
        let count = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
        let answer = match command {
            "single" => bench.single(count).await,
            "batch" => bench.batch(count).await,
            "journal_adds" => journal_adds(&bench, count).await,
            "resolve" => resolve(count),
            "bare_map" => bare_map(count),
            "definitions" => definitions(count),
            "unchanged" => unchanged(count),
            "bare_json" => bare_json(count),
            "memory" => memory(),
            other => json!({"error": format!("unknown command: `{other}`")}),
        };
        println!("{answer}");
        let _ = std::io::stdout().flush();
    }
}
