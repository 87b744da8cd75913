// SPDX-License-Identifier: Apache-2.0
use super::*;
use tidemark_proto::p4::config::v1::match_field::{Match, MatchType};
use tonic::Code;

const JSON: &str = include_str!("../../../../p4src/build/tidemark.json");
const INFO: &str = include_str!("../../../../p4src/build/tidemark.p4info.txtpb");

fn config() -> p4::ForwardingPipelineConfig {
    p4::ForwardingPipelineConfig {
        p4info: Some(tidemark_proto::p4info::parse_text(INFO).unwrap()),
        p4_device_config: JSON.into(),
        cookie: None,
    }
}

fn refused(change: impl FnOnce(&mut p4info::P4Info)) -> Failure {
    let mut c = config();
    change(c.p4info.as_mut().unwrap());
    Pipeline::new(c).err().expect("must be refused")
}

#[test]
fn the_program_of_this_repository() {
    let p = Pipeline::new(config()).unwrap();
    let limit = p
        .tables
        .values()
        .find(|t| t.name == "Ingress.queue_limit")
        .unwrap();
    assert_eq!(limit.keys[0].bits, 9);
    assert!(!limit.needs_priority());
    let watch = p.tables.values().find(|t| t.name == "Ingress.watch");
    assert!(watch.unwrap().needs_priority());
    let occupancy = p.registers.values().find(|r| r.name == "occupancy_bytes");
    assert_eq!(occupancy.unwrap().bits, 32);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let e = refused(|i| i.tables[0].preamble.as_mut().unwrap().name = "Ingress.other".into());
    assert!(e.message.contains("Ingress.other"), "{e}");
    let e = refused(|i| i.tables[0].match_fields[0].bitwidth = 47);
    assert!(e.message.contains("47 bits"), "{e}");
    let e = refused(|i| {
        i.tables[0].match_fields[0].r#match = Some(Match::MatchType(MatchType::Lpm as i32));
    });
    assert!(e.message.contains("exact"), "{e}");
    refused(|i| {
        i.tables[0].match_fields.clear();
    });
    refused(|i| i.actions[0].params[0].bitwidth = 8);
    refused(|i| i.registers[0].size += 1);
    refused(|i| i.tables[0].action_refs[0].id = 5);
    let same_id = |i: &mut p4info::P4Info| {
        let id = i.tables[0].preamble.as_ref().unwrap().id;
        i.tables[1].preamble.as_mut().unwrap().id = id;
    };
    assert_eq!(refused(same_id).code, Code::InvalidArgument);
}

#[test]
fn a_program_in_the_form_of_bmv2_clients() {
    let json = JSON.as_bytes();
    // p4.tmp.P4DeviceConfig: reassign = true, device_data.
    let mut wrapped = vec![0x08, 0x01, 0x1a];
    prost::encoding::encode_varint(json.len() as u64, &mut wrapped);
    wrapped.extend_from_slice(json);
    let p = Pipeline::new(p4::ForwardingPipelineConfig {
        p4_device_config: wrapped.clone(),
        ..config()
    })
    .unwrap();
    // A client that reads it back sees what was sent.
    assert_eq!(p.config.p4_device_config, wrapped);
    assert_eq!(
        p.tables.len(),
        Pipeline::new(config()).unwrap().tables.len()
    );
}

#[test]
fn unusable_configs_are_refused() {
    let no_info = p4::ForwardingPipelineConfig {
        p4info: None,
        ..config()
    };
    let no_json = p4::ForwardingPipelineConfig {
        p4_device_config: b"P4".to_vec(),
        ..config()
    };
    let empty = p4::ForwardingPipelineConfig {
        p4_device_config: Vec::new(),
        ..config()
    };
    for c in [no_info, no_json, empty] {
        assert_eq!(
            Pipeline::new(c).err().map(|f| f.code),
            Some(Code::InvalidArgument)
        );
    }
}
