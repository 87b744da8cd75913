// SPDX-License-Identifier: Apache-2.0
//! Makes certificates for a test: an authority and certificates signed by it, as PEM
//! files in the test's directory; and an HTTPS client that presents a certificate.

#![allow(clippy::expect_used)] // A test that gets no certificate has to fail.

pub mod https;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use std::path::{Path, PathBuf};

/// Paths of a certificate and its key.
#[derive(Clone, Debug)]
pub struct Files {
    /// Certificate, PEM.
    pub certificate: PathBuf,
    /// Private key, PEM, PKCS #8.
    pub key: PathBuf,
}

/// A certificate authority.
pub struct Authority {
    certificate: rcgen::Certificate,
    key: KeyPair,
    dir: PathBuf,
    /// File of the authority's own certificate, PEM.
    pub file: PathBuf,
}

/// Purpose of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A server called `127.0.0.1` and `localhost`.
    Server,
    /// A client.
    Client,
    /// Like [`Purpose::Server`], but expired at the end of 2001.
    Expired,
}

impl Authority {
    /// Creates an authority and writes its certificate to `NAME.pem` in `dir`.
    ///
    /// # Panics
    /// The file cannot be written.
    pub fn new(dir: &Path, name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let file = dir.join(format!("{name}.pem"));
        std::fs::write(&file, certificate.pem()).expect("a directory to write to");
        Self {
            certificate,
            key,
            dir: dir.to_path_buf(),
            file,
        }
    }

    /// Signs a certificate; writes it to `NAME.pem` and its key to `NAME.key`.
    ///
    /// # Panics
    /// The files cannot be written.
    pub fn sign(&self, name: &str, purpose: Purpose) -> Files {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let (names, usage) = match purpose {
            Purpose::Client => (Vec::new(), ExtendedKeyUsagePurpose::ClientAuth),
            Purpose::Server | Purpose::Expired => {
                (names.to_vec(), ExtendedKeyUsagePurpose::ServerAuth)
            }
        };
        let mut params = CertificateParams::new(names).expect("names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![usage];
        if purpose == Purpose::Expired {
            params.not_before = date_time_ymd(2000, 1, 1);
            params.not_after = date_time_ymd(2001, 12, 31);
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params
            .signed_by(&key, &self.certificate, &self.key)
            .expect("a certificate");
        let files = Files {
            certificate: self.dir.join(format!("{name}.pem")),
            key: self.dir.join(format!("{name}.key")),
        };
        std::fs::write(&files.certificate, certificate.pem()).expect("a directory to write to");
        crate::write_private(&files.key, key.serialize_pem());
        files
    }
}
