// SPDX-License-Identifier: Apache-2.0
//! Findings for `doctor`: from the controller's status, and from a switch before its first run.

use super::app::App;
use super::convert;
use super::error::ApiError;
use super::route::Call;
use crate::findings;
use axum::http::StatusCode;
use std::time::Duration;
use tidemark_api::operations::{GetFindings, GetInspection};
use tidemark_api::{Findings, HardwareDrops, Inspection};
use tidemark_southbound::Expected;

/// Time limit of an inspection; a slower switch counts as not answering.
const WITHIN: Duration = Duration::from_secs(12);

pub(super) async fn findings(app: App, _: Call<GetFindings>) -> Result<Findings, ApiError> {
    let ids = app.core.known_links().into_iter();
    let links: Vec<_> = ids.map(|id| convert::link(&app.core, id, false)).collect();
    let findings = findings::findings(&convert::status(&app.core), &links);
    Ok(Findings { findings })
}

pub(super) async fn inspection(
    app: App,
    call: Call<GetInspection>,
) -> Result<Inspection, ApiError> {
    let node = call.path.node;
    let Some(switch) = app.core.switches.get(&node) else {
        return Err(ApiError::not_found(format!(
            "node {node} has no switch in the configuration"
        )));
    };
    let links = app.core.known_links().into_iter();
    let capacities_bps: Vec<(u32, u64)> = links
        .filter(|l| l.node_id == node)
        .map(|l| (l.port, convert::summary(&app.core, l).capacity_bps))
        .collect();
    let expected = Expected {
        plan: switch.config.provision.as_ref(),
        capacities_bps: &capacities_bps,
    };
    let looked = async {
        // One inspection at a time: a switch has better things to do.
        let _turn = switch.inspecting.lock().await;
        switch.driver.inspect(&expected).await
    };
    let found = tokio::time::timeout(WITHIN, looked).await.map_err(|_| {
        let text = format!(
            "node {node}: not all checks were answered in {} s",
            WITHIN.as_secs()
        );
        ApiError::new(StatusCode::GATEWAY_TIMEOUT, text)
    })?;
    let drops = found.hardware_drops_pkts.into_iter();
    Ok(Inspection {
        node,
        findings: found.findings,
        hardware_drops: drops
            .map(|(port, drops)| HardwareDrops { port, drops })
            .collect(),
    })
}
