//! Names to addresses, and addresses to streams. Tests put their own in its place.

use std::io;
use std::net::{IpAddr, SocketAddr};

use haft_core::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

use super::address;

pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

pub(super) type Stream = Box<dyn Duplex>;

pub(super) trait Net: Send + Sync {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;

    fn dial(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Stream>>;

    /// The addresses of this machine.
    fn own(&self) -> Vec<IpAddr>;
}

/// The network as it is.
pub(super) struct Real;

impl Net for Real {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            let mut addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
            addresses.dedup();
            Ok(addresses)
        })
    }

    fn dial(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Stream>> {
        Box::pin(async move {
            let stream = tokio::net::TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Stream)
        })
    }

    fn own(&self) -> Vec<IpAddr> {
        address::own()
    }
}
