// SPDX-License-Identifier: Apache-2.0
//! Tests connections of the HTTP server on real sockets: how many one address may have, and
//! the peer address that a request carries.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use axum::Router;
use axum::extract::Extension;
use axum::routing::get;
use daemon_kit::credentials::http::{Peer, Server, acceptor};
use daemon_kit::credentials::{Keys, ServerTls};
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use test_support::certificates::{Authority, Purpose};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;

/// Number of connections that the server allows one address.
const OF_ADDRESS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(60);

async fn serve(tls: Option<TlsAcceptor>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let peer = |Extension(Peer(from)): Extension<Peer>| async move { from.to_string() };
    let app = Router::new().route("/", get(peer));
    tokio::spawn(Server::new(listener, tls).serve(app));
    address
}

async fn connect(from: &str, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket
        .bind(SocketAddr::new(from.parse().unwrap(), 0))
        .unwrap();
    socket.connect(to).await.unwrap()
}

/// Returns whether the server closed a connection that sends nothing, which it does right
/// after accepting it if the address has too many.
async fn closed(stream: &mut TcpStream) -> bool {
    let read = tokio::time::timeout(PATIENCE, stream.read_u8()).await;
    read.expect("it is neither closed nor let go").is_err()
}

#[tokio::test]
async fn one_address_leaves_connections_for_the_others() {
    let to = serve(None).await;
    let mut idle = Vec::new();
    for _ in 0..OF_ADDRESS {
        idle.push(connect("127.0.0.2", to).await);
    }
    assert!(closed(&mut connect("127.0.0.2", to).await).await);
    let mut other = connect("127.0.0.3", to).await;
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    other.write_all(request).await.unwrap();
    let mut answer = String::new();
    other.read_to_string(&mut answer).await.unwrap();
    let from = other.local_addr().unwrap().to_string();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.ends_with(&from), "{answer}");
    drop(idle);
}

#[tokio::test]
async fn clients_that_have_not_shaken_hands_have_places_too() {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::new(dir.path(), "ca");
    let files = authority.sign("server", Purpose::Server);
    let tls = ServerTls {
        certificate: files.certificate,
        key: files.key,
        client_ca: None,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let tls = acceptor(&tls, &Keys::under("http"), now.as_secs()).unwrap();
    let to = serve(Some(tls)).await;
    let mut silent = Vec::new();
    for _ in 0..OF_ADDRESS {
        silent.push(connect("127.0.0.2", to).await);
    }
    assert!(closed(&mut connect("127.0.0.2", to).await).await);
    // It was not closed for its silence: the earlier connections are still open.
    let waits = silent.iter().filter(|s| {
        let mut byte = [0];
        s.try_read(&mut byte)
            .is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock)
    });
    assert_eq!(waits.count(), OF_ADDRESS);
}
