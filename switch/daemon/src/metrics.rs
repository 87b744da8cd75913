// SPDX-License-Identifier: Apache-2.0
//! Metrics as Prometheus text over HTTP.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use daemon_kit::credentials::Refusals;
use daemon_kit::credentials::http::{Hosts, OtherHost, guarded};
use daemon_kit::metric_table;
use daemon_kit::metrics::encode::{family, single};
use daemon_kit::metrics::exposition::{BUILD_INFO, Format};
use daemon_kit::metrics::{MetricDoc, Number};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use tidemark_proto::switch::PortState;
use traffic_manager::super_frame::Refusal;

use crate::control::port_states;
use crate::data_plane::Handle;
use crate::tagging::TagCounters;
use traffic_manager::{AqmCounts, Stats, Switch};

/// Sources of the metrics.
#[derive(Clone)]
struct Shown {
    plane: Handle,
    refusals: Arc<Refusals>,
    tags: TagCounters,
    stream_lost: Arc<AtomicU64>,
}

/// Serves the metrics on every path. `hosts`: host names accepted in requests, in addition to the
/// switch's addresses and `localhost`.
pub fn router(
    plane: Handle,
    refusals: Arc<Refusals>,
    tags: TagCounters,
    stream_lost: Arc<AtomicU64>,
    hosts: &[String],
) -> Router {
    let shown = Shown {
        plane,
        refusals,
        tags,
        stream_lost,
    };
    let routes = Router::new().fallback(answer).with_state(shown);
    guarded(routes, Hosts::new(hosts), refuse)
}

fn refuse(other: &OtherHost) -> Response {
    let text = format!("{other}; add the name with --metrics-host, or use its address\n");
    (StatusCode::MISDIRECTED_REQUEST, text).into_response()
}

async fn answer(State(shown): State<Shown>, headers: HeaderMap) -> Response {
    let refused = shown.refusals.counts().iter().sum();
    let stream_lost = shown.stream_lost.load(Ordering::Relaxed);
    let (tagged, untagged) = (shown.tags.tagged(), shown.tags.untagged());
    let read = shown.plane.call(move |p| {
        let totals = Totals {
            traffic: *p.switch.stats(),
            aqm: of_all_ports(&p.switch),
            no_interface: p.io.no_interface,
            refused,
            tagged,
            untagged,
            stream_lost,
        };
        let ports = port_states(p);
        Exporter { ports, totals }
    });
    match read.await {
        Ok(read) => {
            let format = Format::asked_for(&headers);
            format.answer(format.write(PREFIX, Box::new(read)))
        }
        Err(e) => (StatusCode::SERVICE_UNAVAILABLE, format!("{e}\n")).into_response(),
    }
}

const PREFIX: &str = "tidemark_switch";

type OfPort = fn(&PortState) -> u64;
type OfSwitch = fn(&Totals) -> u64;

/// Counters of the whole switch.
#[derive(Debug)]
struct Totals {
    traffic: Stats,
    aqm: AqmCounts,
    no_interface: u64,
    refused: u64,
    tagged: u64,
    untagged: u64,
    stream_lost: u64,
}

const PORT: &[(MetricDoc, OfPort)] = metric_table! {
    counter rx_packets "Packets received": |p| p.rx_packets;
    counter rx_bytes "Bytes received": |p| p.rx_bytes;
    counter rx_dropped_packets "Packets dropped because the receive ring was full, or because they were too long for it":
        |p| p.rx_dropped_packets;
    counter rx_super_frames "Super-frames received and cut into packets": |p| p.rx_super_frames;
    counter rx_refused_kind "Super-frames dropped: unsupported kind of segmentation":
        |p| refused(p, Refusal::Kind);
    counter rx_refused_headers "Super-frames dropped: tunnels, fragments, protocols other than TCP and UDP":
        |p| refused(p, Refusal::Headers);
    counter rx_refused_length "Super-frames dropped: length fields that contradict the frame":
        |p| refused(p, Refusal::Length);
    counter rx_refused_segment_size "Super-frames dropped: segments empty, above the MTU, or too many":
        |p| refused(p, Refusal::SegmentSize);
    gauge line_waiting_bytes "Bytes that arrived and wait for their time on the input line": |p| p.line_waiting_bytes;
    counter line_early_packets "Packets that entered early, because the input line is faster than assumed":
        |p| p.line_early_packets;
    counter line_dropped_packets "Packets dropped because more arrived than in_rate allows": |p| p.line_dropped_packets;
    counter tx_packets "Packets sent": |p| p.tx_packets;
    counter tx_bytes "Bytes sent": |p| p.tx_bytes;
    counter tx_super_frames "Super-frames sent, made of packets of one flow": |p| p.tx_super_frames;
    counter tx_errors "Packets that the interface did not accept": |p| p.tx_errors;
    counter tail_dropped_packets "Packets dropped because the traffic manager's own queue was full":
        |p| p.tail_dropped_packets;
    counter tail_dropped_bytes "Bytes dropped because the traffic manager's own queue was full": |p| p.tail_dropped_bytes;
    gauge queue_packets "Packets in the queue": |p| u64::from(p.queue_packets);
    gauge queue_bytes "Bytes in the queue": |p| p.queue_bytes;
    gauge rate_bps "Rate of the port; 0 = unlimited": |p| p.rate_bps;
};

/// Time settings of ports: nanoseconds here, seconds when served.
const PORT_TIMES: &[(MetricDoc, OfPort)] = metric_table! {
    gauge delay_seconds "Delay of the port": |p| p.delay_ns;
};

