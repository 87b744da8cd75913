// SPDX-License-Identifier: Apache-2.0
//! Sets up a switch in virtual time through a P4Runtime server.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use p4runtime_server::Server;
use tidemark_proto::p4::v1::ForwardingPipelineConfig;
use traffic_manager::Switch;

use crate::data_plane;
use crate::p4runtime::EmbeddedTarget;

/// Returns the switch at time 0 with the program and the state that `write` wrote.
///
/// # Errors
/// The server refuses the program or P4Info, or `write` fails.
pub(crate) fn switch(
    config: ForwardingPipelineConfig,
    write: impl AsyncFnOnce(&Server) -> Result<()>,
) -> Result<Switch> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("tokio runtime")?;
    // The server used live, on a data plane without interfaces.
    let (handle, thread) = data_plane::start(
        Switch::new(),
        BTreeMap::new(),
        None,
        data_plane::DEFAULT_COALESCE_NS,
    )?;
    let result = runtime.block_on(async {
        let target = Arc::new(EmbeddedTarget::new(handle.clone()));
        // No request has to name the device id.
        let server = Server::new(target, 1);
        let loaded = server.load(config).await;
        loaded.map_err(|e| anyhow!("program and P4Info: {e}"))?;
        write(&server).await?;
        handle.call(|p| std::mem::take(&mut p.switch)).await
    });
    handle.stop();
    thread
        .join()
        .map_err(|_| anyhow!("internal error: data-plane thread died"))?;
    let mut switch = result?;
    switch.restart_clock();
    Ok(switch)
}
