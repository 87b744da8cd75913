// SPDX-License-Identifier: Apache-2.0
//! Requests to a running controller.

use anyhow::{Context as _, anyhow, bail};
use axum::http::{StatusCode, header};
use daemon_kit::cli::Usage;
use serde::de::DeserializeOwned;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;
use tidemark_api::operations::GetLinks;
use tidemark_api::{
    ErrorBody, Link, LinksQuery, Method as ApiMethod, Nothing, Operation, path_of_queue,
};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, RequestBuilder};

const TIMEOUT: Duration = Duration::from_secs(15);

pub(super) struct At<'a> {
    /// Base URL, e.g. `http://127.0.0.1:8080`.
    pub base: &'a str,
    /// Certificate (PEM) to trust, for `https`.
    pub ca: Option<&'a Path>,
}

/// Calls an operation that takes no query.
///
/// # Errors
/// The controller cannot be reached, does not answer as one, or reports an error with the field at
/// fault.
pub(super) fn call<O: Operation<Query = Nothing>>(
    at: &At<'_>,
    path: &O::Path,
    token: Option<&str>,
    body: &O::Body,
) -> anyhow::Result<O::Answer> {
    ask::<O>(at, path, &Nothing {}, token, body)
}

/// Fetches every link, page by page.
pub(super) fn links(at: &At<'_>) -> anyhow::Result<Vec<Link>> {
    let (mut all, mut next) = (Vec::new(), Some(0));
    while let Some(offset) = next {
        let query = LinksQuery {
            offset: Some(offset),
            max_links: None,
        };
        let page = ask::<GetLinks>(at, &Nothing {}, &query, None, &Nothing {})?;
        all.extend(page.links);
        // An offset that does not advance ends the list.
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
    let body = match O::METHOD {
        ApiMethod::Get => None,
        ApiMethod::Post => Some(serde_json::to_string(body)?),
    };
    let mut path = path_text::<O>(&serde_json::to_value(path)?);
    path += &query_text(&serde_json::to_value(query)?);
    let (status, bytes) = exchange(at, &path, token, body)?;
    if status == StatusCode::UNAUTHORIZED {
        bail!("{}: {}", at.base, token_wanted(token.is_some()));
    }
    parse(at.base, status, &bytes)
}

/// Returns the path of an operation; the path of a queue unless it is queue 0.
fn path_text<O: Operation>(parameters: &serde_json::Value) -> String {
    let other = parameters.get("queue").is_some_and(|q| q != 0);
    match path_of_queue::<O>().filter(|_| other) {
        Some(path) => filled(&path, parameters),
        None => filled(O::PATH, parameters),
    }
}

/// Fills the parameters into a path.
fn filled(path: &str, parameters: &serde_json::Value) -> String {
    let mut path = path.to_string();
    for (name, value) in parameters.as_object().into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), Into::into);
        path = path.replace(&format!("{{{name}}}"), &text);
    }
    path
}

/// Formats `?name=value&...` from the non-null values: numbers and words, which need no escapes.
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

fn exchange(
    at: &At<'_>,
    path: &str,
    token: Option<&str>,
    body: Option<String>,
) -> anyhow::Result<(StatusCode, Vec<u8>)> {
    let (scheme, host) = at.base.split_once("://").unwrap_or(("http", at.base));
    let host = host.trim_end_matches('/');
    let mut tls = TlsConfig::builder();
    match scheme {
        "http" => {}
        "https" => {
            let missing = "--ca: give the certificate to trust (the one of http.tls.certificate)";
            let ca = at.ca.ok_or_else(|| Usage::new(missing))?;
            tls = tls.root_certs(RootCerts::new_with_certs(&certificates(ca)?));
        }
        _ => bail!(Usage::new(format!(
            "--controller: {scheme} is not supported; use http(s)://HOST:PORT"
        ))),
    }
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .timeout_global(Some(TIMEOUT))
        .tls_config(tls.build())
        .build()
        .into();
    let url = format!("{scheme}://{host}/api/v1{path}");
    let sent = match body {
        Some(body) => with_headers(agent.post(&url), token).send(body),
        None => with_headers(agent.get(&url), token).call(),
    };
    let mut answer = sent.map_err(|e| explained(e, at, host))?;
    let whole = answer.body_mut().with_config().limit(u64::MAX);
    let bytes = whole.read_to_vec().map_err(|e| explained(e, at, host))?;
    Ok((answer.status(), bytes))
}

fn with_headers<B>(request: RequestBuilder<B>, token: Option<&str>) -> RequestBuilder<B> {
    let request = request.header(header::CONTENT_TYPE, "application/json");
    match token {
        Some(t) => request.header(header::AUTHORIZATION, format!("Bearer {t}")),
        None => request,
    }
}

/// Reads the certificates of a PEM file.
fn certificates(ca: &Path) -> anyhow::Result<Vec<Certificate<'static>>> {
    let problem = || format!("--ca: {}", ca.display());
    let pem = std::fs::read(ca).with_context(problem)?;
    let items = parse_pem(&pem).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
        Ok(_) => None,
        Err(e) => Some(Err(e)),
    });
    items.collect::<Result<_, _>>().with_context(problem)
}

/// Describes a failed call, with what to do about it.
fn explained(e: ureq::Error, at: &At<'_>, host: &str) -> anyhow::Error {
    let what = match (&e, at.ca) {
        (ureq::Error::Timeout(_), _) => {
            return anyhow!("{}: no answer within {} s", at.base, TIMEOUT.as_secs());
        }
        // A failed TLS handshake is reported as this error.
        (ureq::Error::Io(io), Some(ca)) if io.kind() == ErrorKind::InvalidData => format!(
            "controller {host}: its certificate is not one of {}",
            ca.display()
        ),
        (ureq::Error::Io(_) | ureq::Error::HostNotFound | ureq::Error::ConnectionFailed, _) => {
            format!("controller {host}: cannot connect; is it running there?")
        }
        _ => format!("controller {host}"),
    };
    anyhow::Error::new(e).context(what)
}

/// Remedy for a refusal, in this program's terms: the controller's own message is about
/// headers.
fn token_wanted(given: bool) -> &'static str {
    if given {
        "the controller has another token than that of --token-file or TIDEMARK_TOKEN"
    } else {
        "the controller requires its token: name a file that holds it with --token-file, or put it \
         into TIDEMARK_TOKEN; it is http.token of the controller's configuration, or in the \
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
        let of_queue = |queue| {
            let path = LinkPath {
                node: 10,
                port: 5,
                queue,
            };
            path_text::<SetLimit>(&serde_json::to_value(path).unwrap())
        };
        assert_eq!(of_queue(0), "/links/10/5/limit");
        assert_eq!(of_queue(3), "/links/10/5/3/limit");
        let none = serde_json::to_value(Nothing {}).unwrap();
        assert_eq!(path_text::<GetStatus>(&none), "/status");
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
