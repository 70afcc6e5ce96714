//! Logging in at a server with OAuth: found by what the server answers, done by a person in a
//! browser, kept for the next time, renewed when it runs out. The protocol is rmcp's; every request
//! of it goes through the guarded client.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use haft_core::BoxFuture;
use haft_host::http::Response;
use haft_host::{Callback, Follow, Web, WebRequest};
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, CredentialStore, OAuthClientConfig,
    OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
    StoredCredentials,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{Mutex, OnceCell};

use super::{Record, Records};

/// How long a person may take in the browser.
const PERSON: Duration = Duration::from_secs(600);
/// A token is renewed this long before it runs out.
const MARGIN: u64 = 30;

/// Shows a person the page at which to log in.
pub trait Browser: Send + Sync {
    fn show<'a>(&'a self, url: &'a str) -> BoxFuture<'a, ()>;
}

/// What is known of us at a server, where it does not register whoever comes.
#[derive(Debug, Clone, Default)]
pub struct OauthSpec {
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// The URL of a document that describes this client, for servers that take one as its id
    pub client_metadata_url: Option<String>,
    /// What to ask for, in the place of what the server proposes
    pub scopes: Vec<String>,
}

/// A server wants credentials, or others.
pub(super) struct Challenge {
    pub(super) header: String,
    /// It knows us, and that is not enough
    pub(super) more: bool,
}

impl Challenge {
    /// The scopes it names.
    pub(super) fn scope(&self) -> Option<String> {
        let (_, rest) = self.header.split_once("scope=")?;
        let scope = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => rest.split([',', ' ']).next(),
        };
        scope.filter(|scope| !scope.is_empty()).map(str::to_owned)
    }
}

/// What is kept of a login.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Kept {
    /// Where it counts: a server of the same name at another place gets nothing of it
    #[serde(default)]
    url: String,
    #[serde(default)]
    credentials: Option<StoredCredentials>,
    #[serde(default)]
    client_secret: Option<String>,
    /// Scopes that a call was refused for the lack of
    #[serde(default)]
    wanted: Vec<String>,
}

impl Kept {
    fn token(&self) -> Option<Value> {
        let credentials = self.credentials.as_ref()?;
        serde_json::to_value(credentials.token_response.as_ref()?).ok()
    }

    fn access(&self) -> Option<String> {
        let token = self.token()?;
        token["access_token"].as_str().map(str::to_owned)
    }

    fn is_running_out(&self) -> bool {
        let received = self.credentials.as_ref().and_then(|c| c.token_received_at);
        let lives = self.token().and_then(|token| token["expires_in"].as_u64());
        match (received, lives) {
            (Some(received), Some(lives)) => received + lives < now() + MARGIN,
            _ => false,
        }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// The login at one server.
pub(super) struct Login {
    url: String,
    spec: OauthSpec,
    web: Web,
    store: Store,
    browser: Option<Arc<dyn Browser>>,
    callback: OnceCell<Callback>,
    /// One at a time: whoever comes later finds what the first has got
    working: Mutex<()>,
    /// The server wanted a login, and nobody was there for it
    missed: AtomicBool,
    /// What was asked for last
    asked: StdMutex<Vec<String>>,
}

/// Where a login is kept, and as it was last seen.
#[derive(Clone)]
struct Store {
    server: String,
    url: String,
    records: Arc<dyn Records>,
    seen: Arc<StdMutex<Option<Kept>>>,
}

impl Store {
    fn load(&self) -> Kept {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get_or_insert_with(|| {
            let bytes = self.records.load(Record::Login, &self.server);
            let kept = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            let kept: Option<Kept> = kept;
            let kept = kept.filter(|kept| kept.url == self.url).unwrap_or_default();
            hide(&kept);
            kept
        })
        .clone()
    }

    fn change(&self, edit: impl FnOnce(&mut Kept)) {
        let mut kept = self.load();
        edit(&mut kept);
        kept.url.clone_from(&self.url);
        hide(&kept);
        if let Ok(bytes) = serde_json::to_vec(&kept) {
            self.records.save(Record::Login, &self.server, &bytes);
        }
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }
}

/// Tokens are hidden wherever they might appear.
fn hide(kept: &Kept) {
    let token = kept.token().unwrap_or_default();
    let tokens = ["access_token", "refresh_token"].map(|key| token[key].as_str());
    let secrets = tokens.into_iter().flatten().map(str::to_owned);
    haft_runtime::hide(secrets.chain(kept.client_secret.clone()));
}

#[async_trait]
impl CredentialStore for Store {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(Store::load(self).credentials)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.change(|kept| kept.credentials = Some(credentials));
        Ok(())
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.change(|kept| kept.credentials = None);
        Ok(())
    }
}

impl Login {
    pub(super) fn new(
        server: &str,
        url: &str,
        spec: OauthSpec,
        web: Web,
        records: Arc<dyn Records>,
        browser: Option<Arc<dyn Browser>>,
    ) -> Self {
        Login {
            url: url.to_owned(),
            spec,
            web,
            store: Store {
                server: server.to_owned(),
                url: url.to_owned(),
                records,
                seen: Arc::default(),
            },
            browser,
            callback: OnceCell::new(),
            working: Mutex::default(),
            missed: AtomicBool::new(false),
            asked: StdMutex::default(),
        }
    }

