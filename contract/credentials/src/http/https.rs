// SPDX-License-Identifier: Apache-2.0
//! HTTPS: the same routes behind a certificate.

use crate::server::{HANDSHAKE, ServerTls};
use crate::{Error, Keys, pem};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::sign::SingleCertAndKey;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;

/// The acceptor of a certificate and its key; with `client_ca`, clients have to
/// show a certificate. `now_unix_s` is the time now, s.
///
/// # Errors
/// Files that cannot be read, do not belong together or have expired, by their
/// key in the configuration.
pub fn acceptor(tls: &ServerTls, keys: &Keys, now_unix_s: u64) -> Result<TlsAcceptor, Error> {
    let identity = pem::identity(&tls.certificate, &tls.key, keys, now_unix_s)?;
    let builder = ServerConfig::builder_with_provider(pem::provider())
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::new(keys.name("tls"), e.to_string()))?;
    let builder = match &tls.client_ca {
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let error = |e: &dyn std::fmt::Display| {
                Error::new(keys.name("tls.client_ca"), format!("{}: {e}", ca.display()))
            };
            let authorities = pem::authorities(ca, "tls.client_ca", keys, now_unix_s)?;
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(&authorities) {
                let certificate = certificate.map_err(|e| error(&e))?;
                roots.add(certificate).map_err(|e| error(&e))?;
            }
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), pem::provider())
                    .build()
                    .map_err(|e| error(&e))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(identity.certified)));
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Handshakes that failed, or did not end in time. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct HandshakesFailed(Arc<AtomicU64>);

impl HandshakesFailed {
    /// So far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A listener that hands over connections once they have shaken hands, so that
/// a slow client holds up no other.
pub struct TlsListener {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
    failed: HandshakesFailed,
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
        let failed = HandshakesFailed::default();
        let counted = failed.clone();
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
                let counted = counted.clone();
                tokio::spawn(async move {
                    let shaken = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await;
                    match shaken {
                        Ok(Ok(stream)) => {
                            let _ = tx.send((stream, from)).await;
                        }
                        Ok(Err(e)) => {
                            counted.add();
                            tracing::debug!(%from, "https: {e}");
                        }
                        Err(_) => {
                            counted.add();
                            tracing::debug!(%from, "https: no handshake in time");
                        }
                    }
                });
            }
        });
        Ok(Self {
            ready,
            address,
            failed,
            accepting,
        })
    }

    /// Clients that were not let in.
    pub fn failed(&self) -> HandshakesFailed {
        self.failed.clone()
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
