// SPDX-License-Identifier: Apache-2.0
//! `--aqm PORT[:QUEUE]=ALGORITHM[:KEY=VALUE,…]`.

use daemon_kit::cli::units as sizes;
use traffic_manager::{AqmConfig, CoDelConfig, FlowQueuesConfig, PieConfig, RedConfig, Switch};

use crate::units;

/// Queue management of one queue of a port.
#[derive(Debug, Clone, PartialEq)]
pub struct AqmSpec {
    pub port: u32,
    queue: usize,
    config: AqmConfig,
}

impl AqmSpec {
    pub fn apply(&self, switch: &mut Switch) -> Result<(), String> {
        let set = switch.set_aqm(self.port, self.queue, self.config);
        set.map_err(|e| format!("--aqm: {e}; --priority-queues says how many a port has"))
    }
}

const ALGORITHMS: &str = "codel, fq_codel, pie, red:min_threshold=…, drr:limit=…";

pub(super) fn aqm_spec(s: &str) -> Result<AqmSpec, String> {
    let (place, law) = s
        .split_once('=')
        .ok_or_else(|| format!("\"{s}\": write PORT=codel, or another algorithm: {ALGORITHMS}"))?;
    let (port, queue) = place.split_once(':').unwrap_or((place, "0"));
    let queue = queue
        .parse()
        .map_err(|_| format!("\"{s}\": queue \"{queue}\" is not a number; write PORT:QUEUE=…"))?;
    let (name, values) = law.split_once(':').unwrap_or((law, ""));
    let config = match name {
        "codel" => codel(values),
        "pie" => pie(values),
        "red" => red(values),
        "fq_codel" => fq_codel(values),
        "drr" => drr(values),
        _ => Err(format!("write one of {ALGORITHMS}")),
    };
    let checked = config.and_then(|c| c.check().map(|()| c));
    Ok(AqmSpec {
        port: units::port_number(port)?,
        queue,
        config: checked.map_err(|e| format!("{name}: {e}"))?,
    })
}

/// Calls `set` with each key and value; `ecn` alone means `ecn=on`.
fn each(values: &str, mut set: impl FnMut(&str, &str) -> Result<(), String>) -> Result<(), String> {
    for text in values.split(',').filter(|v| !v.is_empty()) {
        let (key, value) = text.split_once('=').unwrap_or((text, "on"));
        set(key, value).map_err(|e| format!("{text}: {e}"))?;
    }
    Ok(())
}

fn switched(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("write on or off".into()),
    }
}

fn bytes(value: &str) -> Result<u64, String> {
    sizes::bytes(value).map(|b| b as u64)
}