    /// Whether the server wanted a login that nobody was there for.
    pub(super) fn is_missed(&self) -> bool {
        self.missed.load(Ordering::Relaxed)
    }

    /// The token to send, renewed if it runs out; none where nobody has logged in.
    pub(super) async fn token(&self) -> Result<Option<String>, AuthError> {
        let kept = self.store.load();
        if !kept.is_running_out() {
            return Ok(kept.access());
        }
        let _alone = self.working.lock().await;
        let kept = self.store.load();
        if !kept.is_running_out() {
            return Ok(kept.access());
        }
        match self.renew().await {
            Ok(()) => Ok(self.store.load().access()),
            // The server says what it wants then.
            Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Get other credentials than those that were sent; false if that needs a person and none is
    /// there.
    pub(super) async fn answer(
        &self,
        challenge: &Challenge,
        sent: Option<&str>,
    ) -> Result<bool, AuthError> {
        let _alone = self.working.lock().await;
        let kept = self.store.load();
        if kept.access().as_deref() != sent {
            return Ok(true);
        }
        if !challenge.more && sent.is_some() && self.renew().await.is_ok() {
            return Ok(true);
        }
        if challenge.more && self.has_asked_for(challenge) {
            return Ok(false);
        }
        let Some(browser) = &self.browser else {
            self.missed.store(true, Ordering::Relaxed);
            // What a call lacks is asked for at the next login.
            if let Some(scope) = challenge.scope() {
                self.store.change(|kept| {
                    kept.wanted = scope.split_whitespace().map(str::to_owned).collect();
                });
            }
            return Ok(false);
        };
        self.authorise(challenge, browser.as_ref()).await?;
        Ok(true)
    }

    /// Whether a login for just this was made: another one would bring nothing else.
    fn has_asked_for(&self, challenge: &Challenge) -> bool {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let scope = challenge.scope().unwrap_or_default();
        let mut wanted = scope.split_whitespace();
        !asked.is_empty() && wanted.all(|scope| asked.iter().any(|asked| asked == scope))
    }

    async fn manager(&self) -> Result<AuthorizationManager, AuthError> {
        let http = Arc::new(Guarded(self.web.clone()));
        let url = self.url.as_str();
        let mut manager = AuthorizationManager::new_with_oauth_http_client(url, http).await?;
        manager.set_credential_store(self.store.clone());
        Ok(manager)
    }

    /// A new token for the old one, without a person.
    async fn renew(&self) -> Result<(), AuthError> {
        let mut manager = self.manager().await?;
        let kept = self.store.load();
        let issuer = kept.credentials.as_ref().and_then(|c| c.issuer.as_ref());
        let found = manager.resolve_metadata().await?.metadata;
        // What one authorisation server has given is for no other, and for none that does not
        // say who it is.
        if issuer.is_some() && found.issuer.as_ref() != issuer {
            return Err(AuthError::AuthorizationRequired);
        }
        manager.set_metadata(found);
        if !manager.initialize_from_store().await? {
            return Err(AuthError::AuthorizationRequired);
        }
        if let (Some(credentials), Some(secret)) = (&kept.credentials, &kept.client_secret) {
            let client = OAuthClientConfig::new(credentials.client_id.clone(), self.url.clone());
            manager.configure_client(client.with_client_secret(secret.clone()))?;
        }
        manager.refresh_token().await.map(drop)
    }

    /// The whole way: what the server says, who we are there, a person in the browser, a token.
    async fn authorise(
        &self,
        challenge: &Challenge,
        browser: &dyn Browser,
    ) -> Result<(), AuthError> {
        let callback = self
            .callback
            .get_or_try_init(Callback::listen)
            .await
            .map_err(|error| AuthError::InternalError(error.to_string()))?;
        let mut manager = self.manager().await?;
        let found = manager
            .resolve_metadata_from_challenge(Some(&challenge.header))
            .await?;
        let takes_url = found
            .metadata
            .additional_fields
            .get("client_id_metadata_document_supported");
        let takes_url = takes_url == Some(&Value::Bool(true));
        manager.set_metadata(found.metadata);
        let scopes = self.scopes(&manager, challenge.more).await;
        let asked = scopes.clone();
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = asked;
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let redirect = callback.url();
        let client = match (&self.spec.client_id, &self.spec.client_metadata_url) {
            (Some(id), _) => {
                let client = OAuthClientConfig::new(id.clone(), redirect);
                match &self.spec.client_secret {
                    Some(secret) => client.with_client_secret(secret.clone()),
                    None => client,
                }
            }
            (None, Some(url)) if takes_url => OAuthClientConfig::new(url.clone(), redirect),
            _ => manager.register_client("haft", &redirect, &scopes).await?,
        };
        let secret = client.client_secret.clone();
        manager.configure_client(client)?;
        let page = manager.get_authorization_url(&scopes).await?;
        let failed = |reason: &str| AuthError::AuthorizationFailed(reason.to_owned());
        if !is_safe_page(&page) {
            return Err(failed(
                "the page to log in at is not on a secure connection",
            ));
        }
        let state = state_of(&page).ok_or_else(|| failed("the page to log in at has no state"))?;
        let came = async { tokio::join!(browser.show(&page), callback.came(state)).1 };
        let came = tokio::time::timeout(PERSON, came)
            .await
            .map_err(|_| failed("nobody logged in"))?
            .map_err(|error| failed(&error.to_string()))?;
        let came = AuthorizationCallback::from_redirect_url(&came)?;
        manager
            .exchange_code_for_token_with_issuer(
                &came.code,
                &came.csrf_token,
                came.issuer.as_deref(),
            )
            .await?;
        self.store.change(|kept| {
            kept.client_secret = secret;
            kept.wanted.clear();
        });
        self.missed.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// What to ask for: what the owner says, else what the server wants, with what we have where
    /// it wants more.
    async fn scopes(&self, manager: &AuthorizationManager, more: bool) -> Vec<String> {
        if !self.spec.scopes.is_empty() {
            return self.spec.scopes.clone();
        }
        let kept = self.store.load();
        let mut scopes = match (more, kept.credentials) {
            (true, Some(credentials)) => credentials.granted_scopes,
            _ => Vec::new(),
        };
        let proposed = manager.select_initial_scopes(&[]).await;
        for scope in proposed.into_iter().chain(kept.wanted) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        scopes
    }
}

/// Whether a person may log in at a page: what is typed there must not pass over the network for
/// everybody to read.
fn is_safe_page(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else {
        return url.starts_with("https://");
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    };
    matches!(host, Some("localhost" | "127.0.0.1" | "::1")) && !authority.contains('@')
}

/// The state that a page is opened with.
fn state_of(url: &str) -> Option<&str> {
    let (_, query) = url.split_once('?')?;
    let query = query.split('#').next()?;
    let mut parts = query.split('&');
    parts.find_map(|part| part.strip_prefix("state="))
}

/// The guarded client, as rmcp wants one.
struct Guarded(Web);

impl OAuthHttpClient for Guarded {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let OAuthHttpRequest {
                request,
                redirect_policy,
                timeout,
                ..
            } = request;
            let (parts, body) = request.into_parts();
            let mut sent = WebRequest::new(parts.method, parts.uri.to_string());
            sent.headers = parts.headers;
            sent.body = body.into();
            sent.follow = match redirect_policy {
                OAuthHttpRedirectPolicy::Follow => Follow::Anywhere,
                _ => Follow::Nowhere,
            };
            sent.limit = 1 << 20;
            sent.patience = timeout.unwrap_or(sent.patience);
            let (parts, body) = self.0.send(sent).await?.into_parts();
            Ok(Response::from_parts(parts, body.whole().await?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_to_log_in_at() {
        let check = |url: &str, expected: bool| assert_eq!(is_safe_page(url), expected, "{url}");
        check("https://a.example/authorize?x=1", true);
        check("http://127.0.0.1:80/authorize", true);
        check("http://localhost?x=1", true);
        check("http://[::1]:8/", true);
        check("http://a.example/authorize", false);
        check("http://localhost.evil.example/", false);
        check("http://localhost@evil.example/", false);
        check("http://localhost:80@evil.example/", false);
        check("file:///etc/passwd", false);
        check("javascript:alert(1)", false);
        assert_eq!(
            state_of("https://a/?a=1&state=xyz&b=2#state=no"),
            Some("xyz")
        );
        assert_eq!(state_of("https://a/?xstate=1"), None);
    }

    #[test]
    fn the_scopes_of_a_challenge() {
        let check = |header: &str, expected: Option<&str>| {
            let challenge = Challenge {
                header: header.to_owned(),
                more: true,
            };
            assert_eq!(challenge.scope().as_deref(), expected, "{header}");
        };
        check("Bearer", None);
        check("Bearer scope=\"a b\", error=\"x\"", Some("a b"));
        check("Bearer error=\"x\", scope=a", Some("a"));
        check("Bearer scope=\"\"", None);
    }
}
