// SPDX-License-Identifier: Apache-2.0
//! `print`: what a switch sends, one JSON line per report, without any
//! configuration. The first thing to try where no reports arrive.

use anyhow::{Context, Result};
use clap::Args;
use int_report::{InnerPacket, Report, parse_inner};
use serde::Serialize;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use tidemark_pcap::Datagrams;

/// No UDP datagram is longer.
const MAX_DATAGRAM_BYTES: usize = 65_535;

#[derive(Debug, Args)]
pub(crate) struct PrintArgs {
    /// Take reports at this UDP address.
    #[arg(long, default_value = "0.0.0.0:32766", conflicts_with = "pcap")]
    listen: SocketAddr,
    /// Read them from a capture file instead, pcap or pcapng (.gz allowed).
    #[arg(long)]
    pcap: Option<PathBuf>,
    /// With --pcap: only datagrams to these UDP ports; default all.
    #[arg(long, value_delimiter = ',', requires = "pcap")]
    port: Vec<u16>,
    /// End after so many lines.
    #[arg(long)]
    count: Option<u64>,
}

/// One report. Times and depths are in the node's own units, as it sent them;
/// what a report does not have is left out.
#[derive(Serialize)]
struct Line {
    exporter: IpAddr,
    version: &'static str,
    node_id: u32,
    hw_id: u8,
    sequence: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ingress_port: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    egress_port: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_id: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_occupancy: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ingress_ts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    egress_ts: Option<u64>,
    dropped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    drop_reason: Option<u8>,
    ce_marked: bool,
    #[serde(flatten)]
    packet: Option<PacketLine>,
    /// Why the original packet cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    packet_error: Option<String>,
}

#[derive(Serialize)]
struct PacketLine {
    src: IpAddr,
    src_port: u16,
    dst: IpAddr,
    dst_port: u16,
    protocol: u8,
    ip_bytes: u32,
    payload_bytes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_seq: Option<u32>,
    ecn: &'static str,
}

/// A datagram that cannot be read, or the rest of one.
#[derive(Serialize)]
struct Malformed {
    exporter: IpAddr,
    error: String,
    datagram_bytes: usize,
}

impl Line {
    fn new(exporter: IpAddr, r: &Report<'_>) -> Self {
        let (packet, packet_error) = match parse_inner(&r.inner) {
            Ok(packet) => (Some(PacketLine::from(&packet)), None),
            Err(e) => (None, Some(e.to_string())),
        };
        Self {
            exporter,
            version: match r.version {
                0 => "0.5",
                1 => "1.0",
                _ => "2.0",
            },
            node_id: r.node_id,
            hw_id: r.hw_id,
            sequence: r.sequence,
            ingress_port: r.ingress_port,
            egress_port: r.egress_port,
            queue_id: r.queue_id,
            queue_occupancy: r.queue_occupancy,
            limit: r.limit,
            ingress_ts: r.ingress_ts,
            egress_ts: r.egress_ts,
            dropped: r.dropped,
            drop_reason: r.drop_reason,
            ce_marked: r.ce_marked(),
            packet,
            packet_error,
        }
    }
}

impl From<&InnerPacket> for PacketLine {
    fn from(p: &InnerPacket) -> Self {
        Self {
            src: p.src,
            src_port: p.src_port,
            dst: p.dst,
            dst_port: p.dst_port,
            protocol: p.protocol,
            ip_bytes: p.ip_bytes,
            payload_bytes: p.payload_bytes,
            tcp_seq: (p.protocol == 6).then_some(p.tcp_seq),
            ecn: ["Not-ECT", "ECT(1)", "ECT(0)", "CE"][usize::from(p.ecn & 3)],
        }
    }
}

/// Writes lines until there are enough of them.
struct Printer<W> {
    out: W,
    left: Option<u64>,
}

impl<W: Write> Printer<W> {
    /// The lines of one datagram. False when no more are wanted.
    fn datagram(&mut self, exporter: IpAddr, payload: &[u8]) -> io::Result<bool> {
        let mut written = Ok(());
        let decoded = int_report::decode(payload, |report| {
            if written.is_ok() {
                written = self.line(&Line::new(exporter, &report));
            }
        });
        written?;
        if let Err(error) = decoded {
            self.line(&Malformed {
                exporter,
                error: error.to_string(),
                datagram_bytes: payload.len(),
            })?;
        }
        Ok(self.left != Some(0))
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        if self.left == Some(0) {
            return Ok(());
        }
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")?;
        self.left = self.left.map(|n| n - 1);
        Ok(())
    }
}

