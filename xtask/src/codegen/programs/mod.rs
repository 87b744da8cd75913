// SPDX-License-Identifier: Apache-2.0
//! What the programs and their libraries say of themselves: metrics, the REST
//! interface, sizing rules.

pub(super) mod metrics;
pub(super) mod openapi;
pub(super) mod rules;
