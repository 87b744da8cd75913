// SPDX-License-Identifier: Apache-2.0
//! `tidemark-collector replay`: sends a recording to a live collector, reports over UDP, samples as
//! an agent does.

mod rows;

use crate::account::FrameAccount;
use crate::agent::Pusher;
use crate::import::{TraceSet, Traces};
use anyhow::{Context, Result, bail};
use clap::{ArgGroup, Args};
use daemon_kit::cli::{NothingRead, Progress, Usage, print, print_json};
use daemon_kit::credentials::AccessArgs;
use rows::{CaptureSource, Item, Recorded, ReplayReport};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tcp_probe::Event;
use tidemark_capture::locate;
use tidemark_pcap::Datagrams;

/// Samples per batch.
const BATCH_EVENTS: usize = 1024;
/// How much earlier than due a datagram may be sent.
const SLACK: Duration = Duration::from_micros(50);

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("source").required(true)))]
pub(crate) struct ReplayArgs {
    /// Capture file with reports, pcap or pcapng (.gz allowed); `-` is standard input.
    #[arg(long, group = "source")]
    pcap: Option<PathBuf>,
    /// Text trace that belongs to the pcap, as `import` takes it; needs --agent.
    #[arg(long, requires = "pcap", requires = "agent")]
    tcp_probe: Option<PathBuf>,
    /// Run, or its capture, whose reports (and samples, with --agent) to send.
    #[arg(long, value_name = "RUN", group = "source")]
    capture: Option<PathBuf>,
    /// Destination of reports (UDP).
    #[arg(long, default_value = "127.0.0.1:32766")]
    to: SocketAddr,
    /// Destination of samples: HOST:PORT of a collector's telemetry address, or https://HOST:PORT.
    #[arg(long)]
    agent: Option<String>,
    /// Speed: 1 = as recorded, 2 = twice as fast; 0 = as fast as possible.
    #[arg(long, default_value_t = 1.0)]
    speed: f64,
    /// Only datagrams of the pcap to these UDP ports; default: all.
    #[arg(long, value_delimiter = ',')]
    port: Vec<u16>,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    json: bool,
    // Last, because its help heading applies to all arguments that follow.
    #[command(flatten)]
    access: AccessArgs,
}

struct PcapSource {
    pcap: Datagrams,
    trace: Traces,
    ports: Vec<u16>,
    account: FrameAccount,
    /// Datagram that was read, but follows earlier samples.
    next: Option<(u64, Vec<u8>)>,
    last_ns: u64,
}

impl Recorded for PcapSource {
    fn next(&mut self) -> Result<Option<(u64, Item)>> {
        while self.next.is_none() {
            let Some(p) = self.pcap.next_datagram()? else {
                break;
            };
            if self.ports.is_empty() || self.ports.contains(&p.dst_port) {
                for datagram in int_report::datagrams(p.payload) {
                    // A datagram that cannot be decoded is sent and counted.
                    let _ = self.account.decode(datagram, |_| {});
                }
                self.next = Some((p.time_ns, p.payload.to_vec()));
            } else {
                self.account.other_port();
            }
        }
        let until = self.next.as_ref().map_or(u64::MAX, |n| n.0);
        if let Some((_, at_ns, event)) = self.trace.until(until)? {
            self.last_ns = self.last_ns.max(at_ns);
            return Ok(Some((self.last_ns, Item::Event(event))));
        }
        Ok(self.next.take().map(|(time_ns, payload)| {
            self.last_ns = time_ns;
            (time_ns, Item::Datagram(payload))
        }))
    }

    fn fraction(&self) -> Option<f64> {
        self.pcap.position().fraction()
    }

    fn end(&mut self, report: &mut ReplayReport) {
        self.account.end(&self.pcap);
        report.frames = Some(std::mem::take(&mut self.account));
    }
}

