// SPDX-License-Identifier: Apache-2.0
//! The service "standard": tables, action profiles, arrays, ports and the program.

use p4runtime_server::Runtime;
use p4runtime_server::runtime::{ActionEntry, MeterError, Rate, TableError};
use p4runtime_server::target::CounterValue;
use thrift::protocol::TType;

use super::forms::{
    action_entry, blobs, counter, counter_of, data, entry, key, priority, rates, rates_of,
};
use super::value::{Fields, Value};
use super::{Answer, Fault, Services, digest, ids, ports};

/// Codes of BMv2's `InvalidSwapOperation`.
const SWAP_DISABLED: i32 = 1;
const ONGOING_SWAP: i32 = 2;
const NO_ONGOING_SWAP: i32 = 3;
/// "ERROR" of operations on learning lists, hashes and value sets.
const LEARN_ERROR: i32 = 3;
const BAD_CALCULATION: i32 = 3;

pub(super) async fn call(s: &Services, method: &str, a: &Fields) -> Answer {
    let r = &s.runtime;
    if let Some(rest) = method.strip_prefix("bm_mt_act_prof_") {
        return profiles(r, rest, a).await;
    }
    if let Some(rest) = method.strip_prefix("bm_mt_") {
        return tables(r, rest, a).await;
    }
    if let Some(rest) = method.strip_prefix("bm_dev_mgr_") {
        return ports::call(s, rest, a).await;
    }
    let name = a.text(2);
    match method {
        "bm_counter_read" => Ok(Some(counter(r.read_counter(name, a.u32(3)).await?))),
        "bm_counter_reset_all" => done(r.write_counter(name, None, CounterValue::default()).await),
        "bm_counter_write" => done(
            r.write_counter(name, Some(a.u32(3)), counter_of(a, 4))
                .await,
        ),
        "bm_register_read" => {
            let read = r.read_register(name, Some(a.u32(3))).await?;
            Ok(Some(Value::I64(read.first().copied().unwrap_or(0))))
        }
        "bm_register_read_all" => {
            let cells = r.read_register(name, None).await?;
            let cells = cells.into_iter().map(Value::I64).collect();
            Ok(Some(Value::List(TType::I64, cells)))
        }
        "bm_register_write" => {
            let (from, value) = (a.u32(3), a.i64(4));
            let to = from.saturating_add(1);
            done(r.write_register(name, Some(from..to), value).await)
        }
        "bm_register_write_range" => {
            let range = a.u32(3)..a.u32(4);
            done(r.write_register(name, Some(range), a.i64(5)).await)
        }
        "bm_register_reset" => done(r.write_register(name, None, 0).await),
        "bm_meter_array_set_rates" => done(meter_array(r, name, &rates_of(a, 3)).await),
        "bm_meter_set_rates" => done(r.set_meter(name, Some(a.u32(3)), &rates_of(a, 4)).await),
        "bm_meter_get_rates" => Ok(Some(rates(r.meter(name, a.u32(3)).await?))),
        "bm_parse_vset_add" => done(r.change_value_set(name, Some(a.bytes(3)), true).await),
        "bm_parse_vset_remove" => done(r.change_value_set(name, Some(a.bytes(3)), false).await),
        "bm_parse_vset_clear" => done(r.change_value_set(name, None, false).await),
        "bm_parse_vset_get" => Ok(Some(data(r.value_set(name).await?))),
        // Digests go to P4Runtime clients.
        "bm_learning_ack"
        | "bm_learning_ack_buffer"
        | "bm_learning_set_timeout"
        | "bm_learning_set_buffer_size" => Err(Fault::Code(LEARN_ERROR)),
        "bm_set_crc16_custom_parameters"
        | "bm_set_crc32_custom_parameters"
        | "bm_set_toeplitz_hash_key" => Err(Fault::Code(BAD_CALCULATION)),
        _ => management(s, method, a).await,
    }
}