/// # Errors
/// One line for people.
pub(crate) fn run(args: &PrintArgs) -> Result<()> {
    let mut printer = Printer {
        out: BufWriter::new(io::stdout().lock()),
        left: args.count,
    };
    let printed = match &args.pcap {
        Some(path) => from_file(path, &args.port, &mut printer),
        None => from_socket(args.listen, &mut printer),
    };
    match printed.and_then(|()| Ok(printer.out.flush()?)) {
        // Whoever read the lines has seen enough.
        Err(e) if is_broken_pipe(&e) => Ok(()),
        other => other,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let of_io = error.downcast_ref::<io::Error>();
    of_io.is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
}

fn from_file(path: &Path, ports: &[u16], printer: &mut Printer<impl Write>) -> Result<()> {
    let mut datagrams = Datagrams::open(path)?;
    while let Some(d) = datagrams.next_datagram()? {
        let wanted = ports.is_empty() || ports.contains(&d.dst_port);
        if wanted && !printer.datagram(d.src, d.payload)? {
            break;
        }
    }
    if datagrams.truncated() {
        eprintln!("{}: ends within a frame", path.display());
    }
    Ok(())
}

fn from_socket(listen: SocketAddr, printer: &mut Printer<impl Write>) -> Result<()> {
    let socket = UdpSocket::bind(listen)
        .with_context(|| format!("listening on {listen}; does a collector run there already?"))?;
    eprintln!("listening on {}; Ctrl-C ends", socket.local_addr()?);
    let mut buffer = vec![0; MAX_DATAGRAM_BYTES];
    loop {
        let (length, from) = socket.recv_from(&mut buffer)?;
        let payload = buffer.get(..length).unwrap_or_default();
        let more = printer.datagram(from.ip(), payload)?;
        // Whoever looks on sees it at once.
        printer.out.flush()?;
        if !more {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use int_report::encode::{encode, postcard};
    use serde_json::{Value, json};
    use std::net::Ipv4Addr;

    const EXPORTER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

    fn printed(payloads: &[&[u8]], count: Option<u64>) -> Vec<Value> {
        let mut printer = Printer {
            out: Vec::new(),
            left: count,
        };
        for payload in payloads {
            if !printer.datagram(EXPORTER, payload).unwrap() {
                break;
            }
        }
        let text = String::from_utf8(printer.out).unwrap();
        text.lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect()
    }

    /// IPv4 and TCP headers of a packet of 1500 bytes, ECT(0).
    fn inner() -> Vec<u8> {
        let mut ip = vec![
            0x45, 2, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        ip.extend([
            0x13, 0x88, 0x13, 0x89, 0, 0, 1, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0,
        ]);
        ip
    }

    #[test]
    fn a_report_is_one_line() {
        let inner = inner();
        let payload = encode(&[postcard(10, 77, (2, 1), &inner)]).unwrap();
        let lines = printed(&[&payload], None);
        assert_eq!(lines.len(), 1);
        let line = &lines[0];
        assert_eq!(line["exporter"], "192.0.2.7");
        assert_eq!(
            (&line["node_id"], &line["sequence"]),
            (&json!(10), &json!(77))
        );
        assert_eq!(
            (&line["src"], &line["dst_port"]),
            (&json!("10.0.0.1"), &json!(5001))
        );
        assert_eq!(
            (&line["tcp_seq"], &line["payload_bytes"]),
            (&json!(256), &json!(1460))
        );
        assert_eq!(
            (&line["ecn"], &line["version"]),
            (&json!("ECT(0)"), &json!("2.0"))
        );
        assert_eq!(line.get("packet_error"), None);
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let lines = printed(&[&[0x20, 0, 0], b"nonsense that is no report"], None);
        assert_eq!(lines.len(), 2);
        for line in &lines {
            assert!(
                line["error"].as_str().is_some_and(|e| !e.is_empty()),
                "{line}"
            );
        }
        assert_eq!(lines[0]["datagram_bytes"], 3);
        let no_packet = encode(&[postcard(1, 1, (2, 1), &[])]).unwrap();
        let lines = printed(&[&no_packet], None);
        assert!(lines[0]["packet_error"].is_string(), "{}", lines[0]);
    }

    #[test]
    fn it_ends_after_as_many_as_were_asked_for() {
        let inner = inner();
        let report = postcard(1, 1, (2, 1), &inner);
        let second = Report {
            first_in_datagram: false,
            ..report
        };
        let payload = encode(&[report, second]).unwrap();
        assert_eq!(printed(&[&payload, &payload, &payload], Some(3)).len(), 3);
    }
}
