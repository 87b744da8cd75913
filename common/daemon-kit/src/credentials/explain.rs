// SPDX-License-Identifier: Apache-2.0
//! Explains failed handshakes and says what to do.

use std::error::Error;
use tonic::Status;

/// Messages of rustls, h2 and tonic, and their explanations.
const MEANINGS: &[(&[&str], &str)] = &[
    (
        &["UnknownIssuer", "BadSignature"],
        "the server's certificate is of another authority than tls.ca",
    ),
    (
        &["CaUsedAsEndEntity"],
        "the server shows an authority's certificate as its own; sign one for it (docs/how-to/tls.md)",
    ),
    (
        &["NotValidForName", "not valid for name"],
        "the server's certificate is for another name; set tls.server_name to the one that it has",
    ),
    (
        &["certificate expired", "Expired"],
        "the server's certificate has expired",
    ),
    (
        &["CertificateRequired"],
        "the server asks for a certificate: set tls.certificate and tls.key",
    ),
    (
        &[
            "UnknownCA",
            "DecryptError",
            "BadCertificate",
            "CertificateUnknown",
        ],
        "the server does not trust our certificate: it is of another authority than its client_ca",
    ),
    (
        &["InvalidContentType", "corrupt message"],
        "the server speaks no TLS: write http, or set tls there",
    ),
    (
        &["FRAME_SIZE_ERROR", "invalid size", "PROTOCOL_ERROR"],
        "the server does not speak gRPC in the clear: if it wants TLS, set tls.ca and write https",
    ),
];

/// Returns an error with its causes on one line, each once.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(e) = next {
        let words = e.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        next = e.source();
    }
    text
}

/// Messages of a connection closed by the peer. A refused handshake may look like
/// this: its reason is lost if our first bytes arrive after the peer closed.
const CLOSED: &[&str] = &[
    "broken pipe",
    "Broken pipe",
    "onnection reset",
    "connection closed",
    "close_notify",
    "unexpected end of file",
];

/// Credentials that a client presents to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// No TLS.
    Clear,
    /// TLS without a client certificate.
    Tls,
    /// TLS with a client certificate.
    Certificate,
}

impl Shown {
    fn when_closed(self) -> &'static str {
        match self {
            Self::Clear => {
                "the server closed the connection: it has all that one address may have, or, if it never answers, wants TLS (set tls.ca and write https)"
            }
            Self::Tls => {
                "the server closed the connection; if it never answers, it asks for a certificate: set tls.certificate and tls.key"
            }
            Self::Certificate => {
                "the server closed the connection; if it never answers, it does not trust our certificate: it is of another authority than its client_ca"
            }
        }
    }
}

/// Returns the explanation of an error message, if it comes from a failed handshake.
fn meaning(words: &str, shown: Shown) -> Option<&'static str> {
    let says = |signs: &[&str]| signs.iter().any(|s| words.contains(s));
    let known = MEANINGS.iter().find(|(signs, _)| says(signs));
    known
        .map(|(_, meaning)| *meaning)
        .or_else(|| says(CLOSED).then(|| shown.when_closed()))
}

/// Explains a failed connection, with the original message in brackets.
pub fn connection(error: &(dyn Error + 'static), shown: Shown) -> String {
    explained(chain(error), shown)
}

/// Returns the message of a failed call, explained if the connection failed.
pub fn status(status: &Status, shown: Shown) -> String {
    let mut words = status.message().to_owned();
    // Without a cause, the message is the server's own.
    let Some(source) = status.source() else {
        return words;
    };
    let causes = chain(source);
    if causes.contains(&words) {
        words = causes;
    } else if !words.contains(&causes) {
        words = format!("{words}: {causes}");
    }
    explained(words, shown)
}

fn explained(words: String, shown: Shown) -> String {
    match meaning(&words, shown) {
        Some(meaning) => format!("{meaning} ({words})"),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_s_own_words_stay() {
        let said = Status::unavailable("broken pipe");
        assert_eq!(status(&said, Shown::Clear), "broken pipe");
        let ended = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let lost = Status::from_error(Box::new(ended));
        for (shown, words) in [
            (Shown::Clear, "write https"),
            (Shown::Tls, "asks for a certificate"),
            (Shown::Certificate, "does not trust"),
        ] {
            let said = status(&lost, shown);
            assert!(
                said.contains(words) && said.ends_with("(broken pipe)"),
                "{said}"
            );
        }
    }
}