async fn management(s: &Services, method: &str, a: &Fields) -> Answer {
    let r = &s.runtime;
    match method {
        "bm_load_new_config" => {
            let mut swapping = s.swapping.lock().await;
            if !s.about.swap {
                return Err(Fault::Code(SWAP_DISABLED));
            }
            if *swapping {
                return Err(Fault::Code(ONGOING_SWAP));
            }
            r.swap(a.bytes(1).to_vec()).await?;
            *swapping = true;
            Ok(None)
        }
        "bm_swap_configs" => {
            let mut swapping = s.swapping.lock().await;
            match (s.about.swap, std::mem::take(&mut *swapping)) {
                (false, _) => Err(Fault::Code(SWAP_DISABLED)),
                (true, false) => Err(Fault::Code(NO_ONGOING_SWAP)),
                (true, true) => Ok(None),
            }
        }
        "bm_mgmt_get_info" => Ok(Some(Value::Struct(Fields::of([
            Value::I64(s.about.device_id.cast_signed()),
            Value::I32(i32::from(s.about.thrift_port)),
            Value::text(""),
        ])))),
        "bm_reset_state" => {
            r.reset().await?;
            Ok(None)
        }
        "bm_get_config" => {
            let program = r.program().await.unwrap_or_default();
            Ok(Some(Value::Bytes(program)))
        }
        "bm_get_config_md5" => {
            let program = r.program().await.unwrap_or_default();
            Ok(Some(Value::Bytes(digest::md5(&program).to_vec())))
        }
        "bm_get_id_from_name" => {
            let program = r.program().await.unwrap_or_default();
            let id = ids::of_name(&program, a.i32(2), a.text(3));
            id.map(|id| Some(Value::I32(id))).map_err(Fault::Code)
        }
        "bm_serialize_state" => Err(Fault::Failed(
            "state is not saved in BMv2's form: read it over P4Runtime".into(),
        )),
        _ => Err(Fault::Unknown),
    }
}

async fn tables(r: &Runtime, method: &str, a: &Fields) -> Answer {
    let name = a.text(2);
    let handle = a.u32(3);
    match method {
        "get_num_entries" => {
            let n = r.num_entries(name).await?;
            Ok(Some(Value::I64(i64::try_from(n).unwrap_or(i64::MAX))))
        }
        "clear_entries" => done(r.clear(name, a.bool(3)).await),
        "add_entry" => {
            let action = ActionEntry::Call(a.text(4).to_owned(), blobs(a, 5));
            add(r, a, &action, 6).await
        }
        "indirect_add_entry" => add(r, a, &ActionEntry::Member(a.u32(4)), 5).await,
        "indirect_ws_add_entry" => add(r, a, &ActionEntry::Group(a.u32(4)), 5).await,
        "set_default_action" => done(r.set_default(name, Some((a.text(3), &blobs(a, 4)))).await),
        "reset_default_entry" => done(r.set_default(name, None).await),
        "delete_entry" | "indirect_delete_entry" => done(r.delete_entry(name, handle).await),
        "modify_entry" => {
            let action = ActionEntry::Call(a.text(4).to_owned(), blobs(a, 5));
            done(r.modify_entry(name, handle, &action).await)
        }
        "indirect_modify_entry" => done(
            r.modify_entry(name, handle, &ActionEntry::Member(a.u32(4)))
                .await,
        ),
        "indirect_ws_modify_entry" => done(
            r.modify_entry(name, handle, &ActionEntry::Group(a.u32(4)))
                .await,
        ),
        "indirect_set_default_member" => done(
            r.set_default_choice(name, Some(&ActionEntry::Member(handle)))
                .await,
        ),
        "indirect_ws_set_default_group" => done(
            r.set_default_choice(name, Some(&ActionEntry::Group(handle)))
                .await,
        ),
        "indirect_reset_default_entry" => done(r.set_default_choice(name, None).await),
        "set_entry_ttl" | "indirect_set_entry_ttl" => {
            done(r.set_timeout(name, handle, a.u32(4)).await)
        }
        "read_counter" => Ok(Some(counter(r.read_direct_counter(name, handle).await?))),
        "write_counter" => {
            let value = counter_of(a, 4);
            done(r.write_direct_counter(name, Some(handle), value).await)
        }
        "reset_counters" => {
            let zero = CounterValue::default();
            done(r.write_direct_counter(name, None, zero).await)
        }
        "set_meter_rates" => done(
            r.set_direct_meter(name, Some(handle), &rates_of(a, 4))
                .await,
        ),
        "get_meter_rates" => Ok(Some(rates(r.direct_meter(name, handle).await?))),
        "get_entries" => match r.entries(name).await {
            Ok(all) => Ok(Some(Value::structs(all.iter().map(entry)))),
            // Like BMv2, which has no entries to return.
            Err(TableError::InvalidTableName) => Ok(Some(Value::structs([]))),
            Err(e) => Err(e.into()),
        },
        "get_entry" => Ok(Some(Value::Struct(entry(&r.entry(name, handle).await?)))),
        "get_default_entry" => {
            let found = r.default_action(name).await?;
            Ok(Some(Value::Struct(action_entry(found.as_ref()))))
        }
        "get_entry_from_key" => {
            let key = key(a, 3)?;
            if key.is_empty() {
                let found = r.default_action(name).await?;
                let action = Value::Struct(action_entry(found.as_ref()));
                return Ok(Some(Value::Struct(Fields(vec![
                    (1, Value::structs([])),
                    (2, Value::Struct(Fields::default())),
                    (3, Value::I32(0)),
                    (4, action),
                ]))));
            }
            let found = r.entry_with_key(name, &key, priority(a, 4)).await?;
            Ok(Some(Value::Struct(entry(&found))))
        }
        _ => Err(Fault::Unknown),
    }
}