pub(crate) fn run(args: &ReplayArgs) -> Result<()> {
    let r = replay(args)?;
    if args.json {
        print_json(&r)?;
    } else {
        if let Some(frames) = &r.frames {
            print(format_args!("{frames}"))?;
        }
        print(format_args!(
            "{} datagrams and {} samples of {:.3} s sent in {:.3} s; {} rows skipped, {} rows of \
             stacks in packets (INT-MD) left out",
            r.datagrams, r.events, r.recorded_s, r.took_s, r.skipped, r.skipped_from_stacks
        ))?;
    }
    if let Some(frames) = &r.frames {
        frames.something()?;
    }
    if r.datagrams == 0 && r.events == 0 {
        bail!(NothingRead::new(
            "nothing was read: no datagram to send was in the input"
        ));
    }
    Ok(())
}

fn replay(args: &ReplayArgs) -> Result<ReplayReport> {
    if !(args.speed >= 0.0 && args.speed.is_finite()) {
        bail!(Usage::new("--speed: must be a number of at least 0"));
    }
    let mut source: Box<dyn Recorded> = match (&args.pcap, &args.capture) {
        (Some(path), _) => Box::new(PcapSource {
            pcap: Datagrams::open(path)?,
            trace: {
                let sources: Vec<_> = args.tcp_probe.iter().map(|p| p.as_path().into()).collect();
                TraceSet::look(&sources)?.open()?
            },
            ports: args.port.clone(),
            account: FrameAccount::default(),
            next: None,
            last_ns: 0,
        }),
        (None, Some(dir)) => Box::new(CaptureSource::open(&locate(dir)?)?),
        (None, None) => bail!(Usage::new("--pcap or --capture is needed")),
    };
    let local = if args.to.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let socket = UdpSocket::bind(local).context("cannot open a UDP socket")?;
    socket
        .connect(args.to)
        .with_context(|| format!("cannot send to {}", args.to))?;
    let mut pusher = match &args.agent {
        Some(to) => {
            let access = args.access.load(crate::time::unix_s())?;
            Some(Pusher::connect(to, "replay", &access)?)
        }
        None => None,
    };
    let mut report = ReplayReport::default();
    let mut events: Vec<Event> = Vec::new();
    let mut first_ns = None;
    let mut last_ns = 0;
    let start = Instant::now();
    let mut progress = Progress::new("datagrams", true);
    while let Some((time_ns, item)) = source.next()? {
        let first_ns = *first_ns.get_or_insert(time_ns);
        last_ns = last_ns.max(time_ns);
        if args.speed > 0.0 {
            let due =
                Duration::from_nanos((time_ns.saturating_sub(first_ns) as f64 / args.speed) as u64);
            if let Some(early) = due.checked_sub(start.elapsed())
                && early > SLACK
            {
                // Before sleeping, send all samples that are due.
                push(&mut pusher, &mut events, &mut report)?;
                std::thread::sleep(early);
            }
        }
        match item {
            Item::Event(event) => {
                events.push(event);
                if events.len() >= BATCH_EVENTS {
                    push(&mut pusher, &mut events, &mut report)?;
                }
            }
            Item::Datagram(payload) => {
                match socket.send(&payload) {
                    Ok(_) => {}
                    // The error is of an earlier datagram: nobody listens (any more).
                    Err(e) if e.kind() == std::io::ErrorKind::ConnectionRefused => {
                        bail!(
                            "nobody receives on {}; is a collector running there?",
                            args.to
                        )
                    }
                    Err(e) => return Err(e).with_context(|| format!("sending to {}", args.to)),
                }
                report.datagrams += 1;
                report.bytes += payload.len() as u64;
            }
        }
        progress.tick(report.datagrams, source.fraction());
    }
    progress.end(report.datagrams);
    push(&mut pusher, &mut events, &mut report)?;
    if let Some(pusher) = pusher {
        pusher.finish()?;
    }
    source.end(&mut report);
    report.recorded_s = last_ns.saturating_sub(first_ns.unwrap_or(last_ns)) as f64 / 1e9;
    report.took_s = start.elapsed().as_secs_f64();
    Ok(report)
}

fn push(
    pusher: &mut Option<Pusher>,
    events: &mut Vec<Event>,
    report: &mut ReplayReport,
) -> Result<()> {
    if let Some(pusher) = pusher
        && !events.is_empty()
    {
        pusher.push(events)?;
        report.events += events.len() as u64;
    }
    events.clear();
    Ok(())
}
