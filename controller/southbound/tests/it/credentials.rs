// SPDX-License-Identifier: Apache-2.0
//! Tests both drivers against servers that require certificates and tokens.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::bfrt_server;
use crate::common;

use daemon_kit::credentials::{
    Access, ClientCredentials, ClientTls, Keys, Protection, ServerCredentials, ServerTls,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use test_support::certificates::{Authority, Files, Purpose};
use tidemark_southbound::{DriverSection, Southbound, SwitchAddress};

fn now_unix_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_secs()
}

struct Made {
    dir: tempfile::TempDir,
    ca: PathBuf,
    strange_ca: PathBuf,
    server: Files,
    own: Files,
    token: PathBuf,
    wrong: PathBuf,
}

impl Made {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ca = Authority::new(dir.path(), "ca");
        let token = |name: &str| {
            let path = dir.path().join(name);
            test_support::write_private(&path, format!("{name}-0123456789\n"));
            path
        };
        Self {
            server: ca.sign("server", Purpose::Server),
            own: ca.sign("own", Purpose::Client),
            strange_ca: Authority::new(dir.path(), "strange").file,
            token: token("token"),
            wrong: token("wrong"),
            ca: ca.file,
            dir,
        }
    }

    fn server(&self, mutual: bool, token: bool) -> ServerCredentials {
        let tls = ServerTls {
            certificate: self.server.certificate.clone(),
            key: self.server.key.clone(),
            client_ca: mutual.then(|| self.ca.clone()),
        };
        let p = Protection {
            listen: "127.0.0.1:0".parse().unwrap(),
            listen_key: "--grpc",
            tls: Some(&tls),
            token_file: token.then_some(self.token.as_path()),
            insecure: false,
        };
        ServerCredentials::load(&p, &Keys::Flags, "test", now_unix_s()).unwrap()
    }

    fn access(&self, ca: Option<&Path>, certificate: bool, token: Option<&Path>) -> Access {
        let c = ClientCredentials {
            tls: ca.map(|ca| ClientTls {
                ca: ca.to_path_buf(),
                certificate: certificate.then(|| self.own.certificate.clone()),
                key: certificate.then(|| self.own.key.clone()),
                server_name: None,
            }),
            token_file: token.map(Path::to_path_buf),
        };
        Access::load(&c, &Keys::under("switches[0]"), now_unix_s()).unwrap()
    }
}

/// Creates a driver as the controller does from its configuration.
fn driver(section: &str, address: &str, access: Access) -> Arc<dyn Southbound> {
    let section: DriverSection = serde_json::from_str(section).unwrap();
    let address = SwitchAddress {
        address: address.to_owned(),
        device_id: 1,
        election_id: 1,
        limit_unit_bytes: 80,
        access,
        ..SwitchAddress::default()
    };
    section.connect(&address).unwrap()
}

/// Returns `Ok` if the switch's server let the driver in, else the problem.
async fn reached(section: &str, address: &str, access: Access) -> Result<(), String> {
    let health = driver(section, address, access).health().await;
    match health.connected {
        true => Ok(()),
        false => Err(health.problem.unwrap_or_default()),
    }
}

fn refused(result: Result<(), String>, words: &str) {
    let e = result.expect_err("was let in");
    assert!(e.contains(words), "{words}: {e}");
}

async fn every_pair(section: &str, m: &Made, mutual: &str, token: &str) {
    let (ca, strange) = (Some(m.ca.as_path()), Some(m.strange_ca.as_path()));
    let at = |address: &str, access: Access| {
        let (section, address) = (section.to_owned(), address.to_owned());
        async move { reached(&section, &address, access).await }
    };
    at(mutual, m.access(ca, true, None)).await.unwrap();
    at(&format!("https://{mutual}"), m.access(ca, true, None))
        .await
        .unwrap();
    refused(
        at(mutual, m.access(ca, false, None)).await,
        "asks for a certificate",
    );
    refused(
        at(mutual, m.access(strange, true, None)).await,
        "another authority",
    );
    refused(at(mutual, Access::default()).await, "write https");
    at(token, m.access(ca, false, Some(&m.token)))
        .await
        .unwrap();
    refused(
        at(token, m.access(ca, false, Some(&m.wrong))).await,
        "wrong token",
    );
    refused(
        at(token, m.access(ca, false, None)).await,
        "asks for a token",
    );
}

#[tokio::test]
async fn p4runtime_over_tls_and_with_tokens() {
    let m = Made::new();
    let any = "127.0.0.1:0".parse().unwrap();
    let mutual = common::serve_with(any, m.server(true, false)).await;
    let token = common::serve_with(any, m.server(false, true)).await;
    let (mutual_at, token_at) = (mutual.address.to_string(), token.address.to_string());
    every_pair("{}", &m, &mutual_at, &token_at).await;
    drop(m.dir);
}

#[tokio::test]
async fn bfrt_over_tls_and_with_tokens() {
    let m = Made::new();
    let any = "127.0.0.1:0";
    let mutual = bfrt_server::Server::start_with(any, m.server(true, false)).await;
    let token = bfrt_server::Server::start_with(any, m.server(false, true)).await;
    let section = r#"{"bfrt": {"p4_name": "tidemark"}}"#;
    let plain = |s: &bfrt_server::Server| s.address.clone();
    every_pair(section, &m, &plain(&mutual), &plain(&token)).await;
}
