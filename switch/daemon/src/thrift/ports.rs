// SPDX-License-Identifier: Apache-2.0
//! Adds and removes ports while the switch runs.

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

use super::value::{Fields, Value};
use super::{Answer, Fault, Services};
use crate::io::afpacket::Interface;
use traffic_manager::PortConfig;

/// Code of the only exception.
const ERROR: i32 = 1;
/// Number of v1model ports that can have an interface.
const PORTS: u32 = 511;

pub(super) async fn call(s: &Services, method: &str, a: &Fields) -> Answer {
    match method {
        "add_port" => {
            let (name, number) = (a.text(1).to_owned(), a.u32(2));
            let taken = s.plane.call(move |p| {
                p.io.interfaces.contains_key(&number) || p.io.cpu_port == Some(number)
            });
            if number >= PORTS || taken.await? {
                return Err(Fault::Code(ERROR));
            }
            let opened = Interface::open(&name);
            let mut interface = opened.map_err(|e| {
                tracing::warn!("Thrift: port {number}: {e:#}");
                Fault::Code(ERROR)
            })?;
            interface.merge = false;
            if let Some(folder) = &s.about.captures {
                interface.capture(folder)?;
            }
            let added = move |p: &mut crate::data_plane::Plane| {
                let config = PortConfig {
                    depth_packets: crate::bmv2::DEPTH_PACKETS,
                    ..PortConfig::default()
                };
                p.switch.configure(number, config);
                p.io.interfaces.insert(number, interface);
            };
            s.plane.call(added).await?;
            Ok(None)
        }
        "remove_port" => {
            let number = a.u32(1);
            let gone = move |p: &mut crate::data_plane::Plane| p.io.interfaces.remove(&number);
            match s.plane.call(gone).await? {
                Some(_) => Ok(None),
                None => Err(Fault::Code(ERROR)),
            }
        }
        "show_ports" => {
            let list = |p: &mut crate::data_plane::Plane| -> Vec<(u32, String)> {
                let all = p.io.interfaces.iter();
                all.map(|(n, i)| (*n, i.name.clone())).collect()
            };
            let ports = s.plane.call(list).await?;
            Ok(Some(Value::structs(ports.into_iter().map(
                |(number, name)| {
                    let up = is_up(&name);
                    Fields::of([
                        Value::I32(number.cast_signed()),
                        Value::text(name),
                        Value::Bool(up),
                        Value::Map(Vec::new()),
                    ])
                },
            ))))
        }
        _ => Err(Fault::Unknown),
    }
}

/// Returns whether an interface is up; one in another namespace is not seen.
fn is_up(name: &str) -> bool {
    let running = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
    getifaddrs()
        .is_ok_and(|mut all| all.any(|i| i.interface_name == name && i.flags.contains(running)))
}
