//! A server with the tools, resources and prompts that the official conformance suite asks for,
//! registered and called like all others. `conformance ADDR` serves it on HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod offer;
mod scripted;
mod tools;

use std::sync::Arc;

use haft_mcp::{HttpConfig, Server, ServerConfig};
use haft_testkit::House;
use tokio::net::TcpListener;
use tokio::sync::watch;

#[tokio::main]
async fn main() {
    let address = std::env::args().nth(1).expect("an address to listen on");
    let house = House::builder().build();
    let session = house.session("conformance");
    let prompts = watch::Sender::new(0);
    let runtime = house.runtime;
    runtime
        .registry()
        .register_all(tools::all(&runtime, &prompts))
        .expect("names are free");
    let config = ServerConfig {
        name: "haft-conformance".into(),
        title: "haft, as the conformance suite wants it".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        instructions: None,
    };
    let server = Server::new(config, runtime, session)
        .expect("randomness")
        .offering(Arc::new(offer::Suite { prompts }));
    let listener = TcpListener::bind(&address).await.expect("the address");
    println!("http://{}/mcp", listener.local_addr().expect("an address"));
    Arc::new(server)
        .serve_http(listener, HttpConfig::default())
        .await
        .expect("serving");
}
