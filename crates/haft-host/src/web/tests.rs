//! The corpus through the client itself, on a network of our own: what is dialled, what is asked
//! there, and what comes of it. Nothing here leaves the process but for the last part, which talks
//! to servers on loopback.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::BoxFuture;
use http::{HeaderValue, Method, header};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::connect::Connections;
use super::net::{Net, Stream};
use super::{Follow, Reach, Web, WebError, WebRequest};

const VECTORS: &str = include_str!("../../tests/data/ssrf/vectors.jsonl");
const SELF: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 216, 99));

/// Names with their answers, look-up by look-up, and an origin that redirects.
#[derive(Default)]
struct Scripted {
    names: HashMap<String, Vec<Vec<IpAddr>>>,
    looked_up: Mutex<HashMap<String, usize>>,
    redirects: Arc<Mutex<Vec<String>>>,
    dialled: Mutex<Vec<IpAddr>>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    fn of(row: &Value) -> Scripted {
        let mut names = HashMap::new();
        for (name, answers) in row["dns"].as_object().into_iter().flatten() {
            let answers = answers.as_array().unwrap().iter().map(|answer| {
                let addresses = answer.as_array().unwrap().iter();
                addresses
                    .map(|address| match address.as_str().unwrap() {
                        "SELF" => SELF,
                        address => address.parse().unwrap(),
                    })
                    .collect()
            });
            // Names are looked up in their ASCII form.
            let name = match url::Host::parse(name) {
                Ok(host) => host.to_string(),
                Err(_) => name.clone(),
            };
            names.insert(name, answers.collect());
        }
        let mut redirects: Vec<String> = row["redirect"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|step| {
                let location = step["location"].as_str().unwrap();
                format!(
                    "HTTP/1.1 {} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n",
                    step["code"]
                )
            })
            .collect();
        redirects.reverse();
        Scripted {
            names,
            redirects: Arc::new(Mutex::new(redirects)),
            ..Scripted::default()
        }
    }
}

