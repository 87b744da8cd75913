// SPDX-License-Identifier: Apache-2.0
//! Phases of an experiment.

use super::error::ApiError;
use super::route::{Call, Reply};
use super::{App, convert, page, select};
use tidemark_api::operations::{GetPhase, GetPhases, SetPhase};
use tidemark_api::{LinkQuery, Phase, PhaseAction, Phases, PhasesQuery};

const MAX_PHASES: usize = 1000;

pub(super) async fn phases(app: App, call: Call<GetPhases>) -> Result<Phases, ApiError> {
    let PhasesQuery {
        node,
        port,
        queue,
        max_phases,
    } = call.query;
    let asked = select::those(&app.core, LinkQuery { node, port, queue })?;
    let most = page::asked("max_phases", max_phases, 100, MAX_PHASES)?;
    let mut kept = app.core.read(|s| s.phases.newest(most));
    // Other links are dropped before their estimates are copied.
    for phase in &mut kept.newest {
        phase.links.retain(|id, _| asked(id));
    }
    let phases = kept.newest.iter().map(|p| convert::phase(p, true));
    Ok(Phases {
        phases: phases.collect(),
        kept: kept.all,
        forgotten: kept.forgotten,
    })
}

pub(super) async fn phase(app: App, call: Call<GetPhase>) -> Result<Phase, ApiError> {
    let name = call.path.name;
    match app.core.read(|s| s.phases.get(&name).cloned()) {
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
