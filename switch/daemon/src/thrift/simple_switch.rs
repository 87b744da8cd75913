// SPDX-License-Identifier: Apache-2.0
//! The service "simple_switch": mirroring, queues and the clock.

use std::time::{SystemTime, UNIX_EPOCH};

use p4runtime_server::runtime::Mirror;

use super::value::{Fields, Value};
use super::{Answer, Fault, Services};
use crate::data_plane::{Handle, Plane};
use traffic_manager::Port;

/// Code of the only exception.
const SESSION_NOT_FOUND: i32 = 1;

pub(super) async fn call(s: &Services, method: &str, a: &Fields) -> Answer {
    let r = &s.runtime;
    match method {
        "mirroring_session_add" => {
            let none = Fields::default();
            let config = a.fields(2).unwrap_or(&none);
            let port = config.get(1).map(|_| config.u32(1));
            let group = config.get(2).map(|_| config.u32(2));
            r.set_mirror(a.u32(1), Mirror { port, group }).await?;
            Ok(None)
        }
        "mirroring_session_delete" => match r.delete_mirror(a.u32(1)).await? {
            true => Ok(None),
            false => Err(Fault::Code(SESSION_NOT_FOUND)),
        },
        "mirroring_session_get" => {
            let found = r.mirror(a.u32(1)).await;
            let m = found.ok_or(Fault::Code(SESSION_NOT_FOUND))?;
            let port = m.port.map(|p| (1, Value::I32(p.cast_signed())));
            let group = m.group.map(|g| (2, Value::I32(g.cast_signed())));
            Ok(Some(Value::Struct(Fields(
                port.into_iter().chain(group).collect(),
            ))))
        }
        "mirroring_mapping_add" => {
            let port = Some(a.u32(2));
            r.set_mirror(a.u32(1), Mirror { port, group: None }).await?;
            Ok(Some(Value::I32(1)))
        }
        "mirroring_mapping_delete" => {
            let was = r.delete_mirror(a.u32(1)).await?;
            Ok(Some(Value::I32(i32::from(was))))
        }
        "mirroring_mapping_get_egress_port" => {
            let port = r.mirror(a.u32(1)).await.and_then(|m| m.port);
            Ok(Some(Value::I32(port.map_or(-1, u32::cast_signed))))
        }
        "set_egress_queue_depth" => {
            let depth = depth(a.i32(2));
            on(s, Some(a.u32(1)), move |p| p.set_depth(depth)).await
        }
        "set_all_egress_queue_depths" => {
            let depth = depth(a.i32(1));
            on(s, None, move |p| p.set_depth(depth)).await
        }
        "set_egress_priority_queue_depth" => {
            let (priority, depth) = (priority(a.i32(2)), depth(a.i32(3)));
            on(s, Some(a.u32(1)), move |p| {
                p.set_queue_depth(priority, depth)
            })
            .await
        }
        "set_egress_queue_rate" => {
            let rate = rate(a.i64(2));
            on(s, Some(a.u32(1)), move |p| p.set_rate_pps(rate)).await
        }
        "set_all_egress_queue_rates" => {
            let rate = rate(a.i64(1));
            on(s, None, move |p| p.set_rate_pps(rate)).await
        }
        "set_egress_priority_queue_rate" => {
            let (priority, rate) = (priority(a.i32(2)), rate(a.i64(3)));
            on(s, Some(a.u32(1)), move |p| {
                p.set_queue_rate_pps(priority, rate)
            })
            .await
        }
        "get_time_elapsed_us" => {
            let us = s.plane.call(|p| p.now_ns() / 1000).await?;
            Ok(Some(Value::I64(us.cast_signed())))
        }
        "get_time_since_epoch_us" => {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            let us = since.map_or(0, |d| d.as_micros());
            Ok(Some(Value::I64(i64::try_from(us).unwrap_or(i64::MAX))))
        }
        _ => Err(Fault::Unknown),
    }
}

/// Converts a depth: a queue of BMv2 holds at least one packet, which is being sent.
fn depth(packets: i32) -> u32 {
    packets.cast_unsigned().max(1)
}

/// Converts a rate in packets per second; 0 means no limit.
fn rate(pps: i64) -> u64 {
    pps.cast_unsigned()
}

/// Converts a priority; a negative number becomes out of range.
fn priority(given: i32) -> usize {
    usize::try_from(given).unwrap_or(usize::MAX)
}

/// Number of v1model ports.
const PORTS: u32 = 512;

async fn on(
    s: &Services,
    port: Option<u32>,
    change: impl Fn(&mut Port) + Send + 'static,
) -> Answer {
    change_ports(&s.plane, port, change).await?;
    Ok(Some(Value::I32(0)))
}

/// Changes one port, or all existing ports.
///
/// # Errors
/// The data plane has stopped.
pub(crate) async fn change_ports(
    plane: &Handle,
    port: Option<u32>,
    change: impl Fn(&mut Port) + Send + 'static,
) -> anyhow::Result<()> {
    let changed = move |plane: &mut Plane| match port {
        Some(n) if n < PORTS => change(plane.switch.port_mut(n)),
        Some(_) => {}
        None => {
            let with_interface = plane.io.interfaces.keys().copied();
            let mut numbers: Vec<u32> = plane.switch.ports().map(|(n, _)| n).collect();
            numbers.extend(with_interface);
            for n in numbers {
                change(plane.switch.port_mut(n));
            }
        }
    };
    plane.call(changed).await
}
