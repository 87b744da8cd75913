// SPDX-License-Identifier: Apache-2.0
//! Reads certificates and keys from PEM files. Every error names the setting and the
//! file.

use crate::credentials::{Error, Keys};
use prost_types::Timestamp;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, CertificateError, RootCertStore};

/// Returns the provider of all cryptographic algorithms.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// A certificate, the chain to its root, and its private key.
#[derive(Clone)]
pub struct Identity {
    /// Content of the file.
    pub certificate_pem: Vec<u8>,
    /// Content of the file.
    pub key_pem: Vec<u8>,
    /// The certificate with the key loaded.
    pub certified: CertifiedKey,
}

/// A file and the setting that names it.
struct File<'a> {
    key: String,
    path: &'a Path,
}

impl<'a> File<'a> {
    fn new(keys: &Keys, setting: &str, path: &'a Path) -> Self {
        let key = keys.name(setting);
        Self { key, path }
    }

    fn error(&self, problem: impl std::fmt::Display) -> Error {
        Error::new(&self.key, format!("{}: {problem}", self.path.display()))
    }

    fn read(&self) -> Result<Vec<u8>, Error> {
        std::fs::read(self.path).map_err(|e| self.error(format!("cannot be read: {e}")))
    }

    fn certificates(&self, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
        let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let all = all.map_err(|e| self.error(format!("is not a PEM file: {e}")))?;
        if all.is_empty() {
            return Err(self.error("no certificate in it (PEM, `BEGIN CERTIFICATE`)"));
        }
        Ok(all)
    }
}

/// Reads a certificate and its key, the settings `tls.certificate` and `tls.key`.
/// `now_unix_s` is the current Unix time in s.
///
/// # Errors
/// A file cannot be read or is not PEM, other users can read the key, the files do not match,
/// or a certificate has expired or is not valid yet.
pub fn identity(
    certificate: &Path,
    key: &Path,
    keys: &Keys,
    now_unix_s: u64,
) -> Result<Identity, Error> {
    let chain_file = File::new(keys, "tls.certificate", certificate);
    let key_file = File::new(keys, "tls.key", key);
    let certificate_pem = chain_file.read()?;
    let chain = chain_file.certificates(&certificate_pem)?;
    for c in &chain {
        valid_at(c, now_unix_s).map_err(|e| chain_file.error(e))?;
    }
    let key_pem = durable_fs::read_secret(key).map_err(|e| key_file.error(e))?;
    let der = PrivateKeyDer::from_pem_slice(&key_pem)
        .map_err(|_| key_file.error("no private key in it (PEM, `BEGIN PRIVATE KEY`)"))?;
    let certified = CertifiedKey::from_der(chain, der, &provider()).map_err(|e| match e {
        rustls::Error::InconsistentKeys(_) => key_file.error(format!(
            "is not the key of the certificate in {}",
            certificate.display()
        )),
        rustls::Error::InvalidCertificate(e) => chain_file.error(e),
        e => key_file.error(e),
    })?;
    Ok(Identity {
        certificate_pem,
        key_pem,
        certified,
    })
}

/// Reads the certificates of authorities, as PEM; at least one must be valid.
///
/// # Errors
/// The file cannot be read, holds no certificate, or only certificates that have
/// expired.
pub fn authorities(
    path: &Path,
    setting: &str,
    keys: &Keys,
    now_unix_s: u64,
) -> Result<Vec<u8>, Error> {
    let file = File::new(keys, setting, path);
    let pem = file.read()?;
    let all = file.certificates(&pem)?;
    let mut problem = None;
    let mut roots = RootCertStore::empty();
    for c in all {
        match valid_at(&c, now_unix_s) {
            Ok(()) => match roots.add(c) {
                Ok(()) => return Ok(pem),
                Err(e) => problem = Some(e.to_string()),
            },
            Err(e) => problem = Some(e),
        }
    }
    Err(file.error(problem.unwrap_or_default()))
}

