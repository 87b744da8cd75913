// SPDX-License-Identifier: Apache-2.0
//! A BFRT server in memory. It refuses what a switch would, and notes whatever
//! is not as it should be: unknown ids, wrong widths, missing bindings.

mod device;
mod tables;

use daemon_kit::credentials::ServerCredentials;
use device::port;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use tables::{device, program, tables};
use tidemark_proto::bfrt_proto as bf;
use tidemark_proto::bfrt_proto::bf_runtime_server::{BfRuntime, BfRuntimeServer};
use tidemark_southbound::bfrt::{Bfrt, Config, Queue};
use tidemark_southbound::{Error, SwitchAddress};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status, Streaming};

pub(crate) const P4_NAME: &str = "tidemark";

/// What the server does wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    #[default]
    None,
    /// Refuses updates in the body of an answer that is good.
    RefuseInBody,
    /// Says yes and changes nothing.
    Lie,
    ReadError,
}

#[derive(Default)]
struct State {
    /// By table and key; `None` as key is the default entry.
    entries: BTreeMap<(u32, Option<Vec<u64>>), bf::TableData>,
    problems: Vec<String>,
    subscribed: Option<u32>,
    bound: bool,
    binds: usize,
    last_pipe: u32,
    fault: Fault,
}

/// A destination of reports, which leave by `port`.
pub(crate) fn reports_to(port: u32) -> tidemark_southbound::ReportDestination {
    tidemark_southbound::ReportDestination {
        port,
        node_id: 10,
        src_mac: "02:00:00:00:00:fe".into(),
        dst_mac: "02:00:00:00:00:ff".into(),
        src_ip: [10, 0, 6, 1].into(),
        dst_ip: [10, 0, 6, 2].into(),
        udp_port: 32766,
        source_port_bits: 2,
    }
}

/// The server; dropping it stops it.
pub(crate) struct Server {
    pub address: String,
    state: Arc<Mutex<State>>,
    /// Of its own, so that ending it ends its connections as well.
    runtime: Option<Runtime>,
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(r) = self.runtime.take() {
            r.shutdown_background();
        }
    }
}

fn table(id: u32) -> Option<Json> {
    tables().into_iter().find(|t| t["id"] == id)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, &b| n << 8 | u64::from(b))
}