/// Answer whatever is asked, redirects first.
async fn origin(
    mut stream: DuplexStream,
    redirects: Arc<Mutex<Vec<String>>>,
    heard: Arc<Mutex<Vec<String>>>,
) {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        request.extend_from_slice(&buffer[..read]);
        // It speaks no TLS: that it was dialled is all there is to know.
        if request[0] == 0x16 {
            return;
        }
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        heard
            .lock()
            .unwrap()
            .push(String::from_utf8_lossy(&request).into_owned());
        request.clear();
        let answer = redirects.lock().unwrap().pop();
        let answer = answer.unwrap_or("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned());
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

impl Net for Scripted {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let answers = self.names.get(host).or_else(|| self.names.get("*"));
        let found = answers.map(|answers| {
            let mut looked_up = self.looked_up.lock().unwrap();
            let count = looked_up.entry(host.to_owned()).or_default();
            let answer = answers.get(*count).or(answers.last()).cloned();
            *count += 1;
            answer.unwrap_or_default()
        });
        Box::pin(std::future::ready(
            found.ok_or(io::ErrorKind::NotFound.into()),
        ))
    }

    fn dial(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Stream>> {
        self.dialled.lock().unwrap().push(address.ip());
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        tokio::spawn(origin(theirs, self.redirects.clone(), self.heard.clone()));
        Box::pin(std::future::ready(Ok(Box::new(ours) as Stream)))
    }

    fn own(&self) -> Vec<IpAddr> {
        vec![SELF]
    }
}

fn asking(url: &str) -> WebRequest {
    let mut request = WebRequest::new(Method::GET, url);
    request.follow = Follow::Anywhere;
    let secret = HeaderValue::from_static("Bearer x");
    request.headers.insert(header::AUTHORIZATION, secret);
    request
}

#[tokio::test]
async fn the_corpus() {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for line in VECTORS.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let (url, expected) = (
            row["url"].as_str().unwrap(),
            row["expect"].as_str().unwrap(),
        );
        let net = Arc::new(Scripted::of(&row));
        let web = Web::on(net.clone(), Reach::public());
        let result = web.send(asking(url)).await;
        let dialled = net.dialled.lock().unwrap().clone();
        let outside = dialled.iter().all(|address| {
            matches!(address, IpAddr::V4(v4) if v4.octets()[..3] == [93, 184, 216])
                && *address != SELF
        });
        let told = || format!("{row} dialled {dialled:?}, {:?}", result.as_ref().err());
        match expected {
            "block" => {
                assert!(result.is_err() && outside, "{}", told());
                assert!(
                    dialled.is_empty() || row.get("redirect").is_some(),
                    "{}",
                    told()
                );
            }
            "allow" => {
                assert!(!dialled.is_empty(), "{}", told());
                assert!(result.is_ok() || url.starts_with("https"), "{}", told());
            }
            "allow-pinned" => {
                assert!(
                    result.is_ok() && outside && dialled.len() == 1,
                    "{}",
                    told()
                );
            }
            "allow-strip-auth" => {
                assert!(result.is_ok(), "{}", told());
                let heard = net.heard.lock().unwrap();
                assert!(heard[0].contains("authorization: Bearer x"), "{heard:?}");
                assert!(!heard[1].contains("authorization"), "{heard:?}");
            }
            "ask-or-block" => assert!(dialled.is_empty(), "{}", told()),
            // Told of servers, not of URLs: the tests below.
            "behave" => continue,
            other => panic!("{other}"),
        }
        *counts
            .entry(if expected == "block" {
                "block"
            } else {
                "other"
            })
            .or_default() += 1;
    }
    assert!(counts["block"] > 350 && counts["other"] > 50, "{counts:?}");
}

/// What a person has configured is reached, and nothing beside it.
#[tokio::test]
async fn a_configured_host_is_reached_at_any_port() {
    let row: Value = serde_json::from_str(
        r#"{"dns": {"wiki": [["10.0.0.7"]], "other": [["10.0.0.8"]], "meta": [["169.254.169.254"]], "localhost": [["127.0.0.1"]]}}"#,
    )
    .unwrap();
    let check = async |reach: Reach, url: &str, open: bool| {
        let net = Arc::new(Scripted::of(&row));
        let result = Web::on(net.clone(), reach).send(asking(url)).await;
        assert_eq!(result.is_ok(), open, "{url} {:?}", result.err());
        assert_eq!(net.dialled.lock().unwrap().is_empty(), !open, "{url}");
    };
    let wiki = || Reach::with("http://wiki:8080/mcp").unwrap();
    check(wiki(), "http://wiki:8080/mcp", true).await;
    check(wiki(), "http://other:8080/mcp", false).await;
    check(wiki(), "http://10.0.0.7:8080/mcp", false).await;
    check(Reach::with("http://meta/").unwrap(), "http://meta/", false).await;
    let here = || Reach::near("http://127.0.0.1:9/mcp").unwrap();
    check(here(), "http://localhost:7/token", true).await;
    check(here(), "http://127.0.0.1:7/token", true).await;
    check(here(), "http://10.0.0.7/token", false).await;
    check(here(), "http://other/token", false).await;
    check(
        Reach::with("http://127.0.0.1:9/").unwrap(),
        "http://localhost/",
        false,
    )
    .await;
}

/// Where a name leads that anybody can have may change after it was configured.
#[tokio::test]
async fn a_configured_name_that_comes_to_lead_inside_is_refused() {
    let row: Value = serde_json::from_str(
        r#"{"dns": {"mcp.example.org": [["93.184.216.34"], ["10.0.0.7"], ["127.0.0.1"], ["SELF"]],
            "in.example.org": [["10.0.0.7"]], "both.example.org": [["10.0.0.7", "1.1.1.1"]]}}"#,
    )
    .unwrap();
    let net = Arc::new(Scripted::of(&row));
    let (url, said) = ("http://mcp.example.org:8080/", "http://in.example.org/");
    for expected in [true, false, false, false] {
        let reach = Reach::with(url).unwrap();
        let result = Web::on(net.clone(), reach).send(asking(url)).await;
        assert_eq!(result.is_ok(), expected, "{:?}", result.err());
    }
    assert_eq!(net.dialled.lock().unwrap().len(), 1);
    for (reach, expected) in [
        (Reach::with(said).unwrap(), false),
        (Reach::near(said).unwrap(), false),
        (Reach::with(said).unwrap().inside_if(true), true),
        (Reach::near(said).unwrap().inside_if(true), true),
    ] {
        let result = Web::on(net.clone(), reach).send(asking(said)).await;
        assert_eq!(result.is_ok(), expected, "{:?}", result.err());
    }
    let web = Web::on(net, Reach::public());
    for (url, expected) in [
        (said, true),
        ("http://both.example.org/", false),
        ("http://no.example.org/", false),
        ("http://10.0.0.7/", false),
        ("http://wiki/", false),
    ] {
        assert_eq!(web.leads_inside(url).await, expected, "{url}");
    }
}