/// Sets a value of CoDel; `false`: the key is not one of its own.
fn of_codel(c: &mut CoDelConfig, key: &str, value: &str) -> Result<bool, String> {
    match key {
        "target" => c.target_ns = units::delay(value)?,
        "interval" => c.interval_ns = units::delay(value)?,
        "ecn" => c.ecn = switched(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn codel(values: &str) -> Result<AqmConfig, String> {
    let mut c = CoDelConfig::default();
    each(values, |key, value| {
        let known = of_codel(&mut c, key, value)?;
        known
            .then_some(())
            .ok_or("no such setting: target, interval, ecn".into())
    })?;
    Ok(AqmConfig::CoDel(c))
}

/// Sets a value of queues by flow; `false`: they have no such key.
fn of_flow_queues(c: &mut FlowQueuesConfig, key: &str, value: &str) -> Result<bool, String> {
    match key {
        "quantum" => {
            let quantum = u32::try_from(bytes(value)?);
            c.quantum_bytes = quantum.map_err(|_| "at most 4 GB")?;
        }
        "limit" => c.limit_bytes = bytes(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn fq_codel(values: &str) -> Result<AqmConfig, String> {
    let mut c = FlowQueuesConfig::fq_codel();
    let mut codel = CoDelConfig::default();
    each(values, |key, value| {
        let known = of_codel(&mut codel, key, value)? || of_flow_queues(&mut c, key, value)?;
        let keys = "no such setting: target, interval, quantum, limit, ecn";
        known.then_some(()).ok_or(keys.into())
    })?;
    c.codel = Some(codel);
    Ok(AqmConfig::FlowQueues(c))
}

fn drr(values: &str) -> Result<AqmConfig, String> {
    let mut c = FlowQueuesConfig::fair(0);
    each(values, |key, value| {
        let known = of_flow_queues(&mut c, key, value)?;
        known
            .then_some(())
            .ok_or("no such setting: limit, quantum".into())
    })?;
    if c.limit_bytes == 0 {
        return Err("limit is missing or 0: write for example drr:limit=30280B".into());
    }
    Ok(AqmConfig::FlowQueues(c))
}

fn pie(values: &str) -> Result<AqmConfig, String> {
    let mut c = PieConfig::default();
    each(values, |key, value| {
        match key {
            "target" => c.target_ns = units::delay(value)?,
            "update_interval" => c.update_interval_ns = units::delay(value)?,
            "max_burst" => c.max_burst_ns = units::delay(value)?,
            "alpha" => c.alpha = sizes::number(value)?,
            "beta" => c.beta = sizes::number(value)?,
            "ecn" => c.ecn = switched(value)?,
            _ => {
                return Err(
                    "no such setting: target, update_interval, max_burst, alpha, beta, ecn".into(),
                );
            }
        }
        Ok(())
    })?;
    Ok(AqmConfig::Pie(c))
}

fn red(values: &str) -> Result<AqmConfig, String> {
    let (mut min, mut max) = (None, None);
    let mut c = RedConfig::from_threshold(0);
    each(values, |key, value| {
        match key {
            "min_threshold" => min = Some(bytes(value)?),
            "max_threshold" => max = Some(bytes(value)?),
            "max_probability" => c.max_probability = sizes::fraction(value)?,
            "weight" => c.weight = sizes::number(value)?,
            "mean_packet" => c.mean_packet_bytes = bytes(value)?,
            "gentle" => c.gentle = switched(value)?,
            "ecn" => c.ecn = switched(value)?,
            _ => {
                return Err(
                    "no such setting: min_threshold, max_threshold, max_probability, \
                            weight, mean_packet, gentle, ecn"
                        .into(),
                );
            }
        }
        Ok(())
    })?;
    let min = min.ok_or("min_threshold is missing: write for example red:min_threshold=7570B")?;
    let thresholds = RedConfig::from_threshold(min);
    Ok(AqmConfig::Red(RedConfig {
        min_threshold_bytes: min,
        max_threshold_bytes: max.unwrap_or(thresholds.max_threshold_bytes),
        ..c
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_each_algorithm() {
        let codel = aqm_spec("2=codel").unwrap();
        assert_eq!((codel.port, codel.queue), (2, 0));
        assert_eq!(codel.config, AqmConfig::CoDel(CoDelConfig::default()));
        let pie = aqm_spec("2:7=pie:target=5ms,max_burst=0,alpha=0.25,ecn").unwrap();
        assert_eq!(pie.queue, 7);
        let want = PieConfig {
            target_ns: 5_000_000,
            max_burst_ns: 0,
            alpha: 0.25,
            ecn: true,
            ..PieConfig::default()
        };
        assert_eq!(pie.config, AqmConfig::Pie(want));
        let red = aqm_spec("2=red:max_probability=10%,min_threshold=5pkts,gentle=off").unwrap();
        let want = RedConfig {
            max_probability: 0.1,
            gentle: false,
            ..RedConfig::from_threshold(5 * 1514)
        };
        assert_eq!(red.config, AqmConfig::Red(want));
        let codel = aqm_spec("2=codel:interval=20ms,target=1ms,ecn=off").unwrap();
        assert_eq!(codel.config, AqmConfig::CoDel(want_codel(1, 20)));
        let fair = aqm_spec("2=drr:limit=20pkts,quantum=9000B").unwrap();
        let want = FlowQueuesConfig {
            quantum_bytes: 9000,
            ..FlowQueuesConfig::fair(20 * 1514)
        };
        assert_eq!(fair.config, AqmConfig::FlowQueues(want));
        let fq = aqm_spec("2=fq_codel:target=1ms,interval=20ms,limit=1MB").unwrap();
        let want = FlowQueuesConfig {
            limit_bytes: 1_000_000,
            codel: Some(want_codel(1, 20)),
            ..FlowQueuesConfig::fq_codel()
        };
        assert_eq!(fq.config, AqmConfig::FlowQueues(want));
    }

    fn want_codel(target_ms: u64, interval_ms: u64) -> CoDelConfig {
        CoDelConfig {
            target_ns: target_ms * 1_000_000,
            interval_ns: interval_ms * 1_000_000,
            ecn: false,
        }
    }

    #[test]
    fn a_refusal_says_what_to_write() {
        for (bad, said) in [
            ("codel", "PORT=codel"),
            ("x=codel", "0 to 510"),
            ("2:x=codel", "queue \"x\""),
            ("2=blue", "codel, fq_codel, pie"),
            ("2=drr", "limit is missing"),
            ("2=drr:limit=9kB,target=5ms", "limit, quantum"),
            ("2=fq_codel:quantum=0B", "must be above 0"),
            ("2=fq_codel:flows=9", "quantum, limit, ecn"),
            ("2=codel:target", "target: delay"),
            ("2=codel:limit=5", "target, interval, ecn"),
            ("2=codel:target=200ms", "interval (100000000 ns)"),
            ("2=codel:ecn=maybe", "on or off"),
            ("2=pie:target=0", "at least 1us"),
            ("2=pie:burst=1s", "max_burst"),
            ("2=red", "min_threshold is missing"),
            (
                "2=red:min_threshold=9kB,max_threshold=5kB",
                "max_threshold (5000 B)",
            ),
            ("2=red:min_threshold=9kB,max_probability=120%", "100%"),
            ("2=red:min_threshold=9kB,weight=0", "weight (0)"),
            ("2=red:min_threshold=9ms", "size"),
            ("2=red:min_threshold=9kB,avg=1", "mean_packet"),
        ] {
            let e = aqm_spec(bad).unwrap_err();
            assert!(e.contains(said), "{bad}: {e}");
        }
    }

    #[test]
    fn a_queue_that_is_not_there_is_named() {
        let mut switch = Switch::new();
        let e = aqm_spec("2:1=codel")
            .unwrap()
            .apply(&mut switch)
            .unwrap_err();
        assert!(
            e.contains("there is no queue 1") && e.contains("--priority-queues"),
            "{e}"
        );
        switch.set_priority_queues(2);
        aqm_spec("2:1=codel").unwrap().apply(&mut switch).unwrap();
    }
}
