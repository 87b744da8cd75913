// SPDX-License-Identifier: Apache-2.0
//! Asks a running collector for its status.

use crate::config::HttpConfig;
use anyhow::{Context, Result, bail};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// `/status` of the collector that listens at `http.listen`.
///
/// # Errors
/// Nobody answers there, or not as a collector does; what to do about it.
pub(crate) fn fetch(http: &HttpConfig) -> Result<serde_json::Value> {
    let address = http.listen;
    if http.tls.is_some() {
        bail!(
            "http.tls is set: read https://{address}/status, for example with `curl --cacert ca.pem`"
        );
    }
    let token = http.token()?.map_or_else(String::new, |t| {
        format!("Authorization: {}\r\n", t.header())
    });
    let timeout = Duration::from_secs(3);
    let mut stream = TcpStream::connect_timeout(&address, timeout).with_context(|| {
        format!("no collector answers on {address}; is it running, and is this its http.listen?")
    })?;
    stream.set_read_timeout(Some(timeout))?;
    write!(
        stream,
        "GET /status HTTP/1.0\r\nHost: {address}\r\n{token}Connection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .with_context(|| format!("reading the status of {address}"))?;
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        bail!("{address} does not speak HTTP");
    };
    if !head.starts_with("HTTP/1.0 200") && !head.starts_with("HTTP/1.1 200") {
        bail!(
            "{address} answered {}; is it a collector's http.listen?",
            head.lines().next().unwrap_or("nothing")
        );
    }
    serde_json::from_str(body)
        .with_context(|| format!("{address} does not answer as a collector does"))
}
