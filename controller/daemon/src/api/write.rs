// SPDX-License-Identifier: Apache-2.0
//! Handlers that change something; all of them need the token.

use super::App;
use super::auth::Authorised;
use super::body::Body;
use super::error::ApiError;
use super::select;
use crate::config::{Mode, check_targets};
use crate::core::audit::{Origin, lock};
use crate::core::control;
use crate::core::{phases as core_phases, tick};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tidemark_estimators::LinkId;
use tidemark_rules::{Goal, Targets};
use tidemark_southbound::Limit;

type Answer = Result<Json<Value>, ApiError>;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    DropTail,
    MarkCe,
    Unlimited,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitBody {
    bytes: Option<u64>,
    action: Option<Action>,
    reason: Option<String>,
}

impl LimitBody {
    fn limit(&self) -> Result<Limit, ApiError> {
        match (
            self.action.as_ref().unwrap_or(&Action::DropTail),
            self.bytes,
        ) {
            (Action::DropTail, Some(limit_bytes)) => Ok(Limit::DropTail { limit_bytes }),
            (Action::MarkCe, Some(limit_bytes)) => Ok(Limit::MarkCe { limit_bytes }),
            (Action::Unlimited, None) => Ok(Limit::Unlimited),
            (Action::Unlimited, Some(_)) => Err(ApiError::bad(
                "bytes",
                "action \"unlimited\" takes no bytes",
            )),
            (_, None) => Err(ApiError::bad("bytes", "missing field `bytes`")),
        }
    }
}

/// The link of a path; one whose switch is configured need not have reported.
fn settable(app: &App, node: u32, port: u32) -> Result<LinkId, ApiError> {
    if app.core.switches.contains_key(&node) {
        return Ok(LinkId {
            node_id: node,
            port,
        });
    }
    select::known(&app.core, node, port)
}

pub async fn limit(
    _: Authorised,
    State(app): State<App>,
    Path((node, port)): Path<(u32, u32)>,
    Body(body): Body<LimitBody>,
) -> Answer {
    let limit = body.limit()?;
    let id = settable(&app, node, port)?;
    let reason = body.reason.unwrap_or_else(|| "set by an operator".into());
    let done = control::set_by_operator(&app.core, id, limit, reason).await?;
    Ok(Json(
        json!({"node": node, "port": port, "before": done.before, "limit": done.limit}),
    ))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportsBody {
    on: bool,
}

pub async fn reports(
    _: Authorised,
    State(app): State<App>,
    Path((node, port)): Path<(u32, u32)>,
    Body(body): Body<ReportsBody>,
) -> Answer {
    let Some(switch) = app.core.switches.get(&node) else {
        return Err(control::ControlError::NoSwitch(node).into());
    };
    let done = switch.driver.report_port(port, body.on).await;
    done.map_err(control::ControlError::Switch)?;
    Ok(Json(json!({"node": node, "port": port, "on": body.on})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyBody {
    node: Option<u32>,
    port: Option<u32>,
    bytes: Option<u64>,
}

pub async fn apply(_: Authorised, State(app): State<App>, Body(body): Body<ApplyBody>) -> Answer {
    let id = select::one(&app.core, body.node, body.port)?;
    let done = control::apply_advice(&app.core, id, body.bytes, Origin::Confirmed).await?;
    Ok(Json(json!({
        "node": id.node_id, "port": id.port, "before": done.before, "limit": done.limit,
        "advice": done.advice.as_deref(),
    })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetsBody {
    node: Option<u32>,
    port: Option<u32>,
    utilisation: Option<f64>,
    // Absent: as it was; null: no bound.
    #[serde(default, deserialize_with = "present")]
    loss_rate: Option<Option<f64>>,
    #[serde(default, deserialize_with = "present")]
    delay_ms: Option<Option<f64>>,
    priority: Option<Vec<Goal>>,
}

fn present<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Option<f64>>, D::Error> {
    Option::<f64>::deserialize(d).map(Some)
}

impl TargetsBody {
    fn over(&self, old: Targets) -> Targets {
        Targets {
            utilisation: self.utilisation.unwrap_or(old.utilisation),
            loss_rate: self.loss_rate.unwrap_or(old.loss_rate),
            delay_ms: self.delay_ms.unwrap_or(old.delay_ms),
            priority: self.priority.clone().unwrap_or(old.priority),
        }
    }
}

pub async fn targets(
    _: Authorised,
    State(app): State<App>,
    Body(body): Body<TargetsBody>,
) -> Answer {
    let id = match (body.node, body.port) {
        (None, None) => None,
        (node, port) => Some(select::one(&app.core, node, port)?),
    };
    let old = match id {
        Some(id) => app.core.targets_of(id),
        None => lock(&app.core.targets).0.clone(),
    };
    let new = body.over(old);
    check_targets("", &new).map_err(|e| {
        let text = e.to_string();
        let text = text.trim_start_matches('.');
        let field = text.split(':').next().unwrap_or_default();
        ApiError::bad(field, text)
    })?;
    {
        let mut targets = lock(&app.core.targets);
        match id {
            Some(id) => {
                targets.1.insert(id, new.clone());
            }
            None => targets.0 = new.clone(),
        }
    }
    for (link, state) in lock(&app.core.links).iter_mut() {
        if id.is_none_or(|id| id == *link) {
            // What was held answered other targets.
            state.steady.reset();
            state.forget_rollback();
        }
    }
    app.core.save();
    // The advice of the next answer follows these targets.
    tick::once(&app.core).await;
    Ok(Json(json!({ "targets": new })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModeBody {
    mode: Mode,
}

pub async fn mode(_: Authorised, State(app): State<App>, Body(body): Body<ModeBody>) -> Answer {
    *lock(&app.core.mode) = body.mode;
    tracing::info!(mode = ?body.mode, "mode set by an operator");
    app.core.save();
    Ok(Json(json!({"mode": body.mode})))
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum PhaseAction {
    Start,
    End,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseBody {
    name: String,
    action: PhaseAction,
}

pub async fn phases(
    _: Authorised,
    State(app): State<App>,
    Body(body): Body<PhaseBody>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let (status, phase) = match body.action {
        PhaseAction::Start => (
            StatusCode::CREATED,
            core_phases::start(&app.core, &body.name)?,
        ),
        PhaseAction::End => (StatusCode::OK, core_phases::end(&app.core, &body.name)?),
    };
    Ok((status, Json(phase.json(true))))
}
