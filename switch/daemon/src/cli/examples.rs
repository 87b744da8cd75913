// SPDX-License-Identifier: Apache-2.0
//! Example command lines for the help of each command.

use daemon_kit::cli::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example::new(
        "tidemark-switch run --program tidemark.json --port 1=eth1,rate=100mbit,queue=256p --port 2=eth2",
        "Two ports; frames that leave by port 1 wait in a queue of 256 packets.",
    ),
    Example::new(
        "tidemark-switch run --port 1=eth1 --port 2=eth2 --device-id 10",
        "Waits for a program over P4Runtime.",
    ),
    Example::new(
        "tidemark-switch port set 1 rate=50mbit delay=5ms",
        "Changes a running switch; other settings stay.",
    ),
    Example::new(
        "tidemark-switch port list --json | jq .",
        "Lists settings and counters as JSON.",
    ),
    Example::new(
        "tidemark-switch check tidemark.json",
        "Checks whether the program can run here, and if not, why.",
    ),
    Example::new(
        "tidemark-switch pcap --program tidemark.json --in 1=in.pcap.gz --out out --port 2=rate=100mbit",
        "Runs a capture through the switch; the result is the same each time.",
    ),
    Example::new(
        "tidemark-switch stf --program basic.json basic.stf",
        "Runs a packet test of p4c.",
    ),
    Example::new(
        "tidemark-switch conformance golden/",
        "Replays recordings of BMv2 and reports differences.",
    ),
    Example::new(
        "tidemark-switch simple-switch-grpc -i 0@eth1 -i 1@eth2 --device-id 1 program.json -- --grpc-server-addr 127.0.0.1:50051",
        "Starts the switch with BMv2's options.",
    ),
    Example::new(
        "tidemark-switch completions bash > /etc/bash_completion.d/tidemark-switch",
        "For every user of this machine.",
    ),
];
