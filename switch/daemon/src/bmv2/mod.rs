// SPDX-License-Identifier: Apache-2.0
//! `tidemark-switch` under the name of BMv2's `simple_switch_grpc`, with BMv2's options, for
//! scripts that start it by that name.

mod command_line;
mod options;
mod shaping;

use std::ffi::OsString;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use anyhow::{Result, anyhow};
use clap::Parser as _;
use daemon_kit::cli::{Usage, print, stdout};

use crate::cli::args::{Bmv2Args, Cli, Command, PortSpec, RunArgs};
use crate::run;
use command_line::{DEFAULT_GRPC, DEFAULT_THRIFT_PORT, Request, Settings};

/// Name that selects this front end.
pub(crate) const NAME: &str = "simple_switch_grpc";
/// Name of the variant without P4Runtime, as far as users can see.
const WITHOUT_GRPC: &str = "simple_switch";

pub(crate) use shaping::DEPTH_PACKETS;

/// Recognises the name of a BMv2 program, with or without a path; true: with P4Runtime.
pub(crate) fn is_called(argv0: &OsString) -> Option<bool> {
    let name = Path::new(argv0).file_name()?;
    (name == NAME || name == WITHOUT_GRPC).then_some(name == NAME)
}

/// Runs a command line of `simple_switch_grpc`, given as arguments without the program's
/// name.
///
/// # Errors
/// A bad command line, and all errors of `tidemark-switch run`.
pub(crate) fn main(arguments: &[OsString], version: &str, with_grpc: bool) -> Result<()> {
    let words = arguments.iter().map(|a| {
        let text = a.to_str().ok_or_else(|| anyhow!("{a:?}: not UTF-8"))?;
        Ok(text.to_owned())
    });
    let words = words.collect::<Result<Vec<String>>>()?;
    match command_line::read(&words).map_err(Usage::new)? {
        Request::Help => write!(stdout(), "{}", help())?,
        Request::Version => print(format_args!(
            "tidemark-switch {version}, with {NAME}'s options"
        ))?,
        Request::Run(settings) => {
            for notice in &settings.notices {
                eprintln!("{NAME}: {notice}");
            }
            run::run(run_arguments(settings, with_grpc)?)?;
        }
    }
    Ok(())
}

fn run_arguments(s: Settings, with_grpc: bool) -> Result<RunArgs> {
    // The defaults of `run`, with its environment variables.
    let Command::Run(mut run) = Cli::try_parse_from(["tidemark-switch", "run"])?.command else {
        return Err(anyhow!("internal error: `run` is not a command"));
    };
    run.program = s.program;
    run.device_id = s.device_id;
    run.cpu_port = s.cpu_port;
    run.priority_queues = s.priority_queues.max(1);
    run.entries = s.entries;
    run.bmv2 = Bmv2Args {
        unannounced: true,
        captures: s.captures,
        no_swap: s.no_swap,
    };
    let thrift = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let free = |port| std::net::TcpListener::bind(thrift(port)).is_ok();
    run.thrift = match s.thrift_port {
        Some(port) => Some(thrift(port)),
        None if free(DEFAULT_THRIFT_PORT) => Some(thrift(DEFAULT_THRIFT_PORT)),
        None => {
            eprintln!(
                "{NAME}: no Thrift: port {DEFAULT_THRIFT_PORT} is taken; --thrift-port names another"
            );
            None
        }
    };
    if let Some(address) = s.grpc {
        // With an explicit address, BMv2 serves every host that can reach it.
        run.credentials.serve_everybody();
        run.grpc = address;
    } else if !with_grpc {
        run.grpc = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    } else {
        eprintln!("{NAME}: P4Runtime on {DEFAULT_GRPC}; --grpc-server-addr names another address");
        run.grpc = DEFAULT_GRPC;
    }
    for (number, interface) in s.ports {
        let shaping = shaping::of(&interface);
        for notice in &shaping.notices {
            eprintln!("{NAME}: {interface}: {notice}");
        }
        run.ports.push(PortSpec {
            number,
            interface,
            netns: None,
            config: shaping.config,
            // Programs at the other end read raw frames.
            merge: false,
        });
    }
    Ok(*run)
}

fn help() -> String {
    use options::{Meaning, OPTIONS, Takes};
    let mut text = format!(
        "tidemark-switch with the options of {NAME}.\n\n\
         {NAME} [options] PROGRAM.json [-- options]\n\n"
    );
    for o in OPTIONS {
        let short = o.short.map_or(String::new(), |s| format!("-{s}, "));
        let value = match o.takes {
            Takes::Nothing => "",
            Takes::Value => " VALUE",
            Takes::Perhaps => " [VALUE]",
        };
        let note = match o.meaning {
            Meaning::Interface => "VALUE: PORT@INTERFACE; repeat for each port",
            Meaning::DeviceId => "P4Runtime's device id; 0 unless given",
            Meaning::NoP4 => "starts without a program",
            Meaning::GrpcAddress => "address of P4Runtime; 127.0.0.1:9559 unless given",
            Meaning::CpuPort => "port of packet-in and packet-out",
            Meaning::DropPort => "511",
            Meaning::PriorityQueues => {
                "queues of each port, the highest served first; 1 unless given"
            }
            Meaning::ThriftPort => {
                "port of BMv2's runtime services on 127.0.0.1; 9090 unless given, if it is free"
            }
            Meaning::Captures => {
                "copies all frames to INTERFACE_in.pcap and INTERFACE_out.pcap there"
            }
            Meaning::NoSwap => "no other program over Thrift",
            Meaning::Entries => {
                "not BMv2's: commands of simple_switch_CLI or JSON by name, done at the start; repeat"
            }
            Meaning::Help => "this text",
            Meaning::Version => "the version",
            Meaning::Ignored(_) => "accepted without effect",
            Meaning::Refused(_) => "refused",
        };
        text += &format!("  {short}--{}{value}: {note}\n", o.name);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_chooses_the_front() {
        let path = "/usr/lib/tidemark/bmv2/simple_switch_grpc";
        assert_eq!(is_called(&path.into()), Some(true));
        assert_eq!(is_called(&"simple_switch".into()), Some(false));
        let other = "/simple_switch_grpc/tidemark-switch";
        assert_eq!(is_called(&other.into()), None);
    }

    #[test]
    fn every_option_is_in_the_help() {
        let text = help();
        for o in options::OPTIONS {
            assert!(text.contains(&format!("--{}", o.name)), "{}", o.name);
        }
    }
}