fn width(f: &Json) -> u64 {
    f["type"]["width"].as_u64().unwrap_or(32)
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_at("127.0.0.1:0").await
    }

    pub(crate) async fn start_at(address: &str) -> Self {
        Self::start_with(address, ServerCredentials::open("test")).await
    }

    /// For callers with these credentials.
    pub(crate) async fn start_with(address: &str, credentials: ServerCredentials) -> Self {
        let address = address.trim_start_matches("http://");
        let mut bound = TcpListener::bind(address).await;
        for _ in 0..100 {
            if bound.is_ok() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            bound = TcpListener::bind(address).await;
        }
        let listener = bound.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(Mutex::new(State::default()));
        {
            let mut s = state.lock().unwrap();
            s.entries
                .insert((202, Some(vec![132])), port("BF_SPEED_25G", true));
        }
        let service = Service(Arc::clone(&state));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        // A listener belongs to the runtime that made it.
        let listener = listener.into_std().unwrap();
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            credentials
                .server()
                .unwrap()
                .add_service(BfRuntimeServer::new(service))
                .serve_with_incoming(TcpListenerStream::new(listener))
                .await
                .unwrap();
        });
        let server = Self {
            address,
            state,
            runtime: Some(runtime),
        };
        server.put(
            "tf1.tm.queue.buffer",
            &[2, 8],
            "shared_pool(100, EG_APP_POOL_0, 1000, 80%, true)",
        );
        server
    }

    pub(crate) fn stop(self) {
        drop(self);
    }

    pub(crate) fn fault(&self, fault: Fault) {
        self.state.lock().unwrap().fault = fault;
    }

    pub(crate) fn problems(&self) -> Vec<String> {
        self.state.lock().unwrap().problems.clone()
    }

    pub(crate) fn binds(&self) -> usize {
        self.state.lock().unwrap().binds
    }

    pub(crate) fn last_pipe(&self) -> u32 {
        self.state.lock().unwrap().last_pipe
    }

    fn id(name: &str) -> u32 {
        let t = tables().into_iter().find(|t| t["name"] == name).unwrap();
        t["id"].as_u64().unwrap() as u32
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        let id = Self::id(name);
        let state = self.state.lock().unwrap();
        state.entries.keys().filter(|k| k.0 == id).count()
    }

    pub(crate) fn entry(&self, name: &str, key: &[u64]) -> Option<String> {
        self.shown(name, Some(key.to_vec()))
    }

    pub(crate) fn default_of(&self, name: &str) -> Option<String> {
        self.shown(name, None)
    }

    /// Like `action(argument, argument)`.
    fn shown(&self, name: &str, key: Option<Vec<u64>>) -> Option<String> {
        use bf::data_field::Value;
        let id = Self::id(name);
        let state = self.state.lock().unwrap();
        let data = state.entries.get(&(id, key))?;
        let t = table(id).unwrap();
        let actions = t["action_specs"].as_array().cloned().unwrap_or_default();
        let action = actions.iter().find(|a| a["id"] == data.action_id);
        let args: Vec<String> = data
            .fields
            .iter()
            .map(|f| match f.value.as_ref().unwrap() {
                Value::Stream(b) => number(b).to_string(),
                Value::StrVal(s) => s.clone(),
                Value::BoolVal(b) => b.to_string(),
                Value::FloatVal(f) => f.to_string(),
                Value::IntArrVal(a) => format!("{:?}", a.val),
                Value::BoolArrVal(a) => format!("{:?}", a.val),
            })
            .collect();
        Some(format!(
            "{}({})",
            action.map_or("data", |a| a["name"].as_str().unwrap()),
            args.join(", ")
        ))
    }

    /// Puts an entry there as the device would have it.
    pub(crate) fn put(&self, name: &str, key: &[u64], text: &str) {
        use bf::data_field::Value;
        let t = table(Self::id(name)).unwrap();
        let (action, args) = text.trim_end_matches(')').split_once('(').unwrap();
        let spec = t["action_specs"]
            .as_array()
            .unwrap()
            .iter()
            .find(|a| a["name"] == action)
            .unwrap()
            .clone();
        let fields = spec["data"]
            .as_array()
            .unwrap()
            .iter()
            .zip(args.split(", "));
        let fields = fields.map(|(f, arg)| bf::DataField {
            field_id: f["id"].as_u64().unwrap() as u32,
            value: Some(match f["type"]["type"].as_str().unwrap() {
                "string" => Value::StrVal(arg.into()),
                "bool" => Value::BoolVal(arg == "true"),
                _ => Value::Stream(arg.parse::<u32>().unwrap().to_be_bytes().to_vec()),
            }),
        });
        let data = bf::TableData {
            action_id: spec["id"].as_u64().unwrap() as u32,
            fields: fields.collect(),
        };
        let id = Self::id(name);
        let mut state = self.state.lock().unwrap();
        state.entries.insert((id, Some(key.to_vec())), data);
    }
}

struct Service(Arc<Mutex<State>>);

impl State {
    fn check(&mut self, ok: bool, what: impl Fn() -> String) {
        if !ok {
            self.problems.push(what());
        }
    }

    fn check_target(&mut self, target: Option<&bf::TargetDevice>, client: u32, p4_name: &str) {
        let t = target.cloned().unwrap_or_default();
        self.check(target.is_some(), || "no target".into());
        self.check(t.direction == 0xff && t.prsr_id == 0xff, || {
            format!("target {t:?}")
        });
        self.check(t.pipe_id == 0xffff || t.pipe_id < 4, || {
            format!("pipe {}", t.pipe_id)
        });
        self.last_pipe = t.pipe_id;
        let subscribed = self.subscribed;
        self.check(subscribed == Some(client), || {
            format!("client {client}, subscribed {subscribed:?}")
        });
        self.check(p4_name == P4_NAME, || format!("p4_name {p4_name:?}"));
    }

