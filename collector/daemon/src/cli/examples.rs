// SPDX-License-Identifier: Apache-2.0
//! Example command lines for the help of each command.

use daemon_kit::cli::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example::new(
        "tidemark-collector run --config collector.toml",
        "Receive reports of the nodes that the file names, until a signal ends it.",
    ),
    Example::new(
        "tidemark-collector run --listen 0.0.0.0:32766 --accept-unknown-nodes true --capture-dir runs",
        "Show what any node sends, without storing it, to find out which nodes are there.",
    ),
    Example::new(
        "tidemark-collector validate --config collector.toml",
        "Check the file: print a summary of it, or the key that is wrong.",
    ),
    Example::new(
        "tidemark-collector status --config collector.toml",
        "Show reports, losses, join, stores, clocks and subscribers of the running collector.",
    ),
    Example::new(
        "tidemark-collector status --json | jq .join",
        "Show the counters of the join as JSON, for programs.",
    ),
    Example::new(
        "tidemark-collector doctor --config collector.toml",
        "Run all checks; each line says ok, or what to do.",
    ),
    Example::new(
        "tidemark-collector agent --to collector.lab:9560 --port 5001",
        "Send samples of this host's connections with port 5001.",
    ),
    Example::new(
        "tidemark-collector agent --out far.txt --port 5001",
        "Write samples to a file, which import takes with --tcp-probe far=far.txt.",
    ),
    Example::new(
        "tidemark-collector print",
        "Print reports that arrive at UDP port 32766, as JSON lines.",
    ),
    Example::new(
        "tidemark-collector print --pcap reports.pcap.gz --count 10 | jq .queue_occupancy",
        "Print the queue occupancy of the first ten reports of a recorded file.",
    ),
    Example::new(
        "tidemark-collector print --pcap -",
        "Print the reports that `ssh host tcpdump -U -w - udp port 32766` sees, piped in.",
    ),
    Example::new(
        "tidemark-collector export runs/now --csv --table tcp_probe > samples.csv",
        "Write a table as text.",
    ),
    Example::new(
        "tidemark-collector export runs/now --jsonl --from-s 10 --to-s 12 --flow 3",
        "Write the packets of one flow within 2 s.",
    ),
    Example::new(
        "tidemark-collector replay --capture runs/now --agent 127.0.0.1:9560 --speed 2",
        "Send a recorded run to the local collector again, twice as fast.",
    ),
    Example::new(
        "tidemark-collector import --pcap reports.pcap --tcp-probe trace.txt --nodes nodes.toml --out capture",
        "Make a capture from files that other programs recorded.",
    ),
    Example::new(
        "tidemark-collector load runs/now --clickhouse http://127.0.0.1:8123 --create-schema",
        "Load a capture into ClickHouse.",
    ),
    Example::new(
        "tidemark-collector completions bash > /etc/bash_completion.d/tidemark-collector",
        "Install completions for every user of this machine.",
    ),
];
