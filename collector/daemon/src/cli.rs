// SPDX-License-Identifier: Apache-2.0
//! The command line.

use crate::config::{self, Config};
use crate::import::{Cards, ImportOptions, ImportReport, import};
use anyhow::Result;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Receives INT reports and tcp_probe samples, joins, stores and streams them.
#[derive(Debug, Parser)]
#[command(name = "tidemark-collector", version, about)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the collector until SIGINT, SIGTERM or SIGHUP.
    Run(Settings),
    /// Check a configuration without starting anything.
    Validate(Settings),
    /// Show the counters of a running collector.
    Status {
        #[command(flatten)]
        settings: Settings,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// What of this machine, the configuration and the way of the reports is not as
    /// it has to be, and what to do about it; exits with 1 where something does not work.
    Doctor {
        #[command(flatten)]
        settings: Settings,
        #[command(flatten)]
        doctor: crate::doctor::DoctorArgs,
    },
    /// Read this host's TCP tracepoints and send them to a collector elsewhere.
    Agent(crate::agent::AgentArgs),
    /// Print what a switch sends, one JSON line per report; needs no configuration.
    Print(crate::print::PrintArgs),
    /// Write a table of a capture as text.
    Export(crate::export::ExportArgs),
    /// Send a capture or a pcap to a running collector.
    Replay(crate::replay::ReplayArgs),
    /// Make a capture from a pcap of reports and a tcp_probe text trace.
    Import(ImportArgs),
    /// Put a capture into ClickHouse; started again, it goes on where it was.
    Load(crate::load::LoadArgs),
}

/// Flags override the environment, which overrides the file.
#[derive(Debug, Args)]
struct Settings {
    /// Configuration file (TOML).
    #[arg(long, env = "TIDEMARK_CONFIG")]
    config: Option<PathBuf>,
    /// Become this user once sockets and tracepoints are open.
    #[arg(long, env = "TIDEMARK_USER")]
    user: Option<String>,
    /// UDP address for reports; repeat for several.
    #[arg(long, env = "TIDEMARK_LISTEN", value_delimiter = ',')]
    listen: Vec<SocketAddr>,
    /// Address of the telemetry service.
    #[arg(long, env = "TIDEMARK_GRPC")]
    grpc: Option<SocketAddr>,
    /// File with the token that callers of the telemetry service show.
    #[arg(long, env = "TIDEMARK_GRPC_TOKEN_FILE")]
    grpc_token_file: Option<PathBuf>,
    /// Serve telemetry to everybody who reaches its address (true, false).
    #[arg(long, env = "TIDEMARK_GRPC_INSECURE")]
    grpc_insecure: Option<bool>,
    /// Address of /metrics and /status.
    #[arg(long, env = "TIDEMARK_HTTP")]
    http: Option<SocketAddr>,
    /// File with the token that readers of /metrics and /status show.
    #[arg(long, env = "TIDEMARK_HTTP_TOKEN_FILE")]
    http_token_file: Option<PathBuf>,
    /// Serve /metrics and /status to everybody who reaches their address (true, false).
    #[arg(long, env = "TIDEMARK_HTTP_INSECURE")]
    http_insecure: Option<bool>,
    /// Directory for the capture.
    #[arg(long, env = "TIDEMARK_CAPTURE_DIR")]
    capture_dir: Option<PathBuf>,
    /// Read this machine's TCP tracepoints (true, false).
    #[arg(long, env = "TIDEMARK_TCP_PROBE")]
    tcp_probe: Option<bool>,
    /// Take samples of agents on the telemetry address (true, false).
    #[arg(long, env = "TIDEMARK_AGENTS")]
    agents: Option<bool>,
    /// Show, without storing, what nodes send that the configuration does not
    /// name (true, false).
    #[arg(long, env = "TIDEMARK_ACCEPT_UNKNOWN_NODES")]
    accept_unknown_nodes: Option<bool>,
}

impl Settings {
    fn load(&self) -> Result<Config> {
        let mut c = match &self.config {
            Some(path) => config::read(path)?,
            None => Config::default(),
        };
        if let Some(user) = &self.user {
            c.user = Some(user.clone());
        }
        if !self.listen.is_empty() {
            c.listen.clone_from(&self.listen);
        }
        if let Some(a) = self.grpc {
            c.grpc.listen = a;
        }
        if let Some(file) = &self.grpc_token_file {
            c.grpc.token_file = Some(file.clone());
        }
        if let Some(insecure) = self.grpc_insecure {
            c.grpc.insecure = insecure;
        }
        if let Some(a) = self.http {
            c.http.listen = a;
        }
        if let Some(file) = &self.http_token_file {
            c.http.token_file = Some(file.clone());
        }
        if let Some(insecure) = self.http_insecure {
            c.http.insecure = insecure;
        }
        if let Some(dir) = &self.capture_dir {
            c.capture.dir = Some(dir.clone());
        }
        if let Some(enabled) = self.tcp_probe {
            c.tcp_probe.enabled = enabled;
        }
        if let Some(accept) = self.agents {
            c.agents.accept = accept;
        }
        if let Some(accept) = self.accept_unknown_nodes {
            c.accept_unknown_nodes = accept;
        }
        let path = self.config.as_deref().unwrap_or(Path::new("flags"));
        c.validate(path)?;
        Ok(c)
    }
}

