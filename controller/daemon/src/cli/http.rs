// SPDX-License-Identifier: Apache-2.0
//! Requests to a running controller.

use anyhow::{Context as _, bail};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

const TIMEOUT: Duration = Duration::from_secs(15);

/// Where a controller is.
pub struct At<'a> {
    /// Like `http://127.0.0.1:8080`.
    pub base: &'a str,
    /// Certificate (PEM) to trust, for `https`.
    pub ca: Option<&'a Path>,
}

/// One request.
///
/// # Errors
/// Not reachable, not JSON, or the controller's own error with the field.
pub fn request(
    at: &At<'_>,
    path: &str,
    token: Option<&str>,
    body: Option<&Value>,
) -> anyhow::Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    runtime.block_on(async {
        tokio::time::timeout(TIMEOUT, exchange(at, path, token, body))
            .await
            .with_context(|| format!("{}: no answer within {} s", at.base, TIMEOUT.as_secs()))?
    })
}

async fn exchange(
    at: &At<'_>,
    path: &str,
    token: Option<&str>,
    body: Option<&Value>,
) -> anyhow::Result<Value> {
    let (secure, host) = match at.base.split_once("://") {
        Some(("http", rest)) => (false, rest),
        Some(("https", rest)) => (true, rest),
        Some((scheme, _)) => {
            bail!("--controller: {scheme} is not supported; use http(s)://HOST:PORT")
        }
        None => (false, at.base),
    };
    let host = host.trim_end_matches('/');
    let stream = tokio::net::TcpStream::connect(host)
        .await
        .with_context(|| format!("controller {host}: cannot connect; is it running there?"))?;
    if secure {
        let ca = at
            .ca
            .context("--ca: give the certificate to trust (the one of http.tls.cert)")?;
        let stream = encrypted(host, stream, ca).await?;
        return send(host, stream, path, token, body).await;
    }
    send(host, stream, path, token, body).await
}

async fn encrypted(
    host: &str,
    stream: TcpStream,
    ca: &Path,
) -> anyhow::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    let problem = || format!("--ca: {}", ca.display());
    for cert in CertificateDer::pem_file_iter(ca).with_context(problem)? {
        roots
            .add(cert.with_context(problem)?)
            .with_context(problem)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let name = ServerName::try_from(name.trim_matches(['[', ']']).to_string())
        .with_context(|| format!("controller {host}"))?;
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .with_context(|| {
            format!(
                "controller {host}: its certificate is not one of {}",
                ca.display()
            )
        })
}

async fn send(
    host: &str,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    path: &str,
    token: Option<&str>,
    body: Option<&Value>,
) -> anyhow::Result<Value> {
    let (mut send, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .with_context(|| format!("controller {host}"))?;
    let driving = tokio::spawn(connection);
    let method = if body.is_some() {
        Method::POST
    } else {
        Method::GET
    };
    let mut request = Request::builder()
        .method(method)
        .uri(format!("/api/v1{path}"))
        .header(header::HOST, host)
        .header(header::CONTENT_TYPE, "application/json");
    if let Some(t) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {t}"));
    }
    let content = body.map_or_else(String::new, ToString::to_string);
    let request = request.body(Full::new(Bytes::from(content)))?;
    let answer = send.send_request(request).await?;
    let status = answer.status();
    let bytes = answer.into_body().collect().await?.to_bytes();
    driving.abort();
    parse(host, status, &bytes)
}

fn parse(host: &str, status: StatusCode, bytes: &[u8]) -> anyhow::Result<Value> {
    let value: Value = serde_json::from_slice(bytes)
        .with_context(|| format!("{host}: {status}, and not JSON: is this a controller?"))?;
    if status.is_success() {
        return Ok(value);
    }
    let message = value["error"]["message"]
        .as_str()
        .unwrap_or("no reason given");
    match value["error"]["field"].as_str() {
        Some(field) => bail!("{field}: {message} ({status})"),
        None => bail!("{message} ({status})"),
    }
}
