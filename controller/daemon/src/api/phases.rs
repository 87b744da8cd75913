// SPDX-License-Identifier: Apache-2.0
//! Phases of an experiment.

use super::error::ApiError;
use super::route::{Call, Reply};
use super::{App, convert};
use crate::core::audit::lock;
use crate::core::phases as core_phases;
use tidemark_api::operations::{GetPhase, GetPhases, SetPhase};
use tidemark_api::{Phase, PhaseAction, Phases};

pub async fn phases(app: App, _: Call<GetPhases>) -> Result<Phases, ApiError> {
    let phases = lock(&app.core.phases);
    Ok(Phases {
        phases: phases.iter().map(|p| convert::phase(p, true)).collect(),
    })
}

pub async fn phase(app: App, call: Call<GetPhase>) -> Result<Phase, ApiError> {
    let name = call.path.name;
    let phases = lock(&app.core.phases);
    match phases.get(&name) {
        Some(p) => Ok(convert::phase(p, true)),
        None => Err(ApiError::not_found(format!("no phase \"{name}\""))),
    }
}

pub async fn set_phase(app: App, call: Call<SetPhase>) -> Result<Reply<Phase>, ApiError> {
    let name = &call.body.name;
    match call.body.action {
        PhaseAction::Start => {
            let phase = core_phases::start(&app.core, name)?;
            Ok(Reply::Created(convert::phase(&phase, false)))
        }
        PhaseAction::End => {
            let phase = core_phases::end(&app.core, name)?;
            Ok(Reply::Ok(convert::phase(&phase, false)))
        }
    }
}
