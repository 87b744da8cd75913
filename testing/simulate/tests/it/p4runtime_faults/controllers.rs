// SPDX-License-Identifier: Apache-2.0
//! A controller's driver over the simulated network, and its provisioning.

use super::network::Network;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tidemark_southbound::p4rt::P4Runtime;
use tidemark_southbound::{Forward, Limit, Provision, ReportDestination, SwitchAddress, Watch};

pub(crate) const PORT: u32 = 2;
pub(crate) const PLANNED_BYTES: u64 = 60_000;
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) fn plan() -> Provision {
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4src/build");
    Provision {
        p4info: Some(build.join("tidemark.p4info.txtpb")),
        program: Some(build.join("tidemark.json")),
        forward: vec![Forward {
            mac: "02:00:00:00:00:02".into(),
            port: PORT,
        }],
        watch: vec![Watch {
            dst: Some("10.0.0.0/8".into()),
            report: true,
            ..Watch::default()
        }],
        reports: Some(ReportDestination {
            port: 9,
            node_id: 10,
            src_mac: "02:00:00:00:00:51".into(),
            dst_mac: "02:00:00:00:00:52".into(),
            src_ip: [10, 9, 0, 1].into(),
            dst_ip: [10, 9, 0, 2].into(),
            udp_port: 32_766,
            source_port_bits: 2,
        }),
        limits: [(PORT.to_string(), limit(PLANNED_BYTES))].into(),
        ..Provision::default()
    }
}

pub(crate) fn limit(limit_bytes: u64) -> Limit {
    Limit::DropTail { limit_bytes }
}

pub(crate) fn driver(network: &Network, election_id: u64) -> Arc<P4Runtime> {
    let options = SwitchAddress {
        address: "http://simulated:1".into(),
        election_id,
        timeout: TIMEOUT,
        ..SwitchAddress::default()
    };
    let network = network.clone();
    let connect = move |_| network.clone().connect();
    let made = P4Runtime::over(options, |endpoint| {
        endpoint.connect_with_connector_lazy(tower::service_fn(connect))
    });
    Arc::new(made.unwrap())
}
