// SPDX-License-Identifier: Apache-2.0
//! Requests to a running controller.

use anyhow::{Context as _, bail};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(15);

/// One request; `base` is like `http://127.0.0.1:8080`.
///
/// # Errors
/// Not reachable, not JSON, or the controller's own error with the field.
pub fn request(
    base: &str,
    path: &str,
    token: Option<&str>,
    body: Option<&Value>,
) -> anyhow::Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    runtime.block_on(async {
        tokio::time::timeout(TIMEOUT, exchange(base, path, token, body))
            .await
            .with_context(|| format!("{base}: no answer within {} s", TIMEOUT.as_secs()))?
    })
}

async fn exchange(
    base: &str,
    path: &str,
    token: Option<&str>,
    body: Option<&Value>,
) -> anyhow::Result<Value> {
    let host = match base.split_once("://") {
        Some(("http", rest)) => rest,
        Some((scheme, _)) => bail!("--controller: {scheme} is not supported; use http://HOST:PORT"),
        None => base,
    };
    let host = host.trim_end_matches('/');
    let stream = tokio::net::TcpStream::connect(host)
        .await
        .with_context(|| format!("controller {host}: cannot connect; is it running there?"))?;
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
