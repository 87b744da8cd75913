// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-collector`, in one binary: the program is linked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod agent;
mod any_file;
mod command_line;
mod common;
mod credentials;
mod doctor;
mod field;
mod full_disk;
mod import;
mod live;
mod privileges;
mod service;
mod shards;
mod strangers;
