// SPDX-License-Identifier: Apache-2.0
//! Traces of simulated runs: every line is read.
#![allow(clippy::unwrap_used, clippy::panic)]

use tcp_probe::Event;
use tcp_probe::text::parse_line;
use test_support::golden::{GOLDEN_RUNS, Run, shared_runs};

fn every_line_is_read(run: &Run) {
    let expected = run.truth["capture"]["tcp_probe_samples"].as_u64().unwrap();
    let mut samples = 0;
    let mut comments = 0;
    let mut newest_ns = 0;
    for line in run.trace.lines() {
        match parse_line(line.as_bytes()).unwrap() {
            Some(Event::Probe(sample)) => {
                samples += 1;
                assert!(sample.time_ns >= newest_ns, "{}", run.name);
                newest_ns = sample.time_ns;
                assert!(sample.snd_nxt >= sample.snd_una);
            }
            Some(other) => panic!("{other:?}"),
            None => comments += 1,
        }
    }
    assert_eq!(samples, expected, "{}", run.name);
    assert!(comments < 10);
}

#[test]
fn golden_runs() {
    for name in GOLDEN_RUNS {
        every_line_is_read(&Run::golden(name).unwrap());
    }
}

test_support::shared_data_test! {
    fn whole_runs() {
        for path in shared_runs("ns3").unwrap() {
            every_line_is_read(&Run::read(&path).unwrap());
        }
    }
}
