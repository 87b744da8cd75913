// SPDX-License-Identifier: Apache-2.0
//! A BFRT server in memory. It answers and refuses like Tofino's real driver: failures are reported
//! in the trailers, and device tables do not support insert-or-modify. It records every mistake:
//! unknown ids, wrong widths, missing bindings.

mod device;
mod tables;

use daemon_kit::credentials::ServerCredentials;
use prost::Message as _;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
pub(crate) use tables::Tables;
use tables::{action, fields, id, text};
use tidemark_proto::bfrt_proto as bf;
use tidemark_proto::bfrt_proto::bf_runtime_server::{BfRuntime, BfRuntimeServer};
use tidemark_proto::google::rpc;
use tidemark_southbound::bfrt::{Bfrt, Config, Queue};
use tidemark_southbound::{Error, SwitchAddress};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Code, Request, Response, Status, Streaming};

pub(crate) const P4_NAME: &str = "tidemark";

/// A fault that the server simulates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    #[default]
    None,
    /// Refuses updates in the body of a successful answer.
    RefuseInBody,
    /// Refuses updates with a code and a message.
    Refuse(i32, &'static str),
    /// Reports success and changes nothing.
    Lie,
    ReadError,
}

type Place = (u32, Option<Vec<u128>>);

#[derive(Default)]
struct State {
    /// Entries by table and key; the key `None` is the default entry.
    entries: BTreeMap<Place, bf::TableData>,
    problems: Vec<String>,
    subscribed: Option<u32>,
    bound: bool,
    binds: usize,
    last_pipe: u32,
    fault: Fault,
}

/// Returns a destination of reports, which leave through `port`.
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
    pub tables: Arc<Tables>,
    state: Arc<Mutex<State>>,
    /// Its own runtime, so that dropping it also closes its connections.
    runtime: Option<Runtime>,
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(r) = self.runtime.take() {
            r.shutdown_background();
        }
    }
}

/// Converts a key to a number; of a text key, its last 16 bytes.
fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |n, &b| n << 8 | u128::from(b))
}

fn width(f: &Json) -> u64 {
    let named = match text(&f["type"]["type"]) {
        "uint8" => 8,
        "uint16" => 16,
        "uint64" => 64,
        _ => 32,
    };
    f["type"]["width"].as_u64().unwrap_or(named)
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_at("127.0.0.1:0").await
    }

    pub(crate) async fn start_at(address: &str) -> Self {
        Self::start_with(address, ServerCredentials::open("test")).await
    }

    /// Starts a server that requires these credentials from callers.
    pub(crate) async fn start_with(address: &str, credentials: ServerCredentials) -> Self {
        Self::serve(address, credentials, Tables::small()).await
    }

    /// Starts a server with these tables.
    pub(crate) async fn of(tables: Tables) -> Self {
        Self::serve("127.0.0.1:0", ServerCredentials::open("test"), tables).await
    }

    async fn serve(address: &str, credentials: ServerCredentials, tables: Tables) -> Self {
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
        let tables = Arc::new(tables);
        let service = Service(Arc::clone(&state), Arc::clone(&tables));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        // A listener belongs to the runtime that created it.
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
            tables,
            state,
            runtime: Some(runtime),
        };
        server.put_port(132, "BF_SPEED_25G", true);
        server.put_pool("EG_APP_POOL_0", 30_000);
        server.put(
            "tm.queue.buffer",
            &[2, 8],
            "shared_pool(pool_id=EG_APP_POOL_0, pool_max_cells=1000, dynamic_baf=80%, \
             guaranteed_cells=100, tail_drop_enable=true)",
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
}

