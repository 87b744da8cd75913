// SPDX-License-Identifier: Apache-2.0
//! `print`: prints the reports that a switch sends, one JSON line each, without any configuration.
//! The first thing to try if no reports arrive.

mod line;
#[cfg(test)]
mod tests;

use crate::account::FrameAccount;
use anyhow::{Context, Result};
use clap::Args;
use daemon_kit::cli::stdout;
use line::{Line, Malformed};
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use tidemark_pcap::{Datagrams, STDIN};

/// Maximum length of a UDP datagram.
const MAX_DATAGRAM_BYTES: usize = 65_535;

#[derive(Debug, Args)]
pub(crate) struct PrintArgs {
    /// UDP address to listen on for reports.
    #[arg(long, default_value = "0.0.0.0:32766", conflicts_with = "pcap")]
    listen: SocketAddr,
    /// Read reports from a capture file instead, pcap or pcapng (.gz allowed); `-` is standard
    /// input, whose lines are printed at once.
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// With --pcap: only datagrams to these UDP ports; default: all.
    #[arg(long, value_delimiter = ',', requires = "pcap")]
    port: Vec<u16>,
    /// End after this many lines.
    #[arg(long)]
    count: Option<u64>,
}

/// Writes lines until the requested number is reached.
struct Printer<W> {
    out: W,
    left: Option<u64>,
    account: FrameAccount,
}

impl<W: Write> Printer<W> {
    /// Writes the lines of one datagram; returns false if no more are wanted.
    fn datagram(&mut self, exporter: IpAddr, payload: &[u8]) -> io::Result<bool> {
        let mut written = Ok(());
        let mut account = std::mem::take(&mut self.account);
        let decoded = account.decode(payload, |report| {
            if written.is_ok() {
                written = self.line(&Line::new(exporter, report));
            }
        });
        self.account = account;
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

pub(crate) fn run(args: &PrintArgs) -> Result<()> {
    let mut printer = Printer {
        out: BufWriter::new(stdout()),
        left: args.count,
        account: FrameAccount::default(),
    };
    let printed = match &args.pcap {
        Some(path) => from_file(path, &args.port, &mut printer),
        None => from_socket(args.listen, &mut printer),
    };
    // If nothing was read, the lines say why.
    printer.out.flush()?;
    printed
}

fn from_file(path: &Path, ports: &[u16], printer: &mut Printer<impl Write>) -> Result<()> {
    let mut datagrams = Datagrams::open(path)?;
    let is_live = path == Path::new(STDIN);
    while let Some(d) = datagrams.next_datagram()? {
        let wanted = ports.is_empty() || ports.contains(&d.dst_port);
        if !wanted {
            printer.account.other_port();
        }
        if wanted && !printer.datagram(d.src, d.payload)? {
            break;
        }
        if wanted && is_live {
            printer.out.flush()?;
        }
    }
    if datagrams.truncated() {
        eprintln!("{}: ends within a frame", path.display());
    }
    printer.account.end(&datagrams);
    printer.account.something()?;
    eprintln!("{}", printer.account);
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
        printer.account.frames += 1;
        let more = printer.datagram(from.ip(), payload)?;
        // Show each line at once.
        printer.out.flush()?;
        if !more {
            printer.account.something()?;
            eprintln!("{}", printer.account);
            return Ok(());
        }
    }
}
