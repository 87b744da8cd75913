// SPDX-License-Identifier: Apache-2.0
//! Runs a whole spec on the calling thread.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::clock::Moment;
use crate::closed_loop::User;
use crate::datagrams::{self, Source};
use crate::flow;
use crate::poisson::Arrivals;
use crate::receiver;
use crate::sending::{Stop, span};
use crate::spec::{ClosedLoop, Flow, Poisson, Spec};
use crate::truth::{FlowTruth, MAX_FLOWS, Truth, VERSION};

/// Part of the spec that this process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Both listeners and senders.
    All,
    /// Only the senders; the listeners run elsewhere.
    Senders,
    /// Only the listeners, until the end of the run or `shutdown`.
    Listeners,
}

/// Runs until the spec's duration, the end of all flows if every one has an end, `shutdown`, or the
/// failure of a persistent flow. Calls `ready` once all listeners are bound, before the first flow
/// starts.
///
/// Must be called on a current-thread runtime: sockets are made by moving the
/// thread between namespaces.
///
/// # Errors
/// A listener that cannot be bound. Flows that fail say so in the truth.
pub async fn run(
    spec: &Spec,
    part: Part,
    shutdown: impl Future<Output = ()>,
    ready: impl FnOnce(),
) -> Result<Truth, String> {
    let mut served = JoinSet::new();
    let mut listeners = Vec::new();
    if part != Part::Senders {
        for listener in &spec.listeners {
            let bound = receiver::bind(listener)?;
            let counters = Arc::clone(&bound.counters);
            listeners.push((bound.name.clone(), bound.address.to_string(), counters));
            served.spawn(bound.serve());
        }
    }
    ready();

    let started = Moment::now();
    let origin = Instant::now();
    let (stop_sender, stop) = watch::channel(false);
    let (truths, mut ended) = mpsc::unbounded_channel();
    let mut senders = JoinSet::new();
    let sends = part != Part::Listeners;
    let out = Sending {
        origin,
        stop: stop.clone(),
        truths: truths.clone(),
    };
    for flow in spec.flows.iter().filter(|_| sends) {
        senders.spawn(out.clone().persistent(flow.clone()));
    }
    for (index, poisson) in spec.poisson.iter().enumerate().filter(|_| sends) {
        if let Some(arrivals) = Arrivals::new(poisson, spec.seed, index) {
            senders.spawn(out.clone().short(poisson.clone(), arrivals));
        }
    }
    for (index, source) in spec.closed_loop.iter().enumerate().filter(|_| sends) {
        for number in 0..source.users {
            if let Some(user) = User::new(source, spec.seed, index, number) {
                senders.spawn(out.clone().transfers(source.clone(), number, user));
            }
        }
    }
    let mut sources = Vec::new();
    for (index, flow) in spec.datagrams.iter().enumerate().filter(|_| sends) {
        match Source::open(flow, spec.seed, index) {
            Ok(source) => sources.push(source),
            Err(truth) => drop(truths.send(*truth)),
        }
    }
    if !sources.is_empty() {
        let (origin, stop, truths) = (origin.into_std(), stop.clone(), truths.clone());
        std::thread::spawn(move || datagrams::run(sources, origin, &stop, &truths));
    }
    drop(out);
    // Kept in a process without senders, whose channel would otherwise close.
    let mut listening = (!sends).then(|| truths.clone());
    drop(truths);

    let mut kept = FlowLog::default();
    let deadline = async {
        match spec.duration_s {
            Some(seconds) => sleep_until(origin + span(seconds)).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(shutdown, deadline);
    let mut interrupted = false;
    loop {
        if *stop.borrow() {
            drop(listening.take());
        }
        tokio::select! {
            () = &mut shutdown, if !*stop.borrow() => {
                interrupted = true;
                let _ = stop_sender.send(true);
            }
            () = &mut deadline, if !*stop.borrow() => {
                let _ = stop_sender.send(true);
            }
            flow = ended.recv() => match flow {
                Some(flow) => {
                    if flow::is_persistent(flow.kind)
                        && let Some(error) = &flow.error
                    {
                        tracing::error!(flow = %flow.name, "{error}; the run ends");
                        interrupted = true;
                        let _ = stop_sender.send(true);
                    }
                    kept.add(flow);
                }
                // Every sender has ended and reported its truth.
                None => break,
            },
        }
    }
    let stopped = Moment::now();
    let mut flows = kept.flows;
    flows.sort_by_key(|f| f.start.mono_raw_ns);
    Ok(Truth {
        version: VERSION,
        seed: spec.seed,
        started,
        stopped,
        interrupted,
        flows,
        omitted_flows: kept.omitted,
        omitted_bytes_acked: kept.omitted_bytes,
        listeners: listeners
            .into_iter()
            .map(|(name, address, counters)| (name, counters.truth(address)))
            .collect::<BTreeMap<_, _>>(),
    })
}

/// Truths of ended flows, bounded in number.
#[derive(Default)]
struct FlowLog {
    flows: Vec<FlowTruth>,
    omitted: u64,
    omitted_bytes: u64,
}

impl FlowLog {
    fn add(&mut self, flow: FlowTruth) {
        if self.flows.len() < MAX_FLOWS || flow::is_persistent(flow.kind) {
            self.flows.push(flow);
        } else {
            self.omitted += 1;
            self.omitted_bytes += flow.bytes_acked();
        }
    }
}

/// State of the run that every sender needs.
#[derive(Clone)]
struct Sending {
    origin: Instant,
    stop: Stop,
    truths: mpsc::UnboundedSender<FlowTruth>,
}

impl Sending {
    fn at(&self, seconds: f64) -> Instant {
        self.origin + span(seconds)
    }

    /// Waits until a time. Returns false if the run ends first.
    async fn until(&mut self, at: Instant) -> bool {
        tokio::select! {
            biased;
            _ = self.stop.wait_for(|&s| s) => false,
            () = sleep_until(at) => true,
        }
    }

    async fn persistent(mut self, flow: Flow) {
        if !self.until(self.at(flow.start_s)).await {
            return;
        }
        let lasts = (flow.stop_s).map(|s| span(s - flow.start_s));
        let _ = (self.truths).send(flow::run(&flow, lasts, self.stop).await);
    }

    async fn short(mut self, poisson: Poisson, arrivals: Arrivals) {
        let open = Arc::new(AtomicUsize::new(0));
        let mut running = JoinSet::new();
        for (number, arrival) in arrivals.enumerate() {
            if !self.until(self.at(arrival.at_s)).await {
                break;
            }
            while running.try_join_next().is_some() {}
            let name = format!("{}-{}", poisson.name, number + 1);
            let flow = poisson.flow(name, arrival.at_s, arrival.bytes);
            if open.load(Ordering::Relaxed) >= poisson.max_open {
                let _ = (self.truths).send(flow::refused(&flow, poisson.max_open));
                continue;
            }
            open.fetch_add(1, Ordering::Relaxed);
            let (open, out) = (Arc::clone(&open), self.clone());
            running.spawn(async move {
                let truth = flow::run(&flow, None, out.stop).await;
                open.fetch_sub(1, Ordering::Relaxed);
                let _ = out.truths.send(truth);
            });
        }
        while running.join_next().await.is_some() {}
    }

    async fn transfers(mut self, source: ClosedLoop, number: u32, user: User) {
        let last = source.stop_s.map(|s| self.at(s));
        let mut free = self.at(source.start_s);
        for (transfer, turn) in user.enumerate() {
            let at = free + span(turn.think_s);
            if last.is_some_and(|last| at >= last) || !self.until(at).await {
                return;
            }
            let name = format!("{}-{}-{}", source.name, number + 1, transfer + 1);
            let flow = source.flow(name, (at - self.origin).as_secs_f64(), turn.bytes);
            let _ = (self.truths).send(flow::run(&flow, None, self.stop.clone()).await);
            if *self.stop.borrow() {
                return;
            }
            free = Instant::now();
        }
    }
}
