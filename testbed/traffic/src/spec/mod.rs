// SPDX-License-Identifier: Apache-2.0
//! What to run, as JSON.

use std::net::SocketAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Version of the spec's layout.
pub const VERSION: u32 = 1;

/// Why a spec cannot be run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum SpecError {
    #[error("cannot read {path}: {source}")]
    Read {
        path: String,
        source: std::io::Error,
    },
    #[error("{path}: {source}")]
    Parse {
        path: String,
        source: serde_json::Error,
    },
    #[error("{path}: {field}: {problem}")]
    Invalid {
        path: String,
        field: String,
        problem: String,
    },
}

/// Everything that one process runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Layout of the spec, [`VERSION`].
    pub version: u32,
    /// Of all that is random.
    pub seed: u64,
    /// End of the run; absent: until a signal.
    #[serde(default)]
    pub duration_s: Option<f64>,
    /// Who receives.
    #[serde(default)]
    pub listeners: Vec<Listener>,
    /// Single connections.
    #[serde(default)]
    pub flows: Vec<Flow>,
    /// Short flows that arrive as Poisson processes.
    #[serde(default)]
    pub poisson: Vec<Poisson>,
    /// Users who transfer, think and transfer again.
    #[serde(default)]
    pub closed_loop: Vec<ClosedLoop>,
}

/// What a flow is meant to be (BSCL §II).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Locally bottlenecked persistent.
    Lbp,
    /// Remotely bottlenecked persistent.
    Rbp,
    /// Window-limited persistent.
    Wl,
    /// Ends within slow start.
    Short,
}

/// Accepts connections, counts and discards what they carry.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listener {
    /// Its name in the truth.
    pub name: String,
    /// Address and port to listen on.
    pub address: SocketAddr,
    /// Network namespace; absent: that of the process.
    #[serde(default)]
    pub netns: Option<String>,
    /// SO_RCVBUF of its connections; absent: the kernel tunes it.
    #[serde(default)]
    pub receive_buffer_bytes: Option<u32>,
}

/// One connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name in the truth.
    pub name: String,
    /// What it is meant to be.
    pub kind: Kind,
    /// Address and port of a listener.
    pub destination: SocketAddr,
    /// Address and port to send from; absent: the kernel chooses.
    #[serde(default)]
    pub source: Option<SocketAddr>,
    /// Network namespace; absent: that of the process.
    #[serde(default)]
    pub netns: Option<String>,
    /// Absent: the namespace's default.
    #[serde(default)]
    pub congestion_control: Option<String>,
    /// SO_PRIORITY, by which the host's own qdisc can tell the flow.
    #[serde(default)]
    pub priority: Option<u32>,
    /// After the start of the run.
    #[serde(default)]
    pub start_s: f64,
    /// After the start of the run; absent: its end.
    #[serde(default)]
    pub stop_s: Option<f64>,
    /// Absent: sends until its stop or the end of the run.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Only copied into the truth.
    #[serde(default)]
    pub base_rtt_ms: Option<f64>,
}

/// Short flows that arrive as a Poisson process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Flows are called `name-1`, `name-2`, …
    pub name: String,
    /// Address and port of a listener.
    pub destination: SocketAddr,
    /// Address and port to send from; absent: the kernel chooses.
    #[serde(default)]
    pub source: Option<SocketAddr>,
    /// Network namespace; absent: that of the process.
    #[serde(default)]
    pub netns: Option<String>,
    /// Absent: the namespace's default.
    #[serde(default)]
    pub congestion_control: Option<String>,
    /// Mean rate of arrivals.
    pub arrivals_per_s: f64,
    /// Bytes of each transfer.
    pub size: Size,
    /// After the start of the run.
    #[serde(default)]
    pub start_s: f64,
    /// No flow starts later; absent: until the end of the run.
    #[serde(default)]
    pub stop_s: Option<f64>,
    /// Arrivals while this many are open are not started (and counted as
    /// flows with an error), so that a jammed link cannot eat all sockets.
    #[serde(default = "default_max_open")]
    pub max_open: usize,
    /// Only copied into the truth.
    #[serde(default)]
    pub base_rtt_ms: Option<f64>,
}

const fn default_max_open() -> usize {
    1000
}

/// Users who transfer, think and transfer again.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedLoop {
    /// Transfers are called `name-USER-NUMBER`, each from 1.
    pub name: String,
    /// How many of them.
    pub users: u32,
    /// Mean of the exponential time before each transfer.
    pub think_s: f64,
    /// Address and port of a listener.
    pub destination: SocketAddr,
    /// Address and port to send from; absent: the kernel chooses.
    #[serde(default)]
    pub source: Option<SocketAddr>,
    /// Network namespace; absent: that of the process.
    #[serde(default)]
    pub netns: Option<String>,
    /// Absent: the namespace's default.
    #[serde(default)]
    pub congestion_control: Option<String>,
    /// Bytes of each transfer.
    pub size: Size,
    /// After the start of the run.
    #[serde(default)]
    pub start_s: f64,
    /// No transfer starts later.
    #[serde(default)]
    pub stop_s: Option<f64>,
    /// Only copied into the truth.
    #[serde(default)]
    pub base_rtt_ms: Option<f64>,
}

