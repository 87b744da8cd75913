// SPDX-License-Identifier: Apache-2.0
//! Tests every pair of server and client credentials on real sockets. The server has
//! no services: `Unimplemented` is the answer to a caller who is let in.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use daemon_kit::credentials::{
    Access, ClientCredentials, ClientTls, Keys, Protection, Refusals, ServerCredentials, ServerTls,
    explain, incoming,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};
use test_support::certificates::{Authority, Files, Purpose};
use tidemark_proto::telemetry::GetInfoRequest;
use tidemark_proto::telemetry::telemetry_client::TelemetryClient;
use tonic::Code;

fn now_unix_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// Test files: an authority with certificates of each kind, a strange authority, and tokens.
struct Made {
    dir: tempfile::TempDir,
    ca: PathBuf,
    server: Files,
    client: Files,
    strange_ca: PathBuf,
    strange_client: Files,
    token: PathBuf,
    wrong_token: PathBuf,
}

impl Made {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ca = Authority::new(dir.path(), "ca");
        let strange = Authority::new(dir.path(), "strange");
        let token = |name: &str| {
            let path = dir.path().join(name);
            test_support::write_private(&path, format!("{name}-0123456789abcdef\n"));
            path
        };
        Self {
            server: ca.sign("server", Purpose::Server),
            client: ca.sign("client", Purpose::Client),
            ca: ca.file,
            strange_client: strange.sign("stranger", Purpose::Client),
            strange_ca: strange.file,
            token: token("token"),
            wrong_token: token("wrong"),
            dir,
        }
    }

    fn client_tls(&self, ca: &Path, own: Option<&Files>) -> ClientTls {
        ClientTls {
            ca: ca.to_path_buf(),
            certificate: own.map(|o| o.certificate.clone()),
            key: own.map(|o| o.key.clone()),
            server_name: None,
        }
    }
}

struct Server {
    port: u16,
    refusals: Arc<Refusals>,
}

async fn serve(tls: Option<ServerTls>, token: Option<&Path>) -> Server {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listen = listener.local_addr().unwrap();
    let p = Protection {
        listen,
        listen_key: "grpc.listen",
        tls: tls.as_ref(),
        token_file: token,
        insecure: false,
    };
    let c = ServerCredentials::load(&p, &Keys::under("grpc"), "test", now_unix_s()).unwrap();
    let served = c
        .server()
        .unwrap()
        .add_routes(tonic::service::Routes::default())
        .serve_with_incoming(incoming(listener));
    tokio::spawn(served);
    Server {
        port: listen.port(),
        refusals: Arc::clone(c.refusals()),
    }
}

/// Makes a call; returns `Ok` if it was let in.
async fn call(server: &Server, tls: Option<ClientTls>, token: Option<&Path>) -> Result<(), String> {
    let c = ClientCredentials {
        tls,
        token_file: token.map(Path::to_path_buf),
    };
    let access = Access::load(&c, &Keys::ClientFlags, now_unix_s()).unwrap();
    let endpoint = access
        .endpoint(&format!("127.0.0.1:{}", server.port))
        .unwrap();
    let mut rpc = TelemetryClient::new(access.channel(endpoint.connect_lazy()));
    let status = rpc.get_info(GetInfoRequest {}).await.unwrap_err();
    match status.code() {
        Code::Unimplemented => Ok(()),
        code => Err(format!(
            "{code:?}: {}",
            explain::status(&status, access.shown())
        )),
    }
}

fn refused(result: Result<(), String>, words: &[&str]) {
    let e = result.expect_err("was let in");
    assert!(words.iter().all(|w| e.contains(w)), "{words:?}: {e}");
}

fn tls(m: &Made, client_ca: Option<&Path>) -> Option<ServerTls> {
    Some(ServerTls {
        certificate: m.server.certificate.clone(),
        key: m.server.key.clone(),
        client_ca: client_ca.map(Path::to_path_buf),
    })
}

