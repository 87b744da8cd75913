// SPDX-License-Identifier: Apache-2.0
//! Links: their state, and the settings of their ports.

use super::app::App;
use super::error::ApiError;
use super::route::Call;
use super::to_end::to_its_end;
use super::{convert, page, select};
use tidemark_api::operations::{GetLink, GetLinks, SetLimit, SetReports};
use tidemark_api::{LimitAction, LimitRequest, LimitSet, Link, Links, LinksQuery, ReportsSet};
use tidemark_estimators::LinkId;
use tidemark_southbound::Limit;

/// Maximum number of characters of a reason: the last thousand records stay in memory.
const MAX_REASON: usize = 1000;
const MAX_LINKS: usize = 1000;

pub(super) async fn links(app: App, call: Call<GetLinks>) -> Result<Links, ApiError> {
    let LinksQuery { offset, max_links } = call.query;
    let most = page::asked("max_links", max_links, MAX_LINKS, MAX_LINKS)?;
    let ids = app.core.known_links();
    let page = page::of(ids.len(), offset, most);
    let ids = ids.get(page.range).unwrap_or_default().iter();
    Ok(Links {
        links: ids.map(|&id| convert::link(&app.core, id, false)).collect(),
        next_offset: page.next_offset,
    })
}

pub(super) async fn link(app: App, call: Call<GetLink>) -> Result<Link, ApiError> {
    let id = select::known(&app.core, call.path)?;
    Ok(convert::link(&app.core, id, true))
}

pub(super) async fn set_limit(app: App, call: Call<SetLimit>) -> Result<LimitSet, ApiError> {
    let limit = wanted(&call.body)?;
    // A link of a configured switch need not have reported.
    let id = if app.core.switches.contains_key(&call.path.node) {
        LinkId::new(call.path.node, call.path.port, call.path.queue)
    } else {
        select::known(&app.core, call.path)?
    };
    let reason = call.body.reason;
    let reason = reason.unwrap_or_else(|| "set by an operator".into());
    let characters = reason.chars().count();
    if characters > MAX_REASON {
        let message = format!("has {characters} characters; at most {MAX_REASON}");
        return Err(ApiError::bad("reason", message));
    }
    let core = app.core;
    let done = to_its_end(async move { core.set_limit(id, limit, reason).await }).await?;
    Ok(LimitSet {
        node: id.node_id,
        port: id.port,
        queue: id.queue,
        before: done.changed.before,
        limit: done.changed.limit,
        dry_run: done.changed.dry_run,
        recorded: done.recorded,
    })
}

fn wanted(request: &LimitRequest) -> Result<Limit, ApiError> {
    let action = request.action.unwrap_or(LimitAction::DropTail);
    let limit = match (action, request.threshold_bytes, request.bytes) {
        (LimitAction::DropTail, None, Some(limit_bytes)) => Limit::DropTail { limit_bytes },
        (LimitAction::DropTail, None, None) => {
            return Err(ApiError::bad("bytes", "missing field `bytes`"));
        }
        (LimitAction::MarkCe, Some(threshold_bytes), limit_bytes) => Limit::MarkCe {
            threshold_bytes,
            limit_bytes,
        },
        (LimitAction::MarkCe, None, _) => {
            return Err(ApiError::bad(
                "threshold_bytes",
                "missing field `threshold_bytes`: action \"mark_ce\" marks from it on, and `bytes` is the limit above it",
            ));
        }
        (LimitAction::Unlimited, None, None) => Limit::Unlimited,
        (LimitAction::Unlimited, _, Some(_)) => {
            return Err(ApiError::bad(
                "bytes",
                "action \"unlimited\" takes no bytes",
            ));
        }
        (_, Some(_), _) => {
            return Err(ApiError::bad(
                "threshold_bytes",
                "only action \"mark_ce\" takes a threshold",
            ));
        }
    };
    limit.check().map_err(|m| ApiError::bad("bytes", m))?;
    Ok(limit)
}

pub(super) async fn set_reports(app: App, call: Call<SetReports>) -> Result<ReportsSet, ApiError> {
    let (node, port, on) = (call.path.node, call.path.port, call.body.on);
    let written = app.core.report_port(node, port, on).await?;
    Ok(ReportsSet {
        node,
        port,
        on,
        dry_run: !written,
    })
}
