// SPDX-License-Identifier: Apache-2.0
//! The operator's targets.

use super::error::ApiError;
use super::route::Call;
use super::{App, select};
use tidemark_api::operations::{GetTargets, SetTargets};
use tidemark_api::{AllTargets, LinkQuery, LinkTargets, TargetsRequest, TargetsSet};
use tidemark_estimators::LinkId;
use tidemark_rules::Targets;

pub(super) async fn targets(app: App, _: Call<GetTargets>) -> Result<AllTargets, ApiError> {
    let of_link = |(id, targets): (&LinkId, &Targets)| LinkTargets {
        node: id.node_id,
        port: id.port,
        queue: id.queue,
        targets: targets.clone(),
    };
    Ok(app.core.read(|s| AllTargets {
        default: s.default_targets.clone(),
        links: s.link_targets.iter().map(of_link).collect(),
    }))
}

/// Returns `old` with the fields that the request sets.
fn changed(request: &TargetsRequest, old: Targets) -> Targets {
    Targets {
        utilisation: request.utilisation.unwrap_or(old.utilisation),
        loss_rate: request.loss_rate.unwrap_or(old.loss_rate),
        delay_ms: request.delay_ms.unwrap_or(old.delay_ms),
        priority: request.priority.clone().unwrap_or(old.priority),
        confidence: request.confidence.unwrap_or(old.confidence),
        margin: request.margin.unwrap_or(old.margin),
    }
}

pub(super) async fn set_targets(app: App, call: Call<SetTargets>) -> Result<TargetsSet, ApiError> {
    let request = call.body;
    let link = LinkQuery {
        node: request.node,
        port: request.port,
        queue: request.queue,
    };
    let id = match link == LinkQuery::default() {
        true => None,
        false => Some(select::one(&app.core, link)?),
    };
    let old = app.core.read(|s| match id {
        Some(id) => s.targets_of(id),
        None => s.default_targets.clone(),
    });
    let new = changed(&request, old);
    new.check("").map_err(|text| {
        let field = text.split(':').next().unwrap_or_default();
        ApiError::bad(field, &text)
    })?;
    app.core.set_targets(id, new.clone()).await;
    Ok(TargetsSet { targets: new })
}
