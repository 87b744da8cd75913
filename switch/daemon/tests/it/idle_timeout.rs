// SPDX-License-Identifier: Apache-2.0
//! Idle timeouts of the running program, over gRPC, with packet-outs as hits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tidemark_proto::p4::config::v1::table::IdleTimeoutBehavior;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use tidemark_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use tidemark_proto::p4::v1::stream_message_request::Update;
use tidemark_proto::p4::v1::stream_message_response::Update as Answer;
use tonic::Streaming;
use tonic::transport::Channel;

const TABLE: &str = "Ingress.l2_forward";
const TIMEOUT_NS: i64 = 100_000_000;
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a switch as BMv2 is started, with device 0; returns its address.
fn start(dir: &Path) -> (Running, String) {
    let link = dir.join("simple_switch_grpc");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tidemark-switch"), &link).unwrap();
    let flags = "--no-p4 -- --grpc-server-addr 127.0.0.1:0 --cpu-port 255";
    let mut child = Command::new(link)
        .args(flags.split(' '))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let running = Running(child);
    let mut said = String::new();
    let line = loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "{said}");
        if line.starts_with("ready: ") {
            break line;
        }
        said.push_str(&line);
    };
    let word = line
        .split_whitespace()
        .find(|w| w.starts_with("127.0.0.1:"));
    let address = word.unwrap().trim_end_matches(',').to_owned();
    std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
    (running, address)
}

/// Returns Tidemark's program with idle timeouts in one table, and the ids of table and action.
fn program() -> (p4::ForwardingPipelineConfig, u32, u32) {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4src/build");
    let text = std::fs::read(built.join("tidemark.p4info.txtpb")).unwrap();
    let mut info = tidemark_proto::p4info::parse(&text).unwrap();
    let table = info
        .tables
        .iter_mut()
        .find(|t| t.preamble.as_ref().is_some_and(|p| p.name == TABLE))
        .unwrap();
    table.set_idle_timeout_behavior(IdleTimeoutBehavior::NotifyControl);
    let ids = (table.preamble.as_ref().unwrap().id, table.action_refs[0].id);
    let json = std::fs::read(built.join("tidemark.json")).unwrap();
    let mut json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    for pipeline in json["pipelines"].as_array_mut().unwrap() {
        for table in pipeline["tables"].as_array_mut().unwrap() {
            if table["name"] == TABLE {
                table["support_timeout"] = true.into();
            }
        }
    }
    let config = p4::ForwardingPipelineConfig {
        p4info: Some(info),
        p4_device_config: serde_json::to_vec(&json).unwrap(),
        ..Default::default()
    };
    (config, ids.0, ids.1)
}

async fn notified(stream: &mut Streaming<p4::StreamMessageResponse>) -> p4::TableEntry {
    match stream.message().await.unwrap().unwrap().update.unwrap() {
        Answer::IdleTimeoutNotification(n) => n.table_entry[0].clone(),
        other => panic!("{other:?}"),
    }
}

async fn elapsed_ns(client: &mut P4RuntimeClient<Channel>, table_id: u32) -> i64 {
    let filter = p4::TableEntry {
        table_id,
        time_since_last_hit: Some(Default::default()),
        ..Default::default()
    };
    let request = p4::ReadRequest {
        device_id: 0,
        entities: vec![p4::Entity {
            entity: Some(Entity::TableEntry(filter)),
        }],
        ..Default::default()
    };
    let mut answers = client.read(request).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap();
    match answer.entities[0].entity.clone().unwrap() {
        Entity::TableEntry(e) => e.time_since_last_hit.unwrap().elapsed_ns,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_idle_entry_is_told_and_a_packet_is_a_hit() {
    let dir = tempfile::tempdir().unwrap();
    let (_running, address) = start(dir.path());
    let url = format!("http://{address}");
    let mut client = P4RuntimeClient::connect(url).await.unwrap();
    let election_id = Some(p4::Uint128 { high: 0, low: 1 });
    let (requests, outbound) = tokio::sync::mpsc::channel(64);
    let hello = p4::MasterArbitrationUpdate {
        election_id,
        ..Default::default()
    };
    requests
        .send(p4::StreamMessageRequest {
            update: Some(Update::Arbitration(hello)),
        })
        .await
        .unwrap();
    let outbound = tokio_stream::wrappers::ReceiverStream::new(outbound);
    let mut stream = client.stream_channel(outbound).await.unwrap().into_inner();
    stream.message().await.unwrap().unwrap();
    let (config, table_id, action_id) = program();
    let push = p4::SetForwardingPipelineConfigRequest {
        election_id,
        action: Action::VerifyAndCommit.into(),
        config: Some(config),
        ..Default::default()
    };
    client.set_forwarding_pipeline_config(push).await.unwrap();

    let exact = p4::field_match::Exact {
        value: MAC.to_vec(),
    };
    let entry = p4::TableEntry {
        table_id,
        r#match: vec![p4::FieldMatch {
            field_id: 1,
            field_match_type: Some(p4::field_match::FieldMatchType::Exact(exact)),
        }],
        action: Some(p4::TableAction {
            r#type: Some(p4::table_action::Type::Action(p4::Action {
                action_id,
                params: vec![p4::action::Param {
                    param_id: 1,
                    value: vec![3],
                }],
            })),
        }),
        idle_timeout_ns: TIMEOUT_NS,
        ..Default::default()
    };
    let write = p4::WriteRequest {
        election_id,
        updates: vec![p4::Update {
            r#type: p4::update::Type::Insert.into(),
            entity: Some(p4::Entity {
                entity: Some(Entity::TableEntry(entry.clone())),
            }),
        }],
        ..Default::default()
    };
    client.write(write).await.unwrap();
    for _ in 0..2 {
        let told = notified(&mut stream).await;
        assert_eq!(told.r#match, entry.r#match);
        assert_eq!(told.idle_timeout_ns, TIMEOUT_NS);
    }
    let idle = elapsed_ns(&mut client, table_id).await;
    assert!(idle >= 2 * TIMEOUT_NS, "{idle}");

    let mut frame = vec![0; 64];
    frame[..6].copy_from_slice(&MAC);
    let packet = p4::PacketOut {
        payload: frame,
        ..Default::default()
    };
    requests
        .send(p4::StreamMessageRequest {
            update: Some(Update::Packet(packet)),
        })
        .await
        .unwrap();
    // The idle time only grows without a hit; the packet is on its way.
    let hit = async {
        let mut last = idle;
        loop {
            let now = elapsed_ns(&mut client, table_id).await;
            if now < last {
                return;
            }
            last = now;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), hit)
        .await
        .expect("the packet was no hit");
    // The entry is idle again.
    notified(&mut stream).await;
}
