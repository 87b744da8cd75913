// SPDX-License-Identifier: Apache-2.0
//! The services "simple_pre" and "simple_pre_lag": multicast.

use std::collections::BTreeSet;

use super::value::{Fields, Value};
use super::{Answer, Fault, Services};

/// Code of an error without a code of its own.
const ERROR: i32 = 5;

/// Number of v1model ports; BMv2 reads no more digits either.
const MOST_PORTS: u32 = 512;

pub(super) async fn call(s: &Services, method: &str, a: &Fields) -> Answer {
    let r = &s.runtime;
    match method {
        "bm_mc_mgrp_create" => {
            r.create_multicast_group(a.u32(2)).await?;
            Ok(Some(Value::I32(a.i32(2))))
        }
        "bm_mc_mgrp_destroy" => done(r.destroy_multicast_group(a.u32(2)).await),
        "bm_mc_node_create" => {
            let rid = u16::try_from(a.i32(2)).map_err(|_| Fault::Code(ERROR))?;
            let node = r.create_node(rid, set(a.bytes(3)), set(a.bytes(4))).await?;
            Ok(Some(Value::I32(node.cast_signed())))
        }
        "bm_mc_node_associate" => done(r.associate_node(a.u32(2), a.u32(3)).await),
        "bm_mc_node_dissociate" => done(r.dissociate_node(a.u32(2), a.u32(3)).await),
        "bm_mc_node_destroy" => done(r.destroy_node(a.u32(2)).await),
        "bm_mc_node_update" => {
            let (ports, lags) = (set(a.bytes(3)), set(a.bytes(4)));
            done(r.update_node(a.u32(2), ports, lags).await)
        }
        "bm_mc_set_lag_membership" => done(r.set_lag(a.u32(2), set(a.bytes(3))).await),
        "bm_mc_get_entries" => Ok(Some(Value::text(r.multicast_json().await))),
        _ => Err(Fault::Unknown),
    }
}

fn done<E: Into<Fault>>(result: Result<(), E>) -> Answer {
    result.map(|()| None).map_err(Into::into)
}

/// Returns the positions of the digits that are 1, counted from the last.
fn set(digits: &[u8]) -> BTreeSet<u32> {
    let from_last = (0..MOST_PORTS).zip(digits.iter().rev());
    from_last
        .filter(|(_, d)| **d == b'1')
        .map(|(n, _)| n)
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_last_digit_is_port_0() {
        assert_eq!(super::set(b"10110"), [1, 2, 4].into());
        assert!(super::set(b"").is_empty());
    }
}