    /// Ids, widths and types against the table; the key as numbers.
    fn check_entry(&mut self, e: &bf::TableEntry) -> Option<Vec<u64>> {
        let Some(t) = table(e.table_id) else {
            self.problems.push(format!("table {}", e.table_id));
            return None;
        };
        let name = t["name"].as_str().unwrap().to_string();
        let mut numbers = Vec::new();
        let keys = t["key"].as_array().cloned().unwrap_or_default();
        let given = e.key.clone().unwrap_or_default().fields;
        for f in &given {
            let Some(k) = keys.iter().find(|k| k["id"] == f.field_id) else {
                self.problems.push(format!("{name}: key {}", f.field_id));
                continue;
            };
            let length = width(k).div_ceil(8) as usize;
            let (kind, value) = match f.match_type.clone() {
                Some(bf::key_field::MatchType::Exact(x)) => ("Exact", x.value),
                Some(bf::key_field::MatchType::Ternary(x)) => {
                    self.check(x.mask.len() == length, || format!("{name}: mask {x:?}"));
                    ("Ternary", x.value)
                }
                None => ("", Vec::new()),
            };
            self.check(k["match_type"] == kind, || format!("{name}: {kind} {k}"));
            self.check(value.len() == length, || {
                format!("{name}: {} bytes for {k}", value.len())
            });
            numbers.push(number(&value));
        }
        for k in keys.iter().filter(|k| k["match_type"] == "Exact") {
            let there = given.iter().any(|f| k["id"] == f.field_id);
            self.check(there, || format!("{name}: no {k}"));
        }
        Some(numbers)
    }

    fn check_data(&mut self, e: &bf::TableEntry) {
        use bf::data_field::Value;
        let t = table(e.table_id).unwrap();
        let name = t["name"].as_str().unwrap().to_string();
        let data = e.data.clone().unwrap_or_default();
        let actions = t["action_specs"].as_array().cloned().unwrap_or_default();
        let action = actions.iter().find(|a| a["id"] == data.action_id);
        self.check(action.is_some() || actions.is_empty(), || {
            format!("{name}: action {}", data.action_id)
        });
        let singles = t["data"].as_array().into_iter().flatten();
        let singles = singles.map(|d| d["singleton"].clone());
        let fields: Vec<Json> = match action {
            Some(a) => a["data"].as_array().unwrap().clone(),
            None => singles.collect(),
        };
        self.check(fields.len() == data.fields.len(), || {
            format!("{name}: {} fields of {}", data.fields.len(), fields.len())
        });
        for f in &data.fields {
            let Some(spec) = fields.iter().find(|s| s["id"] == f.field_id) else {
                self.problems.push(format!("{name}: field {}", f.field_id));
                continue;
            };
            let length = width(spec).div_ceil(8) as usize;
            let kind = spec["type"]["type"].as_str().unwrap();
            let repeated = spec["repeated"] == true;
            let right = match f.value.as_ref() {
                Some(Value::IntArrVal(_)) => repeated && kind == "uint32",
                Some(Value::BoolArrVal(_)) => repeated && kind == "bool",
                _ if repeated => false,
                Some(Value::Stream(b)) => matches!(kind, "bytes" | "uint32") && b.len() == length,
                Some(Value::StrVal(_)) => kind == "string",
                Some(Value::BoolVal(_)) => kind == "bool",
                _ => false,
            };
            self.check(right, || format!("{name}: {f:?} for {spec}"));
        }
    }
}

