//! The stream on which a server tells of its changes breaks, and is there again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

use crate::over_http::{Far, TOKEN, ours_with_runtime};

/// Passes everything on to the server at a port. Counts how often it agreed to tell of changes, and
/// can break every connection at once.
struct Between {
    url: String,
    listening: watch::Receiver<usize>,
    cut: Arc<Notify>,
}

async fn between(port: u16) -> Between {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (count, listening) = watch::channel(0);
    let count = Arc::new(count);
    let cut = Arc::new(Notify::new());
    let breaks = cut.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (count, breaks) = (count.clone(), breaks.clone());
            tokio::spawn(async move {
                let broken = breaks.notified();
                tokio::select! {
                    () = passed_on(client, port, &count) => {}
                    () = broken => {}
                }
            });
        }
    });
    Between {
        url,
        listening,
        cut,
    }
}

async fn passed_on(client: TcpStream, port: u16, count: &watch::Sender<usize>) {
    let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let forth = tokio::io::copy(&mut from_client, &mut to_server);
    let back = async {
        let mut part = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = from_server.read(&mut part).await {
            if to_client.write_all(&part[..read]).await.is_err() {
                return;
            }
            let said = String::from_utf8_lossy(&part[..read]);
            if said.contains("notifications/subscriptions/acknowledged") {
                count.send_modify(|count| *count += 1);
            }
        }
    };
    let _ = tokio::join!(forth, back);
}

#[tokio::test]
async fn a_stream_of_news_that_broke_is_renewed() {
    let (url, theirs) = ours_with_runtime().await;
    let port = url.split([':', '/']).nth(4).unwrap().parse().unwrap();
    let mut between = between(port).await;
    let far = Far::at(&between.url, &[("Authorization", TOKEN)]);
    let mut changes = far.runtime.registry().changes();
    far.fleet.look_at("far").await.unwrap();
    let has_echo = || far.runtime.registry().has("mcp.far.test__echo");
    assert!(has_echo());
    between
        .listening
        .wait_for(|count| *count == 1)
        .await
        .unwrap();
    between.cut.notify_waiters();
    theirs.registry().unregister("test.echo").unwrap();
    // Nobody calls anything: it is heard of because somebody listens again.
    let start = Instant::now();
    while has_echo() {
        assert!(start.elapsed() < Duration::from_secs(60), "nobody listens");
        let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
    }
    assert!(*between.listening.borrow() > 1);
    far.fleet.stop().await;
}
