// SPDX-License-Identifier: Apache-2.0
//! Requests to a running controller.

use anyhow::{Context as _, bail};
use daemon_kit::cli::Usage;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tidemark_api::operations::GetLinks;
use tidemark_api::{ErrorBody, Link, LinksQuery, Method as ApiMethod, Nothing, Operation};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

const TIMEOUT: Duration = Duration::from_secs(15);

pub(super) struct At<'a> {
    /// Like `http://127.0.0.1:8080`.
    pub base: &'a str,
    /// Certificate (PEM) to trust, for `https`.
    pub ca: Option<&'a Path>,
}

/// Calls an operation that takes no query.
///
/// # Errors
/// Not reachable, not an answer of this operation, or the controller's own error
/// with the field at fault.
pub(super) fn call<O: Operation<Query = Nothing>>(
    at: &At<'_>,
    path: &O::Path,
    token: Option<&str>,
    body: &O::Body,
) -> anyhow::Result<O::Answer> {
    ask::<O>(at, path, &Nothing {}, token, body)
}

/// Every link, page by page.
pub(super) fn links(at: &At<'_>) -> anyhow::Result<Vec<Link>> {
    let (mut all, mut next) = (Vec::new(), Some(0));
    while let Some(offset) = next {
        let query = LinksQuery {
            offset: Some(offset),
            max_links: None,
        };
        let page = ask::<GetLinks>(at, &Nothing {}, &query, None, &Nothing {})?;
        all.extend(page.links);
        // A page that does not go on is the last.
        next = page.next_offset.filter(|&n| n > offset);
    }
    Ok(all)
}

pub(super) fn ask<O: Operation>(
    at: &At<'_>,
    path: &O::Path,
    query: &O::Query,
    token: Option<&str>,
    body: &O::Body,
) -> anyhow::Result<O::Answer> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let body = match O::METHOD {
        ApiMethod::Get => None,
        ApiMethod::Post => Some(serde_json::to_string(body)?),
    };
    let mut path = filled(O::PATH, &serde_json::to_value(path)?);
    path += &query_text(&serde_json::to_value(query)?);
    let (status, bytes) = runtime.block_on(async {
        tokio::time::timeout(TIMEOUT, exchange(at, &path, token, body))
            .await
            .with_context(|| format!("{}: no answer within {} s", at.base, TIMEOUT.as_secs()))?
    })?;
    if status == StatusCode::UNAUTHORIZED {
        bail!("{}: {}", at.base, token_wanted(token.is_some()));
    }
    parse(at.base, status, &bytes)
}

/// A path with its parameters.
fn filled(path: &str, parameters: &serde_json::Value) -> String {
    let mut path = path.to_string();
    for (name, value) in parameters.as_object().into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), Into::into);
        path = path.replace(&format!("{{{name}}}"), &text);
    }
    path
}

/// `?name=value&...` of what is not null; of numbers and words, which need no escapes.
fn query_text(parameters: &serde_json::Value) -> String {
    let mut text = String::new();
    for (name, value) in parameters.as_object().into_iter().flatten() {
        if !value.is_null() {
            text.push(if text.is_empty() { '?' } else { '&' });
            let value = value.as_str().map_or_else(|| value.to_string(), Into::into);
            text += &format!("{name}={value}");
        }
    }
    text
}

async fn exchange(
    at: &At<'_>,
    path: &str,
    token: Option<&str>,
    body: Option<String>,
) -> anyhow::Result<(StatusCode, Bytes)> {
    let (secure, host) = match at.base.split_once("://") {
        Some(("http", rest)) => (false, rest),
        Some(("https", rest)) => (true, rest),
        Some((scheme, _)) => {
            let remedy = "use http(s)://HOST:PORT";
            bail!(Usage::new(format!(
                "--controller: {scheme} is not supported; {remedy}"
            )))
        }
        None => (false, at.base),
    };
    let host = host.trim_end_matches('/');
    let stream = tokio::net::TcpStream::connect(host)
        .await
        .with_context(|| format!("controller {host}: cannot connect; is it running there?"))?;
    if secure {
        let missing = "--ca: give the certificate to trust (the one of http.tls.certificate)";
        let ca = at.ca.ok_or_else(|| Usage::new(missing))?;
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
    body: Option<String>,
) -> anyhow::Result<(StatusCode, Bytes)> {
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
    let request = request.body(Full::new(Bytes::from(body.unwrap_or_default())))?;
    let answer = send.send_request(request).await?;
    let status = answer.status();
    let bytes = answer.into_body().collect().await?.to_bytes();
    driving.abort();
    Ok((status, bytes))
}

/// What to do about a refusal, in this program's words: the controller's are about
/// headers.
fn token_wanted(given: bool) -> &'static str {
    if given {
        "the controller has another token than the one of --token-file or TIDEMARK_TOKEN"
    } else {
        "the controller wants its token: give a file with it as --token-file, or the token in \
         TIDEMARK_TOKEN; it is http.token of the controller's configuration, or in the \
         http.token_file that it writes at its start"
    }
}

fn parse<T: DeserializeOwned>(host: &str, status: StatusCode, bytes: &[u8]) -> anyhow::Result<T> {
    if status.is_success() {
        return serde_json::from_slice(bytes)
            .with_context(|| format!("{host}: not an answer of this controller's version"));
    }
    let problem: ErrorBody = serde_json::from_slice(bytes)
        .with_context(|| format!("{host}: {status} without a reason: is this a controller?"))?;
    let message = problem.error.message;
    match problem.error.field {
        Some(field) => bail!("{field}: {message} ({status})"),
        None => bail!("{message} ({status})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_api::operations::{GetStatus, SetLimit};
    use tidemark_api::{LimitSet, LinkPath};

    #[test]
    fn a_path_is_filled_in() {
        let path = serde_json::to_value(LinkPath { node: 10, port: 5 }).unwrap();
        assert_eq!(filled(SetLimit::PATH, &path), "/links/10/5/limit");
        let none = serde_json::to_value(Nothing {}).unwrap();
        assert_eq!(filled(GetStatus::PATH, &none), "/status");
    }

    #[test]
    fn errors_say_what_and_where() {
        let at_fault = br#"{"error": {"message": "too small", "field": "bytes"}}"#;
        let e = parse::<LimitSet>("x", StatusCode::BAD_REQUEST, at_fault).unwrap_err();
        assert_eq!(e.to_string(), "bytes: too small (400 Bad Request)");
        let e = parse::<LimitSet>("x", StatusCode::NOT_FOUND, b"<html>").unwrap_err();
        assert!(e.to_string().contains("is this a controller?"), "{e}");
        let e = parse::<LimitSet>("x", StatusCode::OK, b"{}").unwrap_err();
        assert!(format!("{e:#}").contains("missing field"), "{e:#}");
    }
}