fn refused(code: i32, message: &str) -> bf::Error {
    bf::Error {
        canonical_code: code,
        message: message.into(),
        space: "bfrt".into(),
        code: 1,
    }
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl BfRuntime for Service {
    async fn write(
        &self,
        r: Request<bf::WriteRequest>,
    ) -> Result<Response<bf::WriteResponse>, Status> {
        let r = r.into_inner();
        let mut s = self.0.lock().unwrap();
        if !s.bound {
            return Err(Status::failed_precondition("client is not bound"));
        }
        s.check_target(r.target.as_ref(), r.client_id, &r.p4_name);
        let mut status = Vec::new();
        for u in r.updates {
            let kind = u.r#type();
            let Some(bf::entity::Entity::TableEntry(e)) = u.entity.and_then(|e| e.entity) else {
                s.problems.push("an update without entry".into());
                continue;
            };
            let key = s.check_entry(&e);
            s.check_data(&e);
            let fixed = e.table_id == 200;
            s.check(
                (kind == bf::update::Type::Modify) == (fixed || e.is_default_entry),
                || format!("{kind:?} of table {}", e.table_id),
            );
            match s.fault {
                Fault::RefuseInBody => {
                    status.push(refused(8, "no space"));
                    continue;
                }
                Fault::Lie => continue,
                _ => {}
            }
            let key = key.filter(|_| !e.is_default_entry);
            let place = (e.table_id, key);
            if fixed && !s.entries.contains_key(&place) {
                status.push(refused(5, "no such queue"));
                continue;
            }
            let named = match e
                .data
                .as_ref()
                .and_then(|d| d.fields.first()?.value.as_ref())
            {
                Some(bf::data_field::Value::IntArrVal(a)) if e.table_id == 204 => a.val.clone(),
                _ => Vec::new(),
            };
            let missing = |n: &u32| !s.entries.contains_key(&(203, Some(vec![u64::from(*n)])));
            if named.iter().any(missing) {
                status.push(refused(3, "no such node"));
                continue;
            }
            s.entries.insert(place, e.data.unwrap_or_default());
        }
        Ok(Response::new(bf::WriteResponse { status }))
    }

    type ReadStream = Answers<bf::ReadResponse>;

    async fn read(
        &self,
        r: Request<bf::ReadRequest>,
    ) -> Result<Response<Self::ReadStream>, Status> {
        let r = r.into_inner();
        let mut s = self.0.lock().unwrap();
        if !s.bound {
            return Err(Status::failed_precondition("client is not bound"));
        }
        s.check_target(r.target.as_ref(), r.client_id, &r.p4_name);
        let mut answer = bf::ReadResponse::default();
        for e in r.entities {
            let Some(bf::entity::Entity::TableEntry(mut e)) = e.entity else {
                s.problems.push("a read without entry".into());
                continue;
            };
            let key = s.check_entry(&e);
            if s.fault == Fault::ReadError {
                answer.status.push(refused(13, "hardware does not answer"));
                continue;
            }
            match s.entries.get(&(e.table_id, key)) {
                Some(data) => {
                    e.data = Some(data.clone());
                    answer.entities.push(bf::Entity {
                        entity: Some(bf::entity::Entity::TableEntry(e)),
                    });
                }
                None => return Err(Status::not_found("no such entry")),
            }
        }
        Ok(Response::new(Box::pin(tokio_stream::iter([Ok(answer)]))))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        r: Request<bf::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<bf::SetForwardingPipelineConfigResponse>, Status> {
        use bf::set_forwarding_pipeline_config_request::Action;
        let r = r.into_inner();
        let mut s = self.0.lock().unwrap();
        if s.subscribed != Some(r.client_id) {
            return Err(Status::failed_precondition("client has not subscribed"));
        }
        s.check(r.action() == Action::Bind, || format!("{:?}", r.action()));
        let name = r.config.first().map_or("", |c| c.p4_name.as_str());
        if name != P4_NAME {
            return Err(Status::not_found(format!("no program {name}")));
        }
        s.bound = true;
        s.binds += 1;
        Ok(Response::new(Default::default()))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        _: Request<bf::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<bf::GetForwardingPipelineConfigResponse>, Status> {
        Ok(Response::new(bf::GetForwardingPipelineConfigResponse {
            config: vec![bf::ForwardingPipelineConfig {
                p4_name: P4_NAME.into(),
                bfruntime_info: program().to_string().into_bytes(),
            }],
            non_p4_config: Some(bf::NonP4Config {
                bfruntime_info: device().to_string().into_bytes(),
            }),
        }))
    }

    type StreamChannelStream = Answers<bf::StreamMessageResponse>;

    async fn stream_channel(
        &self,
        r: Request<Streaming<bf::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let mut requests = r.into_inner();
        let (tx, rx) = tokio::sync::mpsc::channel(4);
        let state = Arc::clone(&self.0);
        tokio::spawn(async move {
            while let Some(Ok(m)) = requests.next().await {
                let Some(bf::stream_message_request::Update::Subscribe(mut s)) = m.update else {
                    continue;
                };
                state.lock().unwrap().subscribed = Some(m.client_id);
                s.status = Some(Default::default());
                let update = bf::stream_message_response::Update::Subscribe(s);
                let answer = bf::StreamMessageResponse {
                    update: Some(update),
                };
                let _ = tx.send(Ok(answer)).await;
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(rx))))
    }
}

/// A driver of the device 0, which this server has.
pub(crate) fn driver<K: ToString>(
    address: &str,
    p4_name: &str,
    queues: BTreeMap<K, Queue>,
) -> Result<Bfrt, Error> {
    let switch = SwitchAddress {
        address: address.into(),
        device_id: 0,
        limit_unit_bytes: 80,
        ..SwitchAddress::default()
    };
    let queues = queues.into_iter().map(|(port, q)| (port.to_string(), q));
    let config = Config {
        p4_name: p4_name.into(),
        client_id: 7,
        queues: queues.collect(),
    };
    Bfrt::new(switch, config)
}
