//! From a checked target to a connection: the addresses that were checked are the ones that are
//! dialled, and no name is looked up twice. Connections are kept for the next request.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::address::{self, Class};
use super::net::{Net, Stream};
use super::target::Target;
use super::{Reach, WebError};

const CONNECT: Duration = Duration::from_secs(10);
/// Bytes and number of the headers of an answer.
const HEADER_BYTES: usize = 256 * 1024;
const HEADERS: usize = 128;
/// Many servers close a connection after five seconds; what is sent just then is lost, and nobody
/// knows whether it was heard.
const IDLE: Duration = Duration::from_secs(2);
/// Connections that wait for more, to one place.
const KEPT: usize = 8;

pub(super) type Sender = http1::SendRequest<Full<Bytes>>;

type Place = (bool, String, u16);

/// Open connections, and how to make more.
pub(super) struct Connections {
    net: Arc<dyn Net>,
    reach: Reach,
    tls: OnceLock<Option<TlsConnector>>,
    roots: Vec<CertificateDer<'static>>,
    kept: Mutex<HashMap<Place, Vec<(Sender, Instant)>>>,
}

impl Connections {
    pub(super) fn new(net: Arc<dyn Net>, reach: Reach) -> Self {
        Connections {
            net,
            reach,
            tls: OnceLock::new(),
            roots: Vec::new(),
            kept: Mutex::default(),
        }
    }

    /// Trust these besides what the machine trusts.
    #[cfg(test)]
    pub(super) fn trusting(mut self, roots: Vec<CertificateDer<'static>>) -> Self {
        self.roots = roots;
        self
    }

    /// A connection that waits, if there is one.
    pub(super) fn kept(&self, target: &Target) -> Option<Sender> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let senders = kept.get_mut(&place(target))?;
        senders.retain(|(sender, since)| {
            !sender.is_closed() && (!sender.is_ready() || since.elapsed() < IDLE)
        });
        let ready = senders.iter().position(|(sender, _)| sender.is_ready())?;
        Some(senders.swap_remove(ready).0)
    }

    /// Keep a connection; it can be used again once its answer has been read.
    pub(super) fn keep(&self, target: &Target, sender: Sender) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let senders = kept.entry(place(target)).or_default();
        if senders.len() < KEPT {
            senders.push((sender, Instant::now()));
        }
    }

    #[cfg(test)]
    pub(super) fn kept_ready(&self) -> usize {
        let kept = self.kept.lock().unwrap();
        kept.values()
            .flatten()
            .filter(|(sender, _)| sender.is_ready())
            .count()
    }

    /// The addresses of a target, all of which may be reached.
    pub(super) async fn checked(&self, target: &Target) -> Result<Vec<IpAddr>, WebError> {
        let chosen = self.reach.chose(&target.host);
        if target.is_metadata() {
            return Err(WebError::Refused(Class::Metadata.as_str()));
        }
        if target.is_inside() && !self.reach.names_inside(&target.host) {
            return Err(WebError::Refused("internal"));
        }
        if !chosen && !self.reach.is_near() && ![80, 443].contains(&target.port) {
            return Err(WebError::Port(target.port));
        }
        let addresses = match target.address {
            Some(address) => vec![address],
            None => self
                .net
                .resolve(&target.host)
                .await
                .map_err(|_| WebError::NoSuchHost)?,
        };
        if addresses.is_empty() {
            return Err(WebError::NoSuchHost);
        }
        for class in self.classes(&addresses) {
            if !self.reach.permits(&target.host, class) {
                return Err(WebError::Refused(class.as_str()));
            }
        }
        Ok(addresses)
    }

    /// What kind each address is of.
    fn classes(&self, addresses: &[IpAddr]) -> Vec<Class> {
        let own = self.net.own();
        let class = |address: &IpAddr| match address::class(*address) {
            Class::Public if own.contains(address) => Class::Own,
            class => class,
        };
        addresses.iter().map(class).collect()
    }

    /// Whether a name leads to this machine or a private network, and nowhere else.
    pub(super) async fn is_inside(&self, target: &Target) -> bool {
        let found = self.net.resolve(&target.host).await.unwrap_or_default();
        let is_inside =
            |class: &Class| matches!(class, Class::Loopback | Class::Private | Class::Own);
        !found.is_empty() && self.classes(&found).iter().all(is_inside)
    }

    /// A new connection to one of the addresses.
    pub(super) async fn open(
        &self,
        target: &Target,
        addresses: &[IpAddr],
    ) -> Result<Sender, WebError> {
        let stream = tokio::time::timeout(CONNECT, self.stream(target, addresses))
            .await
            .map_err(|_| WebError::TimedOut("connecting"))??;
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(HEADER_BYTES)
            .max_headers(HEADERS)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(WebError::broken)?;
        // Ends with the last of sender and answer.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(sender)
    }

    async fn stream(&self, target: &Target, addresses: &[IpAddr]) -> Result<Stream, WebError> {
        let mut failure = io::Error::from(io::ErrorKind::NotFound);
        let each = CONNECT / u32::try_from(addresses.len()).unwrap_or(1).clamp(1, 4);
        for address in addresses {
            let dialling = self.net.dial(SocketAddr::new(*address, target.port));
            match tokio::time::timeout(each, dialling).await {
                Ok(Ok(stream)) => return self.secured(target, stream).await,
                Ok(Err(error)) => failure = error,
                Err(_) => failure = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(WebError::Connect(failure))
    }

    /// The stream as it is, or with TLS for the name that was asked for.
    async fn secured(&self, target: &Target, stream: Stream) -> Result<Stream, WebError> {
        if !target.is_tls() {
            return Ok(stream);
        }
        let tls = self.tls.get_or_init(|| connector(&self.roots));
        let tls = tls.as_ref().ok_or(WebError::Url("no TLS here"))?;
        let name = match target.address {
            Some(address) => ServerName::IpAddress(address.into()),
            None => ServerName::try_from(target.host.clone())
                .map_err(|_| WebError::Url("its host is not a name"))?,
        };
        let stream = tls.connect(name, stream).await.map_err(WebError::Tls)?;
        Ok(Box::new(stream))
    }
}

fn place(target: &Target) -> Place {
    let (tls, host, port) = target.origin();
    (tls, host.to_owned(), port)
}

/// What the machine trusts. Certificates that cannot be read are left out.
fn connector(more: &[CertificateDer<'static>]) -> Option<TlsConnector> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots.add_parsable_certificates(more.iter().cloned());
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .ok()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Some(TlsConnector::from(Arc::new(config)))
}
