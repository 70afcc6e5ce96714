//! One session as its owner sees it: what it says, how it ended, what it can be told.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::{CancelToken, ToolError};
use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Sender;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use super::super::Finished;
use super::super::terminal::type_end;
use super::ring::{Log, Ring};
use crate::Level;

/// A command that outlives the call which started it. Clones are the same session.
#[derive(Debug, Clone)]
pub struct Session {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) id: String,
    pub(super) owner: String,
    pub(super) call: String,
    pub(super) command: String,
    pub(super) workdir: PathBuf,
    pub(super) pid: i32,
    pub(super) level: Level,
    pub(super) started_at_ms: u64,
    pub(super) ring: Mutex<Ring>,
    pub(super) input: tokio::sync::Mutex<Option<Sender>>,
    /// Its input is a terminal, whose end has to be typed
    pub(super) terminal: bool,
    pub(super) wishes: UnboundedSender<Signal>,
    pub(super) end: watch::Sender<Option<Arc<SessionEnd>>>,
    /// Ends it with all it started: SIGTERM, then SIGKILL
    pub(super) stop: CancelToken,
    /// Whoever started it is answered, and it goes on
    pub(super) backgrounded: Mutex<bool>,
    /// Told every piece of output while the starting call waits
    pub(super) live: Mutex<Option<UnboundedSender<String>>>,
}

/// How a session ended.
#[derive(Debug)]
pub struct SessionEnd {
    pub exit_code: Option<i32>,
    pub signal: Option<String>,
    pub timed_out: bool,
    pub cancelled: bool,
    pub ended_at_ms: u64,
    pub duration: Duration,
    pub timeout: Duration,
    /// Where the output can be read from its beginning, when it was long
    pub handle: Option<String>,
    /// Why it never ran, if so
    pub refused: Option<ToolError>,
}

impl SessionEnd {
    pub(super) fn of(finished: Result<Finished, ToolError>, started_at_ms: u64, now: u64) -> Self {
        match finished {
            Ok(finished) => SessionEnd {
                exit_code: finished.exit_code,
                signal: finished.signal,
                timed_out: finished.timed_out,
                cancelled: finished.cancelled,
                ended_at_ms: started_at_ms + finished.duration.as_millis() as u64,
                duration: finished.duration,
                timeout: finished.timeout,
                handle: finished.handle,
                refused: None,
            },
            Err(error) => SessionEnd {
                exit_code: None,
                signal: None,
                timed_out: false,
                cancelled: false,
                ended_at_ms: now,
                duration: Duration::from_millis(now.saturating_sub(started_at_ms)),
                timeout: Duration::ZERO,
                handle: None,
                refused: Some(error),
            },
        }
    }

    /// Why it never ran, as an answer.
    pub fn refusal(&self) -> Option<ToolError> {
        let error = self.refused.as_ref()?;
        let again = ToolError::new(error.code, error.message.clone());
        Some(match &error.hint {
            Some(hint) => again.hint(hint.clone()),
            None => again,
        })
    }

    /// It did what it was asked to.
    pub fn well(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out && !self.cancelled
    }
}

impl Session {
    pub fn id(&self) -> &str {
        &self.inner.id
    }

    pub fn pid(&self) -> i32 {
        self.inner.pid
    }

    /// What was run, as one line.
    pub fn command(&self) -> &str {
        &self.inner.command
    }

    pub fn workdir(&self) -> &Path {
        &self.inner.workdir
    }

    pub fn level(&self) -> Level {
        self.inner.level
    }

    /// Milliseconds since 1970.
    pub fn started_at_ms(&self) -> u64 {
        self.inner.started_at_ms
    }

    /// How it ended; none while it runs.
    pub fn end(&self) -> Option<Arc<SessionEnd>> {
        self.inner.end.borrow().clone()
    }

    /// The last [`super::super::TAIL_CHARS`] characters of output.
    pub fn tail(&self) -> String {
        self.ring().tail()
    }

    /// The last [`super::super::OUTPUT_CHARS`] characters of output, and whether there was more.
    pub fn output(&self) -> (String, bool) {
        let ring = self.ring();
        (ring.output(), ring.truncated())
    }

    /// Characters it has written.
    pub fn total_chars(&self) -> u64 {
        self.ring().chars()
    }

    /// Lines of output.
    pub fn log(&self, offset: u64, limit: usize) -> Log {
        self.ring().log(offset, limit)
    }

    /// The whole story, once it has ended.
    pub fn finished(&self) -> Option<Finished> {
        let end = self.end()?;
        let ring = self.ring();
        let output = ring.output();
        let truncated = ring.truncated();
        Some(Finished {
            exit_code: end.exit_code,
            signal: end.signal.clone(),
            timed_out: end.timed_out,
            cancelled: end.cancelled,
            level: self.inner.level,
            started_at_ms: self.inner.started_at_ms,
            ended_at_ms: end.ended_at_ms,
            duration: end.duration,
            timeout: end.timeout,
            tail: ring.tail(),
            output,
            truncated,
            total_bytes: ring.bytes(),
            total_chars: ring.chars() as usize,
            handle: end.handle.clone().filter(|_| truncated),
            kept_bytes: None,
            keep_error: ring.error.map(|error| error.to_string()),
            lost: Vec::new(),
        })
    }