struct Service(Arc<Mutex<State>>, Arc<Tables>);

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

    /// Checks ids, widths and types against the table; returns the key as numbers.
    fn check_key(&mut self, t: &Json, e: &bf::TableEntry) -> Vec<u128> {
        use bf::key_field::MatchType;
        let name = text(&t["name"]);
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
                Some(MatchType::Exact(x)) => ("Exact", x.value),
                Some(MatchType::Ternary(x)) => {
                    self.check(x.mask.len() == length, || format!("{name}: mask {x:?}"));
                    ("Ternary", x.value)
                }
                None => ("", Vec::new()),
            };
            let of_text = text(&k["type"]["type"]) == "string";
            self.check(k["match_type"] == kind, || format!("{name}: {kind} {k}"));
            self.check(of_text || value.len() == length, || {
                format!("{name}: {} bytes for {k}", value.len())
            });
            numbers.push(number(&value));
        }
        for k in keys.iter().filter(|k| k["match_type"] == "Exact") {
            let there = given.iter().any(|f| k["id"] == f.field_id);
            self.check(there, || format!("{name}: no {k}"));
        }
        numbers
    }

    fn check_data(&mut self, t: &Json, data: &bf::TableData, whole: bool) {
        use bf::data_field::Value;
        let name = text(&t["name"]);
        let actions = t["action_specs"].as_array().map_or(0, Vec::len);
        let known = action(t, data.action_id).is_some();
        self.check(known || actions == 0, || {
            format!("{name}: action {}", data.action_id)
        });
        let known = fields(t, data.action_id);
        for (spec, _) in known.iter().filter(|(_, mandatory)| whole && *mandatory) {
            let there = data.fields.iter().any(|f| f.field_id == id(spec));
            self.check(there, || format!("{name}: no {spec}"));
        }
        for f in &data.fields {
            let Some((spec, _)) = known.iter().find(|(s, _)| id(s) == f.field_id) else {
                self.problems.push(format!("{name}: field {}", f.field_id));
                continue;
            };
            let length = width(spec).div_ceil(8) as usize;
            let kind = text(&spec["type"]["type"]);
            let is_number = matches!(kind, "bytes" | "uint8" | "uint16" | "uint32" | "uint64");
            let repeated = spec["repeated"] == true;
            let choices = &spec["type"]["choices"];
            let right = match f.value.as_ref() {
                Some(Value::IntArrVal(_)) => repeated && is_number,
                Some(Value::BoolArrVal(_)) => repeated && kind == "bool",
                _ if repeated => false,
                Some(Value::Stream(b)) => is_number && b.len() == length,
                Some(Value::StrVal(s)) => {
                    let chosen = choices
                        .as_array()
                        .is_none_or(|all| all.iter().any(|c| c == s));
                    kind == "string" && chosen
                }
                Some(Value::BoolVal(_)) => kind == "bool",
                _ => false,
            };
            self.check(right, || format!("{name}: {f:?} for {spec}"));
        }
    }

    /// Applies one update or refuses it, like the real driver.
    fn update(
        &mut self,
        tables: &Tables,
        kind: bf::update::Type,
        e: bf::TableEntry,
    ) -> Result<(), bf::Error> {
        use bf::update::Type;
        let Some(t) = tables.by_id(e.table_id) else {
            return Err(refused(
                3,
                &format!("Table not found for id {}", e.table_id),
            ));
        };
        let name = text(&t["name"]);
        let data = e.data.clone().unwrap_or_default();
        let key = self.check_key(t, &e);
        self.check_data(t, &data, kind == Type::Insert);
        let say = |code, words: &str| Err(refused(code, &format!("{words} table:{name}")));
        let place = (e.table_id, Some(key).filter(|_| !e.is_default_entry));
        let there = self.entries.contains_key(&place);
        match self.fault {
            Fault::Refuse(code, message) => return Err(refused(code, message)),
            Fault::Lie => return Ok(()),
            _ => {}
        }
        let (fixed, mirror) = (name.contains(".tm."), name == "$mirror.cfg");
        match kind {
            _ if e.is_default_entry => {}
            Type::Insert if fixed => return say(12, "Table Add failed"),
            // Mirror sessions are the exception: code 3 whether they exist or not.
            Type::Insert if there && mirror => return say(3, "Table Add failed"),
            Type::Modify if !there && mirror => return say(3, "Table Entry modify failed"),
            Type::Insert if there => return say(6, "Table Add failed"),
            Type::Insert => {}
            Type::Modify if !there => return say(5, "Table Entry modify failed"),
            Type::Modify => {}
            _ => return say(12, "Table AddOrMod failed"),
        }
        let named = data.fields.first().and_then(|f| f.value.as_ref());
        if let (Some(bf::data_field::Value::IntArrVal(a)), "$pre.mgid") = (named, name) {
            let node = id(tables.named("$pre.node"));
            let absent = |n: &u32| !self.entries.contains_key(&(node, Some(vec![(*n).into()])));
            if a.val.iter().any(absent) {
                return say(5, "Table Add failed");
            }
        }
        // Omitted fields keep their values.
        let old = self.entries.remove(&place).unwrap_or_default();
        let mut new = data;
        let kept = old.fields.into_iter();
        let given: Vec<u32> = new.fields.iter().map(|f| f.field_id).collect();
        let of_action = fields(t, new.action_id);
        let is_kept = |f: &bf::DataField| {
            fixed
                && !given.contains(&f.field_id)
                && of_action.iter().any(|(s, _)| id(s) == f.field_id)
        };
        new.fields.extend(kept.filter(is_kept));
        self.entries.insert(place, new);
        Ok(())
    }

    /// Reads one entry, like the real driver.
    fn found(&mut self, tables: &Tables, e: &bf::TableEntry) -> Result<bf::TableData, bf::Error> {
        let Some(t) = tables.by_id(e.table_id) else {
            return Err(refused(
                3,
                &format!("Table not found for id {}", e.table_id),
            ));
        };
        let key = self.check_key(t, e);
        if self.fault == Fault::ReadError {
            return Err(refused(13, "ERROR in getting value for table, field id 3"));
        }
        let name = text(&t["name"]);
        let data = self.entries.get(&(e.table_id, Some(key))).cloned();
        let absent = || refused(5, &format!("Entry not found in table:{name}"));
        let mut data = data.ok_or_else(absent)?;
        // A queue that takes nothing from a pool is shown without one.
        let max = tables.named("tm.queue.buffer");
        if t == max && of_no_pool(t, &data) {
            let actions = t["action_specs"].as_array().unwrap();
            data.action_id = id(actions.iter().find(|a| a["name"] == "buffer_only").unwrap());
            let own = fields(t, data.action_id);
            data.fields
                .retain(|f| own.iter().any(|(s, _)| id(s) == f.field_id));
        }
        Ok(data)
    }
}

