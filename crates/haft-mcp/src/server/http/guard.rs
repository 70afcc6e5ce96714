//! Who is let in: requests that address this server by a name it has, from pages it serves, with
//! its token. A page in somebody's browser can reach loopback; it cannot choose these headers.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};

use super::{HttpConfig, Refusal, refused};

/// Names of this machine for itself.
const OURSELVES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

pub(super) struct Guard {
    /// A digest, so that comparing takes the same time wherever the two differ
    token: Option<blake3::Hash>,
    hosts: Vec<String>,
}

impl Guard {
    pub(super) fn new(config: HttpConfig) -> Self {
        let token = config.token.map(|token| blake3::hash(token.as_bytes()));
        let hosts = config.hosts.iter().map(|host| host.to_lowercase());
        Guard {
            token,
            hosts: hosts.collect(),
        }
    }

    pub(super) fn admit(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = one(headers, header::HOST.as_str());
        if !host.is_ok_and(|host| host.is_some_and(|host| self.knows(host))) {
            return Err(refused(
                StatusCode::FORBIDDEN,
                "this host is not served here: whoever started haft names it with `--allow-host`",
            ));
        }
        let ours = match one(headers, header::ORIGIN.as_str()) {
            Ok(None) => true,
            Ok(Some(origin)) => ["http://", "https://"]
                .iter()
                .find_map(|scheme| origin.strip_prefix(scheme))
                .is_some_and(|host| self.knows(host)),
            Err(()) => false,
        };
        if !ours {
            return Err(refused(
                StatusCode::FORBIDDEN,
                "this origin is not served here",
            ));
        }
        let Some(token) = self.token else {
            return Ok(());
        };
        let given = one(headers, header::AUTHORIZATION.as_str());
        let given = given.ok().flatten().and_then(bearer);
        if given.is_some_and(|given| blake3::hash(given.as_bytes()) == token) {
            return Ok(());
        }
        let mut response = refused(StatusCode::UNAUTHORIZED, "a token is needed");
        let challenge = HeaderValue::from_static("Bearer");
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, challenge);
        Err(response)
    }

    fn knows(&self, authority: &str) -> bool {
        let Some(name) = name_of(authority) else {
            return false;
        };
        let name = name.to_lowercase();
        OURSELVES.contains(&&*name) || self.hosts.contains(&name)
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_start())
}

/// A header that may stand once.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(());
    }
    first
        .map(|value| value.to_str().map_err(|_| ()))
        .transpose()
}

/// The name in `name`, `name:port` or `[address]:port`; none where it is anything else.
fn name_of(authority: &str) -> Option<&str> {
    let (name, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => match authority.find(':') {
            Some(colon) => authority.split_at(colon),
            None => (authority, ""),
        },
    };
    let good_port = match port.strip_prefix(':') {
        Some(digits) => !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()),
        None => port.is_empty(),
    };
    good_port.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(config: &HttpConfig, headers: &[(&str, &str)], expected: u16) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, value.parse().unwrap());
        }
        let status = match Guard::new(config.clone()).admit(&map) {
            Ok(()) => 200,
            Err(response) => response.status().as_u16(),
        };
        assert_eq!(status, expected, "{headers:?}");
    }

    #[test]
    fn only_names_of_this_server_are_served() {
        let open = HttpConfig::default();
        for (host, expected) in [
            ("localhost", 200),
            ("LOCALHOST:80", 200),
            ("127.0.0.1:7", 200),
            ("[::1]:7", 200),
            ("127.0.0.1.evil.example", 403),
            ("localhost.evil.example:80", 403),
            ("evil.example", 403),
            ("localhost:80@evil.example", 403),
            ("127.0.0.1:80:80", 403),
            ("[::1]x", 403),
            ("", 403),
        ] {
            check(&open, &[("host", host)], expected);
            let origin = format!("http://{host}");
            check(
                &open,
                &[("host", "localhost"), ("origin", &origin)],
                expected,
            );
        }
        check(&open, &[], 403);
        check(&open, &[("host", "localhost"), ("host", "localhost")], 403);
        check(&open, &[("host", "localhost"), ("origin", "null")], 403);
        let named = HttpConfig {
            hosts: vec!["Tools.example".into()],
            ..HttpConfig::default()
        };
        check(&named, &[("host", "tools.example:8080")], 200);
    }

    #[test]
    fn the_token_is_needed_and_comes_after_the_host() {
        let shut = HttpConfig {
            token: Some("t0ken".into()),
            ..HttpConfig::default()
        };
        let with = |value: &str, expected: u16| {
            check(
                &shut,
                &[("host", "localhost"), ("authorization", value)],
                expected,
            );
        };
        with("Bearer t0ken", 200);
        with("bearer t0ken", 200);
        with("Bearer t0ke", 401);
        with("Bearer ", 401);
        with("t0ken", 401);
        with("Basic t0ken", 401);
        check(&shut, &[("host", "localhost")], 401);
        check(
            &shut,
            &[("host", "evil.example"), ("authorization", "Bearer t0ken")],
            403,
        );
    }
}