#[tokio::test]
async fn headers_that_carry_a_message_are_ours() {
    for name in [
        header::HOST,
        header::TRANSFER_ENCODING,
        header::CONTENT_LENGTH,
        header::CONNECTION,
    ] {
        let net = Arc::new(Scripted::default());
        let mut request = asking("http://1.1.1.1/");
        request.headers.insert(name, HeaderValue::from_static("x"));
        let result = Web::on(net.clone(), Reach::public()).send(request).await;
        assert!(matches!(result, Err(WebError::Header(_))));
        assert!(net.dialled.lock().unwrap().is_empty());
    }
}

/// Method, body and credentials go on within an origin, and nowhere else.
#[tokio::test]
async fn a_redirect_is_followed_within_its_origin() {
    let check = async |code: u16, location: &str, expected: &str| {
        let row = serde_json::json!({
            "dns": {"a.example": [["93.184.216.34"]], "b.example": [["93.184.216.35"]]},
            "redirect": [{"code": code, "location": location}],
        });
        let net = Arc::new(Scripted::of(&row));
        let mut request = asking("http://a.example/mcp");
        request.method = Method::POST;
        request.follow = Follow::Within;
        let result = Web::on(net.clone(), Reach::public()).send(request).await;
        let heard = net.heard.lock().unwrap();
        let told = match result {
            Ok(_) => {
                assert!(heard[1].contains("authorization: Bearer x"), "{heard:?}");
                heard[1].lines().next().unwrap().to_owned()
            }
            Err(error) => {
                assert_eq!(heard.len(), 1, "{location}");
                error.to_string()
            }
        };
        assert_eq!(told, expected, "{code} {location}");
    };
    check(307, "/mcp/", "POST /mcp/ HTTP/1.1").await;
    check(308, "http://a.example:80/x?y=1", "POST /x?y=1 HTTP/1.1").await;
    let elsewhere = |place: &str| format!("it leads elsewhere: `{place}`");
    check(302, "/mcp/", &elsewhere("http://a.example/mcp/")).await;
    check(303, "/mcp/", &elsewhere("http://a.example/mcp/")).await;
    for (location, place) in [
        ("https://a.example/mcp", "https://a.example/mcp"),
        ("http://a.example:8080/mcp", "http://a.example:8080/mcp"),
        ("http://b.example/x?token=1#y", "http://b.example/x"),
        ("http://127.0.0.1/", "http://127.0.0.1/"),
    ] {
        check(308, location, &elsewhere(place)).await;
    }
    check(
        308,
        "file:///etc/passwd",
        "the URL cannot be used: only http and https are spoken",
    )
    .await;
}

/// A server that says one thing to everybody, and leaves.
async fn saying(answer: Vec<u8>) -> (String, Web) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let reach = Reach::with(&url).unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                let _ = stream.read(&mut buffer).await;
                let _ = stream.write_all(&answer).await;
            });
        }
    });
    (url, Web::new(reach))
}

async fn whole(answer: impl Into<Vec<u8>>) -> Result<Vec<u8>, WebError> {
    let (url, web) = saying(answer.into()).await;
    let mut request = WebRequest::new(Method::GET, url);
    request.limit = 1000;
    web.send(request).await?.into_body().whole().await
}

