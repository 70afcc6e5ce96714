//! One server: started when it is needed, started again after a while when it dies, stopped when
//! nobody needs it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use haft_core::{ErrorCode, ToolError};
use haft_host::{Complaints, Partner};
use haft_runtime::mask;
use rmcp::service::{ClientInitializeError, RoleClient, RunningService};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::connect::{self, Greeting, Hands, Way};
use super::definition::Offered;
use super::direct;
use super::failure;
use super::lane::Lane;
use super::login::Login;
use super::news::listen;
use super::offered::{Asking, offered};
use super::side::{Shared, Side};
use super::{Record, Records};

/// How long a server may take until it can be called.
const START: Duration = Duration::from_secs(60);
/// First and longest pause before a server that died is started again.
const PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Characters of a server's last words, and how long they may take to arrive.
const LAST_WORDS: usize = 300;
const ARRIVAL: Duration = Duration::from_millis(200);

/// A server as it is configured.
#[derive(Debug, Clone)]
pub struct RemoteSpec {
    pub name: String,
    /// What tells it from another server of this name: what is known of the one is not known of
    /// the other
    pub identity: String,
    pub way: Way,
    /// Longest silence during a call
    pub timeout: Duration,
    /// Stopped after this long without a call
    pub idle: Duration,
    /// Tools that are switched off
    pub disabled_tools: Vec<String>,
    /// What the server says about its tools may spare a question
    pub trust_annotations: bool,
}

impl RemoteSpec {
    /// Where what is known of it is kept. No name has a `#` in it.
    pub(super) fn record(&self) -> String {
        format!("{}#{}", self.name, self.identity)
    }
}

/// Why a server could not be reached, kept until it can.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Seconds since 1970
    pub at: u64,
    pub reason: String,
    /// Its last words, or what to do
    #[serde(default)]
    pub hint: Option<String>,
}

impl Failure {
    pub(super) fn load(records: &dyn Records, server: &str) -> Option<Failure> {
        let kept = records.load(Record::Failure, server)?;
        serde_json::from_slice(&kept).ok()
    }
}

pub(super) type Service = RunningService<RoleClient, Side>;
type Program = (Partner, Arc<Lane>);

/// A server with its connection, if it has one.
pub(super) struct Remote {
    pub(super) spec: RemoteSpec,
    hands: Hands,
    login: Option<Arc<Login>>,
    state: Mutex<State>,
    complaints: StdMutex<Complaints>,
    /// It does not speak the newest revision, or not soon enough
    old: AtomicBool,
    /// Told what the server offers whenever that is known anew
    renewed: Box<dyn Fn(Offered) + Send + Sync>,
}

#[derive(Default)]
struct State {
    running: Option<Arc<Running>>,
    failures: u32,
    not_before: Option<Instant>,
}

pub(super) struct Running {
    pub(super) service: Service,
    /// The way of questions and calls
    pub(super) asking: Asking,
    pub(super) shared: Arc<Shared>,
    used: StdMutex<Instant>,
    partner: StdMutex<Option<Partner>>,
    /// Look after it while it runs
    watching: StdMutex<Vec<JoinHandle<()>>>,
}

impl Running {
    pub(super) fn is_over(&self) -> bool {
        let lane = self.asking.lane.as_ref();
        lane.is_some_and(|lane| lane.is_closed())
            || self.service.is_transport_closed()
            || self.service.is_closed()
    }

    /// How much a program has said beside its answers to calls.
    pub(super) fn heard(&self) -> Option<u64> {
        self.asking.lane.as_ref().map(|lane| lane.passed())
    }

    pub(super) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let watching = self
            .watching
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for watching in watching.drain(..) {
            watching.abort();
        }
        // Ends the program with all it started.
        drop(
            self.partner
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
    }
}

impl Remote {
    pub(super) fn new(
        spec: RemoteSpec,
        hands: Hands,
        renewed: Box<dyn Fn(Offered) + Send + Sync>,
    ) -> Self {
        let login = match &spec.way {
            Way::Http(http) => connect::login(&spec.name, http, &hands).ok().map(Arc::new),
            Way::Program(_) => None,
        };
        Remote {
            spec,
            hands,
            login,
            state: Mutex::default(),
            complaints: StdMutex::default(),
            old: AtomicBool::new(false),
            renewed,
        }
    }

    /// The end of what the server said on its standard error, without the secrets it was given.
    pub(super) fn complaints(&self) -> String {
        let complaints = self
            .complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .text();
        mask(&complaints).text.into_owned()
    }

    /// The last thing that a program said on its standard error. Nobody vouches for it, so no error
    /// of ours repeats it.
    pub(super) fn last_words(&self) -> Option<String> {
        let complaints = self.complaints();
        let mut lines = complaints.lines().rev().map(str::trim);
        let last = lines.find(|line| !line.is_empty())?;
        Some(last.chars().take(LAST_WORDS).collect())
    }