#[tokio::test]
async fn tls_serves_those_who_trust_its_authority() {
    let m = Made::new();
    let s = serve(tls(&m, None), None).await;
    call(&s, Some(m.client_tls(&m.ca, None)), None)
        .await
        .unwrap();
    let strange = m.client_tls(&m.strange_ca, None);
    refused(
        call(&s, Some(strange), None).await,
        &["another authority than tls.ca"],
    );
    let named = ClientTls {
        server_name: Some("elsewhere".into()),
        ..m.client_tls(&m.ca, None)
    };
    refused(
        call(&s, Some(named), None).await,
        &["for another name", "tls.server_name"],
    );
    refused(call(&s, None, None).await, &["write https"]);
    let plain = serve(None, None).await;
    call(&plain, None, None).await.unwrap();
    let wanted = Some(m.client_tls(&m.ca, None));
    refused(call(&plain, wanted, None).await, &["no TLS", "write http"]);
    drop(m.dir);
}

#[tokio::test]
async fn mutual_tls_serves_certificates_of_its_authority() {
    let m = Made::new();
    let s = serve(tls(&m, Some(&m.ca)), None).await;
    let with = |own: Option<&Files>| Some(m.client_tls(&m.ca, own));
    call(&s, with(Some(&m.client)), None).await.unwrap();
    refused(
        call(&s, with(None), None).await,
        &["asks for a certificate", "tls.key"],
    );
    let strange = with(Some(&m.strange_client));
    refused(
        call(&s, strange, None).await,
        &["does not trust our certificate"],
    );
    // A server's certificate is not for clients.
    assert!(call(&s, with(Some(&m.server)), None).await.is_err());
}

#[tokio::test]
async fn a_token_is_right_wrong_or_missing() {
    let m = Made::new();
    for server_tls in [None, tls(&m, None)] {
        let client = server_tls.as_ref().map(|_| m.client_tls(&m.ca, None));
        let s = serve(server_tls, Some(&m.token)).await;
        call(&s, client.clone(), Some(&m.token)).await.unwrap();
        assert_eq!(s.refusals.counts(), [0, 0]);
        let e = call(&s, client.clone(), None).await;
        refused(e, &["Unauthenticated", "token_file"]);
        let e = call(&s, client, Some(&m.wrong_token)).await;
        refused(e, &["Unauthenticated: wrong token"]);
        assert_eq!(s.refusals.counts(), [1, 1]);
    }
}

#[tokio::test]
async fn a_certificate_or_a_token_where_both_are_configured() {
    let m = Made::new();
    let s = serve(tls(&m, Some(&m.ca)), Some(&m.token)).await;
    let with = |own: Option<&Files>| Some(m.client_tls(&m.ca, own));
    call(&s, with(Some(&m.client)), None).await.unwrap();
    call(&s, with(None), Some(&m.token)).await.unwrap();
    refused(call(&s, with(None), None).await, &["Unauthenticated"]);
    refused(
        call(&s, with(None), Some(&m.wrong_token)).await,
        &["wrong token"],
    );
    // A strange certificate ends the connection, whatever the token.
    let strange = with(Some(&m.strange_client));
    refused(call(&s, strange, Some(&m.token)).await, &["does not trust"]);
}

#[tokio::test]
async fn one_address_leaves_connections_for_the_others() {
    use tokio::io::AsyncReadExt as _;
    let s = serve(None, None).await;
    let connect = async || {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        let to = format!("127.0.0.1:{}", s.port).parse().unwrap();
        socket.connect(to).await.unwrap()
    };
    let mut idle = Vec::new();
    for _ in 0..64 {
        idle.push(connect().await);
    }
    let mut one_more = Vec::new();
    // The server closes the connection without sending anything.
    let read = connect().await.read_to_end(&mut one_more).await;
    assert!(read.map_or(true, |n| n == 0));
    call(&s, None, None).await.unwrap();
    drop(idle);
}

/// Silent connections stay open, all from the client's own address.
#[tokio::test]
async fn silent_connections_keep_nobody_out() {
    let s = serve(None, None).await;
    let mut silent = Vec::new();
    for _ in 0..64 {
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", s.port))
            .await
            .unwrap();
        // The start of an HTTP/2 connection, without a call.
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        tokio::io::AsyncWriteExt::write_all(&mut stream, preface)
            .await
            .unwrap();
        silent.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(1500)).await;
    for _ in 0..5 {
        call(&s, None, None).await.unwrap();
    }
}
