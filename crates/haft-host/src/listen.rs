//! Where others may reach us.

use std::io;

pub use tokio::net::TcpListener as Listener;

/// Listen at `address`, such as `127.0.0.1:8080`; port 0 takes any free one.
pub async fn listen(address: &str) -> io::Result<Listener> {
    Listener::bind(address).await
}
