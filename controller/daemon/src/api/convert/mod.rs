// SPDX-License-Identifier: Apache-2.0
//! From what the controller knows to the types of its REST interface.
//!
//! The macros take a domain type apart completely, so that a field that is added
//! there and forgotten here does not compile.

mod advice;
mod estimate;
mod link;
mod phase;
mod status;
mod telemetry;

pub use advice::advice;
pub use link::link;
pub use phase::phase;
pub use status::status;
pub use telemetry::{distribution, series};

use std::sync::Arc;

/// A value of the controller that has a form on the wire.
pub trait ToApi {
    /// Its form on the wire.
    type Api;

    /// The value as it goes onto the wire.
    fn to_api(&self) -> Self::Api;
}

impl<T: ToApi> ToApi for Option<T> {
    type Api = Option<T::Api>;
    fn to_api(&self) -> Self::Api {
        self.as_ref().map(T::to_api)
    }
}

impl<T: ToApi> ToApi for Vec<T> {
    type Api = Vec<T::Api>;
    fn to_api(&self) -> Self::Api {
        self.iter().map(T::to_api).collect()
    }
}

impl<T: ToApi> ToApi for Arc<T> {
    type Api = T::Api;
    fn to_api(&self) -> Self::Api {
        (**self).to_api()
    }
}

macro_rules! same {
    ($($plain:ty)*) => {
        $(impl ToApi for $plain {
            type Api = $plain;
            fn to_api(&self) -> $plain {
                self.clone()
            }
        })*
    };
}

same!(bool u8 u16 u32 u64 f64 String);

/// A struct whose fields have the same names on the wire.
macro_rules! fields {
    ($($from:path => $to:ident { $($field:ident),* $(,)? })*) => {
        $(impl $crate::api::convert::ToApi for $from {
            type Api = tidemark_api::$to;
            fn to_api(&self) -> tidemark_api::$to {
                let $from { $($field),* } = self;
                tidemark_api::$to {
                    $($field: $crate::api::convert::ToApi::to_api($field)),*
                }
            }
        })*
    };
}

/// An enum whose variants have the same names on the wire.
macro_rules! variants {
    ($($from:path => $to:ident { $($variant:ident),* $(,)? })*) => {
        $(impl $crate::api::convert::ToApi for $from {
            type Api = tidemark_api::$to;
            fn to_api(&self) -> tidemark_api::$to {
                type From = $from;
                match self {
                    $(From::$variant => tidemark_api::$to::$variant),*
                }
            }
        })*
    };
}

use {fields, variants};

/// A value of a request in the controller's own type.
pub trait ToDomain {
    /// The controller's own type.
    type Domain;

    /// The value in that type.
    fn to_domain(&self) -> Self::Domain;
}

impl ToDomain for tidemark_api::Goal {
    type Domain = tidemark_rules::Goal;
    fn to_domain(&self) -> Self::Domain {
        match self {
            Self::Utilisation => tidemark_rules::Goal::Utilisation,
            Self::Loss => tidemark_rules::Goal::Loss,
            Self::Delay => tidemark_rules::Goal::Delay,
        }
    }
}

impl ToDomain for tidemark_api::Mode {
    type Domain = crate::config::Mode;
    fn to_domain(&self) -> Self::Domain {
        match self {
            Self::Recommend => crate::config::Mode::Recommend,
            Self::Confirm => crate::config::Mode::Confirm,
            Self::Auto => crate::config::Mode::Auto,
        }
    }
}

variants! {
    crate::config::Mode => Mode { Recommend, Confirm, Auto }
}
