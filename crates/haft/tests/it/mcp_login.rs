//! `haft mcp login` as a person does it: a server that wants a login, a browser that goes there.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::place::{Place, text, verdict};

const GUARDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/guarded.py");
/// A browser that follows redirects and shows nothing.
const BROWSER: &str = concat!(
    "python3 ",
    env!("CARGO_MANIFEST_DIR"),
    "/tests/peers/browse.py"
);

struct Guarded {
    child: Child,
    url: String,
    seen: std::path::PathBuf,
}

impl Guarded {
    fn start(place: &Place, name: &str) -> Guarded {
        let seen = place.beside(name);
        fs::write(&seen, "").unwrap();
        let mut child = Command::new("python3")
            .arg(GUARDED)
            .arg(&seen)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut url).unwrap();
        let url = url.trim().to_owned();
        Guarded { child, url, seen }
    }

    fn seen(&self) -> String {
        fs::read_to_string(&self.seen).unwrap()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configure(place: &Place, server: &Guarded) {
    place.config(&format!(
        "mcp: {{servers: {{far: {{url: '{}'}}}}}}\n",
        server.url
    ));
}

#[test]
fn a_person_logs_in_and_the_login_stays_with_its_server() {
    let place = Place::new();
    let server = Guarded::start(&place, "seen");
    configure(&place, &server);
    place
        .run(["mcp", "test", "far"])
        .exits(1)
        .says("haft mcp login far");
    let mut login = place.haft();
    login.args(["mcp", "login", "far"]).env("BROWSER", BROWSER);
    let login = crate::place::finish(&mut login);
    login.exits(0).says("logged in: far, 1 tools");
    let seen = server.seen();
    assert!(seen.contains("authorize S256 http://127.0.0.1:"), "{seen}");
    assert!(seen.contains("token authorization_code"), "{seen}");
    let kept = place.home.join("mcp-login-far.json");
    let mode = fs::metadata(&kept).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The token has run out by now, and is renewed without anybody.
    let outcome = place.call("mcp.far.hello", &json!({}), &["--yes"]);
    assert!(text(&outcome).contains("hello, friend"), "{outcome}");
    assert!(server.seen().contains("token refresh_token"));
    for line in [&["mcp", "list", "--json"][..], &["journal", "--json"]] {
        let ran = place.run(line);
        assert!(!ran.out.contains("of-the-guarded-server"), "{ran:?}");
    }
    // Another login that comes to nothing leaves the one that is there.
    let before = fs::read(&kept).unwrap();
    let mut failing = place.haft();
    failing
        .args(["mcp", "login", "far"])
        .env("BROWSER", format!("{BROWSER} --refuse"));
    crate::place::finish(&mut failing).exits(1);
    assert_eq!(fs::read(&kept).unwrap(), before);
    let outcome = place.call("mcp.far.hello", &json!({}), &["--yes"]);
    assert!(text(&outcome).contains("hello, friend"), "{outcome}");
    // A server of the same name at another place gets nothing of it.
    let other = Guarded::start(&place, "seen-by-other");
    configure(&place, &other);
    let outcome = place.call("mcp.far.hello", &json!({}), &["--yes"]);
    assert_eq!(verdict(&outcome), "not_available", "{outcome}");
    assert_eq!(other.seen(), "");
    configure(&place, &server);
    let outcome = place.call("mcp.far.hello", &json!({}), &["--yes"]);
    assert!(text(&outcome).contains("hello, friend"), "{outcome}");
    place.run(["mcp", "logout", "far"]).exits(0);
    let outcome = place.call("mcp.far.hello", &json!({}), &["--yes"]);
    assert_eq!(verdict(&outcome), "not_available", "{outcome}");
}