const SWITCH: &[(MetricDoc, OfSwitch)] = metric_table! {
    counter received_packets "Frames received": |t| t.traffic.received;
    counter clones "Clones made": |t| t.traffic.clones;
    counter dropped_ingress_packets "Packets that the ingress pipeline dropped":
        |t| t.traffic.dropped_ingress;
    counter dropped_egress_packets "Packets that the egress pipeline dropped":
        |t| t.traffic.dropped_egress;
    counter dropped_priority_packets "Packets dropped because their `priority` has no queue (`--priority-queues`)":
        |t| t.traffic.dropped_priority;
    counter aqm_dropped_packets "Packets that queue management (`--aqm`) dropped": |t| t.aqm.dropped_packets;
    counter aqm_marked_packets "Packets that queue management (`--aqm`) marked CE": |t| t.aqm.marked_packets;
    counter dropped_reinject_packets "Packets dropped because too many waited for another pass":
        |t| t.traffic.dropped_reinject;
    counter dropped_digests "Digests dropped because they were not fetched": |t| t.traffic.dropped_digests;
    counter no_interface_packets "Packets for a port without an interface": |t| t.no_interface;
    counter grpc_calls_refused "Calls to the gRPC server refused for a missing or wrong token":
        |t| t.refused;
    counter reports_tagged "Reports that left with a tag": |t| t.tagged;
    counter clones_untagged "Clones that left without a tag although there is a key: not reports, or impossible to extend":
        |t| t.untagged;
    counter stream_lost "Packets and digests that a P4Runtime client did not receive: it was too slow, or they did not match their type":
        |t| t.stream_lost;
};

fn of_all_ports(switch: &Switch) -> AqmCounts {
    let mut all = AqmCounts::default();
    for counts in switch.ports().filter_map(|(_, p)| p.aqm_counts()) {
        all.dropped_packets += counts.dropped_packets;
        all.marked_packets += counts.marked_packets;
    }
    all
}

fn refused(p: &PortState, why: Refusal) -> u64 {
    let n = p.rx_refused_super_frames.get(why.name());
    n.copied().unwrap_or(0)
}

/// Lists every metric, for the documentation.
pub fn docs() -> Vec<MetricDoc> {
    let of_port = PORT.iter().chain(PORT_TIMES);
    let of_port = of_port.map(|(d, _)| d.labels(&["port", "interface"]));
    let of_switch = SWITCH.iter().map(|(d, _)| *d);
    of_port.chain(of_switch).chain([BUILD_INFO]).collect()
}

/// All values at one moment.
#[derive(Debug)]
struct Exporter {
    ports: Vec<PortState>,
    totals: Totals,
}

impl Exporter {
    fn of_ports<N: Into<Number>>(
        &self,
        e: &mut DescriptorEncoder<'_>,
        table: &[(MetricDoc, OfPort)],
        value: impl Fn(u64) -> N,
    ) -> fmt::Result {
        for (doc, get) in table {
            let values = self.ports.iter().map(|p| {
                let labels = [
                    ("port", p.port.to_string()),
                    ("interface", p.interface.clone()),
                ];
                (labels, value(get(p)).into())
            });
            family(e, doc, values)?;
        }
        Ok(())
    }
}

impl Collector for Exporter {
    fn encode(&self, mut e: DescriptorEncoder<'_>) -> fmt::Result {
        self.of_ports(&mut e, PORT, |v| v)?;
        self.of_ports(&mut e, PORT_TIMES, |ns| ns as f64 / 1e9)?;
        for (doc, get) in SWITCH {
            single(&mut e, doc, get(&self.totals).into())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_its_help_type_and_values() {
        let port = PortState {
            port: 3,
            interface: "eth3".into(),
            tx_packets: 7,
            queue_packets: 2,
            delay_ns: 5_000_000,
            ..PortState::default()
        };
        let totals = Totals {
            traffic: Stats {
                clones: 5,
                ..Stats::default()
            },
            aqm: AqmCounts {
                marked_packets: 8,
                ..AqmCounts::default()
            },
            no_interface: 1,
            refused: 2,
            tagged: 3,
            untagged: 4,
            stream_lost: 6,
        };
        let ports = vec![port];
        let read = Exporter { ports, totals };
        let text = Format::Text.write(PREFIX, Box::new(read)).unwrap();
        for lines in [
            "# HELP tidemark_switch_tx_packets_total Packets sent\n\
             # TYPE tidemark_switch_tx_packets_total counter\n\
             tidemark_switch_tx_packets_total{port=\"3\",interface=\"eth3\"} 7\n",
            "# TYPE tidemark_switch_queue_packets gauge\n\
             tidemark_switch_queue_packets{port=\"3\",interface=\"eth3\"} 2\n",
            "tidemark_switch_delay_seconds{port=\"3\",interface=\"eth3\"} 0.005\n",
            "tidemark_switch_clones_total 5\n",
            "tidemark_switch_aqm_marked_packets_total 8\n",
            "tidemark_switch_grpc_calls_refused_total 2\n",
            "tidemark_switch_no_interface_packets_total 1\n",
            "tidemark_switch_stream_lost_total 6\n",
        ] {
            assert!(text.contains(lines), "{lines} is not in {text}");
        }
        let types = text.lines().filter(|l| l.starts_with("# TYPE"));
        assert_eq!(types.count(), docs().len());
    }
}
