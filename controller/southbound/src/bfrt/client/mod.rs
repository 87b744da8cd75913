// SPDX-License-Identifier: Apache-2.0
//! Client of a BFRT server: subscribes, binds, then reads and writes.

mod refusal;
mod session;

use crate::bfrt::config::{Config, Server};
use crate::bfrt::info::Info;
use crate::driver_kind::SwitchAddress;
use crate::rpc::{ItemError, item_errors};
use crate::{Error, UpdateFailure};
use daemon_kit::credentials::CallerChannel;
use session::Session;
use std::sync::Arc;
use tidemark_proto::bfrt_proto as bf;
use tidemark_proto::bfrt_proto::bf_runtime_client::BfRuntimeClient;
use tidemark_proto::bfrt_proto::update::Type;
use tokio::sync::Mutex;
use tonic::Code;

const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// All pipes; below, both directions and all parsers.
pub(super) const ALL_PIPES: u32 = 0xffff;
const BOTH: u32 = 0xff;

/// A write, with its description for error messages.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Description for error messages.
    pub what: String,
    /// The entry on the wire.
    pub entry: bf::TableEntry,
    /// `Insert` for entries that may exist already: they are then modified. Device tables do not
    /// support insert-or-modify.
    pub kind: Type,
}

/// A client of one server. Connects on use, and again after failures.
pub(super) struct Client {
    server: Server,
    rpc: BfRuntimeClient<CallerChannel>,
    session: Mutex<Option<Session>>,
}

impl Client {
    /// Creates the client and checks the address; no I/O. Needs a tokio runtime.
    pub(super) fn new(mut switch: SwitchAddress, config: Config) -> Result<Self, Error> {
        let device_id = Config::device_id(&switch)?;
        let endpoint = switch
            .endpoint("127.0.0.1:50052")?
            // The errors of every update of a batch come in the trailers.
            .http2_max_header_list_size(16 << 20);
        let rpc = BfRuntimeClient::new(switch.access.channel(endpoint.connect_lazy()))
            .max_decoding_message_size(MAX_MESSAGE_BYTES);
        Ok(Self {
            server: Server {
                switch,
                config,
                device_id,
            },
            rpc,
            session: Mutex::new(None),
        })
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the tables of the bound program and of the device. Subscribes and binds first if
    /// this has not been done or if the stream has ended.
    pub(super) async fn bound(&self) -> Result<Arc<Info>, Error> {
        let mut session = self.session.lock().await;
        if let Some(s) = session.as_ref().filter(|s| s.is_open()) {
            return Ok(s.info());
        }
        *session = None;
        let new = Session::open(&self.server, self.rpc.clone()).await?;
        let info = new.info();
        *session = Some(new);
        Ok(info)
    }

    /// Returns the bytes per cell of this switch.
    pub(super) fn cell_bytes(&self) -> u32 {
        self.server.switch.limit_unit_bytes.max(1)
    }

    fn target(&self, pipe_id: u32) -> Option<bf::TargetDevice> {
        Some(bf::TargetDevice {
            device_id: self.server.device_id,
            pipe_id,
            direction: BOTH,
            prsr_id: BOTH,
        })
    }

    /// Writes items in order, whether or not they exist already. `info` comes from [`Self::bound`].
    ///
    /// # Errors
    /// [`Error::Write`] with every refused item, or the server's error.
    pub(super) async fn write(
        &self,
        info: &Info,
        pipe_id: u32,
        items: &[Item],
    ) -> Result<(), Error> {
        let refused = self.send(pipe_id, items).await?;
        // `$mirror.cfg` returns INVALID_ARGUMENT for an existing entry; if the cause was a value,
        // the modification is refused as well, and the first refusal is reported.
        let (there, mut refused): (Vec<_>, Vec<_>) = refused.into_iter().partition(|(i, e)| {
            let codes = [Code::AlreadyExists as i32, Code::InvalidArgument as i32];
            i.kind == Type::Insert && codes.contains(&e.code)
        });
        let modified = |(i, _): &(&Item, _)| Item {
            kind: Type::Modify,
            ..(*i).clone()
        };
        let again: Vec<Item> = there.iter().map(modified).collect();
        for (_, second) in self.send(pipe_id, &again).await? {
            if let Some((item, first)) = there.get(second.place) {
                let exists = first.code == Code::AlreadyExists as i32;
                refused.push((item, if exists { second } else { first.clone() }));
            }
        }
        if refused.is_empty() {
            return Ok(());
        }
        let failures = refused.into_iter().map(|(item, e)| UpdateFailure {
            update: item.what.clone(),
            code: e.code,
            message: refusal::explained(info, item.entry.table_id, e.code, &e.message),
        });
        Err(Error::Write {
            address: self.server.switch.address.clone(),
            failures: failures.collect(),
        })
    }

    /// Sends one batch; returns the refused items.
    async fn send<'a>(
        &self,
        pipe_id: u32,
        items: &'a [Item],
    ) -> Result<Vec<(&'a Item, ItemError)>, Error> {
        let Some(first) = items.first() else {
            return Ok(Vec::new());
        };
        let updates = items.iter().map(|i| bf::Update {
            r#type: i.kind as i32,
            entity: Some(bf::Entity {
                entity: Some(bf::entity::Entity::TableEntry(i.entry.clone())),
            }),
        });
        let request = bf::WriteRequest {
            target: self.target(pipe_id),
            client_id: self.server.config.client_id,
            updates: updates.collect(),
            p4_name: self.server.config.p4_name.clone(),
            ..Default::default()
        };
        let mut rpc = self.rpc.clone();
        let what = format!("writing {}", first.what);
        let call = async move {
            match rpc.write(request).await {
                // The call may succeed although updates failed.
                Ok(answer) => Ok(in_body(&answer.into_inner().status)),
                Err(status) => item_errors(&status).ok_or(status),
            }
        };
        let errors = self.server.switch.in_time(&what, call).await?.into_iter();
        Ok(errors
            .filter_map(|e| Some((items.get(e.place)?, e)))
            .collect())
    }

