//! Wire contracts of Tidemark.
//!
//! * [`telemetry`]: what collectors stream to controllers.
//! * [`switch`]: port rate, delay and depth of the embedded switch.
//! * [`p4`], [`google`]: the part of P4Runtime in use; [`p4info`] reads P4Info files.
//! * [`bfrt_proto`]: the part of Barefoot Runtime in use.
//! * [`histogram`]: the buckets of [`telemetry::Histogram`].

#![allow(clippy::all, rustdoc::all)] // generated code below

pub mod histogram;
pub mod p4info;

/// `tidemark.v1`: the telemetry stream.
pub mod telemetry {
    tonic::include_proto!("tidemark.v1");
}

/// `tidemark.switch.v1`: control of the embedded switch's ports.
pub mod switch {
    tonic::include_proto!("tidemark.switch.v1");
}

/// P4Runtime. Nested as the packages are, because generated code refers to
/// other packages by relative paths.
pub mod p4 {
    /// `p4.v1`: service and entities.
    pub mod v1 {
        tonic::include_proto!("p4.v1");
    }
    pub mod config {
        /// `p4.config.v1`: P4Info.
        pub mod v1 {
            tonic::include_proto!("p4.config.v1");
        }
    }
}

/// Barefoot Runtime, as far as it is used.
pub mod bfrt_proto {
    tonic::include_proto!("bfrt_proto");
}

pub mod google {
    /// `google.rpc`: the status message inside `grpc-status-details-bin`.
    pub mod rpc {
        tonic::include_proto!("google.rpc");
    }
}
