// SPDX-License-Identifier: Apache-2.0
//! The links, and the updates of each collector.

use crate::options::Options;
use crate::traffic::{CAPACITY_BPS, Swing};
use tidemark_proto::telemetry::{
    CollectorInfo, CollectorStatus, FlowInfo, FlowKey, LinkInterval, Node, Port, Update, Watermark,
};

pub(crate) struct Load {
    pub options: Options,
    /// Node and port of every link, grouped by node.
    pub links: Vec<(u32, u32)>,
    swing: Swing,
}

impl Load {
    pub(crate) fn new(options: &Options) -> Self {
        let per_switch = options.links.div_ceil(options.switches);
        let link = |i: u32| (10 + i / per_switch, 1 + i % per_switch);
        Self {
            options: options.clone(),
            links: (0..options.links).map(link).collect(),
            swing: Swing::new(
                options.interval_ms * 1_000_000,
                options.flows,
                options.base_rtt_ms * 1_000_000,
            ),
        }
    }

    /// Returns the links of a collector, as index, node and port; each switch has one collector.
    fn links_of(&self, collector: u32) -> impl Iterator<Item = (u64, u32, u32)> {
        let of = self.options.collectors;
        let all = self.links.iter().zip(0u64..);
        all.filter(move |((node, _), _)| node % of == collector)
            .map(|(&(node, port), i)| (i, node, port))
    }

    pub(crate) fn info(&self, collector: u32) -> CollectorInfo {
        let mut nodes: Vec<Node> = Vec::new();
        for (_, node_id, port) in self.links_of(collector) {
            if nodes.last().is_none_or(|n| n.node_id != node_id) {
                nodes.push(Node {
                    node_id,
                    name: format!("switch-{node_id}"),
                    depth_unit_bytes: 1,
                    ..Node::default()
                });
            }
            nodes.last_mut().unwrap().ports.push(Port {
                port,
                name: format!("port-{node_id}-{port}"),
                capacity_bps: CAPACITY_BPS,
                wire_overhead_bytes: 38,
                queue_overhead_bytes: 14,
            });
        }
        CollectorInfo {
            version: "bench".into(),
            instance: format!("bench-{collector}"),
            interval_ms: self.options.interval_ms as u32,
            nodes,
            ..CollectorInfo::default()
        }
    }

    /// Returns the update of one interval, and its number of records.
    pub(crate) fn update(&self, collector: u32, step: u64) -> (Update, u64) {
        let interval_ns = self.options.interval_ms * 1_000_000;
        let start_ns = step * interval_ns;
        let mut u = Update {
            sequence: step,
            ..Update::default()
        };
        let mut reports = 0;
        for (i, node_id, port) in self.links_of(collector) {
            if step == 0 {
                u.flows
                    .extend((0..self.options.flows).map(|f| flow_info(self.flow_id(i, f))));
            }
            // Links do not all lose packets at the same time.
            let part = self.swing.part(step + i * 7);
            let mut link = part.link.clone();
            (link.node_id, link.port, link.start_ns) = (node_id, port, start_ns);
            reports += u64::from(link.arrivals);
            u.link_intervals.push(link);
            // Each has one packet, in the first interval.
            let packets = u32::from(step == 0);
            let idle = (1..self.options.queues).map(|queue| LinkInterval {
                node_id,
                port,
                queue,
                start_ns,
                duration_ns: interval_ns,
                packets,
                arrivals: packets,
                ..LinkInterval::default()
            });
            u.link_intervals.extend(idle);
            u.flow_intervals
                .extend(part.flows.iter().zip(0..).map(|(&flow, f)| {
                    let mut flow = flow;
                    flow.flow_id = self.flow_id(i, f);
                    (flow.node_id, flow.port, flow.start_ns) = (node_id, port, start_ns);
                    flow
                }));
            u.drops.extend(part.drops.iter().zip(0..).map(|(&drop, f)| {
                let mut drop = drop;
                drop.flow_id = self.flow_id(i, f);
                (drop.node_id, drop.port) = (node_id, port);
                drop.time_ns += start_ns;
                drop
            }));
            let end = Watermark {
                node_id,
                time_ns: start_ns + interval_ns,
            };
            if u.watermarks.last().is_none_or(|w| w.node_id != node_id) {
                u.watermarks.push(end);
            }
        }
        let received = reports * (step + 1);
        u.status = start_ns
            .is_multiple_of(1_000_000_000)
            .then(|| CollectorStatus {
                reports_received: received,
                join_candidates: received,
                join_matched: received,
                ..CollectorStatus::default()
            });
        let records = u.link_intervals.len() + u.flow_intervals.len() + u.drops.len();
        (u, records as u64)
    }

    fn flow_id(&self, link: u64, flow: u64) -> u64 {
        1 + link * self.options.flows + flow
    }
}

fn flow_info(flow_id: u64) -> FlowInfo {
    let [.., a, b, c, d] = flow_id.to_be_bytes();
    FlowInfo {
        flow_id,
        key: Some(FlowKey {
            src: vec![10, b, c, d],
            dst: vec![11, a, c, d],
            src_port: 40_000,
            dst_port: 5001,
            protocol: 6,
        }),
        probed: true,
        mss_bytes: 1448,
        ..FlowInfo::default()
    }
}
