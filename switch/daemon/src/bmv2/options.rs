// SPDX-License-Identifier: Apache-2.0
//! The options of `simple_switch` and `simple_switch_grpc`, and their meaning here.

/// Arguments that an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Value,
    /// An optional value: absent if another option follows, or nothing.
    Perhaps,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Interface,
    DeviceId,
    NoP4,
    GrpcAddress,
    CpuPort,
    DropPort,
    PriorityQueues,
    ThriftPort,
    Captures,
    NoSwap,
    /// An option that BMv2 does not have: files of writes.
    Entries,
    Help,
    Version,
    /// Accepted without effect; the text says what applies instead.
    Ignored(&'static str),
    /// Refused, because it would change what the switch does; the text says what to do instead.
    Refused(&'static str),
}

pub(super) struct BmOption {
    pub name: &'static str,
    pub short: Option<char>,
    pub takes: Takes,
    pub meaning: Meaning,
}

const fn option(name: &'static str, takes: Takes, meaning: Meaning) -> BmOption {
    BmOption {
        name,
        short: None,
        takes,
        meaning,
    }
}

const fn short(short: char, o: BmOption) -> BmOption {
    BmOption {
        short: Some(short),
        ..o
    }
}

const NO_LOG: Meaning = Meaning::Ignored("packets are not logged one by one");
const NO_DEBUGGER: Meaning = Meaning::Ignored("there is no debugger");
const TLS: Meaning =
    Meaning::Refused("for TLS use `tidemark-switch run --tls-certificate FILE --tls-key FILE`");

pub(super) const OPTIONS: &[BmOption] = {
    use Meaning::*;
    use Takes::*;
    &[
        short('i', option("interface", Value, Interface)),
        option("device-id", Value, DeviceId),
        option("no-p4", Nothing, NoP4),
        option("grpc-server-addr", Value, GrpcAddress),
        option("cpu-port", Value, CpuPort),
        option("drop-port", Value, DropPort),
        option("priority-queues", Value, PriorityQueues),
        short('h', option("help", Nothing, Help)),
        short('v', option("version", Nothing, Version)),
        option("thrift-port", Value, ThriftPort),
        option("pcap", Perhaps, Captures),
        option("disable-swap", Nothing, NoSwap),
        option("entries", Value, Entries),
        option("nanolog", Value, Ignored("there is no event log")),
        option(
            "notifications-addr",
            Value,
            Ignored("digests are sent over P4Runtime"),
        ),
        option("log-console", Nothing, NO_LOG),
        option("log-file", Value, NO_LOG),
        short('L', option("log-level", Value, NO_LOG)),
        option("log-flush", Nothing, NO_LOG),
        option("log-file-max-size", Value, NO_LOG),
        option("log-file-max-files", Value, NO_LOG),
        option("dump-packet-data", Value, NO_LOG),
        option("trace-dir", Value, NO_LOG),
        option("debugger", Nothing, NO_DEBUGGER),
        option("debugger-addr", Value, NO_DEBUGGER),
        option(
            "max-port-count",
            Value,
            Ignored("ports 0 to 510 can be used"),
        ),
        option(
            "use-files",
            Value,
            Refused("for captures use `tidemark-switch pcap`"),
        ),
        option(
            "packet-in",
            Value,
            Refused("frames come from interfaces: use -i PORT@INTERFACE"),
        ),
        option(
            "dp-grpc-server-addr",
            Value,
            Refused("frames come from interfaces: use -i PORT@INTERFACE"),
        ),
        option(
            "restore-state",
            Value,
            Refused("state is not restored: write it over P4Runtime"),
        ),
        option(
            "egress-spec-init-to-drop",
            Nothing,
            Refused("egress_spec starts at 0: have the program set it"),
        ),
        option(
            "load-modules",
            Value,
            Refused("modules of BMv2 cannot be loaded"),
        ),
        option("grpc-server-ssl", Nothing, TLS),
        option("grpc-server-cacert", Value, TLS),
        option("grpc-server-cert", Value, TLS),
        option("grpc-server-key", Value, TLS),
        option("grpc-server-with-client-auth", Nothing, TLS),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = OPTIONS.iter().map(|o| o.name).collect();
        let shorts: Vec<_> = OPTIONS.iter().filter_map(|o| o.short).collect();
        assert_eq!(names.len(), OPTIONS.len());
        assert_eq!(shorts, ['i', 'h', 'v', 'L']);
    }
}