impl Spec {
    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| SpecError::Read {
            path: shown.clone(),
            source,
        })?;
        let spec: Self = serde_json::from_str(&text).map_err(|source| SpecError::Parse {
            path: shown.clone(),
            source,
        })?;
        spec.check()
            .map_err(|(field, problem)| SpecError::Invalid {
                path: shown,
                field,
                problem,
            })?;
        Ok(spec)
    }

    /// Checks what the types cannot say; gives the field at fault and why.
    pub fn check(&self) -> Result<(), (String, String)> {
        let fail = |field: String, problem: &str| Err((field, problem.to_owned()));
        if self.version != VERSION {
            return fail(
                "version".into(),
                &format!("is {}, this program reads {VERSION}", self.version),
            );
        }
        if self.duration_s.is_some_and(|d| !(d.is_finite() && d > 0.0)) {
            return fail("duration_s".into(), "must be above 0");
        }
        let mut names = std::collections::HashSet::new();
        let all_names = (self.listeners.iter().map(|l| ("listeners", &l.name)))
            .chain(self.flows.iter().map(|f| ("flows", &f.name)))
            .chain(self.poisson.iter().map(|p| ("poisson", &p.name)))
            .chain(self.closed_loop.iter().map(|c| ("closed_loop", &c.name)));
        for (list, name) in all_names {
            if !names.insert((list, name)) {
                return fail(format!("{list}.name"), &format!("{name} is used twice"));
            }
        }
        for listener in &self.listeners {
            // The kernel raises smaller ones to its own minimum without a word.
            if listener.receive_buffer_bytes.is_some_and(|b| b < 2048) {
                return fail(
                    format!("listeners.{}.receive_buffer_bytes", listener.name),
                    "must be at least 2048",
                );
            }
        }
        for flow in &self.flows {
            check_times("flows", &flow.name, flow.start_s, flow.stop_s)?;
            check_families("flows", &flow.name, flow.source, flow.destination)?;
            if flow.bytes == Some(0) {
                return fail(format!("flows.{}.bytes", flow.name), "must be above 0");
            }
        }
        for poisson in &self.poisson {
            check_times("poisson", &poisson.name, poisson.start_s, poisson.stop_s)?;
            check_families(
                "poisson",
                &poisson.name,
                poisson.source,
                poisson.destination,
            )?;
            let rate = poisson.arrivals_per_s;
            if !(rate.is_finite() && rate > 0.0) {
                return fail(
                    format!("poisson.{}.arrivals_per_s", poisson.name),
                    "must be above 0",
                );
            }
            if poisson.source.is_some_and(|s| s.port() != 0) {
                return fail(
                    format!("poisson.{}.source", poisson.name),
                    "needs port 0: its flows overlap",
                );
            }
            if let Err(problem) = poisson.size.check() {
                return fail(format!("poisson.{}.size", poisson.name), problem);
            }
        }
        self.closed_loop.iter().try_for_each(ClosedLoop::check)
    }
}

impl ClosedLoop {
    fn check(&self) -> Result<(), (String, String)> {
        const LIST: &str = "closed_loop";
        check_times(LIST, &self.name, self.start_s, self.stop_s)?;
        check_families(LIST, &self.name, self.source, self.destination)?;
        let fail = |field, problem: &str| Err((field, problem.to_owned()));
        if !(self.think_s.is_finite() && self.think_s > 0.0) {
            return fail(format!("{LIST}.{}.think_s", self.name), "must be above 0");
        }
        if self.users == 0 {
            return fail(format!("{LIST}.{}.users", self.name), "must be above 0");
        }
        if self.source.is_some_and(|s| s.port() != 0) {
            return fail(
                format!("{LIST}.{}.source", self.name),
                "needs port 0: its transfers overlap",
            );
        }
        self.size
            .check()
            .or_else(|problem| fail(format!("{LIST}.{}.size", self.name), problem))
    }
}

fn check_times(
    list: &str,
    name: &str,
    start_s: f64,
    stop_s: Option<f64>,
) -> Result<(), (String, String)> {
    if !(start_s.is_finite() && start_s >= 0.0) {
        return Err((
            format!("{list}.{name}.start_s"),
            "must be 0 or above".to_owned(),
        ));
    }
    if stop_s.is_some_and(|stop| !(stop.is_finite() && stop > start_s)) {
        return Err((
            format!("{list}.{name}.stop_s"),
            "must be after start_s".to_owned(),
        ));
    }
    Ok(())
}

fn check_families(
    list: &str,
    name: &str,
    source: Option<SocketAddr>,
    destination: SocketAddr,
) -> Result<(), (String, String)> {
    if source.is_some_and(|s| s.is_ipv4() != destination.is_ipv4()) {
        return Err((
            format!("{list}.{name}.source"),
            "is not of the destination's address family".to_owned(),
        ));
    }
    Ok(())
}

mod size;
#[cfg(test)]
mod tests;

pub use size::{MixPart, Size};
