//! Where a URL leads. It is read once; what another reader could take for another place is refused.

use std::net::IpAddr;

use url::{Host, Url};

use super::WebError;

const LONGEST: usize = 8 * 1024;

/// Names that lead inside whatever they resolve to.
const INSIDE: [&str; 12] = [
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "lan",
    "home.arpa",
    "consul",
    "default",
    "svc",
];

/// Names of metadata services outside those.
const METADATA: [&str; 3] = [
    "metadata.goog",
    "metadata.packet.net",
    "metadata.platformequinix.com",
];

/// A URL that was understood.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) url: Url,
    pub(super) host: String,
    /// The address, where the host is one
    pub(super) address: Option<IpAddr>,
    pub(super) port: u16,
}

impl Target {
    pub(super) fn parse(text: &str) -> Result<Target, WebError> {
        let wrong = |reason: &'static str| WebError::Url(reason);
        if text.len() > LONGEST {
            return Err(wrong("it is too long"));
        }
        let odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
        if text.contains(odd) {
            return Err(wrong("it has spaces, control characters or a backslash"));
        }
        let (scheme, rest) = text.split_once("://").ok_or(wrong("it has no `//`"))?;
        if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
            return Err(wrong("only http and https are spoken"));
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains(['@', '%']) || authority.is_empty() {
            return Err(wrong("its host is not plain"));
        }
        let url = Url::parse(text).map_err(|_| wrong("it cannot be read"))?;
        let port = url
            .port_or_known_default()
            .filter(|port| *port != 0)
            .ok_or(wrong("it has no port"))?;
        let (host, address) = match url.host() {
            Some(Host::Ipv4(address)) => {
                let written = authority.split(':').next().unwrap_or_default();
                if written != address.to_string() {
                    return Err(wrong("its address is not written as `1.2.3.4`"));
                }
                (address.to_string(), Some(IpAddr::V4(address)))
            }
            Some(Host::Ipv6(address)) => (address.to_string(), Some(IpAddr::V6(address))),
            Some(Host::Domain(name)) => (plain_name(name)?, None),
            None => return Err(wrong("it has no host")),
        };
        Ok(Target {
            url,
            host,
            address,
            port,
        })
    }

    /// Where a redirect leads from here.
    pub(super) fn join(&self, location: &str) -> Result<Target, WebError> {
        let wrong = || WebError::Url("a redirect leads nowhere");
        let scheme = location.split([':', '/', '?', '#']).next();
        let is_absolute = scheme
            .is_some_and(|scheme| !scheme.is_empty() && location[scheme.len()..].starts_with(':'));
        if is_absolute {
            return Target::parse(location);
        }
        if location.contains(|c: char| c.is_control() || c == '\\') {
            return Err(wrong());
        }
        let joined = self.url.join(location).map_err(|_| wrong())?;
        Target::parse(joined.as_str())
    }

    pub(super) fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Scheme, host and port: what credentials are for.
    pub(super) fn origin(&self) -> (bool, &str, u16) {
        (self.is_tls(), &self.host, self.port)
    }

    /// Where it is, for a person: no more than a look takes in, and nothing that may be secret.
    pub(super) fn place(&self) -> String {
        let scheme = self.url.scheme();
        let place = format!("{scheme}://{}{}", self.host_header(), self.url.path());
        place.chars().take(200).collect()
    }

    /// Whether the name alone says that it leads inside.
    pub(super) fn is_inside(&self) -> bool {
        self.address.is_none() && (!self.host.contains('.') || is_under(&self.host, &INSIDE))
    }

    pub(super) fn is_metadata(&self) -> bool {
        is_under(&self.host, &METADATA) || self.host.split('.').next() == Some("metadata")
    }

    /// As the `Host` header has it.
    pub(super) fn host_header(&self) -> String {
        let host = match self.address {
            Some(IpAddr::V6(address)) => format!("[{address}]"),
            _ => self.host.clone(),
        };
        match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    }

    /// As the request line has it.
    pub(super) fn path(&self) -> String {
        match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        }
    }
}

fn plain_name(name: &str) -> Result<String, WebError> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let labels_are_good = name
        .split('.')
        .all(|label| !label.is_empty() && label.chars().all(good));
    if name.len() > 253 || !labels_are_good {
        return Err(WebError::Url("its host is not a name"));
    }
    Ok(name.to_ascii_lowercase())
}

fn is_under(host: &str, names: &[&str]) -> bool {
    names.iter().any(|name| {
        host.strip_suffix(name)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}