    /// Give a program that has gone a moment for its last words to arrive.
    pub(super) async fn hear_out(&self) {
        let complaints = self
            .complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if matches!(self.spec.way, Way::Program(_)) {
            complaints.whole(ARRIVAL).await;
        }
    }

    /// The connection, where it is there and nobody is busy with it.
    pub(super) fn running(&self) -> Option<Arc<Running>> {
        self.state.try_lock().ok()?.running()
    }

    /// The connection, made if there is none.
    pub(super) async fn connected(self: &Arc<Self>) -> Result<Arc<Running>, ToolError> {
        let mut state = self.state.lock().await;
        if let Some(running) = state.running() {
            return Ok(running);
        }
        if state.running.is_some() {
            state.running = None;
            state.failed();
        }
        if let Some(wait) = state.wait() {
            // Short pauses are waited for; nobody is kept waiting for long ones.
            if wait > Duration::from_secs(2) {
                return Err(self.unavailable(format!(
                    "it has failed {} times; it is started again in {} s",
                    state.failures,
                    wait.as_secs()
                )));
            }
            tokio::time::sleep(wait).await;
        }
        match self.start().await {
            Ok(running) => {
                state.running = Some(running.clone());
                state.not_before = None;
                self.note(None);
                Ok(running)
            }
            Err(error) => {
                state.failed();
                self.hear_out().await;
                self.note(Some(&error));
                Err(error)
            }
        }
    }

    /// Ask once more what it offers. One that has to be started for that says it by itself.
    pub(super) async fn ask_again(self: &Arc<Self>) {
        let running = self.state.lock().await.running.clone();
        match running.filter(|running| !running.is_over()) {
            None => drop(self.connected().await),
            Some(running) => {
                let listed = tokio::time::timeout(START, offered(&running.asking)).await;
                if let Ok(Ok(listed)) = listed {
                    (self.renewed)(listed);
                }
            }
        }
    }

    /// Keep why it could not be started, or forget it.
    fn note(&self, failure: Option<&ToolError>) {
        let (records, name) = (&*self.hands.records, &*self.spec.record());
        let Some(error) = failure else {
            if Failure::load(records, name).is_some() {
                records.save(Record::Failure, name, &[]);
            }
            return;
        };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let words = self.last_words();
        let words = words.map(|words| format!("its last words: {words:?}"));
        let hints: Vec<String> = words.into_iter().chain(error.hint.clone()).collect();
        let failure = Failure {
            at: now.unwrap_or_default().as_secs(),
            reason: mask(&error.message).text.into_owned(),
            hint: (!hints.is_empty()).then(|| mask(&hints.join("; ")).text.into_owned()),
        };
        if let Ok(bytes) = serde_json::to_vec(&failure) {
            records.save(Record::Failure, name, &bytes);
        }
    }

    /// A call went well: whatever failed before is forgotten.
    pub(super) async fn worked(&self) {
        self.state.lock().await.failures = 0;
    }

    /// The server wants a login, and nobody was there for it.
    pub(super) fn wants_login(&self) -> Option<ToolError> {
        let missed = self.login.as_ref().is_some_and(|login| login.is_missed());
        let name = &self.spec.name;
        missed.then(|| {
            ToolError::not_available(format!("the MCP server `{name}` wants a login"))
                .hint(format!("run `haft mcp login {name}`"))
        })
    }

    pub(super) fn unavailable(&self, reason: impl std::fmt::Display) -> ToolError {
        if let Some(error) = self.wants_login() {
            return error;
        }
        let told = format!("MCP server `{}` is not there: {reason}", self.spec.name);
        let error = ToolError::new(ErrorCode::NotAvailable, mask(&told).text);
        error.hint(format!("see `haft mcp test {}`", self.spec.name))
    }

