// SPDX-License-Identifier: Apache-2.0
//! Gathers the facts: the state of this machine and the reports that it receives.

use super::judge::{self, Heard, Need};
use super::machine;
use crate::config::Config;
use crate::open::probe_options;
use crate::receive::{ReceivePath, ReportReceiver};
use crate::status_client;
use daemon_kit::doctor::{Finding, Verdict};
use serde_json::Value;
use socket2::{Domain, Socket, Type};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};
use tcp_probe::perf::PerfReader;

/// Bit of CAP_NET_ADMIN in /proc/self/status.
const CAP_NET_ADMIN: u64 = 1 << 12;
/// First port that every process may listen on, if the kernel does not say.
const FIRST_OPEN_PORT: u16 = 1024;
/// Maximum length of a UDP datagram.
const MAX_DATAGRAM_BYTES: usize = 65_535;

fn file(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

pub(super) fn kernel() -> Finding {
    judge::kernel(file("/proc/sys/kernel/osrelease").trim())
}

/// Returns the largest receive buffer that every process may have, in bytes.
fn most_bytes() -> u64 {
    let most = file("/proc/sys/net/core/rmem_max");
    most.trim().parse().unwrap_or(0)
}

pub(super) fn receive_buffer(config: &Config) -> Finding {
    let forced = machine::capabilities() & CAP_NET_ADMIN != 0;
    let wanted_bytes = config.receive.buffer_bytes as u64;
    judge::receive_buffer(wanted_bytes, most_bytes(), forced)
}

/// Checks the capabilities; `tcp_probe` is the finding about the tracepoints.
pub(super) fn capabilities(config: &Config, tcp_probe: &Finding) -> Finding {
    let mut needs = Vec::new();
    if config.tcp_probe.enabled {
        let opened = tcp_probe.verdict != Verdict::Problem;
        needs.extend([(Need::Tracepoints, opened), (Need::Tracefs, opened)]);
    }
    let wanted_bytes = config.receive.buffer_bytes as u64;
    if wanted_bytes > most_bytes() {
        needs.push((Need::ReceiveBuffer, false));
    }
    if config.receive.path == ReceivePath::Ring {
        needs.push((Need::Ring, false));
    }
    let first = file("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    let first = first.trim().parse().unwrap_or(FIRST_OPEN_PORT);
    let servers = [config.grpc.listen, config.http.listen];
    let mut ports = config.listen.iter().chain(&servers).map(SocketAddr::port);
    if ports.any(|p| p != 0 && p < first) {
        needs.push((Need::LowPort, false));
    }
    judge::capabilities(&needs, machine::capabilities())
}

pub(super) fn wall_clock() -> Finding {
    judge::wall_clock(machine::wall_clock())
}

/// Checks the offloads of each interface that receives reports.
pub(super) fn offloads(config: &Config) -> Vec<Finding> {
    // A ring does not use GRO.
    let by_gro = config.receive.gro && config.receive.path == ReceivePath::Socket;
    let interfaces = machine::interfaces(&config.listen);
    let of_each = interfaces.iter().map(|i| machine::offloads(i));
    of_each.map(|o| judge::offloads(&o, by_gro)).collect()
}

/// Opens the sockets as the collector would, on other ports, and closes them again.
pub(super) fn receive_paths(config: &Config) -> Vec<Finding> {
    let other_port = |a: &SocketAddr| SocketAddr::new(a.ip(), 0);
    let listen: Vec<SocketAddr> = config.listen.iter().map(other_port).collect();
    // If binding fails, the check of the addresses says so.
    let opened = ReportReceiver::bind(&listen, &config.receive).ok();
    let opened = opened.map(|r| r.counters());
    let paths = opened.iter().flat_map(|c| &c.paths);
    let wanted = config.receive.path == ReceivePath::Ring;
    paths.map(|p| judge::receive_path(p, wanted)).collect()
}

/// Opens the tracepoints as the collector would, and closes them again.
pub(super) fn tcp_probe(config: &Config) -> Finding {
    let check = "tcp_probe";
    if !config.tcp_probe.enabled {
        return Finding::ok(
            check,
            "not read on this machine (tcp_probe.enabled is false)",
        );
    }
    match PerfReader::open(&probe_options(&config.tcp_probe)) {
        Ok(reader) => match reader.missing() {
            [] => Finding::ok(check, "the tracepoints can be read"),
            missing => {
                let lost: Vec<_> = missing.iter().map(|m| m.lost()).collect();
                let found = format!("can be read; {}", lost.join("; "));
                Finding::warning(
                    check,
                    found,
                    "nothing needs to be done; a later kernel has them",
                )
            }
        },
        Err(e) => Finding::problem(check, "cannot be read", e.to_string()),
    }
}

pub(super) fn capture(config: &Config) -> Option<Finding> {
    let directory = config.capture.dir.as_deref()?;
    let shown = directory.display().to_string();
    // The collector creates the directory: check its nearest existing ancestor.
    let there = directory.ancestors().find(|d| d.exists());
    let there = there
        .filter(|d| !d.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    if let Err(e) = nix::unistd::access(there, nix::unistd::AccessFlags::W_OK) {
        return Some(Finding::problem(
            format!("capture.dir {shown}"),
            format!("{}: {e}", there.display()),
            "make it writable for the user that the collector runs as, or name another directory",
        ));
    }
    Some(match nix::sys::statvfs::statvfs(there) {
        Ok(disk) => judge::space(&shown, disk.blocks_available() * disk.fragment_size()),
        Err(e) => Finding::warning(
            format!("capture.dir {shown}"),
            format!("its free space is not known: {e}"),
            "see `df`",
        ),
    })
}

pub(super) fn clickhouse(config: &Config) -> Option<Finding> {
    let server = config.clickhouse.server()?;
    let check = format!("clickhouse {}", server.url);
    let answer = tidemark_clickhouse::Client::of(&server)
        .map_err(|e| e.to_string())
        .and_then(|client| {
            let version = client.execute_without_database("SELECT version()");
            version.map_err(|e| e.to_string())
        });
    Some(match answer {
        Ok(version) => Finding::ok(check, format!("version {}", version.trim())),
        Err(e) => Finding::problem(
            check,
            e,
            "rows wait in the spool meanwhile; docs/how-to/clickhouse.md",
        ),
    })
}

pub(super) fn servers(config: &Config, runs: bool) -> [Finding; 2] {
    let (grpc, http) = (config.grpc.listen, config.http.listen);
    [("grpc.listen", grpc), ("http.listen", http)].map(|(key, address)| {
        let bound = TcpListener::bind(address).map(drop);
        judge::address(key, address, bound.map_err(|e| e.kind()), runs)
    })
}

/// Binds a UDP socket like the receiver's, but does not share its port.
fn bind(address: SocketAddr) -> std::io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    socket.bind(&address.into())?;
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    Ok(socket.into())
}

/// Listens for reports in place of the collector.
pub(super) fn listen(config: &Config, length: Duration) -> Vec<Finding> {
    let mut sockets = Vec::new();
    let mut found = Vec::new();
    for address in &config.listen {
        let bound = bind(*address);
        let kind = bound.as_ref().map(|_| ()).map_err(|e| e.kind());
        found.push(judge::address("listen", *address, kind, false));
        sockets.extend(bound);
    }
    if sockets.is_empty() {
        return found;
    }
    let mut heard = Heard::default();
    let mut buffer = vec![0; MAX_DATAGRAM_BYTES];
    let begin = Instant::now();
    while begin.elapsed() < length {
        for socket in &sockets {
            // Sockets take turns; meanwhile a burst waits in a socket's buffer.
            for _ in 0..1024 {
                let Ok((bytes, from)) = socket.recv_from(&mut buffer) else {
                    break;
                };
                heard.datagram(from.ip(), buffer.get(..bytes).unwrap_or_default());
            }
        }
    }
    found.extend(judge::reports(&heard, &config.nodes, length.as_secs_f64()));
    found
}

/// Asks the running collector what it receives.
pub(super) fn ask(config: &Config, first: &Value, length: Duration) -> Vec<Finding> {
    std::thread::sleep(length);
    match status_client::fetch(&config.http) {
        Ok(second) => {
            let mut found = judge::running(first, &second, length.as_secs_f64());
            found.extend(judge::clocks(&second));
            found
        }
        Err(e) => vec![Finding::problem(
            "collector",
            format!("{e:#}"),
            "see its log",
        )],
    }
}
