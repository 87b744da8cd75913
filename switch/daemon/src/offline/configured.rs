// SPDX-License-Identifier: Apache-2.0
//! A switch in virtual time that a P4Runtime server has set up.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use p4runtime_server::Server;
use tidemark_proto::p4::v1::ForwardingPipelineConfig;
use traffic_manager::Switch;

use crate::data_plane;
use crate::p4runtime::EmbeddedTarget;

/// The switch with the program and what `write` has the server write, at time 0.
///
/// # Errors
/// The server refuses program or P4Info, or `write` ends with an error.
pub(crate) fn switch(
    config: ForwardingPipelineConfig,
    write: impl AsyncFnOnce(&Server) -> Result<()>,
) -> Result<Switch> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("tokio runtime")?;
    // The server that is used live, on a data plane without interfaces.
    let (handle, thread) = data_plane::start(
        Switch::new(),
        BTreeMap::new(),
        None,
        data_plane::DEFAULT_COALESCE_NS,
    )?;
    let result = runtime.block_on(async {
        let target = Arc::new(EmbeddedTarget::new(handle.clone()));
        // No request comes that would have to name it.
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