    /// Wait for the end. While waiting, `live` hears what is written.
    pub async fn ended(&self, live: Option<&mut (dyn FnMut(&str) + Send)>) -> Arc<SessionEnd> {
        let mut news = self.inner.end.subscribe();
        news.mark_changed();
        let (sender, mut pieces) = unbounded_channel::<String>();
        let mut ignore = |_: &str| {};
        let live = match live {
            Some(live) => {
                // Under the ring's lock, so that no piece is missed and none is heard twice.
                let ring = self.ring();
                let so_far = ring.output();
                *lock(&self.inner.live) = Some(sender);
                drop(ring);
                if !so_far.is_empty() {
                    live(&so_far);
                }
                live
            }
            None => &mut ignore,
        };
        loop {
            tokio::select! {
                biased;
                Some(piece) = pieces.recv() => live(&piece),
                // The sender is ours, so this always is news.
                _ = news.changed() => {}
            }
            if let Some(end) = self.end() {
                while let Ok(piece) = pieces.try_recv() {
                    live(&piece);
                }
                return end;
            }
        }
    }

    /// Wait for the end, but no longer than this.
    pub async fn ended_within(&self, time: Duration) -> bool {
        tokio::time::timeout(time, self.ended(None)).await.is_ok()
    }

    /// Its whole story, if it ends within this time. A call that is cancelled or given up
    /// meanwhile takes the session along.
    pub async fn within(
        &self,
        time: Duration,
        live: &mut (dyn FnMut(&str) + Send),
        cancel: &CancelToken,
    ) -> Result<Option<Finished>, ToolError> {
        let mut waiting = Waiting(Some(self));
        let mut ended = pin!(self.ended(Some(live)));
        let end = tokio::select! {
            biased;
            end = &mut ended => end,
            () = cancel.cancelled() => {
                self.stop();
                ended.await
            }
            () = tokio::time::sleep(time) => {
                waiting.0 = None;
                return Ok(None);
            }
        };
        match end.refusal() {
            Some(error) => Err(error),
            None => Ok(self.finished()),
        }
    }

    /// From now on it goes on by itself, and can be found by its id and its pid.
    pub fn to_background(&self) {
        *lock(&self.inner.backgrounded) = true;
        *lock(&self.inner.live) = None;
    }

    pub(super) fn is_backgrounded(&self) -> bool {
        *lock(&self.inner.backgrounded)
    }

    /// Write to its input. A program that does not read makes us wait, until it does or the
    /// call is cancelled.
    pub async fn write(&self, data: &[u8], cancel: &CancelToken) -> Result<(), ToolError> {
        let mut input = self.inner.input.lock().await;
        if self.end().is_some() {
            return Err(ToolError::failed(format!(
                "the session has already ended: `{}`",
                self.inner.id
            ))
            .hint("`process.poll` says how; start it again to go on"));
        }
        let Some(pipe) = input.as_mut() else {
            return Err(closed("the input of the session is closed"));
        };
        let mut written = 0;
        while let Some(rest) = data.get(written..).filter(|rest| !rest.is_empty()) {
            let count = tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    return Err(ToolError::failed(format!(
                        "the program does not read its input: {written} of {} bytes written",
                        data.len()
                    )));
                }
                count = pipe.write(rest) => count,
            };
            match count {
                Ok(count) if count > 0 => written += count,
                _ => {
                    *input = None;
                    return Err(closed("the program has closed its input, or has ended"));
                }
            }
        }
        Ok(())
    }

    /// Let the program read the end of its input.
    pub async fn close_input(&self) {
        let input = self.inner.input.lock().await.take();
        if let Some(keyboard) = input.filter(|_| self.inner.terminal) {
            // Who does not read it has ended.
            let _ = type_end(&keyboard);
        }
    }

    /// Ask it to end: SIGTERM to all it started. It may take its time, or refuse.
    pub fn terminate(&self) {
        // Nobody listens any more once it is being ended.
        let _ = self.inner.wishes.send(Signal::TERM);
    }

    /// Make it end: SIGKILL to all it started.
    pub fn kill(&self) {
        let _ = self.inner.wishes.send(Signal::KILL);
    }

    /// End it as a cancelled call is ended: SIGTERM, and SIGKILL for who does not listen.
    pub fn stop(&self) {
        self.inner.stop.cancel();
    }

    pub(super) fn hear(&self, text: &str) {
        let mut ring = self.ring();
        ring.push(text);
        if let Some(live) = &*lock(&self.inner.live) {
            // The call that listened may be over.
            let _ = live.send(text.to_owned());
        }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        lock(&self.inner.ring)
    }
}

fn closed(what: &str) -> ToolError {
    ToolError::failed(what)
        .hint("it stays closed: start another with `background`, and `stdin` not set to false")
}

/// A call that waits for its session: nobody else knows it, so it goes when the call goes.
struct Waiting<'a>(Option<&'a Session>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.0 {
            session.stop();
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
