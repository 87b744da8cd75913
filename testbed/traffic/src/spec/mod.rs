// SPDX-License-Identifier: Apache-2.0
//! Specification of the traffic to run, as JSON.

use std::net::SocketAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::quic;

/// Version of the spec's format.
pub const VERSION: u32 = 1;

/// Everything that a process runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Version of the spec's format, [`VERSION`].
    pub version: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// End of the run, s; absent: until a signal.
    pub duration_s: Option<f64>,
    /// Receivers.
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
    /// UDP flows.
    #[serde(default)]
    pub datagrams: Vec<Datagrams>,
}

/// Intended class of a flow (BSCL §II).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Locally bottlenecked, persistent.
    Lbp,
    /// Remotely bottlenecked, persistent.
    Rbp,
    /// Window-limited, persistent.
    Wl,
    /// Short: ends within slow start.
    Short,
    /// UDP datagrams that do not react to losses.
    Udp,
}

/// Transport protocol of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// The kernel's TCP.
    #[default]
    Tcp,
    /// QUIC in this process; always requests ECN.
    Quic,
    /// Datagrams only; for listeners of [`Datagrams`].
    Udp,
}

/// A receiver: accepts connections, counts and discards their data.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listener {
    /// Its name in the truth.
    pub name: String,
    /// Address and port to listen on.
    pub address: SocketAddr,
    /// Network namespace; absent: that of the process.
    pub netns: Option<String>,
    /// Transport of its connections.
    #[serde(default)]
    pub transport: Transport,
    /// SO_RCVBUF of its connections; absent: tuned by the kernel. TCP only.
    pub receive_buffer_bytes: Option<u32>,
    /// Congestion control of its connections, if it needs the receiver's cooperation (DCTCP);
    /// absent: the namespace's default. TCP only.
    pub congestion_control: Option<String>,
}

/// A connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name in the truth.
    pub name: String,
    /// Its intended class.
    pub kind: Kind,
    /// Address and port of a listener.
    pub destination: SocketAddr,
    /// Address and port to send from; absent: the kernel chooses.
    pub source: Option<SocketAddr>,
    /// Network namespace; absent: that of the process.
    pub netns: Option<String>,
    /// Its transport.
    #[serde(default)]
    pub transport: Transport,
    /// Congestion control; absent: the namespace's default, cubic for QUIC.
    pub congestion_control: Option<String>,
    /// SO_PRIORITY, by which the host's own qdisc can classify the flow.
    pub priority: Option<u32>,
    /// Start time, seconds after the start of the run.
    #[serde(default)]
    pub start_s: f64,
    /// Stop time, seconds after the start of the run; absent: the end of the run.
    pub stop_s: Option<f64>,
    /// Bytes to send; absent: sends until its stop or the end of the run.
    pub bytes: Option<u64>,
    /// Base RTT, only copied into the truth.
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
    pub source: Option<SocketAddr>,
    /// Network namespace; absent: that of the process.
    pub netns: Option<String>,
    /// Transport of the flows.
    #[serde(default)]
    pub transport: Transport,
    /// Congestion control; absent: the namespace's default, cubic for QUIC.
    pub congestion_control: Option<String>,
    /// Mean rate of arrivals.
    pub arrivals_per_s: f64,
    /// Bytes of each transfer.
    pub size: Size,
    /// First start time, seconds after the start of the run.
    #[serde(default)]
    pub start_s: f64,
    /// No flow starts after this time; absent: until the end of the run.
    pub stop_s: Option<f64>,
    /// Arrivals while this many are open are not started (and counted as flows with an error), so
    /// that a congested link cannot use up all sockets.
    #[serde(default = "default_max_open")]
    pub max_open: usize,
    /// Base RTT, only copied into the truth.
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
    /// Number of users.
    pub users: u32,
    /// Mean of the exponentially distributed time before each transfer.
    pub think_s: f64,
    /// Address and port of a listener.
    pub destination: SocketAddr,
    /// Address and port to send from; absent: the kernel chooses.
    pub source: Option<SocketAddr>,
    /// Network namespace; absent: that of the process.
    pub netns: Option<String>,
    /// Transport of the transfers.
    #[serde(default)]
    pub transport: Transport,
    /// Congestion control; absent: the namespace's default, cubic for QUIC.
    pub congestion_control: Option<String>,
    /// Bytes of each transfer.
    pub size: Size,
    /// First start time, seconds after the start of the run.
    #[serde(default)]
    pub start_s: f64,
    /// No transfer starts after this time.
    pub stop_s: Option<f64>,
    /// Base RTT, only copied into the truth.
    pub base_rtt_ms: Option<f64>,
}

