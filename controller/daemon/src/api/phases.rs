// SPDX-License-Identifier: Apache-2.0
//! Phases of an experiment.

use super::error::ApiError;
use super::route::{Call, Reply};
use super::{App, convert};
use tidemark_api::operations::{GetPhase, GetPhases, SetPhase};
use tidemark_api::{Phase, PhaseAction, Phases};

pub(super) async fn phases(app: App, _: Call<GetPhases>) -> Result<Phases, ApiError> {
    Ok(Phases {
        phases: app
            .core
            .phases()
            .iter()
            .map(|p| convert::phase(p, true))
            .collect(),
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
