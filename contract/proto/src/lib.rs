// SPDX-License-Identifier: Apache-2.0
//! Wire contracts of Tidemark.
//!
//! * [`telemetry`]: messages that collectors stream to controllers.
//! * [`switch`]: port rate, delay and depth of the embedded switch.
//! * [`p4`], [`google`]: the used part of P4Runtime; [`p4info`] reads P4Info files.
//! * [`bfrt_proto`]: the used part of Barefoot Runtime.
//! * [`ShownPort`]: egress ports that may be unknown.
//! * [`histogram`]: the buckets of [`telemetry::Histogram`].
//! * [`text_format`]: protobuf text format.
//!
//! Messages and services are generated from the `.proto` files next to this crate by
//! `make codegen`.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod departures;
pub mod histogram;
mod name;
pub mod p4info;
mod port;
pub mod text_format;

pub use name::{NAME_RULE, is_name};
pub use port::{ShownPort, UNKNOWN_PORT, answered_port, asked_port, known_port, port_in_path};

/// Name with which a controller subscribes to a collector, which reserves places for controllers.
pub const CONTROLLER: &str = "tidemark-controller";

/// `tidemark.v1`: the telemetry stream.
#[allow(clippy::all, missing_docs, rustdoc::all)]
pub mod telemetry {
    include!("generated/tidemark.v1.rs");
}

/// `tidemark.switch.v1`: control of the embedded switch's ports.
#[allow(clippy::all, missing_docs, rustdoc::all)]
pub mod switch {
    include!("generated/tidemark.switch.v1.rs");
}

/// P4Runtime. Modules are nested like the packages, because generated code refers
/// to other packages by relative paths.
#[allow(clippy::all, missing_docs, rustdoc::all)]
pub mod p4 {
    /// `p4.v1`: service and entities.
    pub mod v1 {
        include!("generated/p4.v1.rs");
    }
    /// `p4.config`: versions of P4Info.
    pub mod config {
        /// `p4.config.v1`: P4Info.
        pub mod v1 {
            include!("generated/p4.config.v1.rs");
        }
    }
}

/// The used part of Barefoot Runtime.
#[allow(clippy::all, missing_docs, rustdoc::all)]
pub mod bfrt_proto {
    include!("generated/bfrt_proto.rs");
}

/// Google's part of gRPC errors.
#[allow(clippy::all, missing_docs, rustdoc::all)]
pub mod google {
    /// `google.rpc`: the status message inside `grpc-status-details-bin`.
    pub mod rpc {
        include!("generated/google.rpc.rs");
    }
}