    /// Reads one entry, from the device if `from_hw`, else from the daemon's copy; `None` if there
    /// is none. `info` comes from [`Self::bound`].
    pub(super) async fn read(
        &self,
        info: &Info,
        pipe_id: u32,
        what: &str,
        mut entry: bf::TableEntry,
        from_hw: bool,
    ) -> Result<Option<bf::TableEntry>, Error> {
        entry.table_flags = Some(bf::TableFlags { from_hw });
        let table_id = entry.table_id;
        let request = bf::ReadRequest {
            target: self.target(pipe_id),
            client_id: self.server.config.client_id,
            entities: vec![bf::Entity {
                entity: Some(bf::entity::Entity::TableEntry(entry)),
            }],
            p4_name: self.server.config.p4_name.clone(),
        };
        let operation = format!("reading {what}");
        let mut rpc = self.rpc.clone();
        let call = async move {
            let mut stream = rpc.read(request).await?.into_inner();
            let mut found = None;
            while let Some(part) = stream.message().await? {
                if let Some(e) = in_body(&part.status).into_iter().next() {
                    return Ok(Err(e));
                }
                let entry = part.entities.into_iter().find_map(|e| e.entity);
                if let Some(bf::entity::Entity::TableEntry(e)) = entry {
                    found.get_or_insert(e);
                }
            }
            Ok(Ok(found))
        };
        // The status of the call does not tell about the entry: UNKNOWN stands for an absent one.
        let call = async {
            call.await.or_else(|status| {
                let first = item_errors(&status).and_then(|all| all.into_iter().next());
                first.map(Err).ok_or(status)
            })
        };
        let switch = &self.server.switch;
        match switch.in_time(&operation, call).await? {
            Ok(found) => Ok(found),
            Err(e) if e.code == Code::NotFound as i32 => Ok(None),
            Err(e) => {
                let words = refusal::explained(info, table_id, e.code, &e.message);
                Err(switch.error(&operation, Code::from_i32(e.code), &words))
            }
        }
    }
}

/// Returns the errors in the body of an answer.
fn in_body(status: &[bf::Error]) -> Vec<ItemError> {
    let failed = status
        .iter()
        .enumerate()
        .filter(|(_, e)| e.canonical_code != 0);
    failed
        .map(|(place, e)| ItemError {
            place,
            code: e.canonical_code,
            message: e.message.clone(),
        })
        .collect()
}