fn of_no_pool(t: &Json, data: &bf::TableData) -> bool {
    let known = fields(t, data.action_id);
    let of = |f: &&bf::DataField| {
        known
            .iter()
            .any(|(s, _)| s["name"] == "pool_max_cells" && id(s) == f.field_id)
    };
    let max = data.fields.iter().find(of).and_then(|f| f.value.as_ref());
    matches!(max, Some(bf::data_field::Value::Stream(b)) if number(b) == 0)
}

fn refused(code: i32, message: &str) -> bf::Error {
    bf::Error {
        canonical_code: code,
        message: message.into(),
        ..Default::default()
    }
}

/// Returns the status of a failed call: the status itself says nothing, the trailers have one error
/// per item. Like the real server, it omits the items after the last failure.
fn in_trailers(words: &str, results: &[Result<(), bf::Error>]) -> Result<(), Status> {
    let Some(last) = results.iter().rposition(Result::is_err) else {
        return Ok(());
    };
    let details = results[..=last].iter().map(|r| prost_types::Any {
        type_url: "type.googleapis.com/bfrt_proto.Error".into(),
        value: r.clone().err().unwrap_or_default().encode_to_vec(),
    });
    let inner = rpc::Status {
        code: Code::Unknown as i32,
        message: words.into(),
        details: details.collect(),
    };
    let details = inner.encode_to_vec().into();
    Err(Status::with_details(Code::Unknown, words, details))
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
        let mut results = Vec::new();
        for u in r.updates {
            let kind = u.r#type();
            match u.entity.and_then(|e| e.entity) {
                Some(bf::entity::Entity::TableEntry(e)) => {
                    results.push(s.update(&self.1, kind, e));
                }
                _ => s.problems.push("an update without entry".into()),
            }
        }
        if s.fault == Fault::RefuseInBody {
            let status = results.iter().map(|_| refused(8, "no space")).collect();
            return Ok(Response::new(bf::WriteResponse { status }));
        }
        in_trailers("Write Error Status", &results)?;
        Ok(Response::new(bf::WriteResponse::default()))
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
        let mut results = Vec::new();
        for e in r.entities {
            let Some(bf::entity::Entity::TableEntry(mut e)) = e.entity else {
                s.problems.push("a read without entry".into());
                continue;
            };
            results.push(s.found(&self.1, &e).map(|data| {
                e.data = Some(data);
                answer.entities.push(bf::Entity {
                    entity: Some(bf::entity::Entity::TableEntry(e)),
                });
            }));
        }
        in_trailers("Read Error Status", &results)?;
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
                bfruntime_info: self.1.program.to_string().into_bytes(),
            }],
            non_p4_config: Some(bf::NonP4Config {
                bfruntime_info: self.1.device.to_string().into_bytes(),
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

/// Creates a driver for device 0, which this server has.
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
