// SPDX-License-Identifier: Apache-2.0
//! Meters over a real connection.

use crate::common::{Peer, action, entities, server};
use p4runtime_server::target::MeterConfig;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::field_match::{Exact, FieldMatchType};
use tidemark_proto::p4::v1::update::Type;
use tonic::Code;

// Ids of the P4Info.
const RATE: u32 = 340089831;
const POLICE: u32 = 44032818;
const PERMIT: u32 = 27493986;

fn config(cir: i64, pir: i64) -> p4::MeterConfig {
    p4::MeterConfig {
        cir,
        cburst: 2,
        pir,
        pburst: 4,
        eburst: 0,
    }
}

fn meter(index: Option<i64>, config: Option<p4::MeterConfig>) -> Entity {
    Entity::MeterEntry(p4::MeterEntry {
        meter_id: RATE,
        index: index.map(|index| p4::Index { index }),
        config,
        counter_data: None,
    })
}

#[tokio::test]
async fn indexed_meters() {
    let (target, client) = server().await;
    let mut p = Peer::primary_of(client, entities()).await;
    let one = meter(Some(3), Some(config(10, 20)));
    p.write(Type::Modify, one.clone()).await.unwrap();
    let want = MeterConfig {
        committed_rate: 10,
        committed_burst: 2,
        peak_rate: 20,
        peak_burst: 4,
    };
    assert_eq!(target.state().meters[&("Switch.rate".to_owned(), 3)], want);
    assert_eq!(p.read(meter(Some(3), None)).await.unwrap(), [one]);
    let all = p.read(meter(None, None)).await.unwrap();
    assert_eq!(all.len(), 16);
    assert_eq!(all[2], meter(Some(2), None), "the default is unset");
    let mut counted = p4::MeterEntry {
        meter_id: RATE,
        ..Default::default()
    };
    counted.counter_data = Some(p4::MeterCounterData::default());
    let mut excess = config(1, 1);
    excess.eburst = 1;
    for (kind, e, code) in [
        (Type::Insert, meter(Some(0), None), Code::InvalidArgument),
        (Type::Modify, meter(Some(16), None), Code::OutOfRange),
        (
            Type::Modify,
            meter(Some(0), Some(config(-1, 1))),
            Code::InvalidArgument,
        ),
        (
            Type::Modify,
            meter(Some(0), Some(config(2, 1))),
            Code::InvalidArgument,
        ),
        (
            Type::Modify,
            meter(Some(0), Some(excess)),
            Code::InvalidArgument,
        ),
        (
            Type::Modify,
            Entity::MeterEntry(counted),
            Code::Unimplemented,
        ),
    ] {
        assert_eq!(p.write(kind, e).await, Err(code));
    }
    p.write(Type::Modify, meter(None, None)).await.unwrap();
    assert!(target.state().meters.is_empty());
}

fn police(port: u8) -> p4::TableEntry {
    p4::TableEntry {
        table_id: POLICE,
        r#match: vec![p4::FieldMatch {
            field_id: 1,
            field_match_type: Some(FieldMatchType::Exact(Exact { value: vec![port] })),
        }],
        action: action(PERMIT, &[]),
        ..Default::default()
    }
}

#[tokio::test]
async fn direct_meters() {
    let (target, client) = server().await;
    let mut p = Peer::primary_of(client, entities()).await;
    let mut e = police(1);
    e.meter_config = Some(config(1, 2));
    p.write(Type::Insert, Entity::TableEntry(e.clone()))
        .await
        .unwrap();
    assert_eq!(target.state().direct_meters.len(), 1);
    let direct = |port, config| {
        let mut table_entry = police(port);
        table_entry.action = None;
        Entity::DirectMeterEntry(p4::DirectMeterEntry {
            table_entry: Some(table_entry),
            config,
            counter_data: None,
        })
    };
    let set = direct(1, Some(config(3, 4)));
    p.write(Type::Modify, set.clone()).await.unwrap();
    assert_eq!(p.read(direct(1, None)).await.unwrap(), [set]);
    // Only if asked for.
    let all = p4::TableEntry {
        table_id: POLICE,
        ..Default::default()
    };
    let configs = |found: Vec<Entity>| match found.into_iter().next() {
        Some(Entity::TableEntry(t)) => t.meter_config,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        configs(p.read(Entity::TableEntry(all.clone())).await.unwrap()),
        None
    );
    let mut asking = all;
    asking.meter_config = Some(p4::MeterConfig::default());
    assert_eq!(
        configs(p.read(Entity::TableEntry(asking)).await.unwrap()),
        Some(config(3, 4))
    );
    // A MODIFY of the entry without a configuration makes it the default.
    p.write(Type::Modify, Entity::TableEntry(police(1)))
        .await
        .unwrap();
    assert!(target.state().direct_meters.is_empty());
    assert_eq!(
        p.write(Type::Modify, direct(2, None)).await,
        Err(Code::NotFound)
    );
}
