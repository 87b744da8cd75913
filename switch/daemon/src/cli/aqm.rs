// SPDX-License-Identifier: Apache-2.0
//! `--aqm PORT[:QUEUE]=ALGORITHM[:KEY=VALUE,…]`.

use daemon_kit::cli::units as sizes;
use traffic_manager::{AqmConfig, CoDelConfig, PieConfig, RedConfig, Switch};

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

pub(super) fn aqm_spec(s: &str) -> Result<AqmSpec, String> {
    let (place, law) = s.split_once('=').ok_or_else(|| {
        format!("\"{s}\": write PORT=codel, PORT=pie or PORT=red:min_threshold=…")
    })?;
    let (port, queue) = place.split_once(':').unwrap_or((place, "0"));
    let queue = queue
        .parse()
        .map_err(|_| format!("\"{s}\": queue \"{queue}\" is not a number; write PORT:QUEUE=…"))?;
    let (name, values) = law.split_once(':').unwrap_or((law, ""));
    let config = match name {
        "codel" => codel(values),
        "pie" => pie(values),
        "red" => red(values),
        _ => Err("write codel, pie or red".into()),
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

fn codel(values: &str) -> Result<AqmConfig, String> {
    let mut c = CoDelConfig::default();
    each(values, |key, value| {
        match key {
            "target" => c.target_ns = units::delay(value)?,
            "interval" => c.interval_ns = units::delay(value)?,
            "ecn" => c.ecn = switched(value)?,
            _ => return Err("no such setting: target, interval, ecn".into()),
        }
        Ok(())
    })?;
    Ok(AqmConfig::CoDel(c))
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
        let want = CoDelConfig {
            target_ns: 1_000_000,
            interval_ns: 20_000_000,
            ecn: false,
        };
        assert_eq!(codel.config, AqmConfig::CoDel(want));
    }

    #[test]
    fn a_refusal_says_what_to_write() {
        for (bad, said) in [
            ("codel", "PORT=codel"),
            ("x=codel", "0 to 510"),
            ("2:x=codel", "queue \"x\""),
            ("2=blue", "codel, pie or red"),
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
