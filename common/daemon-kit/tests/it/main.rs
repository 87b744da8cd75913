// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `daemon-kit`, in one binary.

mod credentials;
mod deadline;
mod http;
mod service_manager;
