// SPDX-License-Identifier: Apache-2.0
//! Runs a whole spec on the calling thread.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::clock::Moment;
use crate::closed_loop::User;
use crate::flow::{self, Stop};
use crate::poisson::Arrivals;
use crate::receiver;
use crate::spec::{ClosedLoop, Flow, Poisson, Spec};
use crate::truth::{FlowTruth, MAX_FLOWS, Truth, VERSION};

/// Which parts of the spec this process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Listeners and senders.
    All,
    /// Only the senders; the listeners run elsewhere.
    Senders,
    /// Only the listeners, until the end of the run or `shutdown`.
    Listeners,
}

/// Runs until the spec's duration, the end of all flows where every one has an
/// end, `shutdown`, or the failure of a persistent flow. `ready` is called once
/// all listeners are bound, before the first flow starts.
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
            let address = bound
                .address()
                .map_or_else(|_| listener.address.to_string(), |a| a.to_string());
            listeners.push((bound.name().to_owned(), address, bound.counters()));
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
    for flow in spec.flows.iter().filter(|_| sends) {
        senders.spawn(persistent(
            flow.clone(),
            origin,
            stop.clone(),
            truths.clone(),
        ));
    }
    for (index, poisson) in spec.poisson.iter().enumerate().filter(|_| sends) {
        if let Some(arrivals) = Arrivals::new(poisson, spec.seed, index) {
            senders.spawn(short(
                poisson.clone(),
                arrivals,
                origin,
                stop.clone(),
                truths.clone(),
            ));
        }
    }
    for (index, source) in spec.closed_loop.iter().enumerate().filter(|_| sends) {
        for number in 0..source.users {
            if let Some(user) = User::new(source, spec.seed, index, number) {
                let transfers = user_transfers(
                    source.clone(),
                    number,
                    user,
                    origin,
                    stop.clone(),
                    truths.clone(),
                );
                senders.spawn(transfers);
            }
        }
    }
    // Kept by a receiver so that it does not end for want of senders.
    let mut listening = (!sends).then(|| truths.clone());
    drop(truths);

    let mut kept = FlowLog::default();
    let deadline = async {
        match spec.duration_s {
            Some(seconds) => sleep_until(origin + Duration::from_secs_f64(seconds)).await,
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
                // Every sender has ended and said so.
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

/// The truth of flows that ended, bounded in number.
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
            self.omitted_bytes += flow.tcp.bytes_acked;
        }
    }
}

async fn persistent(
    flow: Flow,
    origin: Instant,
    mut stop: Stop,
    truths: mpsc::UnboundedSender<FlowTruth>,
) {
    let start = origin + Duration::from_secs_f64(flow.start_s);
    tokio::select! {
        biased;
        _ = stop.wait_for(|&s| s) => return,
        () = sleep_until(start) => {}
    }
    let lasts = flow
        .stop_s
        .map(|s| Duration::from_secs_f64(s - flow.start_s));
    let _ = truths.send(flow::run(&flow, lasts, stop).await);
}

async fn short(
    poisson: Poisson,
    arrivals: Arrivals,
    origin: Instant,
    mut stop: Stop,
    truths: mpsc::UnboundedSender<FlowTruth>,
) {
    let open = Arc::new(AtomicUsize::new(0));
    let mut running = JoinSet::new();
    for (number, arrival) in arrivals.enumerate() {
        let at = origin + Duration::from_secs_f64(arrival.at_s);
        tokio::select! {
            biased;
            _ = stop.wait_for(|&s| s) => break,
            () = sleep_until(at) => {}
        }
        while running.try_join_next().is_some() {}
        let name = format!("{}-{}", poisson.name, number + 1);
        let flow = poisson.flow(name, arrival.at_s, arrival.bytes);
        if open.load(Ordering::Relaxed) >= poisson.max_open {
            let _ = truths.send(flow::refused(&flow, poisson.max_open));
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let (open, truths, stop) = (Arc::clone(&open), truths.clone(), stop.clone());
        running.spawn(async move {
            let truth = flow::run(&flow, None, stop).await;
            open.fetch_sub(1, Ordering::Relaxed);
            let _ = truths.send(truth);
        });
    }
    while running.join_next().await.is_some() {}
}

async fn user_transfers(
    source: ClosedLoop,
    number: u32,
    user: User,
    origin: Instant,
    mut stop: Stop,
    truths: mpsc::UnboundedSender<FlowTruth>,
) {
    let since_origin = |seconds: f64| origin + Duration::from_secs_f64(seconds);
    let last = source.stop_s.map(since_origin);
    let mut free = since_origin(source.start_s);
    for (transfer, turn) in user.enumerate() {
        let at = free + Duration::from_secs_f64(turn.think_s);
        if last.is_some_and(|last| at >= last) {
            return;
        }
        tokio::select! {
            biased;
            _ = stop.wait_for(|&s| s) => return,
            () = sleep_until(at) => {}
        }
        let name = format!("{}-{}-{}", source.name, number + 1, transfer + 1);
        let flow = source.flow(name, (at - origin).as_secs_f64(), turn.bytes);
        let _ = truths.send(flow::run(&flow, None, stop.clone()).await);
        if *stop.borrow() {
            return;
        }
        free = Instant::now();
    }
}
