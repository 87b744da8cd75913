// SPDX-License-Identifier: Apache-2.0
//! Command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::aqm::{AqmSpec, aqm_spec};
use super::credentials::CredentialArgs;
use crate::units;
use daemon_kit::credentials::AccessArgs;
use traffic_manager::{MOST_PRIORITIES, PortConfig};

/// Embedded switch: runs a compiled v1model program (p4c's BMv2 JSON) on Linux
/// interfaces and serves P4Runtime.
#[derive(Debug, Parser)]
#[command(version, name = "tidemark-switch")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the switch until interrupted.
    Run(Box<RunArgs>),
    /// Show or change ports of a running switch.
    #[command(subcommand)]
    Port(PortCommand),
    /// Load a program and print what it contains, without running it.
    Check {
        /// p4c's BMv2 JSON.
        program: PathBuf,
    },
    /// Run captures through the switch in virtual time: the same input gives the
    /// same output, queueing included, however long it takes to compute.
    Pcap(PcapArgs),
    /// Run a packet test (p4c's .stf) in virtual time.
    Stf {
        /// p4c's BMv2 JSON.
        #[arg(long)]
        program: PathBuf,
        test: PathBuf,
    },
    /// Replay recordings of BMv2, and report where this switch behaves differently.
    Conformance {
        /// Folder that contains frames/ with programs/, must-load/ or stf/.
        folder: PathBuf,
    },
    /// Print a shell completion script, to be stored where the shell looks for it.
    Completions {
        /// The shell.
        shell: daemon_kit::cli::Shell,
    },
    /// Run with the options of BMv2's simple_switch_grpc (`-h` lists them), for scripts that
    /// start it; a link of that name to this program has the same effect.
    #[command(disable_help_flag = true)]
    SimpleSwitchGrpc {
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "OPTION"
        )]
        arguments: Vec<OsString>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// p4c's BMv2 JSON. Without it the switch waits for one over P4Runtime.
    #[arg(long, env = "TIDEMARK_SWITCH_PROGRAM")]
    pub program: Option<PathBuf>,
    /// P4Info of the program (text or binary). Default: FILE.p4info.txtpb next to FILE.json, if
    /// there is one. With it, clients can use the program without pushing it again.
    #[arg(long, requires = "program")]
    pub p4info: Option<PathBuf>,
    /// File of writes to make at the start: p4.v1.WriteRequest (protobuf text or binary), JSON by
    /// name as in p4lang's tutorials (sN-runtime.json), or commands of simple_switch_CLI. Repeat
    /// for several files, which are written in order.
    #[arg(long, value_name = "FILE", requires = "program")]
    pub entries: Vec<PathBuf>,
    /// Address of P4Runtime and SwitchControl.
    #[arg(long, default_value = "127.0.0.1:9559", env = "TIDEMARK_SWITCH_GRPC")]
    pub grpc: SocketAddr,
    #[arg(long, default_value_t = 1, env = "TIDEMARK_SWITCH_DEVICE_ID")]
    pub device_id: u64,
    /// N=IFACE[@NETNS][,rate=100mbit][,delay=5ms][,queue=4096p][,in_rate=1gbit][,gro=off];
    /// NETNS is a name in /run/netns or a path. Repeat for each port.
    ///
    /// in_rate is the rate of the input line: frames enter no faster than that. Without
    /// it, single frames enter as they arrive, and the segments of a host's super-frame
    /// follow each other at 10 times the rate of the fastest port that has a rate.
    /// gro=off: segments of one flow that leave back to back are sent one by one, not as
    /// one super-frame.
    #[arg(long = "port", value_name = "SPEC", value_parser = port_spec)]
    pub ports: Vec<PortSpec>,
    /// Number of the controller's port for packet-in and packet-out.
    #[arg(long)]
    pub cpu_port: Option<u32>,
    /// Queues of each port, numbered from 0; the highest non-empty queue is served. A program
    /// selects one by standard_metadata.priority; a port's `queue` is the depth of each.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = priority_queues)]
    pub priority_queues: u8,
    /// PORT[:QUEUE]=codel|fq_codel|pie|red|drr[:KEY=VALUE,…]: active queue management of a queue of
    /// a port; the queue's depth still applies. Repeat for each queue.
    ///
    /// codel: target=5ms, interval=100ms. fq_codel: the same, quantum=1514B, limit=15.5MB. pie:
    /// target=15ms, update_interval=15ms, max_burst=150ms, alpha=0.125, beta=1.25. red:
    /// min_threshold (bytes, required), max_threshold (3 times min_threshold), max_probability=2%,
    /// weight=0.002, mean_packet=1000B, gentle=on. All these: ecn marks ECN-capable packets instead
    /// of dropping them. drr (fair queueing by flow): limit (bytes, required), quantum=1514B.
    #[arg(long, value_name = "SPEC", value_parser = aqm_spec)]
    pub aqm: Vec<AqmSpec>,
    /// Interval in which closely spaced frames and events are handled at once, as network devices
    /// do; frames leave later by up to this interval, but reports stay the same. 0: each at its
    /// time.
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = units::delay)]
    pub coalesce: u64,
    /// Address of Prometheus metrics over HTTP, without TLS or token.
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,
    /// Allow metrics on an address that other hosts can reach.
    #[arg(long, requires = "metrics")]
    pub metrics_insecure: bool,
    /// Host name by which clients may request the metrics, in addition to the switch's addresses
    /// and localhost. Repeat for each name.
    #[arg(long = "metrics-host", value_name = "NAME", requires = "metrics")]
    pub metrics_hosts: Vec<String>,
    /// Address of BMv2's runtime services over Thrift, for simple_switch_CLI; without TLS or token,
    /// so only on this machine.
    #[arg(long, value_name = "ADDR")]
    pub thrift: Option<SocketAddr>,
    /// File with the key for tagging reports, shared with the collector (hexadecimal;
    /// `openssl rand -hex 32` makes one).
    #[arg(long, value_name = "FILE", env = "TIDEMARK_SWITCH_REPORT_KEY_FILE")]
    pub report_key_file: Option<PathBuf>,
    /// User to switch to once interfaces and addresses are open.
    #[arg(long, env = "TIDEMARK_SWITCH_USER")]
    pub user: Option<String>,
    /// Settings available only through BMv2's command line.
    #[arg(skip)]
    pub bmv2: Bmv2Args,
    // Last, because its heading applies to all arguments after it.
    #[command(flatten)]
    pub credentials: CredentialArgs,
}

