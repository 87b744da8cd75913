// SPDX-License-Identifier: Apache-2.0
//! Example command lines for the help of each command.

use daemon_kit::cli::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example::new(
        "tidemark-collector run --config collector.toml",
        "Reports of the nodes that the file names, until a signal ends it.",
    ),
    Example::new(
        "tidemark-collector run --listen 0.0.0.0:32766 --accept-unknown-nodes true --capture-dir runs",
        "Whatever nodes send, shown and not stored: to find out who is there.",
    ),
    Example::new(
        "tidemark-collector validate --config collector.toml",
        "Says what the file means, or which key is wrong.",
    ),
    Example::new(
        "tidemark-collector status --config collector.toml",
        "Reports, losses, join, stores, clocks and subscribers of the collector that runs.",
    ),
    Example::new(
        "tidemark-collector status --json | jq .join",
        "The same for programs.",
    ),
    Example::new(
        "tidemark-collector doctor --config collector.toml",
        "Each line ok, or what to do.",
    ),
    Example::new(
        "tidemark-collector agent --to collector.lab:9560 --port 5001",
        "Samples of this host's connections with port 5001.",
    ),
    Example::new(
        "tidemark-collector agent --out far.txt --port 5001",
        "Samples into a file, which import takes with --tcp-probe far=far.txt.",
    ),
    Example::new(
        "tidemark-collector print",
        "Reports that come to UDP port 32766, as JSON lines.",
    ),
    Example::new(
        "tidemark-collector print --pcap reports.pcap.gz --count 10 | jq .queue_occupancy",
        "The first ten of a recorded file.",
    ),
    Example::new(
        "tidemark-collector print --pcap -",
        "What `ssh host tcpdump -U -w - udp port 32766` sees, where it is piped in.",
    ),
    Example::new(
        "tidemark-collector export runs/now --csv --table tcp_probe > samples.csv",
        "A table as text.",
    ),
    Example::new(
        "tidemark-collector export runs/now --jsonl --from-s 10 --to-s 12 --flow 3",
        "The packets of one flow within 2 s.",
    ),
    Example::new(
        "tidemark-collector replay --capture runs/now --agent 127.0.0.1:9560 --speed 2",
        "A recorded run again, twice as fast, to the collector here.",
    ),
    Example::new(
        "tidemark-collector import --pcap reports.pcap --tcp-probe trace.txt --nodes nodes.toml --out capture",
        "A capture of what others recorded.",
    ),
    Example::new(
        "tidemark-collector load runs/now --clickhouse http://127.0.0.1:8123 --create-schema",
        "A capture into ClickHouse.",
    ),
    Example::new(
        "tidemark-collector completions bash > /etc/bash_completion.d/tidemark-collector",
        "For every user of this machine.",
    ),
];
