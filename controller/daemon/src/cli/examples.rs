// SPDX-License-Identifier: Apache-2.0
//! Example command lines, for the help of each command.

use daemon_kit::cli::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example::new(
        "tidemark-controller run --config controller.toml",
        "Serves console and REST and controls the switches, until a signal ends it.",
    ),
    Example::new(
        "tidemark-controller run --config controller.toml --dry-run",
        "Logs what it would write to switches, and writes nothing.",
    ),
    Example::new(
        "tidemark-controller validate --config controller.toml",
        "Says that the file is valid, or which key is wrong.",
    ),
    Example::new(
        "tidemark-controller doctor --config controller.toml",
        "Each line ok, or what to do.",
    ),
    Example::new(
        "tidemark-controller provision --config controller.toml",
        "Writes program and tables to the switches that the file names.",
    ),
    Example::new(
        "tidemark-controller analyze runs/now",
        "Prints the estimates of a run with their ranges, separately for each limit.",
    ),
    Example::new(
        "tidemark-controller analyze runs/now --from-s 10 --to-s 40 --json",
        "The estimates of these 30 s only, as JSON.",
    ),
    Example::new(
        "tidemark-controller advise runs/now --loss 1% --delay 30ms",
        "Prints the limit that meets both targets, and the rules that hold.",
    ),
    Example::new(
        "tidemark-controller whatif runs/now --limit 300kB --limit 64KiB",
        "Predictions at these limits.",
    ),
    Example::new(
        "tidemark-controller whatif runs/now --csv > curve.csv",
        "Predictions over all limits, as CSV.",
    ),
    Example::new(
        "tidemark-controller view runs/now",
        "Shows the run in the console, to zoom and compare.",
    ),
    Example::new(
        "tidemark-controller size --capacity 50mbit --rtt 60ms --flows 100 --loss 1%",
        "Sizes a buffer without a measurement.",
    ),
    Example::new(
        "tidemark-controller set --node 10 --port 1 --limit 300kB --reason test",
        "Sets a limit through the running controller; the token is read from the environment.",
    ),
    Example::new(
        "tidemark-controller set --port 1 --limit 10ms",
        "Sets as many bytes as the port sends in 10 ms; the output says how many.",
    ),
    Example::new(
        "tidemark-controller set --port 1 --advice --token-file token",
        "Sets the limit that the controller advises now.",
    ),
    Example::new(
        "tidemark-controller status",
        "Links, estimates and advice of the running controller.",
    ),
    Example::new(
        "tidemark-controller status --controller https://tidemark.lab:8080 --ca ca.pem --json",
        "The same for another machine, as JSON.",
    ),
    Example::new(
        "tidemark-controller top",
        "Every link live, those that miss a target first.",
    ),
    Example::new(
        "tidemark-controller completions bash > /etc/bash_completion.d/tidemark-controller",
        "Installs completions for every user of this machine.",
    ),
];
