// SPDX-License-Identifier: Apache-2.0
//! HTTPS: serves the routes with TLS.

use crate::credentials::server::ServerTls;
use crate::credentials::{Error, Keys, pem};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::sign::SingleCertAndKey;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// Makes a TLS acceptor with the certificate and key; with `client_ca`, clients have
/// to present a certificate. `now_unix_s` is the current Unix time in s.
///
/// # Errors
/// A file cannot be read, has expired or does not match the other; the error names
/// the setting.
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

/// Counter of handshakes that failed or did not end in time. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct HandshakesFailed(Arc<AtomicU64>);

impl HandshakesFailed {
    /// Returns the count so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
