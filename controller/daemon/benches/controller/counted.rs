// SPDX-License-Identifier: Apache-2.0
//! Measures the load in this process and in simulated time, so that the cost of a second does not
//! depend on other processes. Includes decoding, storing and estimating, but not sockets.

use crate::load::Load;
use crate::process::own_cpu_s;
use prost::Message as _;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tidemark_control::Timestamp;
use tidemark_controller::config::{CollectorConfig, Config};
use tidemark_controller::core::{Core, tick};
use tidemark_estimators::LinkId;
use tidemark_proto::telemetry::Update;
use tidemark_rules::Targets;

/// CPU time per simulated second, s, and the results of the run.
pub(crate) struct Counted {
    pub taking_cpu_s: f64,
    pub estimating_cpu_s: f64,
    pub records_per_s: f64,
    pub share_estimated: f64,
    pub share_advised: f64,
}

pub(crate) fn measure(load: &Load) -> Counted {
    let o = &load.options;
    let address = |c| format!("127.0.0.1:{}", 1 + c);
    let config = Config {
        collectors: (0..o.collectors)
            .map(|c| CollectorConfig::new(address(c)))
            .collect(),
        targets: Targets {
            delay_ms: Some(30.0),
            ..Targets::default()
        },
        ..Config::default()
    };
    let now_ns = Arc::new(AtomicI64::new(0));
    let clock = Arc::clone(&now_ns);
    let time = move || {
        let monotonic_ns = clock.load(Ordering::Relaxed);
        Timestamp {
            monotonic_ns,
            unix_ms: 1_800_000_000_000 + monotonic_ns as u64 / 1_000_000,
        }
    };
    let core = Core::new(config, BTreeMap::new(), Arc::new(time)).unwrap();
    for c in 0..o.collectors {
        core.connected(c as usize, load.info(c));
    }
    let steps_per_s = 1000 / o.interval_ms;
    let (mut taking, mut estimating, mut records) = (0.0, 0.0, 0);
    let (mut estimated, mut advised) = (0, 0);
    for second in 0..o.past_s + o.measure_s {
        let measured = second >= o.past_s;
        let steps = second * steps_per_s..(second + 1) * steps_per_s;
        let updates = steps.flat_map(|step| (0..o.collectors).map(move |c| (c, step)));
        let encoded: Vec<(u32, Vec<u8>)> = updates
            .map(|(c, step)| {
                let (update, n) = load.update(c, step);
                records += if measured { n } else { 0 };
                (c, update.encode_to_vec())
            })
            .collect();
        let began = own_cpu_s();
        for (c, bytes) in &encoded {
            let update = Update::decode(&bytes[..]).unwrap();
            core.take(*c as usize, &update);
        }
        let taken = own_cpu_s();
        now_ns.store((second as i64 + 1) * 1_000_000_000, Ordering::Relaxed);
        if !measured {
            // Memory bounds apply from the start; the estimates do not matter yet.
            if second % 10 == 9 {
                tick::estimates(&core);
            }
            continue;
        }
        tick::estimates(&core);
        taking += taken - began;
        estimating += own_cpu_s() - taken;
        let ended_ns = (second + 1) * 1_000_000_000;
        for &(node_id, port) in &load.links {
            let link = core.link(LinkId {
                node_id,
                port,
                queue: 0,
            });
            let fresh = |l: &&_| of_now(l, ended_ns);
            let link = link.as_ref().filter(fresh);
            estimated += usize::from(link.is_some());
            let advised_bytes = link.and_then(|l| l.advice.as_ref()?.limit_bytes);
            advised += usize::from(advised_bytes.is_some());
        }
    }
    let seconds = o.measure_s as f64;
    let all = seconds * load.links.len() as f64;
    Counted {
        taking_cpu_s: taking / seconds,
        estimating_cpu_s: estimating / seconds,
        records_per_s: records as f64 / seconds,
        share_estimated: estimated as f64 / all,
        share_advised: advised as f64 / all,
    }
}

fn of_now(link: &tidemark_controller::core::LinkStatus, ended_ns: u64) -> bool {
    let estimate = link.estimate.as_ref();
    estimate.is_some_and(|e| e.to_ns == ended_ns)
}