    async fn start(self: &Arc<Self>) -> Result<Arc<Running>, ToolError> {
        let shared = Arc::new(Shared::default());
        // A person who has to log in takes longer.
        let patience = match self.hands.browser {
            Some(_) => START * 15,
            None => START,
        };
        let (program, service) = loop {
            let old = self.old.load(Ordering::Relaxed);
            let (program, greeting) = self.reached(Side(shared.clone()), old)?;
            match tokio::time::timeout(patience, greeting).await {
                Ok(Ok(service)) => break (program, service),
                // It answers the first question when it has been given up, being slow to start, or
                // says that it has heard of the newest revision and does not speak it.
                Ok(Err(
                    ClientInitializeError::ConflictInitResponseId(..)
                    | ClientInitializeError::UncorrelatedErrorResponse { .. }
                    | ClientInitializeError::NoCompatibleProtocolVersion { .. },
                )) if !old => {
                    self.old.store(true, Ordering::Relaxed);
                    // Two of them at once might be in each other's way.
                    if let Some((partner, _)) = program {
                        partner.farewell().await;
                    }
                }
                Ok(Err(error)) => return Err(self.unavailable(failure::greeting(&error))),
                Err(_) => return Err(self.unavailable(format!("no answer within {patience:?}"))),
            }
        };
        let (partner, lane) = program.unzip();
        let asking = Asking {
            peer: service.peer().clone(),
            lane: lane.clone(),
            about: direct::about(&service),
        };
        let listed = tokio::time::timeout(START, offered(&asking)).await;
        let listed = match listed {
            Ok(Ok(offered)) => offered,
            Ok(Err(error)) => return Err(self.unavailable(failure::told(&error))),
            Err(_) => return Err(self.unavailable("it does not say what it offers")),
        };
        (self.renewed)(listed);
        let running = Arc::new(Running {
            service,
            asking,
            shared,
            used: StdMutex::new(Instant::now()),
            partner: StdMutex::new(partner),
            watching: StdMutex::default(),
        });
        let news = listen(running.service.peer().clone(), running.shared.clone());
        *running
            .watching
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = vec![
            tokio::spawn(watch(Arc::downgrade(self), Arc::downgrade(&running))),
            tokio::spawn(news),
        ];
        Ok(running)
    }

    /// The server, started if it is a program, and how it is greeted.
    fn reached(&self, side: Side, old: bool) -> Result<(Option<Program>, Greeting), ToolError> {
        match (&self.spec.way, &self.login) {
            (Way::Program(program), _) => {
                let (partner, lane, greeting) =
                    connect::with_program(side, old, program, &self.hands.processes)?;
                let mut complaints = self
                    .complaints
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                *complaints = partner.complaints();
                Ok((Some((partner, lane)), greeting))
            }
            (Way::Http(http), Some(login)) => {
                let greeting = connect::over_http(side, http, login.clone());
                Ok((None, greeting.map_err(|error| self.unavailable(error))?))
            }
            (Way::Http(_), None) => Err(self.unavailable("its URL cannot be used")),
        }
    }

    /// The connection is over: whatever is left of the program ends with it.
    async fn lose(&self, running: Arc<Running>) {
        let mut state = self.state.lock().await;
        let is_it = |held: &Arc<Running>| Arc::ptr_eq(held, &running);
        if state.running.as_ref().is_some_and(is_it) {
            state.running = None;
            state.failed();
        }
        let partner = running
            .partner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(partner);
    }

    /// Let the server go.
    pub(super) async fn stop(&self) {
        let running = self.state.lock().await.running.take();
        let Some(running) = running else {
            return;
        };
        // Taken first: who sees the connection end ends what is left of the program at once.
        let partner = running
            .partner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        running.service.cancellation_token().cancel();
        drop(running);
        if let Some(partner) = partner {
            partner.farewell().await;
        }
    }
}

impl State {
    fn running(&self) -> Option<Arc<Running>> {
        let running = self.running.as_ref().filter(|running| !running.is_over())?;
        running.touch();
        Some(running.clone())
    }

    fn failed(&mut self) {
        let pause = PAUSE.saturating_mul(1 << self.failures.min(10));
        self.not_before = Some(Instant::now() + pause.min(LONGEST_PAUSE));
        self.failures += 1;
    }

    fn wait(&self) -> Option<Duration> {
        let wait = self.not_before?.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then_some(wait)
    }
}

/// Look after a running server: fetch its list when that changes, stop it when it is not used, and
/// end what is left of it when it has gone.
async fn watch(remote: Weak<Remote>, running: Weak<Running>) {
    loop {
        let (shared, lane, left) = {
            let (Some(remote), Some(running)) = (remote.upgrade(), running.upgrade()) else {
                return;
            };
            let used = *running.used.lock().unwrap_or_else(PoisonError::into_inner);
            let lane = running.asking.lane.clone();
            (running.shared.clone(), lane, used + remote.spec.idle)
        };
        let gone = async {
            match &lane {
                Some(lane) => lane.closed().await,
                None => std::future::pending().await,
            }
        };
        let changed = tokio::select! {
            () = gone => {
                if let (Some(remote), Some(held)) = (remote.upgrade(), running.upgrade()) {
                    remote.lose(held).await;
                }
                return;
            }
            () = shared.changed.notified() => true,
            () = tokio::time::sleep_until(left) => false,
        };
        let (Some(remote), Some(held)) = (remote.upgrade(), running.upgrade()) else {
            return;
        };
        if changed {
            let listed = tokio::time::timeout(START, offered(&held.asking)).await;
            if let Ok(Ok(listed)) = listed {
                (remote.renewed)(listed);
            }
        } else if *held.used.lock().unwrap_or_else(PoisonError::into_inner) + remote.spec.idle
            <= Instant::now()
        {
            drop(held);
            remote.stop().await;
            return;
        }
    }
}