/// A UDP flow of Poisson packets, which does not react to losses.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Datagrams {
    /// Its name in the truth.
    pub name: String,
    /// Address and port of a UDP listener.
    pub destination: SocketAddr,
    /// Address and port to send from; absent: the kernel chooses.
    pub source: Option<SocketAddr>,
    /// Network namespace; absent: that of the process.
    pub netns: Option<String>,
    /// Mean rate, bit/s, including IP headers.
    pub rate_bps: f64,
    /// Size of each packet, including IP and UDP headers.
    pub packet_bytes: u16,
    /// Start time, seconds after the start of the run.
    #[serde(default)]
    pub start_s: f64,
    /// Stop time, seconds after the start of the run; absent: the end of the run.
    pub stop_s: Option<f64>,
    /// Base RTT, only copied into the truth.
    pub base_rtt_ms: Option<f64>,
}

impl Datagrams {
    /// Returns the size of the IP and UDP headers.
    pub(crate) fn header_bytes(&self) -> u16 {
        if self.destination.is_ipv4() { 28 } else { 48 }
    }

    /// Returns it as a flow, for its truth.
    pub(crate) fn flow(&self) -> Flow {
        Flow {
            name: self.name.clone(),
            kind: Kind::Udp,
            destination: self.destination,
            source: self.source,
            netns: self.netns.clone(),
            transport: Transport::Udp,
            congestion_control: None,
            priority: None,
            start_s: self.start_s,
            stop_s: self.stop_s,
            bytes: None,
            base_rtt_ms: self.base_rtt_ms,
        }
    }
}

impl Spec {
    /// Reads and checks a spec file.
    ///
    /// # Errors
    /// Names the file, and the field at fault.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let text =
            std::fs::read_to_string(path).map_err(|e| format!("cannot read {shown}: {e}"))?;
        let spec: Self = serde_json::from_str(&text).map_err(|e| format!("{shown}: {e}"))?;
        let checked = spec.check();
        checked.map_err(|(field, problem)| format!("{shown}: {field}: {problem}"))?;
        Ok(spec)
    }

    /// Checks constraints beyond the types; the error is the field at fault and the reason.
    pub fn check(&self) -> Result<(), Problem> {
        if self.version != VERSION {
            let problem = format!("is {}, this program reads {VERSION}", self.version);
            return Err(("version".into(), problem));
        }
        let lasts = self.duration_s.is_none_or(above_0);
        require(lasts, || "duration_s".into(), "must be above 0")?;
        let mut names = std::collections::HashSet::new();
        let all_names = (self.listeners.iter().map(|l| ("listeners", &l.name)))
            .chain(self.flows.iter().map(|f| ("flows", &f.name)))
            .chain(self.poisson.iter().map(|p| ("poisson", &p.name)))
            .chain(self.closed_loop.iter().map(|c| ("closed_loop", &c.name)))
            .chain(self.datagrams.iter().map(|d| ("datagrams", &d.name)));
        for (list, name) in all_names {
            if !names.insert((list, name)) {
                return Err((format!("{list}.name"), format!("{name} is used twice")));
            }
        }
        for listener in &self.listeners {
            // The kernel silently raises smaller values to its own minimum.
            let enough = listener.receive_buffer_bytes.is_none_or(|b| b >= 2048);
            let field = || format!("listeners.{}.receive_buffer_bytes", listener.name);
            require(enough, field, "must be at least 2048")?;
            let of_tcp =
                listener.receive_buffer_bytes.is_none() && listener.congestion_control.is_none();
            let field = || format!("listeners.{}.transport", listener.name);
            require(
                listener.transport == Transport::Tcp || of_tcp,
                field,
                "only tcp has receive_buffer_bytes and congestion_control",
            )?;
        }
        for flow in &self.flows {
            let at = |field: &str| format!("flows.{}.{field}", flow.name);
            check_times(at, flow.start_s, flow.stop_s)?;
            check_families(at, flow.source, flow.destination)?;
            require(flow.bytes != Some(0), || at("bytes"), "must be above 0")?;
            require(flow.kind != Kind::Udp, || at("kind"), "is of datagrams")?;
            check_control(at, flow.transport, flow.congestion_control.as_deref())?;
            let tells = flow.transport == Transport::Tcp || flow.priority.is_none();
            require(tells, || at("priority"), "is TCP's only")?;
        }
        for poisson in &self.poisson {
            let at = |field: &str| format!("poisson.{}.{field}", poisson.name);
            poisson.check_connections(at)?;
            let rate = || at("arrivals_per_s");
            require(above_0(poisson.arrivals_per_s), rate, "must be above 0")?;
        }
        for source in &self.closed_loop {
            let at = |field: &str| format!("closed_loop.{}.{field}", source.name);
            source.check_connections(at)?;
            require(above_0(source.think_s), || at("think_s"), "must be above 0")?;
            require(source.users > 0, || at("users"), "must be above 0")?;
        }
        for source in &self.datagrams {
            let at = |field: &str| format!("datagrams.{}.{field}", source.name);
            check_times(at, source.start_s, source.stop_s)?;
            check_families(at, source.source, source.destination)?;
            require(
                above_0(source.rate_bps),
                || at("rate_bps"),
                "must be above 0",
            )?;
            let carries = source.packet_bytes > source.header_bytes();
            let problem = "must be above the IP and UDP headers: 28, for IPv6 48";
            require(carries, || at("packet_bytes"), problem)?;
        }
        Ok(())
    }
}

