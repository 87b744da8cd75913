// SPDX-License-Identifier: Apache-2.0
//! Reports of simulated runs: all decode, and the lost ones are counted.
#![allow(clippy::unwrap_used)]

use int_report::sequence::{StreamConfig, StreamKey, StreamTable};
use int_report::{InnerKind, decode, parse_inner, peek_header};
use test_support::golden::{GOLDEN_RUNS, Report, Run, shared_runs};

/// Checks the reports of a run; returns the number of drops.
fn every_report_decodes_and_the_losses_are_found(run: &Run) -> u64 {
    let mut streams = StreamTable::new(StreamConfig::default(), 16);
    let (mut reports, mut drops) = (0, 0);
    for Report { payload, .. } in &run.reports {
        let header = peek_header(payload).unwrap();
        let key = StreamKey {
            exporter: [192, 0, 2, 10].into(),
            node_id: header.node_id,
            hw_id: header.hw_id,
            sequence_bits: header.sequence_bits,
        };
        streams.observe(key, header.sequence, None).unwrap();
        reports += decode(payload, |report| {
            assert_eq!(report.inner.kind, InnerKind::Ipv4);
            let packet = parse_inner(&report.inner).unwrap();
            assert!(packet.ip_bytes >= 28 && packet.src_port > 0);
            assert_eq!((report.node_id, report.egress_port), (10, Some(1)));
            assert!(report.queue_occupancy <= report.limit);
            assert_eq!(report.egress_ts.is_none(), report.dropped);
            drops += u64::from(report.dropped);
        })
        .unwrap() as u64;
    }
    let number = |key: &str| run.truth["capture"][key].as_u64().unwrap();
    let (sent, lost) = (number("reports_sent"), number("reports_lost"));
    let counts = streams.total();
    assert_eq!(counts.lost, lost, "{}", run.name);
    assert_eq!(reports + lost, sent, "{}", run.name);
    assert_eq!((counts.late, counts.duplicate, counts.restarts), (0, 0, 0));
    drops
}

#[test]
fn golden_runs() {
    for name in GOLDEN_RUNS {
        let run = Run::golden(name).unwrap();
        assert!(every_report_decodes_and_the_losses_are_found(&run) > 0);
    }
}

test_support::shared_data_test! {
    fn whole_runs() {
        for path in shared_runs("ns3").unwrap() {
            let run = Run::read(&path).unwrap();
            assert!(every_report_decodes_and_the_losses_are_found(&run) > 0);
        }
    }
}
