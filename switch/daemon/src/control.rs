// SPDX-License-Identifier: Apache-2.0
//! SwitchControl: rate, delay and queue depth of ports, which P4Runtime cannot express.

use tidemark_proto::switch::set_port_request::InRate;
use tidemark_proto::switch::switch_control_server::SwitchControl;
use tidemark_proto::switch::{
    GetPortsRequest, GetPortsResponse, PortState, SetPortRequest, SetPortResponse,
};
use tonic::{Request, Response, Status};
use traffic_manager::super_frame::Refusal;

use crate::data_plane::{Handle, Plane};

pub(crate) struct Control {
    plane: Handle,
}

impl Control {
    pub(crate) fn new(plane: Handle) -> Self {
        Self { plane }
    }
}

/// Returns the state of every port that has an interface.
pub(crate) fn port_states(p: &mut Plane) -> Vec<PortState> {
    let numbers: Vec<u32> = p.io.interfaces.keys().copied().collect();
    numbers.into_iter().filter_map(|n| state(p, n)).collect()
}

fn state(p: &mut Plane, number: u32) -> Option<PortState> {
    let i = p.io.interfaces.get_mut(&number)?;
    i.update_drops();
    let port = p.switch.port_mut(number);
    Some(PortState {
        port: number,
        interface: i.name.clone(),
        rate_bps: port.config.rate_bps,
        delay_ns: port.config.delay_ns,
        queue_depth_packets: port.config.depth_packets,
        rx_packets: i.stats.rx_packets,
        rx_bytes: i.stats.rx_bytes,
        rx_dropped_packets: i.stats.rx_dropped + i.stats.rx_oversize,
        rx_super_frames: i.stats.rx_super_frames,
        rx_refused_super_frames: Refusal::ALL
            .iter()
            .zip(i.stats.rx_refused)
            .map(|(why, n)| (why.name().to_owned(), n))
            .collect(),
        tx_packets: i.stats.tx_packets,
        tx_bytes: i.stats.tx_bytes,
        tx_errors: i.stats.tx_errors,
        tx_super_frames: i.stats.tx_super_frames,
        tail_dropped_packets: port.tail_dropped_packets,
        tail_dropped_bytes: port.tail_dropped_bytes,
        queue_packets: port.queue_packets() as u32,
        queue_bytes: port.queue_bytes,
        in_rate_bps: port.config.in_rate_bps,
        line_waiting_bytes: port.line_waiting_bytes() as u64,
        line_early_packets: port.line_early_packets(),
        line_dropped_packets: port.line_dropped_packets(),
    })
}

fn stopped(e: anyhow::Error) -> Status {
    Status::unavailable(e.to_string())
}

#[tonic::async_trait]
impl SwitchControl for Control {
    async fn get_ports(
        &self,
        _: Request<GetPortsRequest>,
    ) -> Result<Response<GetPortsResponse>, Status> {
        let ports = self.plane.call(port_states).await.map_err(stopped)?;
        Ok(Response::new(GetPortsResponse { ports }))
    }

    async fn set_port(
        &self,
        request: Request<SetPortRequest>,
    ) -> Result<Response<SetPortResponse>, Status> {
        let r = request.into_inner();
        if r.delay_ns.is_some_and(|d| d > 3_600_000_000_000) {
            return Err(Status::invalid_argument("delay_ns: at most one hour"));
        }
        let number = r.port;
        let port = self
            .plane
            .call(move |p| {
                state(p, number)?;
                let mut c = p.switch.port_mut(number).config;
                c.rate_bps = r.rate_bps.unwrap_or(c.rate_bps);
                c.delay_ns = r.delay_ns.unwrap_or(c.delay_ns);
                c.depth_packets = r.queue_depth_packets.unwrap_or(c.depth_packets);
                c.in_rate_bps = match r.in_rate {
                    Some(InRate::InRateBps(rate)) => Some(rate),
                    Some(InRate::InRateAuto(_)) => None,
                    None => c.in_rate_bps,
                };
                p.switch.configure(number, c);
                state(p, number)
            })
            .await
            .map_err(stopped)?;
        match port {
            Some(_) => Ok(Response::new(SetPortResponse { port })),
            None => Err(Status::not_found(format!(
                "no port {number}; `tidemark-switch port list` shows them"
            ))),
        }
    }
}