/// Behaviours of `simple_switch_grpc`.
#[derive(Debug, Default)]
pub(crate) struct Bmv2Args {
    /// Clients must push the program before they read and write, even if a program runs.
    pub unannounced: bool,
    /// Folder for copies of all frames.
    pub captures: Option<PathBuf>,
    /// Loading another program over Thrift is disabled.
    pub no_swap: bool,
}

#[derive(Debug, Args)]
pub struct PcapArgs {
    /// p4c's BMv2 JSON.
    #[arg(long)]
    pub program: PathBuf,
    /// P4Info of the program. Default: FILE.p4info.txtpb next to FILE.json.
    #[arg(long)]
    pub p4info: Option<PathBuf>,
    /// File of writes: p4.v1.WriteRequest (protobuf text or binary), JSON by name as in p4lang's
    /// tutorials (sN-runtime.json), or commands of simple_switch_CLI. Repeat for several files,
    /// which are written in order before the first frame.
    #[arg(long, value_name = "FILE")]
    pub entries: Vec<PathBuf>,
    /// PORT=FILE.pcap[.gz]: frames that arrive on a port, at their times. Repeat for each port.
    #[arg(long = "in", value_name = "PORT=FILE", required = true, value_parser = pcap_input)]
    pub inputs: Vec<(u32, PathBuf)>,
    /// Folder for port-N.pcap (nanosecond timestamps), one for each port that sent.
    #[arg(long)]
    pub out: PathBuf,
    /// N=rate=100mbit,delay=5ms,queue=4096p,in_rate=1gbit: settings of a port, each optional.
    /// Repeat for each port.
    #[arg(long = "port", value_name = "SPEC", value_parser = port_settings)]
    pub ports: Vec<(u32, PortConfig)>,
    /// Queues of each port, numbered from 0; the highest non-empty queue is served.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = priority_queues)]
    pub priority_queues: u8,
    /// PORT[:QUEUE]=codel|fq_codel|pie|red|drr[:KEY=VALUE,…]: active queue management, as for
    /// `run`.
    #[arg(long, value_name = "SPEC", value_parser = aqm_spec)]
    pub aqm: Vec<AqmSpec>,
}

pub(crate) fn priority_queues(s: &str) -> Result<u8, String> {
    s.parse()
        .ok()
        .filter(|n| (1..=MOST_PRIORITIES).contains(&usize::from(*n)))
        .ok_or_else(|| format!("\"{s}\": 1 to {MOST_PRIORITIES} queues"))
}

/// Parses a port and its file.
fn pcap_input(s: &str) -> Result<(u32, PathBuf), String> {
    let (port, file) = s
        .split_once('=')
        .filter(|(_, f)| !f.is_empty())
        .ok_or_else(|| format!("\"{s}\": write PORT=FILE.pcap"))?;
    Ok((units::port_number(port)?, file.into()))
}

