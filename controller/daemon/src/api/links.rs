// SPDX-License-Identifier: Apache-2.0
//! Links: their state, and what is set at their ports.

use super::app::App;
use super::error::ApiError;
use super::route::Call;
use super::{convert, last_update, select};
use tidemark_api::operations::{GetLink, GetLinks, SetLimit, SetReports};
use tidemark_api::{LimitAction, LimitRequest, LimitSet, Link, Links, ReportsSet};
use tidemark_estimators::LinkId;
use tidemark_southbound::Limit;

pub(super) async fn links(app: App, _: Call<GetLinks>) -> Result<Links, ApiError> {
    Ok(last_update::links(&app.core))
}

pub(super) async fn link(app: App, call: Call<GetLink>) -> Result<Link, ApiError> {
    let id = select::known(&app.core, call.path)?;
    Ok(convert::link(&app.core, id, true))
}

pub(super) async fn set_limit(app: App, call: Call<SetLimit>) -> Result<LimitSet, ApiError> {
    let limit = wanted(&call.body)?;
    // A link whose switch is configured need not have reported.
    let id = if app.core.switches.contains_key(&call.path.node) {
        LinkId {
            node_id: call.path.node,
            port: call.path.port,
        }
    } else {
        select::known(&app.core, call.path)?
    };
    let reason = call.body.reason;
    let reason = reason.unwrap_or_else(|| "set by an operator".into());
    let done = app.core.set_limit(id, limit, reason).await?;
    Ok(LimitSet {
        node: id.node_id,
        port: id.port,
        before: done.before,
        limit: done.limit,
    })
}

fn wanted(request: &LimitRequest) -> Result<Limit, ApiError> {
    match (
        request.action.unwrap_or(LimitAction::DropTail),
        request.bytes,
    ) {
        (LimitAction::DropTail, Some(limit_bytes)) => Ok(Limit::DropTail { limit_bytes }),
        (LimitAction::MarkCe, Some(limit_bytes)) => Ok(Limit::MarkCe { limit_bytes }),
        (LimitAction::Unlimited, None) => Ok(Limit::Unlimited),
        (LimitAction::Unlimited, Some(_)) => Err(ApiError::bad(
            "bytes",
            "action \"unlimited\" takes no bytes",
        )),
        (_, None) => Err(ApiError::bad("bytes", "missing field `bytes`")),
    }
}

pub(super) async fn set_reports(app: App, call: Call<SetReports>) -> Result<ReportsSet, ApiError> {
    let (node, port, on) = (call.path.node, call.path.port, call.body.on);
    app.core.report_port(node, port, on).await?;
    Ok(ReportsSet { node, port, on })
}
