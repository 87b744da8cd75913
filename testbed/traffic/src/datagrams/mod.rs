// SPDX-License-Identifier: Apache-2.0
//! UDP flows of Poisson packets, which do not react to losses. One thread sends all flows of a run:
//! the runtime's timer has steps of a millisecond, in which packets of many flows would bunch.

mod state;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::UdpSocket;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, Exp};
use tokio::sync::mpsc::UnboundedSender;

use crate::clock::Moment;
use crate::flow;
use crate::netns;
use crate::sending::{PAYLOAD, Stop, span};
use crate::socket;
use crate::spec::Datagrams;
use crate::truth::FlowTruth;

pub use state::DatagramState;

/// Longest delay in noticing a stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// Gaps of a Poisson process: equal for equal seed and index, independent of the run's timing.
#[derive(Debug)]
struct Gaps {
    random: StdRng,
    gap_s: Exp<f64>,
    next_s: f64,
    stop_s: f64,
}

impl Gaps {
    /// `None` if the rate is invalid (never in a checked spec).
    fn new(spec: &Datagrams, seed: u64, index: usize) -> Option<Self> {
        // Odd multiplier: distinct streams for distinct indices, and from those of transfers.
        let own = seed ^ (index as u64 + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        Some(Self {
            random: StdRng::seed_from_u64(own),
            gap_s: Exp::new(spec.rate_bps / 8.0 / f64::from(spec.packet_bytes)).ok()?,
            next_s: spec.start_s,
            stop_s: spec.stop_s.unwrap_or(f64::INFINITY),
        })
    }
}

impl Iterator for Gaps {
    type Item = Duration;

    /// Returns the next packet's time since the start of the run.
    fn next(&mut self) -> Option<Duration> {
        self.next_s += self.gap_s.sample(&mut self.random);
        (self.next_s < self.stop_s).then(|| span(self.next_s))
    }
}

/// A UDP flow that is ready to send.
#[derive(Debug)]
pub(crate) struct Source {
    socket: UdpSocket,
    gaps: Gaps,
    payload_bytes: usize,
    packet_bytes: u64,
    state: DatagramState,
    truth: FlowTruth,
}

impl Source {
    /// Opens the socket in its namespace. `index` is the flow's in the spec. The error is the truth
    /// of a flow that never began.
    pub(crate) fn open(spec: &Datagrams, seed: u64, index: usize) -> Result<Self, Box<FlowTruth>> {
        let mut truth = flow::blank(&spec.flow());
        let opened = netns::within(spec.netns.as_deref(), || {
            socket::datagrams(spec.source, Some(spec.destination))
        });
        let gaps = Gaps::new(spec, seed, index).ok_or_else(|| "rate_bps is not a rate".to_owned());
        match opened.and_then(|socket| Ok((socket?, gaps?))) {
            Ok((socket, gaps)) => {
                if let Ok(Some(local)) = socket.local_addr().map(|a| a.as_socket()) {
                    truth.source = local;
                }
                Ok(Self {
                    socket: socket.into(),
                    gaps,
                    payload_bytes: usize::from(
                        spec.packet_bytes.saturating_sub(spec.header_bytes()),
                    ),
                    packet_bytes: u64::from(spec.packet_bytes),
                    state: DatagramState::default(),
                    truth,
                })
            }
            Err(error) => {
                truth.error = Some(error);
                Err(Box::new(truth))
            }
        }
    }

    fn send(&mut self) {
        if self.state == DatagramState::default() {
            self.truth.start = Moment::now();
        }
        let payload = PAYLOAD.get(..self.payload_bytes).unwrap_or(&PAYLOAD);
        if self.socket.send(payload).is_ok() {
            self.state.packets_sent += 1;
            self.state.ip_bytes_sent += self.packet_bytes;
        } else {
            self.state.packets_refused += 1;
        }
    }

    fn truth(self) -> FlowTruth {
        FlowTruth {
            stop: Moment::now(),
            udp: Some(self.state),
            ..self.truth
        }
    }
}

/// Sends until every flow or the run has ended, then reports each flow's truth.
pub(crate) fn run(
    sources: Vec<Source>,
    origin: Instant,
    stop: &Stop,
    truths: &UnboundedSender<FlowTruth>,
) {
    let mut sources: Vec<Option<Source>> = sources.into_iter().map(Some).collect();
    let mut due = BinaryHeap::new();
    for (i, source) in sources.iter_mut().flatten().enumerate() {
        due.extend(source.gaps.next().map(|at| Reverse((at, i))));
    }
    while let Some(Reverse((at, i))) = due.pop() {
        if !wait(origin + at, stop) {
            break;
        }
        let Some(place) = sources.get_mut(i) else {
            continue;
        };
        let next = place.as_mut().and_then(|source| {
            source.send();
            source.gaps.next()
        });
        match next {
            Some(at) => due.push(Reverse((at, i))),
            None => tell(place.take(), truths),
        }
    }
    for source in sources {
        tell(source, truths);
    }
}

fn tell(source: Option<Source>, truths: &UnboundedSender<FlowTruth>) {
    if let Some(source) = source {
        let _ = truths.send(source.truth());
    }
}

/// Waits until a time. Returns false if the run ends first.
fn wait(until: Instant, stop: &Stop) -> bool {
    loop {
        if *stop.borrow() {
            return false;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        sleep(left.min(LONGEST_SLEEP));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(rate_bps: f64, stop_s: Option<f64>) -> Datagrams {
        Datagrams {
            name: "u".into(),
            destination: "127.0.0.1:1".parse().unwrap(),
            source: None,
            netns: None,
            rate_bps,
            packet_bytes: 1500,
            start_s: 2.0,
            stop_s,
            base_rtt_ms: None,
        }
    }

    fn gaps(seed: u64, index: usize) -> Vec<Duration> {
        let spec = spec(12e6, Some(22.0));
        Gaps::new(&spec, seed, index).unwrap().collect()
    }

    #[test]
    fn packets_come_as_a_poisson_process() {
        let all = gaps(1, 0);
        // 1000 per second: 20 000 expected, standard deviation 141.
        assert!(all.len().abs_diff(20_000) < 1000, "{}", all.len());
        assert!(all[0] >= Duration::from_secs(2) && all[all.len() - 1] < Duration::from_secs(22));
        let short = all
            .windows(2)
            .filter(|w| w[1] - w[0] < Duration::from_micros(693));
        let share = short.count() as f64 / all.len() as f64;
        assert!(
            (share - 0.5).abs() < 0.03,
            "half of the gaps below ln 2 of their mean: {share}"
        );
    }

    #[test]
    fn a_rate_of_almost_nothing_sends_nothing_and_ends_nothing() {
        let wait = Gaps::new(&spec(1e-300, None), 1, 0).unwrap().next();
        assert!(wait.unwrap() > Duration::from_secs(900_000_000));
    }

    #[test]
    fn the_seed_alone_decides() {
        assert_eq!(gaps(7, 1), gaps(7, 1));
        assert_ne!(gaps(7, 1), gaps(8, 1));
        assert_ne!(gaps(7, 1), gaps(7, 2));
    }
}
