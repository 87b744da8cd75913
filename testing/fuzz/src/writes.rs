// SPDX-License-Identifier: Apache-2.0
//! Fuzzed P4Runtime writes to the server and the switch behind it.

use crate::cases::{Case, cases};
use crate::choices::Choices;
use p4runtime_server::Server;
use prost::Message as _;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_proto::p4::v1::{ForwardingPipelineConfig, WriteRequest};
use tidemark_switch::data_plane;
use tidemark_switch::p4runtime::EmbeddedTarget;
use tokio::runtime::Runtime;
use traffic_manager::Switch;

/// Largest number of damaged writes per input.
const MOST_WRITES: usize = 8;

/// A program to load, and the writes for it.
struct Prepared {
    config: ForwardingPipelineConfig,
    whole: WriteRequest,
    encoded: Vec<u8>,
}

/// The server, which lives as long as the process.
struct Served {
    runtime: Runtime,
    server: Server,
    prepared: Vec<Prepared>,
}

thread_local! {
    static SERVED: Served = serve();
}

fn prepare(case: Case) -> Prepared {
    let whole = tidemark_switch::offline::entries::parse(case.writes.as_bytes()).unwrap();
    Prepared {
        config: ForwardingPipelineConfig {
            p4info: Some(tidemark_proto::p4info::parse(case.info.as_bytes()).unwrap()),
            p4_device_config: case.json,
            cookie: None,
        },
        encoded: whole.encode_to_vec(),
        whole,
    }
}

fn serve() -> Served {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let (handle, _) = data_plane::start(Switch::new(), BTreeMap::new(), None, 0).unwrap();
    let target = Arc::new(EmbeddedTarget::new(handle));
    let entered = runtime.enter();
    let server = Server::new(target, 1);
    drop(entered);
    Served {
        runtime,
        server,
        prepared: cases().into_iter().map(prepare).collect(),
    }
}

/// Writes valid entries, then damaged ones: each is answered with success or an error.
pub fn write(data: &[u8]) {
    SERVED.with(|s| {
        let mut c = Choices::new(data);
        let p = &s.prepared[c.below(s.prepared.len())];
        s.runtime.block_on(async {
            // Loading forgets the previous input's writes.
            s.server.load(p.config.clone()).await.unwrap();
            s.server.write(&p.whole.updates).await.unwrap();
            for _ in 0..MOST_WRITES {
                if c.is_over() {
                    break;
                }
                let mut bytes = p.encoded.clone();
                c.damage(&mut bytes);
                let Ok(mut request) = WriteRequest::decode(bytes.as_slice()) else {
                    continue;
                };
                for u in &mut request.updates {
                    // INSERT, MODIFY, DELETE and none of them; mostly as it was.
                    if let kind @ 0..4 = c.below(12) {
                        u.r#type = kind as i32;
                    }
                }
                let _ = s.server.write(&request.updates).await;
            }
        });
    });
}
