// SPDX-License-Identifier: Apache-2.0
//! Example command lines, for the help of each command.

use daemon_kit::cli::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example::new(
        "tidemark-traffic run --spec traffic.json --truth truth.json",
        "Senders and receivers; writes at the end what was really sent.",
    ),
    Example::new(
        "tidemark-traffic send --spec traffic.json --truth truth.json",
        "Only the senders: the receivers run elsewhere.",
    ),
    Example::new(
        "tidemark-traffic serve --listen 10.0.1.2:5001 --listen 10.0.1.2:5002,rcvbuf=65536",
        "Receives on two ports until a signal ends it; small windows on the second.",
    ),
    Example::new(
        "tidemark-traffic serve --listen 10.0.1.2:5001,netns=h2 --truth received.json",
        "In another network namespace; writes the bytes received.",
    ),
    Example::new(
        "tidemark-traffic validate --spec traffic.json",
        "Says what the file means, or which field is wrong.",
    ),
];
