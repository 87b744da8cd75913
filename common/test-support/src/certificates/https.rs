// SPDX-License-Identifier: Apache-2.0
//! HTTPS client that presents a given certificate.

use crate::certificates::Files;
use std::io::Error;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Sends `GET path` to `localhost` at `port`; returns the response with its headers. Checks
/// the server's certificate against `ca` and presents `own`.
///
/// # Errors
/// One side does not trust the other, or the connection ends otherwise.
///
/// # Panics
/// A file holds no certificate or no key.
pub fn get(port: u16, path: &str, ca: &Path, own: Option<&Files>) -> Result<String, Error> {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_file(ca).expect("an authority's certificate");
    roots.add(ca).expect("an authority");
    let builder = ClientConfig::builder_with_provider(default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let certificate = CertificateDer::from_pem_file(&own.certificate);
            let key = PrivateKeyDer::from_pem_file(&own.key).expect("a key");
            let chain = vec![certificate.expect("a certificate")];
            let config = builder.with_client_auth_cert(chain, key);
            config.expect("a certificate and its key")
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        let name = ServerName::try_from("localhost").expect("a name");
        let connector = TlsConnector::from(Arc::new(config));
        let mut stream = connector.connect(name, stream).await?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    })
}
