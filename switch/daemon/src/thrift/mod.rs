// SPDX-License-Identifier: Apache-2.0
//! BMv2's runtime services over Thrift, as `simple_switch_CLI`, p4-utils and p4net call them.
//!
//! A call is read as a tree of values (`value`), carried out by one of the services on the
//! device that P4Runtime's clients write to ([`p4runtime_server::Runtime`]), and answered
//! with a tree. Numbers of fields, codes and names are those of BMv2's interface.

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

/// The device that the services work on.
#[derive(Clone)]
pub(crate) struct Services {
    pub runtime: Runtime,
    pub plane: Handle,
    pub about: Arc<About>,
    /// A program was loaded, and the swap to it is not ended.
    pub swapping: Arc<Mutex<bool>>,
}

/// How the switch was started.
#[derive(Debug)]
pub(crate) struct About {
    pub device_id: u64,
    pub thrift_port: u16,
    /// Another program can be loaded.
    pub swap: bool,
    /// Folder of the captures of ports, where they are asked for.
    pub captures: Option<std::path::PathBuf>,
}

/// Why a call is not answered with a result.
enum Fault {
    /// An exception that the interface has: its code.
    Code(i32),
    /// No such service or method.
    Unknown,
    /// Anything that the interface has no code for.
    Failed(String),
}

/// `None`: a method without a result.
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