#[derive(Debug, Args)]
struct ImportArgs {
    /// Reports as UDP datagrams in a pcap file (.gz allowed).
    #[arg(long)]
    pcap: PathBuf,
    /// Output of trace_pipe with tcp_probe enabled (.gz allowed).
    #[arg(long)]
    tcp_probe: Option<PathBuf>,
    /// TOML file with the [nodes] of the collector's configuration.
    #[arg(long)]
    nodes: Option<PathBuf>,
    /// Directory of the new capture.
    #[arg(long)]
    out: PathBuf,
    /// Only datagrams to these UDP ports; default all.
    #[arg(long, value_delimiter = ',')]
    port: Vec<u16>,
    /// Length of interval records, ms.
    #[arg(long, default_value_t = 10)]
    interval_ms: u32,
    /// Datagrams to this UDP port (4444) are cards of the programs of
    /// "Updating the Theory of Buffer Sizing".
    #[arg(long)]
    cards: Option<u16>,
    /// Node that the cards are taken to be of; without a node file, a Tofino.
    #[arg(long, default_value_t = 1, requires = "cards")]
    cards_node: u32,
    /// IP length of every packet that the cards tell of.
    #[arg(long, default_value_t = 1500, requires = "cards")]
    cards_packet_bytes: u16,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    json: bool,
}

/// # Errors
/// One line for people.
pub fn main(version: &'static str) -> Result<()> {
    let arguments = Cli::command().version(version).get_matches();
    match Cli::from_arg_matches(&arguments)?.command {
        Command::Run(settings) => crate::run::run(&settings.load()?),
        Command::Validate(settings) => {
            let c = settings.load()?;
            c.pipeline().read_keys()?;
            let credentials = c.grpc.credentials(crate::time::unix_s())?;
            c.http.token()?;
            if let Some(tls) = &c.http.tls {
                let keys = config::HttpConfig::keys();
                tidemark_credentials::http::acceptor(tls, &keys, crate::time::unix_s())?;
            }
            println!(
                "ok: {} node(s), reports on {:?}, telemetry on {} ({}), metrics on {}",
                c.nodes.len(),
                c.listen,
                c.grpc.listen,
                credentials.summary(),
                c.http.listen
            );
            Ok(())
        }
        Command::Status { settings, json } => status(&settings.load()?.http, json),
        Command::Doctor { settings, doctor } => crate::doctor::run(settings.load(), &doctor),
        Command::Agent(args) => crate::agent::run_args(&args),
        Command::Print(args) => crate::print::run(&args),
        Command::Export(args) => crate::export::run(&args),
        Command::Replay(args) => crate::replay::run(&args),
        Command::Load(args) => crate::load::run(&args),
        Command::Import(args) => {
            let report = import(&ImportOptions {
                pcap: args.pcap,
                tcp_probe: args.tcp_probe,
                nodes: args.nodes,
                out: args.out,
                ports: args.port,
                interval_ms: args.interval_ms,
                progress: true,
                cards: args.cards.map(|port| Cards {
                    port,
                    node_id: args.cards_node,
                    packet_bytes: args.cards_packet_bytes,
                }),
            })?;
            if args.json {
                println!("{}", serde_json::to_string_pretty(&report)?);
            } else {
                print_import(&report);
            }
            Ok(())
        }
    }
}

fn print_import(r: &ImportReport) {
    println!(
        "reports   {} received, {} lost, {} malformed datagrams",
        r.reports.received, r.reports.lost, r.reports.malformed
    );
    println!(
        "tcp_probe {} samples, {} malformed lines",
        r.tcp_probe.samples, r.tcp_probe.malformed
    );
    println!(
        "join      {} of {} data packets of probed flows ({:.3} %)",
        r.join.matched,
        r.join.candidates,
        100.0 * r.join.matched_fraction
    );
    for c in &r.clocks {
        println!(
            "clock     node {} is {:.6} s ahead of {}, drifting {:.3} ppm",
            c.node_id, c.node_minus_host_s, c.host, c.node_drift_ppm
        );
    }
    println!("capture   {} rows in {}", r.capture.rows, r.out.display());
}

fn status(http: &config::HttpConfig, json: bool) -> Result<()> {
    let value = crate::status_client::fetch(http)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&value)?);
        return Ok(());
    }
    for section in [
        "reports",
        "join",
        "tcp_probe",
        "flows",
        "capture",
        "clickhouse",
    ] {
        if let Some(map) = value[section].as_object() {
            let line: Vec<String> = map.iter().map(|(k, v)| format!("{k} {v}")).collect();
            println!("{section:<11}{}", line.join(", "));
        }
    }
    for a in value["agents"].as_array().into_iter().flatten() {
        println!(
            "agent      {} events {}, lost {} in rings, {} in its buffer",
            a["host"], a["events"], a["ring_lost"], a["buffer_lost"]
        );
    }
    for clock in value["clocks"].as_array().into_iter().flatten() {
        println!(
            "clock      node {} to {}: offset {} ns, drift {} ppb",
            clock["node_id"], clock["host"], clock["offset_ns"], clock["drift_ppb"]
        );
    }
    for s in value["subscribers"].as_array().into_iter().flatten() {
        println!(
            "subscriber {} updates {}, lost {}",
            s["name"], s["updates"], s["lost"]
        );
    }
    Ok(())
}
