//! Sessions of clients from before 2026-07-28. One that is not used for a while is forgotten, and
//! its calls with it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::super::Server;
use super::super::connection::Connection;
use super::{Refusal, SESSION, refused, stream};

/// How long a session lives without a request.
const IDLE: Duration = Duration::from_secs(3600);
/// Sessions at once; the one unused for longest makes room.
const CAPACITY: usize = 1024;

#[derive(Default)]
pub(super) struct Sessions {
    open: Mutex<HashMap<HeaderValue, (Instant, Arc<Connection>)>>,
}

impl Sessions {
    pub(super) fn open(&self, connection: Arc<Connection>) -> Result<HeaderValue, Refusal> {
        let unable = |_| refused(StatusCode::INTERNAL_SERVER_ERROR, "no randomness");
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(unable)?;
        let text = format!("{:032x}", u128::from_le_bytes(bytes));
        let id = HeaderValue::from_str(&text)
            .map_err(|_| refused(StatusCode::INTERNAL_SERVER_ERROR, "no session id"))?;
        let now = Instant::now();
        let mut open = self.lock();
        open.retain(|_, (used, connection)| {
            let stays = now.duration_since(*used) < IDLE;
            if !stays {
                connection.cancel.cancel();
            }
            stays
        });
        while open.len() >= CAPACITY {
            let oldest = open.iter().min_by_key(|(_, (used, _))| *used);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
                break;
            };
            if let Some((_, connection)) = open.remove(&oldest) {
                connection.cancel.cancel();
            }
        }
        open.insert(id.clone(), (now, connection));
        Ok(id)
    }

    pub(super) fn find(&self, id: &HeaderValue) -> Result<Arc<Connection>, Refusal> {
        let mut open = self.lock();
        let (used, connection) = open
            .get_mut(id)
            .ok_or_else(|| refused(StatusCode::NOT_FOUND, "no such session"))?;
        *used = Instant::now();
        Ok(connection.clone())
    }

    /// The stream on which a client hears of changes.
    pub(super) fn listen(
        &self,
        server: &Arc<Server>,
        headers: &HeaderMap,
    ) -> Result<Response, Refusal> {
        let unasked = || refused(StatusCode::METHOD_NOT_ALLOWED, "use POST");
        let id = headers.get(SESSION).ok_or_else(unasked)?;
        let wants_events = headers
            .get(header::ACCEPT)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|accept| accept.contains("text/event-stream") || accept.contains("*/*"));
        if !wants_events {
            return Err(refused(
                StatusCode::NOT_ACCEPTABLE,
                "the stream is text/event-stream",
            ));
        }
        Ok(stream::of_news(server, self.find(id)?))
    }

    pub(super) fn end(&self, headers: &HeaderMap) -> Result<Response, Refusal> {
        let id = headers
            .get(SESSION)
            .ok_or_else(|| refused(StatusCode::BAD_REQUEST, "which session?"))?;
        let (_, connection) = self
            .lock()
            .remove(id)
            .ok_or_else(|| refused(StatusCode::NOT_FOUND, "no such session"))?;
        connection.cancel.cancel();
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<HeaderValue, (Instant, Arc<Connection>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
