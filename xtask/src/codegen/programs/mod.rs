// SPDX-License-Identifier: Apache-2.0
//! Pages generated from the programs and their libraries: metrics, the REST interface, sizing
//! rules.

pub(super) mod metrics;
pub(super) mod openapi;
pub(super) mod rules;
