// SPDX-License-Identifier: Apache-2.0
//! Reads a command line of `simple_switch_grpc`.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use super::options::{BmOption, Meaning, OPTIONS, Takes};
use crate::cli::args::priority_queues;
use crate::units::port_number;

/// Default port of Thrift.
pub(super) const DEFAULT_THRIFT_PORT: u16 = 9090;
/// Default address of P4Runtime.
pub(super) const DEFAULT_GRPC: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9559);
const DROP_PORT: &str = "511";

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    Run(Settings),
    Help,
    Version,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    /// Interfaces by port.
    pub ports: BTreeMap<u32, String>,
    /// Program; `None` with `--no-p4`.
    pub program: Option<PathBuf>,
    /// Device id; BMv2's default is 0.
    pub device_id: u64,
    pub grpc: Option<SocketAddr>,
    pub cpu_port: Option<u32>,
    /// Queues per port; 0: not given, which means 1.
    pub priority_queues: u8,
    /// Port of Thrift; BMv2's default is 9090.
    pub thrift_port: Option<u16>,
    /// Folder for copies of all frames.
    pub captures: Option<PathBuf>,
    pub no_swap: bool,
    /// Files with writes to make at the start.
    pub entries: Vec<PathBuf>,
    /// Notices about options accepted without effect, one line each.
    pub notices: Vec<String>,
}

/// Reads the options before and after `--` in the same way.
///
/// # Errors
/// An option that is unknown or unsupported, or has a bad value: one line that names the
/// option.
pub(super) fn read(arguments: &[String]) -> Result<Request, String> {
    let mut s = Settings::default();
    let mut no_p4 = false;
    let mut rest = arguments.iter().map(String::as_str).peekable();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            continue;
        }
        let Some((option, attached)) = find(argument)? else {
            if let Some(p) = &s.program {
                return Err(format!(
                    "\"{argument}\": the program is {} already; give one",
                    p.display()
                ));
            }
            s.program = Some(argument.into());
            continue;
        };
        let value = match (option.takes, attached) {
            (Takes::Nothing, Some(_)) => {
                return Err(format!("--{} takes no value", option.name));
            }
            (Takes::Nothing, None) => "",
            (_, Some(v)) => v,
            (Takes::Value, None) => rest
                .next()
                .ok_or_else(|| format!("--{}: its value is missing", option.name))?,
            (Takes::Perhaps, None) => rest.next_if(|a| !a.starts_with('-')).unwrap_or(""),
        };
        match option.meaning {
            Meaning::Help => return Ok(Request::Help),
            Meaning::Version => return Ok(Request::Version),
            Meaning::NoP4 => no_p4 = true,
            _ => s.set(option, value)?,
        }
    }
    if no_p4 {
        if let Some(p) = s.program.take() {
            s.notices
                .push(format!("{}: not loaded, because of --no-p4", p.display()));
        }
    } else if s.program.is_none() {
        return Err("no program: give p4c's JSON, or --no-p4".into());
    }
    if no_p4 && !s.entries.is_empty() {
        return Err("--entries: needs a program".into());
    }
    if let Some(p) = s.cpu_port.filter(|p| s.ports.contains_key(p)) {
        return Err(format!(
            "--cpu-port {p}: has an interface; give another number"
        ));
    }
    Ok(Request::Run(s))
}

/// Finds the option and a value attached to it; `None`: not an option.
fn find(argument: &str) -> Result<Option<(&'static BmOption, Option<&str>)>, String> {
    let unknown = || format!("{argument}: not a known option of simple_switch_grpc");
    if let Some(long) = argument.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((n, v)) => (n, Some(v)),
            None => (long, None),
        };
        let option = OPTIONS.iter().find(|o| o.name == name);
        return Ok(Some((option.ok_or_else(unknown)?, value)));
    }
    let Some(letter) = argument.strip_prefix('-').and_then(|a| a.chars().next()) else {
        return Ok(None);
    };
    let option = OPTIONS.iter().find(|o| o.short == Some(letter));
    let value = &argument[1 + letter.len_utf8()..];
    Ok(Some((
        option.ok_or_else(unknown)?,
        (!value.is_empty()).then_some(value),
    )))
}

impl Settings {
    fn set(&mut self, option: &BmOption, value: &str) -> Result<(), String> {
        let bad = |expected: &str| format!("--{} \"{value}\": write {expected}", option.name);
        match option.meaning {
            Meaning::Interface => {
                let (port, interface) = value
                    .split_once('@')
                    .filter(|(_, i)| !i.is_empty())
                    .ok_or_else(|| bad("PORT@INTERFACE"))?;
                let port = port_number(port).map_err(|e| format!("--interface: {e}"))?;
                if self.ports.insert(port, interface.to_owned()).is_some() {
                    return Err(format!("--interface: port {port} is given twice"));
                }
            }
            Meaning::DeviceId => {
                self.device_id = value.parse().map_err(|_| bad("a number"))?;
            }
            Meaning::GrpcAddress => {
                let numeric = value.replacen("localhost:", "127.0.0.1:", 1);
                let address = numeric.parse().map_err(|_| bad("ADDRESS:PORT"))?;
                self.grpc = Some(address);
            }
            Meaning::CpuPort => {
                let port = port_number(value).map_err(|e| format!("--cpu-port: {e}"))?;
                if port == 0 {
                    return Err(bad("a number from 1"));
                }
                self.cpu_port = Some(port);
            }
            Meaning::DropPort if value != DROP_PORT => {
                return Err(bad("511, which is the only drop port here"));
            }
            Meaning::PriorityQueues => {
                let count = priority_queues(value);
                self.priority_queues = count.map_err(|e| format!("--priority-queues: {e}"))?;
            }
            Meaning::ThriftPort => {
                let port = value.parse().map_err(|_| bad("a port from 0 to 65535"))?;
                self.thrift_port = Some(port);
            }
            Meaning::Captures => {
                let folder = if value.is_empty() { "." } else { value };
                self.captures = Some(folder.into());
            }
            Meaning::NoSwap => self.no_swap = true,
            Meaning::Entries => self.entries.push(value.into()),
            Meaning::Refused(remedy) => return Err(format!("--{}: {remedy}", option.name)),
            Meaning::Ignored(instead) => {
                let notice = format!("--{}: {instead}", option.name);
                if !self.notices.contains(&notice) {
                    self.notices.push(notice);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "command_line_tests.rs"]
mod tests;