#[tokio::test]
async fn servers_that_misbehave_are_errors() {
    let good = "HTTP/1.1 200 OK\r\n";
    assert_eq!(
        whole(format!("{good}Content-Length: 2\r\n\r\nhi"))
            .await
            .unwrap(),
        b"hi"
    );
    let large = format!("{good}X: {}\r\n\r\n", "x".repeat(1 << 20));
    let many = format!("{good}{}\r\n", "Set-Cookie: a=b\r\n".repeat(1000));
    let lies = format!("{good}Content-Length: 100\r\n\r\nhi");
    let chunk = format!("{good}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nhi");
    let chunk_too = format!(
        "{good}Transfer-Encoding: chunked\r\n\r\n7fffffff\r\n{}",
        "x".repeat(2000)
    );
    for bad in [
        large,
        many,
        lies,
        chunk,
        chunk_too,
        "hello there".to_owned(),
        String::new(),
    ] {
        let head: String = bad.chars().take(60).collect();
        assert!(whole(bad).await.is_err(), "{head}");
    }
    let long = format!("{good}Content-Length: 5000\r\n\r\n{}", "x".repeat(5000));
    assert!(matches!(whole(long).await, Err(WebError::TooLarge(1000))));
}

#[tokio::test]
async fn a_server_that_never_answers_is_left() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let web = Web::new(Reach::with(&url).unwrap());
    let mut request = WebRequest::new(Method::GET, url);
    request.patience = Duration::from_millis(50);
    assert!(matches!(
        web.send(request).await,
        Err(WebError::TimedOut(_))
    ));
}

/// A connection serves one request after the other, and a closed one is replaced.
#[tokio::test]
async fn connections_are_used_again() {
    let net = Arc::new(Scripted::default());
    let web = Web::on(net.clone(), Reach::public());
    for _ in 0..3 {
        let answer = web.send(asking("http://1.1.1.1/")).await.unwrap();
        assert!(answer.into_body().whole().await.unwrap().is_empty());
        // The connection notices at its next turn that it is free.
        while web.0.kept_ready() == 0 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(net.dialled.lock().unwrap().len(), 1);
    let (url, web) = saying(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec()).await;
    for _ in 0..3 {
        let request = WebRequest::new(Method::GET, url.clone());
        web.send(request)
            .await
            .unwrap()
            .into_body()
            .whole()
            .await
            .unwrap();
    }
}

/// Names a server that proves itself with the certificate of `other.test`.
struct Proving(TlsAcceptor);

impl Net for Proving {
    fn resolve<'a>(&'a self, _host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::ready(Ok(vec!["1.1.1.1".parse().unwrap()])))
    }

    fn dial(&self, _address: SocketAddr) -> BoxFuture<'_, io::Result<Stream>> {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let accepting = self.0.accept(theirs);
        tokio::spawn(async move {
            if let Ok(mut stream) = accepting.await {
                let mut buffer = [0; 4096];
                let _ = stream.read(&mut buffer).await;
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                let _ = stream.write_all(answer).await;
            }
        });
        Box::pin(std::future::ready(Ok(Box::new(ours) as Stream)))
    }

    fn own(&self) -> Vec<IpAddr> {
        Vec::new()
    }
}

#[tokio::test]
async fn a_certificate_is_for_the_name_that_was_asked_for() {
    let certificate =
        CertificateDer::from_pem_slice(include_bytes!("../../tests/data/tls/cert.pem"));
    let certificate = certificate.unwrap();
    let key =
        PrivateKeyDer::from_pem_slice(include_bytes!("../../tests/data/tls/key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let check = async |roots: Vec<CertificateDer<'static>>, url: &str, good: bool| {
        let net = Arc::new(Proving(TlsAcceptor::from(Arc::new(config.clone()))));
        let connections = Connections::new(net, Reach::public()).trusting(roots);
        let result = Web(Arc::new(connections)).send(asking(url)).await;
        assert_eq!(result.is_ok(), good, "{url} {:?}", result.as_ref().err());
        assert!(good || matches!(result, Err(WebError::Tls(_))));
    };
    check(vec![certificate.clone()], "https://other.test/", true).await;
    check(vec![certificate], "https://public.test/", false).await;
    check(Vec::new(), "https://other.test/", false).await;
}
