// SPDX-License-Identifier: Apache-2.0
//! HTTPS: the same routes behind a certificate.

use crate::config::Tls;
use anyhow::Context as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

/// A client that does not shake hands by then is let go.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The acceptor of a certificate and its key.
///
/// # Errors
/// Files that cannot be read or do not belong together, by their key in the
/// configuration.
pub fn acceptor(tls: &Tls) -> anyhow::Result<TlsAcceptor> {
    let cert = || format!("http.tls.cert: {}", tls.cert.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&tls.cert)
        .with_context(cert)?
        .collect::<Result<_, _>>()
        .with_context(cert)?;
    anyhow::ensure!(!chain.is_empty(), "{}: no certificate in it", cert());
    let key = PrivateKeyDer::from_pem_file(&tls.key)
        .with_context(|| format!("http.tls.key: {}", tls.key.display()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .context("http.tls")?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .with_context(|| format!("{}: does not fit http.tls.key", cert()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// A listener that hands over connections once they have shaken hands, so that
/// a slow client holds up no other.
pub struct TlsListener {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Drop for TlsListener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl TlsListener {
    /// Starts to accept.
    ///
    /// # Errors
    /// A socket without an address.
    pub fn new(listener: TcpListener, acceptor: TlsAcceptor) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let (tx, ready) = mpsc::channel(64);
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, from) = match listener.accept().await {
                    Ok(accepted) => accepted,
                    Err(e) => {
                        tracing::warn!("https: accept: {e}");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                };
                let (acceptor, tx) = (acceptor.clone(), tx.clone());
                tokio::spawn(async move {
                    let shaken = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await;
                    match shaken {
                        Ok(Ok(stream)) => {
                            let _ = tx.send((stream, from)).await;
                        }
                        Ok(Err(e)) => tracing::debug!(%from, "https: {e}"),
                        Err(_) => tracing::debug!(%from, "https: no handshake in time"),
                    }
                });
            }
        });
        Ok(Self {
            ready,
            address,
            accepting,
        })
    }
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(accepted) => accepted,
            // The task that accepts never ends by itself.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        Ok(self.address)
    }
}
