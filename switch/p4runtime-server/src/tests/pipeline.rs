// SPDX-License-Identifier: Apache-2.0
use super::*;
use tidemark_proto::p4::config::v1::match_field::{Match, MatchType};
use tidemark_proto::p4::config::v1::p4_new_type_spec::Representation;
use tidemark_proto::p4::config::v1::p4_new_type_translation::{SdnString, SdnType};
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
    assert_eq!(limit.keys[0].values.bits, 9);
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
    refused(|i| {
        let mut with_parameters = i.actions.iter_mut().filter(|a| !a.params.is_empty());
        with_parameters.next().unwrap().params[0].bitwidth = 8;
    });
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
fn without_p4info_the_program_has_nothing_to_write() {
    let p = Pipeline::new(p4::ForwardingPipelineConfig {
        p4info: None,
        ..config()
    });
    let p = p.unwrap();
    assert!(p.tables.selected(0).unwrap().is_empty());
    // BMv2's runtime services reach them by name.
    assert!(!p.tables.is_empty());
}

#[test]
fn what_p4c_left_out_of_the_program_is_named_when_it_is_used() {
    let mut c = config();
    let info = c.p4info.as_mut().unwrap();
    let preamble = |id, name: &str| {
        Some(p4info::Preamble {
            id,
            name: name.into(),
            ..Default::default()
        })
    };
    info.action_profiles.push(p4info::ActionProfile {
        preamble: preamble(77, "Ingress.unused"),
        ..Default::default()
    });
    info.digests.push(p4info::Digest {
        preamble: preamble(78, "digest_0"),
        ..Default::default()
    });
    let p = Pipeline::new(c).unwrap();
    let e = p.profiles.get(77).err().unwrap();
    assert_eq!(e.code, Code::NotFound);
    assert!(e.message.contains("Ingress.unused is in the P4Info"), "{e}");
    assert!(
        p.digests
            .get(78)
            .err()
            .unwrap()
            .message
            .contains("digest_0")
    );
    assert!(p.digests.selected(0).unwrap().is_empty());
}

#[test]
fn types_that_are_translated() {
    let mut c = config();
    let info = c.p4info.as_mut().unwrap();
    let translated = |sdn_type| p4info::P4NewTypeSpec {
        representation: Some(Representation::TranslatedType(
            p4info::P4NewTypeTranslation {
                uri: "port".into(),
                sdn_type: Some(sdn_type),
            },
        )),
        ..Default::default()
    };
    let types = &mut info.type_info.get_or_insert_default().new_types;
    types.insert("wide".into(), translated(SdnType::SdnBitwidth(32)));
    types.insert("text".into(), translated(SdnType::SdnString(SdnString {})));
    let of = |name: &str| Some(p4info::P4NamedType { name: name.into() });
    let limit = info.tables.iter_mut().find(|t| {
        let p = t.preamble.as_ref();
        p.is_some_and(|p| p.name == "Ingress.queue_limit")
    });
    let key = &mut limit.unwrap().match_fields[0];
    (key.bitwidth, key.type_name) = (32, of("wide"));
    let forward = info.actions.iter_mut().find(|a| {
        let p = a.preamble.as_ref();
        p.is_some_and(|p| p.name == "Ingress.forward")
    });
    let port = &mut forward.unwrap().params[0];
    (port.bitwidth, port.type_name) = (0, of("text"));
    let p = Pipeline::new(c).unwrap();
    let limit = p.tables.values().find(|t| t.name == "Ingress.queue_limit");
    let key = &limit.unwrap().keys[0].values;
    assert_eq!(key.bits, 9);
    assert_eq!(key.parse(&[0, 0, 0, 3]).unwrap(), [0, 3]);
    assert_eq!(key.parse(&[2, 0]).unwrap_err().code, Code::OutOfRange);
    let forward = p.actions.values().find(|a| a.name == "Ingress.forward");
    let port = &forward.unwrap().params[0].values;
    let number = port.parse(b"Ethernet0").unwrap();
    assert_eq!((port.bits, number.len()), (9, 2));
    assert_eq!(port.canonical(&number), b"Ethernet0");
}

#[test]
fn unusable_configs_are_refused() {
    let no_json = p4::ForwardingPipelineConfig {
        p4_device_config: b"P4".to_vec(),
        ..config()
    };
    let empty = p4::ForwardingPipelineConfig {
        p4_device_config: Vec::new(),
        ..config()
    };
    for c in [no_json, empty] {
        assert_eq!(
            Pipeline::new(c).err().map(|f| f.code),
            Some(Code::InvalidArgument)
        );
    }
}

/// The P4Info of older p4c gives the id of a default action without its arguments.
#[test]
fn arguments_of_a_default_action_come_from_the_program() {
    let mut c = config();
    let text = String::from_utf8(c.p4_device_config).unwrap();
    let forward = text.find("\"name\" : \"Ingress.forward\"").unwrap();
    let id = text[forward..].split("\"id\" : ").nth(1).unwrap();
    let id: u32 = id.split(',').next().unwrap().parse().unwrap();
    let table = text.find("\"name\" : \"Ingress.l2_forward\"").unwrap();
    let (head, tail) = text.split_at(table);
    let start = tail.find("\"default_entry\"").unwrap();
    let end = start + tail[start..].find('}').unwrap() + 1;
    let default = format!(r#""default_entry" : {{"action_id": {id}, "action_data": ["0x7"]}}"#);
    let json = format!("{head}{}{default}{}", &tail[..start], &tail[end..]);
    c.p4_device_config = json.into_bytes();
    let info = c.p4info.as_mut().unwrap();
    let id_of = |p: &Option<p4info::Preamble>, name: &str| {
        let p = p.as_ref().filter(|p| p.name == name);
        p.map(|p| p.id)
    };
    let action = info.actions.iter();
    let mut action = action.filter_map(|a| id_of(&a.preamble, "Ingress.forward"));
    let action = action.next_back().unwrap();
    let of_table = |t: &&mut p4info::Table| id_of(&t.preamble, "Ingress.l2_forward").is_some();
    let table = info.tables.iter_mut().find(of_table).unwrap();
    table.const_default_action_id = action;
    table.initial_default_action = None;
    let p = Pipeline::new(c).unwrap();
    let table = p.tables.values().find(|t| t.name == "Ingress.l2_forward");
    let default = crate::store::compiled::default_action(&p, table.unwrap()).unwrap();
    assert_eq!(default.action_id, action);
    assert_eq!(default.params[0].value, [7]);
}