fn port_settings(s: &str) -> Result<(u32, PortConfig), String> {
    let (number, settings) = s
        .split_once('=')
        .ok_or_else(|| format!("\"{s}\": write N=rate=…,delay=…,queue=…"))?;
    let mut config = PortConfig::default();
    for p in settings.split(',') {
        setting(p)?.apply(&mut config);
    }
    Ok((units::port_number(number)?, config))
}

#[derive(Debug, Subcommand)]
pub(crate) enum PortCommand {
    /// Change rate, delay or queue depth; other settings stay.
    Set {
        port: u32,
        /// rate=100mbit, delay=5ms, queue=4096p, in_rate=1gbit; each may be `unlimited`
        /// or 0, and in_rate also `auto`.
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = setting)]
        settings: Vec<Setting>,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// List ports with their settings and counters.
    List {
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        client: ClientArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ClientArgs {
    /// gRPC address of the switch, or https://HOST:PORT.
    #[arg(long, default_value = "127.0.0.1:9559", env = "TIDEMARK_SWITCH_GRPC")]
    pub grpc: String,
    #[command(flatten)]
    pub access: AccessArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    Rate(u64),
    Delay(u64),
    Queue(u32),
    InRate(Option<u64>),
}

impl Setting {
    fn apply(self, config: &mut PortConfig) {
        match self {
            Self::Rate(v) => config.rate_bps = v,
            Self::Delay(v) => config.delay_ns = v,
            Self::Queue(v) => config.depth_packets = v,
            Self::InRate(v) => config.in_rate_bps = v,
        }
    }
}

fn setting(s: &str) -> Result<Setting, String> {
    match s.split_once('=') {
        Some(("rate", v)) => units::rate(v).map(Setting::Rate),
        Some(("delay", v)) => units::delay(v).map(Setting::Delay),
        Some(("queue", v)) => units::depth(v).map(Setting::Queue),
        Some(("in_rate", "auto")) => Ok(Setting::InRate(None)),
        Some(("in_rate", v)) => units::rate(v).map(|r| Setting::InRate(Some(r))),
        _ => Err(format!(
            "\"{s}\": write rate=…, delay=…, queue=… or in_rate=…"
        )),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PortSpec {
    pub number: u32,
    pub interface: String,
    pub netns: Option<String>,
    pub config: PortConfig,
    /// Whether consecutive segments of one flow leave as one super-frame.
    pub merge: bool,
}

fn port_spec(s: &str) -> Result<PortSpec, String> {
    let mut parts = s.split(',');
    let head = parts.next().unwrap_or_default();
    let (number, interface) = head.split_once('=').ok_or_else(|| {
        format!("\"{s}\": write N=IFACE[@NETNS][,rate=…][,delay=…][,queue=…][,in_rate=…][,gro=off]")
    })?;
    let number = units::port_number(number)?;
    let (interface, netns) = match interface.split_once('@') {
        Some((i, n)) => (i, Some(n.to_owned())),
        None => (interface, None),
    };
    if interface.is_empty() || netns.as_deref() == Some("") {
        return Err(format!("\"{s}\": interface or namespace is empty"));
    }
    let mut config = PortConfig::default();
    let mut merge = true;
    for p in parts {
        match p {
            "gro=on" => merge = true,
            "gro=off" => merge = false,
            p => setting(p)?.apply(&mut config),
        }
    }
    Ok(PortSpec {
        number,
        interface: interface.to_owned(),
        netns,
        config,
        merge,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_a_run() {
        let p = port_spec("3=eth0@lab,rate=100mbit,delay=5ms,queue=64p,in_rate=1gbit,gro=off");
        let p = p.unwrap();
        assert!(!p.merge);
        assert_eq!((p.number, p.interface.as_str()), (3, "eth0"));
        assert_eq!(p.netns.as_deref(), Some("lab"));
        assert_eq!(
            p.config,
            PortConfig {
                rate_bps: 100_000_000,
                delay_ns: 5_000_000,
                depth_packets: 64,
                in_rate_bps: Some(1_000_000_000),
                ..PortConfig::default()
            }
        );
        for bad in [
            "eth0",
            "x=eth0",
            "511=a",
            "1=",
            "1=a@",
            "1=a,speed=1",
            "1=a,rate=fast",
            "1=a,in_rate=fast",
            "1=a,gro=maybe",
        ] {
            assert!(port_spec(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn pcap_arguments() {
        let (number, config) = port_settings("2=rate=10mbit,queue=8p").unwrap();
        assert_eq!((number, config.rate_bps), (2, 10_000_000));
        assert_eq!(config.depth_packets, 8);
        assert!(port_settings("2=").is_err());
        assert_eq!(pcap_input("1=a=b.pcap").unwrap(), (1, "a=b.pcap".into()));
        assert!(pcap_input("511=a").is_err());
        assert!(pcap_input("1=").is_err());
    }

    #[test]
    fn arguments_parse() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
