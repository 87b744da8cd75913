// SPDX-License-Identifier: Apache-2.0
//! BMv2's runtime services over Thrift, as `simple_switch_CLI`, p4-utils and p4net call them.
//!
//! A call is read as a tree of values (`value`), executed by one of the services on the same
//! device that P4Runtime clients write to ([`p4runtime_server::Runtime`]), and answered with a
//! tree. Field numbers, codes and names are those of BMv2's interface.

mod digest;
mod forms;
mod ids;
mod ports;
mod pre;
mod server;
mod simple_switch;
mod standard;
mod value;

use std::sync::Arc;

use p4runtime_server::Runtime;
use tokio::sync::Mutex;

use crate::data_plane::Handle;
use value::{Fields, Value};

pub(crate) use server::start;
pub(crate) use simple_switch::change_ports;

/// The device on which the services work.
#[derive(Clone)]
pub(crate) struct Services {
    pub runtime: Runtime,
    pub plane: Handle,
    pub about: Arc<About>,
    /// Whether a program was loaded and the swap to it is unfinished.
    pub swapping: Arc<Mutex<bool>>,
}

/// Settings with which the switch was started.
#[derive(Debug)]
pub(crate) struct About {
    pub device_id: u64,
    pub thrift_port: u16,
    /// Whether another program can be loaded.
    pub swap: bool,
    /// Folder for captures of ports, if requested.
    pub captures: Option<std::path::PathBuf>,
}

/// Reason why a call has no result.
enum Fault {
    /// An exception of the interface, with its code.
    Code(i32),
    /// No such service or method.
    Unknown,
    /// Any failure for which the interface has no code.
    Failed(String),
}

/// Answer to a call; `None`: a method without a result.
type Answer = Result<Option<Value>, Fault>;

impl From<anyhow::Error> for Fault {
    fn from(e: anyhow::Error) -> Self {
        Self::Failed(format!("{e:#}"))
    }
}

macro_rules! codes {
    ($($kind:ident),*) => {$(
        impl From<p4runtime_server::runtime::$kind> for Fault {
            fn from(e: p4runtime_server::runtime::$kind) -> Self {
                Self::Code(e as i32)
            }
        }
    )*};
}
codes!(TableError, ArrayError, MeterError, McError);

impl From<p4runtime_server::errors::Failure> for Fault {
    fn from(f: p4runtime_server::errors::Failure) -> Self {
        Self::Failed(f.to_string())
    }
}

impl Services {
    async fn call(&self, service: &str, method: &str, args: Fields) -> Answer {
        match service {
            "standard" => standard::call(self, method, &args).await,
            "simple_switch" => simple_switch::call(self, method, &args).await,
            "simple_pre" | "simple_pre_lag" => pre::call(self, method, &args).await,
            _ => Err(Fault::Unknown),
        }
    }
}
