// SPDX-License-Identifier: Apache-2.0
//! Phases of an experiment.

use super::error::ApiError;
use super::route::{Call, Reply};
use super::{App, convert, select};
use tidemark_api::operations::{GetPhase, GetPhases, SetPhase};
use tidemark_api::{LinkQuery, Phase, PhaseAction, Phases, PhasesQuery};

const MAX_PHASES: usize = 1000;

pub(super) async fn phases(app: App, call: Call<GetPhases>) -> Result<Phases, ApiError> {
    let PhasesQuery {
        node,
        port,
        max_phases,
    } = call.query;
    if node.is_some() && port.is_some() {
        select::one(&app.core, LinkQuery { node, port })?;
    }
    let most = max_phases.unwrap_or(100);
    if !(1..=MAX_PHASES).contains(&most) {
        let message = format!("must be 1 to {MAX_PHASES}");
        return Err(ApiError::bad("max_phases", message));
    }
    let asked = |l: &tidemark_api::PhaseLink| {
        node.is_none_or(|n| n == l.node) && port.is_none_or(|p| p == l.port)
    };
    let kept = app.core.phases(most);
    let of_asked = |p| {
        let mut phase = convert::phase(p, true);
        phase.links.retain(asked);
        phase
    };
    Ok(Phases {
        phases: kept.newest.iter().map(of_asked).collect(),
        kept: kept.all,
        forgotten: kept.forgotten,
    })
}

pub(super) async fn phase(app: App, call: Call<GetPhase>) -> Result<Phase, ApiError> {
    let name = call.path.name;
    match app.core.phase(&name) {
        Some(p) => Ok(convert::phase(&p, true)),
        None => Err(ApiError::not_found(format!("no phase \"{name}\""))),
    }
}

pub(super) async fn set_phase(app: App, call: Call<SetPhase>) -> Result<Reply<Phase>, ApiError> {
    let name = &call.body.name;
    match call.body.action {
        PhaseAction::Start => {
            let phase = app.core.start_phase(name)?;
            Ok(Reply::Created(convert::phase(&phase, false)))
        }
        PhaseAction::End => {
            let phase = app.core.end_phase(name)?;
            Ok(Reply::Ok(convert::phase(&phase, false)))
        }
    }
}
