// SPDX-License-Identifier: Apache-2.0
//! Asks a running collector for its status.

use crate::config::HttpConfig;
use anyhow::{Context, Result, bail};
use std::time::Duration;
use ureq::Agent;

/// How long to wait for an answer; a running collector answers sooner.
const PATIENCE: Duration = Duration::from_secs(3);

/// Fetches `/status` of the collector that listens at `http.listen`.
///
/// # Errors
/// Nobody answers there, or not as a collector does; the message says what to do.
pub(crate) fn fetch(http: &HttpConfig) -> Result<serde_json::Value> {
    let address = http.listen;
    if http.tls.is_some() {
        bail!(
            "http.tls is set: read https://{address}/status, for example with `curl --cacert ca.pem`"
        );
    }
    let config = Agent::config_builder().proxy(None).max_redirects(0);
    let config = config.http_status_as_error(false);
    let agent: Agent = config.timeout_global(Some(PATIENCE)).build().into();
    let mut request = agent.get(format!("http://{address}/status"));
    if let Some(token) = http.token()? {
        request = request.header("authorization", token.header());
    }
    let mut answer = request.call().with_context(|| {
        format!("no collector answers on {address}; is it running, and is this its http.listen?")
    })?;
    let status = answer.status();
    if status != 200 {
        bail!("{address} answered {status}; is it a collector's http.listen?");
    }
    let whole = answer.body_mut().with_config().limit(u64::MAX);
    let body = whole
        .read_to_string()
        .with_context(|| format!("reading the status of {address}"))?;
    serde_json::from_str(&body)
        .with_context(|| format!("{address} does not answer as a collector does"))
}
