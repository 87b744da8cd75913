// SPDX-License-Identifier: Apache-2.0
//! Checks action calls and puts them in the order of the action's parameters.

use crate::errors::{Failure, Outcome, refuse};
use crate::pipeline::Pipeline;
use crate::target::ActionCall;
use tidemark_proto::p4::config::v1::action_ref::Scope;
use tidemark_proto::p4::v1 as p4;

/// Use of an action: in an entry or as the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Entry,
    Default,
}

/// Parses an action call: returns the call for the target, and its canonical form for clients.
/// `allowed` are the actions of the table or action profile.
pub(crate) fn parse(
    pipeline: &Pipeline,
    allowed: &[(u32, Scope)],
    given: &p4::Action,
    place: Place,
) -> Outcome<(ActionCall, p4::Action)> {
    let scope = allowed
        .iter()
        .find(|(id, _)| *id == given.action_id)
        .map(|(_, scope)| *scope);
    let (Some(scope), Some(action)) = (scope, pipeline.actions.get(&given.action_id)) else {
        refuse!(invalid: "no action with id {} here", given.action_id);
    };
    match (scope, place) {
        (Scope::DefaultOnly, Place::Entry) => refuse!(denied:
            "action {} is for the default entry only",
            action.name
        ),
        (Scope::TableOnly, Place::Default) => refuse!(denied:
            "action {} is not for the default entry",
            action.name
        ),
        _ => {}
    }
    if let Some(p) = given
        .params
        .iter()
        .find(|p| action.params.iter().all(|known| known.id != p.param_id))
    {
        refuse!(invalid: "action {} has no parameter with id {}", action.name, p.param_id);
    }
    let mut params = Vec::with_capacity(action.params.len());
    let mut canonical = Vec::with_capacity(action.params.len());
    for param in &action.params {
        let mut values = given.params.iter().filter(|p| p.param_id == param.id);
        let value = match (values.next(), values.next()) {
            (Some(p), None) => param.values.parse(&p.value),
            (None, _) => Err(Failure::invalid("is missing")),
            (Some(_), Some(_)) => Err(Failure::invalid("is given twice")),
        }
        .map_err(|f| f.at(format!("parameter {} of {}", param.name, action.name)))?;
        canonical.push(p4::action::Param {
            param_id: param.id,
            value: param.values.canonical(&value),
        });
        params.push(value);
    }
    Ok((
        ActionCall {
            name: action.name.clone(),
            params,
        },
        p4::Action {
            action_id: action.id,
            params: canonical,
        },
    ))
}

/// Wraps an action as a table entry holds it.
pub(crate) fn of_entry(action: p4::Action) -> p4::TableAction {
    p4::TableAction {
        r#type: Some(p4::table_action::Type::Action(action)),
    }
}
