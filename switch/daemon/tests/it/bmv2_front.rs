// SPDX-License-Identifier: Apache-2.0
//! The program under the name of BMv2's `simple_switch_grpc`, called as scripts call it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use tidemark_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use tidemark_proto::p4::v1::stream_message_request::Update;

/// Makes a link of that name in `dir`.
fn front(dir: &Path, name: &str) -> PathBuf {
    let link = dir.join(name);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tidemark-switch"), &link).unwrap();
    link
}

pub(crate) fn built(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../p4src/build")
        .join(name)
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A switch that is ready.
pub(crate) struct Started {
    _running: Running,
    /// Output up to the line that says that it is ready.
    pub said: String,
    /// Address of P4Runtime.
    pub address: String,
}

impl Started {
    pub(crate) fn thrift_port(&self) -> u16 {
        let after = self.said.split("Thrift on 127.0.0.1:").nth(1).unwrap();
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    }
}

pub(crate) fn start_as(name: &str, dir: &Path, flags: &[&str]) -> Started {
    let mut child = Command::new(front(dir, name))
        .args(flags)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let running = Running(child);
    let mut said = Vec::new();
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "{said:?}");
        let ready = line.starts_with("ready: ");
        said.push(line);
        if ready {
            break;
        }
    }
    std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
    let words = said.last().unwrap().split_whitespace();
    let address = words.into_iter().find(|w| w.starts_with("127.0.0.1:"));
    let address = address.unwrap().trim_end_matches(',').to_owned();
    Started {
        _running: running,
        said: said.concat(),
        address,
    }
}

/// A P4Runtime client that is primary.
pub(crate) struct Session {
    client: P4RuntimeClient<tonic::transport::Channel>,
    _requests: tokio::sync::mpsc::Sender<p4::StreamMessageRequest>,
    _stream: tonic::Streaming<p4::StreamMessageResponse>,
}

const ELECTION: Option<p4::Uint128> = Some(p4::Uint128 { high: 0, low: 1 });

impl Session {
    pub(crate) async fn open(address: &str) -> Self {
        let url = format!("http://{address}");
        let mut client = P4RuntimeClient::connect(url).await.unwrap();
        let arbitration = p4::MasterArbitrationUpdate {
            device_id: 1,
            election_id: ELECTION,
            ..Default::default()
        };
        let hello = p4::StreamMessageRequest {
            update: Some(Update::Arbitration(arbitration)),
        };
        let (requests, outbound) = tokio::sync::mpsc::channel(4);
        requests.send(hello).await.unwrap();
        let outbound = tokio_stream::wrappers::ReceiverStream::new(outbound);
        let mut stream = client.stream_channel(outbound).await.unwrap().into_inner();
        stream.message().await.unwrap().unwrap();
        Self {
            client,
            _requests: requests,
            _stream: stream,
        }
    }

    async fn push_bytes(&mut self, program: Vec<u8>, info: &Path) {
        let info = std::fs::read(info).unwrap();
        let config = p4::ForwardingPipelineConfig {
            p4info: Some(tidemark_proto::p4info::parse(&info).unwrap()),
            p4_device_config: program,
            ..Default::default()
        };
        let push = p4::SetForwardingPipelineConfigRequest {
            device_id: 1,
            election_id: ELECTION,
            action: Action::VerifyAndCommit.into(),
            config: Some(config),
            ..Default::default()
        };
        let pushed = self.client.set_forwarding_pipeline_config(push).await;
        pushed.unwrap();
    }

    pub(crate) async fn push(&mut self, program: &Path, info: &Path) {
        self.push_bytes(std::fs::read(program).unwrap(), info).await;
    }

    pub(crate) async fn read(
        &mut self,
        entity: p4::Entity,
    ) -> Result<Vec<p4::Entity>, tonic::Status> {
        let request = p4::ReadRequest {
            device_id: 1,
            entities: vec![entity],
            ..Default::default()
        };
        let mut stream = self.client.read(request).await?.into_inner();
        let mut out = Vec::new();
        while let Some(m) = stream.message().await? {
            out.extend(m.entities);
        }
        Ok(out)
    }

    pub(crate) async fn delete(&mut self, entity: p4::Entity) -> Result<(), tonic::Status> {
        let update = p4::Update {
            r#type: p4::update::Type::Delete.into(),
            entity: Some(entity),
        };
        let request = p4::WriteRequest {
            device_id: 1,
            election_id: ELECTION,
            updates: vec![update],
            ..Default::default()
        };
        self.client.write(request).await.map(|_| ())
    }
}

fn called(dir: &Path, flags: &[&str]) -> Output {
    Command::new(front(dir, "simple_switch_grpc"))
        .args(flags)
        .output()
        .unwrap()
}

#[tokio::test]
async fn a_script_starts_it_and_pushes_a_program_as_to_bmv2() {
    let dir = tempfile::tempdir().unwrap();
    let trace = format!("--pcap={}", dir.path().display());
    let flags = [
        &trace,
        "--device-id",
        "1",
        "--no-p4",
        "--log-console",
        "--thrift-port",
        "0",
        "-Ltrace",
        "--",
        "--grpc-server-addr",
        "127.0.0.1:0",
        "--cpu-port",
        "255",
    ];
    let s = start_as("simple_switch_grpc", dir.path(), &flags);
    assert!(s.said.contains("device 1"), "{}", s.said);
    assert!(s.thrift_port() > 0);
    let mut session = Session::open(&s.address).await;

    let json = std::fs::read(built("tidemark.json")).unwrap();
    // p4.tmp.P4DeviceConfig: reassign = true, device_data.
    let mut wrapped = vec![0x08, 0x01, 0x1a];
    prost::encoding::encode_varint(json.len() as u64, &mut wrapped);
    wrapped.extend_from_slice(&json);
    let info = built("tidemark.p4info.txtpb");
    session.push_bytes(wrapped.clone(), &info).await;
    let ask = p4::GetForwardingPipelineConfigRequest {
        device_id: 1,
        ..Default::default()
    };
    let answer = session
        .client
        .get_forwarding_pipeline_config(ask)
        .await
        .unwrap();
    let config = answer.into_inner().config.unwrap();
    assert_eq!(config.p4_device_config, wrapped);
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    for (flags, words) in [
        (
            &["--load-modules", "x.so", "--no-p4"][..],
            "modules of BMv2",
        ),
        (&["--no-p4", "--nonsense"], "--nonsense: not a known option"),
        (&[], "no program"),
    ] {
        let out = called(tempfile::tempdir_in(dir.path()).unwrap().path(), flags);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(said.contains(words), "{said}");
        assert!(said.starts_with("error: "), "{said}");
        // As for a wrong command line of any of our programs.
        assert_eq!(out.status.code(), Some(2), "{said}");
    }
    let out = called(tempfile::tempdir_in(dir.path()).unwrap().path(), &["-h"]);
    assert!(out.status.success());
    assert!(String::from_utf8_lossy(&out.stdout).contains("--grpc-server-addr"));
}
