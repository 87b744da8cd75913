// SPDX-License-Identifier: Apache-2.0
//! Advice and its predictions.

use super::error::ApiError;
use super::route::{Call, Reply};
use super::to_end::to_its_end;
use super::{App, select};
use axum::http::StatusCode;
use std::sync::Arc;
use tidemark_api::operations::{ApplyAdvice, GetAdvice, GetVerdict};
use tidemark_api::{AdviceApplied, AdviceState, LinkQuery, VerdictState};
use tidemark_picture::{Figure, Format, Layout, about, render, theme};

pub(super) async fn advice(app: App, call: Call<GetAdvice>) -> Result<AdviceState, ApiError> {
    let id = select::one(&app.core, call.query)?;
    let why_not = match app.core.recording() {
        Some(run) => Some(run.refusal()),
        None => app.core.may_apply(id).err().map(|e| e.to_string()),
    };
    let advice = app.core.link(id).and_then(|l| l.advice);
    Ok(AdviceState {
        node: id.node_id,
        port: id.port,
        queue: id.queue,
        targets: app.core.read(|s| s.targets_of(id)),
        limit: app.core.read(|s| s.limit_in_force(id)),
        advice: advice.map(Arc::unwrap_or_clone),
        can_apply: why_not.is_none(),
        why_not,
    })
}

pub(super) async fn verdict(
    app: App,
    call: Call<GetVerdict>,
) -> Result<Reply<VerdictState>, ApiError> {
    let q = call.query;
    let link = LinkQuery {
        node: q.node,
        port: q.port,
        queue: q.queue,
    };
    let id = select::one(&app.core, link)?;
    let status = app.core.link(id);
    let estimate = status.as_ref().and_then(|l| l.estimate.clone());
    let known = status.and_then(|l| l.verdict.zip(l.measured));
    let verdict = known.map(|(v, measured)| Arc::unwrap_or_clone(v).with_curve(&measured));
    let format = match q.format.as_deref() {
        None | Some("json") => {
            return Ok(Reply::Ok(VerdictState {
                node: id.node_id,
                port: id.port,
                queue: id.queue,
                targets: app.core.read(|s| s.targets_of(id)),
                verdict,
            }));
        }
        Some(name) => Format::named(name).map_err(|e| ApiError::bad("format", &e))?,
    };
    let theme =
        theme(q.theme.as_deref().unwrap_or("light")).map_err(|e| ApiError::bad("theme", &e))?;
    let layout = q.width.map_or(Layout::PAPER, |w| Layout::page(w.into()));
    let unix_ms = match app.core.recording() {
        Some(run) => run.started_unix_ms,
        None => app.core.now().unix_ms,
    };
    let about = about(id, estimate.as_deref(), None, unix_ms);
    let figure = verdict
        .and_then(|v| Figure::of(&v, &about))
        .ok_or_else(|| {
            ApiError::new(
                StatusCode::NOT_FOUND,
                format!("link {id}: no verdict yet to draw"),
            )
        })?;
    // Rendering pixels takes a while.
    let drawn = tokio::task::spawn_blocking(move || render(&figure, format, theme, &layout));
    let failed = |e: String| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, e);
    let drawn = drawn.await.map_err(|e| failed(e.to_string()))?;
    let bytes = drawn.map_err(|e| failed(e.to_string()))?;
    Ok(Reply::Media(format.media_type(), bytes))
}

pub(super) async fn apply(app: App, call: Call<ApplyAdvice>) -> Result<AdviceApplied, ApiError> {
    let request = call.body;
    let link = LinkQuery {
        node: request.node,
        port: request.port,
        queue: request.queue,
    };
    let id = select::one(&app.core, link)?;
    let core = app.core;
    let done = to_its_end(async move { core.confirm_advice(id, request.bytes).await }).await?;
    Ok(AdviceApplied {
        node: id.node_id,
        port: id.port,
        queue: id.queue,
        before: done.changed.before,
        limit: done.changed.limit,
        advice: done.changed.advice.map(Arc::unwrap_or_clone),
        dry_run: done.changed.dry_run,
        recorded: done.recorded,
    })
}
