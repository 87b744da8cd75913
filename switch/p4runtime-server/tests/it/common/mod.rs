// SPDX-License-Identifier: Apache-2.0
//! A server with a mock switch, and a client on loopback.

mod mock;

pub(crate) use mock::Mock;
use p4runtime_server::{Server, errors};
use std::sync::{Arc, Mutex};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use tidemark_proto::p4::v1::stream_message_response::Update as Answer;
use tidemark_proto::p4::v1::update::Type;
use tokio::sync::{broadcast, mpsc};
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

pub(crate) const DEVICE: u64 = 9;

/// Starts a server on a free loopback port; it ends with the test's runtime.
pub(crate) async fn server() -> (Arc<Mock>, P4RuntimeClient<Channel>) {
    let target = Arc::new(Mock {
        state: Mutex::default(),
        packets: broadcast::channel(100).0,
        digests: broadcast::channel(100).0,
    });
    let server = Server::new(target.clone(), DEVICE);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
    tokio::spawn(
        tonic::transport::Server::builder()
            .add_service(server.into_service())
            .serve_with_incoming(incoming),
    );
    let client = P4RuntimeClient::connect(format!("http://{address}"))
        .await
        .unwrap()
        .max_encoding_message_size(usize::MAX)
        .max_decoding_message_size(usize::MAX);
    (target, client)
}

/// One open StreamChannel.
pub(crate) struct Peer {
    pub client: P4RuntimeClient<Channel>,
    pub outbox: mpsc::Sender<p4::StreamMessageRequest>,
    pub inbox: Streaming<p4::StreamMessageResponse>,
    pub id: p4::Uint128,
}

impl Peer {
    pub(crate) async fn open(mut client: P4RuntimeClient<Channel>, low: u64) -> Self {
        let (outbox, rx) = mpsc::channel(16);
        let id = p4::Uint128 { high: 0, low };
        outbox.send(arbitration(DEVICE, id)).await.unwrap();
        let inbox = client
            .stream_channel(ReceiverStream::new(rx))
            .await
            .unwrap()
            .into_inner();
        Self {
            client,
            outbox,
            inbox,
            id,
        }
    }

    /// Opens a stream, becomes primary and pushes a pipeline.
    pub(crate) async fn primary(client: P4RuntimeClient<Channel>) -> Self {
        Self::primary_of(client, config()).await
    }

    pub(crate) async fn primary_of(
        client: P4RuntimeClient<Channel>,
        config: p4::ForwardingPipelineConfig,
    ) -> Self {
        use p4::set_forwarding_pipeline_config_request::Action;
        let mut p = Self::open(client, 1).await;
        assert_eq!(p.arbitration().await, Code::Ok);
        p.push_config(Action::VerifyAndCommit, Some(config))
            .await
            .unwrap();
        p
    }

    pub(crate) async fn next(&mut self) -> Result<Answer, Status> {
        match self.inbox.next().await {
            Some(Ok(m)) => Ok(m.update.unwrap()),
            Some(Err(e)) => Err(e),
            None => Err(Status::cancelled("end of stream")),
        }
    }

    /// Returns the status of the arbitration message, which must come next.
    pub(crate) async fn arbitration(&mut self) -> Code {
        match self.next().await.unwrap() {
            Answer::Arbitration(m) => Code::from_i32(m.status.unwrap().code),
            other => panic!("not an arbitration message: {other:?}"),
        }
    }

    pub(crate) async fn push(
        &mut self,
        action: p4::set_forwarding_pipeline_config_request::Action,
    ) -> Result<(), Status> {
        use p4::set_forwarding_pipeline_config_request::Action;
        let config = (action != Action::Commit).then(config);
        self.push_config(action, config).await
    }

    pub(crate) async fn push_config(
        &mut self,
        action: p4::set_forwarding_pipeline_config_request::Action,
        config: Option<p4::ForwardingPipelineConfig>,
    ) -> Result<(), Status> {
        let request = p4::SetForwardingPipelineConfigRequest {
            device_id: DEVICE,
            election_id: Some(self.id),
            action: action as i32,
            config,
            ..Default::default()
        };
        self.client
            .set_forwarding_pipeline_config(request)
            .await
            .map(|_| ())
    }

