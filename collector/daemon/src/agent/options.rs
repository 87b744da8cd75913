// SPDX-License-Identifier: Apache-2.0
//! Options of an agent.

use daemon_kit::credentials::Access;
use std::time::Duration;
use tcp_probe::perf::Options;

/// Options of an agent: its sources, the collector it sends to, and the size of its buffer.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// `HOST:PORT` or URL of a collector's gRPC address.
    pub to: String,
    /// Credentials that the agent presents there.
    pub access: Access,
    /// The agent becomes this user once the tracepoints are open.
    pub user: Option<String>,
    /// Name of this host, as the collector shows it.
    pub host: String,
    /// Maximum number of events kept while the collector does not answer.
    pub buffer_events: usize,
    /// How long the agent waits for its first collector; `None` waits forever.
    pub connect_within: Option<Duration>,
    /// Which tracepoints to read, and how.
    pub probe: Options,
}