/// Checks that a certificate is valid at this time.
fn valid_at(certificate: &CertificateDer<'_>, now_unix_s: u64) -> Result<(), String> {
    // The code that uses the certificate reports it if rustls cannot parse it.
    let Ok(parsed) = ParsedCertificate::try_from(certificate) else {
        return Ok(());
    };
    let now = UnixTime::since_unix_epoch(Duration::from_secs(now_unix_s));
    // rustls checks the dates first, so no issuer is needed here.
    let nobody = RootCertStore::empty();
    let algorithms = provider().signature_verification_algorithms.all;
    let checked = rustls::client::verify_server_cert_signed_by_trust_anchor(
        &parsed,
        &nobody,
        &[],
        now,
        algorithms,
    );
    let Err(rustls::Error::InvalidCertificate(e)) = checked else {
        return Ok(());
    };
    match e {
        CertificateError::ExpiredContext { not_after, .. } => Err(format!(
            "has expired on {}; make a new one",
            date(not_after.as_secs())
        )),
        CertificateError::NotValidYetContext { not_before, .. } => Err(format!(
            "is valid from {} on; is the clock right?",
            date(not_before.as_secs())
        )),
        CertificateError::Expired | CertificateError::NotValidYet => Err(e.to_string()),
        _ => Ok(()),
    }
}

/// Returns the UTC date of a Unix time.
fn date(unix_s: u64) -> String {
    let time = Timestamp {
        seconds: unix_s as i64,
        nanos: 0,
    };
    time.to_string().chars().take_while(|&c| c != 'T').collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::certificates::{Authority, Purpose};

    const NOW: u64 = 1_800_000_000;

    #[test]
    fn days() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_009_756_800), "2001-12-31");
        assert_eq!(date(4_107_542_400), "2100-03-01");
    }

    #[test]
    fn every_wrong_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let ca = Authority::new(dir.path(), "ca");
        let good = ca.sign("good", Purpose::Server);
        let other = ca.sign("other", Purpose::Server);
        let old = ca.sign("old", Purpose::Expired);
        let none = dir.path().join("none.pem");
        let empty = dir.path().join("empty.pem");
        test_support::write_private(&empty, "nothing");
        let load = |certificate: &Path, key: &Path| {
            let keys = Keys::under("grpc");
            let loaded = identity(certificate, key, &keys, NOW);
            loaded.map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(load(&good.certificate, &good.key), Ok(()));
        for (certificate, key, words) in [
            (
                &none,
                &good.key,
                ["grpc.tls.certificate: ", "none.pem: cannot be read"],
            ),
            (
                &empty,
                &good.key,
                ["grpc.tls.certificate: ", "empty.pem: no certificate"],
            ),
            (
                &good.key,
                &good.key,
                ["grpc.tls.certificate: ", "good.key: no certificate"],
            ),
            (
                &good.certificate,
                &none,
                ["grpc.tls.key: ", "none.pem: cannot be read"],
            ),
            (
                &good.certificate,
                &empty,
                ["grpc.tls.key: ", "no private key"],
            ),
            (
                &good.certificate,
                &good.certificate,
                ["grpc.tls.key: ", "others can read"],
            ),
            (
                &good.certificate,
                &other.key,
                ["grpc.tls.key: ", "is not the key of"],
            ),
            (
                &old.certificate,
                &old.key,
                ["old.pem", "has expired on 2001-12-31"],
            ),
        ] {
            let e = load(certificate, key).unwrap_err();
            assert!(words.iter().all(|w| e.contains(w)), "{words:?}: {e}");
        }
        let future = identity(&good.certificate, &good.key, &Keys::Flags, 0)
            .err()
            .unwrap();
        assert!(future.problem.contains("is valid from 1975"), "{future}");
    }

    #[test]
    fn authorities_need_one_that_is_valid() {
        let dir = tempfile::tempdir().unwrap();
        let ca = Authority::new(dir.path(), "ca");
        let old = ca.sign("old", Purpose::Expired);
        let keys = Keys::ClientFlags;
        let load = |path: &Path| authorities(path, "tls.ca", &keys, NOW);
        assert!(load(&ca.file).is_ok());
        let e = load(&old.certificate).unwrap_err().to_string();
        assert!(e.starts_with("--ca: ") && e.contains("has expired"), "{e}");
        let both = dir.path().join("both.pem");
        let mut pem = std::fs::read(&old.certificate).unwrap();
        pem.extend(std::fs::read(&ca.file).unwrap());
        std::fs::write(&both, pem).unwrap();
        assert!(load(&both).is_ok());
    }
}
