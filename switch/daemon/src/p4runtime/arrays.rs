// SPDX-License-Identifier: Apache-2.0
//! Cells of counters, registers and meters.

use std::ops::Range;

use p4runtime_server::target::{CounterValue, MeterConfig};

use super::convert::{Result, counter_value, not_found, out_of_range, rates};
use p4_vm::Count;
use p4_vm::Engine;

fn counters<'e>(e: &'e mut Engine, name: &str, cells: Range<usize>) -> Result<&'e mut [Count]> {
    let counter = e.counter_mut(name);
    let all = counter.ok_or_else(|| not_found("counter", name))?;
    all.get_mut(cells)
        .ok_or_else(|| out_of_range("counter", name))
}

pub(super) fn read_counter(
    e: &mut Engine,
    name: &str,
    cells: Range<usize>,
) -> Result<Vec<CounterValue>> {
    let list = counters(e, name, cells)?;
    Ok(list.iter().copied().map(counter_value).collect())
}

pub(super) fn write_counter(
    e: &mut Engine,
    name: &str,
    cells: Range<usize>,
    value: CounterValue,
) -> Result<()> {
    counters(e, name, cells)?.fill(Count {
        packets: value.packets,
        bytes: value.bytes,
    });
    Ok(())
}

pub(super) fn read_register(
    e: &mut Engine,
    name: &str,
    cells: Range<usize>,
) -> Result<Vec<Vec<u8>>> {
    let r = e
        .register_mut(name)
        .ok_or_else(|| not_found("register", name))?;
    cells
        .map(|i| {
            r.read_bytes(i)
                .ok_or_else(|| out_of_range("register", name))
        })
        .collect()
}

pub(super) fn write_register(
    e: &mut Engine,
    name: &str,
    cells: Range<usize>,
    value: &[u8],
) -> Result<()> {
    let r = e
        .register_mut(name)
        .ok_or_else(|| not_found("register", name))?;
    for i in cells {
        if !r.write_bytes(i, value) {
            return Err(out_of_range("register", name));
        }
    }
    Ok(())
}

/// Configures cells of a meter; `None`: every packet is green.
pub(super) fn set_meter(
    e: &mut Engine,
    name: &str,
    cells: Range<usize>,
    config: Option<MeterConfig>,
) -> Result<()> {
    let m = e.meter_mut(name).ok_or_else(|| not_found("meter", name))?;
    let list = m
        .get_mut(cells)
        .ok_or_else(|| out_of_range("meter", name))?;
    list.iter_mut().for_each(|m| m.set(config.map(rates)));
    Ok(())
}
