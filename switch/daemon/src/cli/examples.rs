// SPDX-License-Identifier: Apache-2.0
//! Example command lines for the help of each command.

use daemon_kit::cli::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example::new(
        "tidemark-switch run --program tidemark.json --port 1=eth1,rate=100mbit,queue=256p --port 2=eth2",
        "Two ports; what leaves by the first waits in a queue of 256 packets.",
    ),
    Example::new(
        "tidemark-switch run --port 1=eth1 --port 2=eth2 --device-id 10",
        "Waits for a program over P4Runtime.",
    ),
    Example::new(
        "tidemark-switch port set 1 rate=50mbit delay=5ms",
        "Of the switch that runs; what is not named stays.",
    ),
    Example::new(
        "tidemark-switch port list --json | jq .",
        "Settings and counters.",
    ),
    Example::new(
        "tidemark-switch check tidemark.json",
        "Whether it can run here, and if not, what stands against it.",
    ),
    Example::new(
        "tidemark-switch pcap --program tidemark.json --in 1=in.pcap.gz --out out --port 2=rate=100mbit",
        "A capture through the switch, the same each time.",
    ),
    Example::new(
        "tidemark-switch stf --program basic.json basic.stf",
        "A packet test of p4c.",
    ),
    Example::new(
        "tidemark-switch conformance golden/",
        "Recordings of BMv2: what differs, if anything.",
    ),
    Example::new(
        "tidemark-switch simple-switch-grpc -i 0@eth1 -i 1@eth2 --device-id 1 program.json -- --grpc-server-addr 127.0.0.1:50051",
        "As BMv2 is started.",
    ),
    Example::new(
        "tidemark-switch completions bash > /etc/bash_completion.d/tidemark-switch",
        "For every user of this machine.",
    ),
];
