// SPDX-License-Identifier: Apache-2.0
//! A P4Runtime server on loopback whose switch accepts everything.

use bytes::Bytes;
use daemon_kit::credentials::ServerCredentials;
use p4runtime_server::Server;
use p4runtime_server::target::{
    ActionCall, CloneSession, DigestSample, EntryAction, EntryId, Replica, TableEntry, Target,
    TargetError, TargetErrorKind,
};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::runtime::Runtime;
use tokio::sync::broadcast;

#[derive(Default)]
pub(crate) struct Seen {
    pub loads: usize,
    pub removed: Vec<String>,
    pub groups: Vec<(u32, Vec<Replica>)>,
    pub sessions: Vec<(u32, CloneSession)>,
    pub defaults: Vec<(String, Option<ActionCall>)>,
}

pub(crate) struct Switch {
    pub seen: Mutex<Seen>,
    pub refuse: AtomicBool,
    packets: broadcast::Sender<Bytes>,
    digests: broadcast::Sender<DigestSample>,
}

type Done = Result<(), TargetError>;

impl Switch {
    fn answer(&self) -> Done {
        if self.refuse.load(Ordering::Relaxed) {
            let kind = TargetErrorKind::ResourceExhausted;
            return Err(TargetError::new(kind, "no cell left"));
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl Target for Switch {
    async fn load(&self, _: &[u8]) -> Done {
        self.seen.lock().unwrap().loads += 1;
        Ok(())
    }
    async fn insert_entry(&self, _: &str, _: EntryId, _: &TableEntry) -> Done {
        self.answer()
    }
    async fn modify_entry(&self, _: &str, _: EntryId, _: &EntryAction) -> Done {
        self.answer()
    }
    async fn remove_entry(&self, table: &str, _: EntryId) -> Done {
        self.seen.lock().unwrap().removed.push(table.into());
        self.answer()
    }
    async fn set_default_action(&self, table: &str, action: Option<&ActionCall>) -> Done {
        let mut seen = self.seen.lock().unwrap();
        seen.defaults.push((table.into(), action.cloned()));
        Ok(())
    }
    async fn set_multicast_group(&self, id: u32, replicas: Option<&[Replica]>) -> Done {
        let mut seen = self.seen.lock().unwrap();
        seen.groups.push((id, replicas.unwrap_or(&[]).to_vec()));
        Ok(())
    }
    async fn set_clone_session(&self, id: u32, session: Option<&CloneSession>) -> Done {
        let mut seen = self.seen.lock().unwrap();
        seen.sessions
            .push((id, session.cloned().unwrap_or_default()));
        Ok(())
    }
    fn packet_in(&self) -> broadcast::Receiver<Bytes> {
        self.packets.subscribe()
    }
    fn digests(&self) -> broadcast::Receiver<DigestSample> {
        self.digests.subscribe()
    }
}

pub(crate) struct Running {
    pub switch: Arc<Switch>,
    pub address: SocketAddr,
    // Its own runtime, so that dropping it also closes every connection.
    runtime: Option<Runtime>,
}

/// Starts a server at `address` (port 0: any free port) with its own state.
pub(crate) async fn serve(address: SocketAddr) -> Running {
    serve_with(address, ServerCredentials::open("test")).await
}

/// Like [`serve`], but requires these credentials from callers.
pub(crate) async fn serve_with(address: SocketAddr, credentials: ServerCredentials) -> Running {
    let switch = Arc::new(Switch {
        seen: Mutex::default(),
        refuse: AtomicBool::new(false),
        packets: broadcast::channel(4).0,
        digests: broadcast::channel(4).0,
    });
    let server = Server::new(switch.clone(), 1);
    let mut tries = 0;
    let listener = loop {
        // Connections of an earlier server may still be closing.
        match tokio::net::TcpListener::bind(address).await {
            Ok(l) => break l,
            Err(e) => assert!(tries < 100, "{address}: {e}"),
        }
        tries += 1;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    let address = listener.local_addr().unwrap();
    let listener = listener.into_std().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
        credentials
            .server()
            .unwrap()
            .add_service(server.into_service())
            .serve_with_incoming(incoming)
            .await
            .unwrap();
    });
    Running {
        switch,
        address,
        runtime: Some(runtime),
    }
}

impl Running {
    /// Ends the server and every connection to it.
    pub(crate) fn stop(self) -> SocketAddr {
        self.address
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(r) = self.runtime.take() {
            r.shutdown_background();
        }
    }
}

/// Returns the path of a committed artifact of the v1model program.
pub(crate) fn artifact(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../p4src/build")
        .join(name)
}
