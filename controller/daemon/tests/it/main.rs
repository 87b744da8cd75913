// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-controller`, in one binary: the program is linked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod common;
mod control;
mod hung_switch;
mod initial_limits;
mod live;
mod offline;
mod openapi;
mod rest;
mod service;
mod tls;
mod view;