/// The field at fault, and the reason.
pub type Problem = (String, String);

fn require(holds: bool, field: impl FnOnce() -> String, problem: &str) -> Result<(), Problem> {
    match holds {
        true => Ok(()),
        false => Err((field(), problem.to_owned())),
    }
}

fn above_0(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// Common methods of sources of short flows.
macro_rules! source_of_short_flows {
    ($source:ty) => {
        impl $source {
            /// Returns one of the source's flows.
            pub(crate) fn flow(&self, name: String, start_s: f64, bytes: u64) -> Flow {
                Flow {
                    name,
                    kind: Kind::Short,
                    destination: self.destination,
                    source: self.source,
                    netns: self.netns.clone(),
                    transport: self.transport,
                    congestion_control: self.congestion_control.clone(),
                    priority: None,
                    start_s,
                    stop_s: None,
                    bytes: Some(bytes),
                    base_rtt_ms: self.base_rtt_ms,
                }
            }

            fn check_connections(&self, at: impl Fn(&str) -> String) -> Result<(), Problem> {
                check_times(&at, self.start_s, self.stop_s)?;
                check_families(&at, self.source, self.destination)?;
                check_control(&at, self.transport, self.congestion_control.as_deref())?;
                let any_port = self.source.is_none_or(|s| s.port() == 0);
                require(any_port, || at("source"), "needs port 0: its flows overlap")?;
                let size = self.size.check();
                size.map_err(|problem| (at("size"), problem.to_owned()))
            }
        }
    };
}

source_of_short_flows!(Poisson);
source_of_short_flows!(ClosedLoop);

fn check_times(
    at: impl Fn(&str) -> String,
    start_s: f64,
    stop_s: Option<f64>,
) -> Result<(), Problem> {
    let starts = start_s.is_finite() && start_s >= 0.0;
    require(starts, || at("start_s"), "must be 0 or above")?;
    let stops = stop_s.is_none_or(|stop| stop.is_finite() && stop > start_s);
    require(stops, || at("stop_s"), "must be after start_s")
}

fn check_control(
    at: impl Fn(&str) -> String,
    transport: Transport,
    name: Option<&str>,
) -> Result<(), Problem> {
    let problem = "udp is only for listeners; its senders are `datagrams`";
    require(transport != Transport::Udp, || at("transport"), problem)?;
    let known = name.is_none_or(|n| quic::CONGESTION_CONTROLS.contains(&n));
    require(
        transport == Transport::Tcp || known,
        || at("congestion_control"),
        "for quic must be cubic, bbr or newreno",
    )
}

fn check_families(
    at: impl Fn(&str) -> String,
    source: Option<SocketAddr>,
    destination: SocketAddr,
) -> Result<(), Problem> {
    let same = source.is_none_or(|s| s.is_ipv4() == destination.is_ipv4());
    let problem = "is not of the destination's address family";
    require(same, || at("source"), problem)
}

mod size;
#[cfg(test)]
mod tests;

pub use size::{MixPart, Size};