    pub(crate) async fn batch(&mut self, updates: Vec<p4::Update>) -> Result<(), Status> {
        let request = p4::WriteRequest {
            device_id: DEVICE,
            election_id: Some(self.id),
            updates,
            ..Default::default()
        };
        self.client.write(request).await.map(|_| ())
    }

    /// Writes a single update; returns its canonical code.
    pub(crate) async fn write(&mut self, kind: Type, e: p4::entity::Entity) -> Result<(), Code> {
        self.batch(vec![update(kind, e)]).await.map_err(|status| {
            assert_eq!(status.code(), Code::Unknown, "{status:?}");
            let errors = errors::errors_of(&status).unwrap();
            assert_eq!(errors.len(), 1);
            assert!(!errors[0].message.is_empty());
            Code::from_i32(errors[0].canonical_code)
        })
    }

    /// Reads entities; returns the canonical code of a refusal.
    pub(crate) async fn read(
        &mut self,
        e: p4::entity::Entity,
    ) -> Result<Vec<p4::entity::Entity>, Code> {
        let request = p4::ReadRequest {
            device_id: DEVICE,
            entities: vec![p4::Entity { entity: Some(e) }],
            ..Default::default()
        };
        let mut answers = self.client.read(request).await.unwrap().into_inner();
        let mut out = Vec::new();
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(r) => out.extend(r.entities.into_iter().map(|e| e.entity.unwrap())),
                Err(status) => {
                    return Err(match errors::errors_of(&status) {
                        Some(errors) => Code::from_i32(errors[0].canonical_code),
                        None => status.code(),
                    });
                }
            }
        }
        Ok(out)
    }
}

pub(crate) fn arbitration(device_id: u64, id: p4::Uint128) -> p4::StreamMessageRequest {
    p4::StreamMessageRequest {
        update: Some(p4::stream_message_request::Update::Arbitration(
            p4::MasterArbitrationUpdate {
                device_id,
                election_id: Some(id),
                ..Default::default()
            },
        )),
    }
}

pub(crate) fn config() -> p4::ForwardingPipelineConfig {
    let info = include_str!("../../data/mixed.p4info.txtpb");
    p4::ForwardingPipelineConfig {
        p4info: Some(tidemark_proto::p4info::parse_text(info).unwrap()),
        p4_device_config: include_bytes!("../../data/mixed.json").to_vec(),
        cookie: Some(p4::forwarding_pipeline_config::Cookie { cookie: 77 }),
    }
}

/// Configuration of the program with every kind of entity.
pub(crate) fn entities() -> p4::ForwardingPipelineConfig {
    let info = include_str!("../../../../daemon/tests/data/entities/entities.p4info.txtpb");
    p4::ForwardingPipelineConfig {
        p4info: Some(tidemark_proto::p4info::parse_text(info).unwrap()),
        p4_device_config: include_bytes!("../../../../daemon/tests/data/entities/entities.json")
            .to_vec(),
        cookie: None,
    }
}

pub(crate) fn update(kind: Type, e: p4::entity::Entity) -> p4::Update {
    p4::Update {
        r#type: kind as i32,
        entity: Some(p4::Entity { entity: Some(e) }),
    }
}

pub(crate) fn action(id: u32, params: &[&[u8]]) -> Option<p4::TableAction> {
    Some(p4::TableAction {
        r#type: Some(p4::table_action::Type::Action(p4::Action {
            action_id: id,
            params: (1..)
                .zip(params)
                .map(|(param_id, v)| p4::action::Param {
                    param_id,
                    value: v.to_vec(),
                })
                .collect(),
        })),
    })
}

/// An entry of table `acl` for one source address.
pub(crate) fn acl(src: u8, priority: i32) -> p4::TableEntry {
    use p4::field_match::{FieldMatchType, Ternary};
    p4::TableEntry {
        table_id: 1,
        r#match: vec![p4::FieldMatch {
            field_id: 1,
            field_match_type: Some(FieldMatchType::Ternary(Ternary {
                value: vec![10, 0, 0, src],
                mask: vec![255; 4],
            })),
        }],
        priority,
        action: action(101, &[&[0, 5]]),
        ..Default::default()
    }
}