async fn add(r: &Runtime, a: &Fields, action: &ActionEntry, options: i16) -> Answer {
    let handle = r
        .add_entry(a.text(2), &key(a, 3)?, action, priority(a, options))
        .await?;
    Ok(Some(Value::I32(handle.cast_signed())))
}

async fn profiles(r: &Runtime, method: &str, a: &Fields) -> Answer {
    let (name, handle) = (a.text(2), a.u32(3));
    let number = |n: u32| Some(Value::I32(n.cast_signed()));
    match method {
        "add_member" => Ok(number(r.add_member(name, a.text(3), &blobs(a, 4)).await?)),
        "delete_member" => done(r.delete_member(name, handle).await),
        "modify_member" => done(r.modify_member(name, handle, a.text(4), &blobs(a, 5)).await),
        "create_group" => Ok(number(r.create_group(name).await?)),
        "delete_group" => done(r.delete_group(name, handle).await),
        "add_member_to_group" => done(r.change_group(name, handle, a.u32(4), true).await),
        "remove_member_from_group" => done(r.change_group(name, handle, a.u32(4), false).await),
        "get_members" | "get_member" => {
            let one = method == "get_member";
            let found = r.members(name, one.then_some(handle)).await;
            let members = found.map(|all| {
                let all = all.iter().map(|m| {
                    let (name, bytes) = match &m.action {
                        ActionEntry::Call(name, bytes) => (name.clone(), bytes.clone()),
                        _ => Default::default(),
                    };
                    let handle = Value::I32(m.handle.cast_signed());
                    Fields::of([handle, Value::text(name), data(bytes)])
                });
                all.collect::<Vec<_>>()
            });
            one_or_all(one, members)
        }
        "get_groups" | "get_group" => {
            let one = method == "get_group";
            let found = r.groups(name, one.then_some(handle)).await;
            let groups = found.map(|all| {
                let all = all.iter().map(|g| {
                    let members = g.members.iter().map(|m| Value::I32(m.cast_signed()));
                    let members = Value::List(TType::I32, members.collect());
                    Fields::of([Value::I32(g.handle.cast_signed()), members])
                });
                all.collect::<Vec<_>>()
            });
            one_or_all(one, groups)
        }
        _ => Err(Fault::Unknown),
    }
}

/// Makes an answer; like BMv2, one without members and groups if the profile does not exist.
fn one_or_all(one: bool, found: Result<Vec<Fields>, TableError>) -> Answer {
    match (one, found) {
        (true, Ok(found)) => Ok(found.into_iter().next().map(Value::Struct)),
        (false, Ok(found)) => Ok(Some(Value::structs(found))),
        (false, Err(TableError::InvalidProfileName)) => Ok(Some(Value::structs([]))),
        (_, Err(e)) => Err(e.into()),
    }
}

fn done<E: Into<Fault>>(result: Result<(), E>) -> Answer {
    result.map(|()| None).map_err(Into::into)
}

/// Configures a meter array; direct meters are addressed by the name of their array.
async fn meter_array(r: &Runtime, name: &str, rates: &[Rate]) -> Result<(), MeterError> {
    match r.set_meter(name, None, rates).await {
        Err(MeterError::InvalidName) => {
            let table = r.table_of(name).await.ok_or(MeterError::InvalidName)?;
            let set = r.set_direct_meter(&table, None, rates).await;
            set.map_err(|_| MeterError::Error)
        }
        other => other,
    }
}
