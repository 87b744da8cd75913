// SPDX-License-Identifier: Apache-2.0
//! Example command lines, for the help of each command.

use daemon_kit::cli::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example::new(
        "tidemark-controller run --config controller.toml",
        "Console, REST and control, until a signal ends it.",
    ),
    Example::new(
        "tidemark-controller run --config controller.toml --dry-run",
        "Says what it would write to switches, and cannot.",
    ),
    Example::new(
        "tidemark-controller validate --config controller.toml",
        "Says what the file means, or which key is wrong.",
    ),
    Example::new(
        "tidemark-controller doctor --config controller.toml",
        "Each line ok, or what to do.",
    ),
    Example::new(
        "tidemark-controller provision --config controller.toml",
        "Program and tables onto the switches that the file names.",
    ),
    Example::new(
        "tidemark-controller analyze runs/now",
        "Estimates of a run, with their ranges; one part per limit.",
    ),
    Example::new(
        "tidemark-controller analyze runs/now --from-s 10 --to-s 40 --json",
        "Of these 30 s only, for programs.",
    ),
    Example::new(
        "tidemark-controller advise runs/now --loss 1% --delay 30ms",
        "The limit that keeps both, with what each rule says.",
    ),
    Example::new(
        "tidemark-controller whatif runs/now --limit 300kB --limit 64KiB",
        "What is expected at these limits.",
    ),
    Example::new(
        "tidemark-controller whatif runs/now --csv > curve.csv",
        "Over all limits.",
    ),
    Example::new(
        "tidemark-controller view runs/now",
        "The run in the console, to zoom and compare.",
    ),
    Example::new(
        "tidemark-controller size --capacity 50mbit --rtt 60ms --flows 100 --loss 1%",
        "What is known without a measurement.",
    ),
    Example::new(
        "tidemark-controller set --node 10 --port 1 --limit 300kB --reason test",
        "A limit through the running controller; the token is read from the environment.",
    ),
    Example::new(
        "tidemark-controller set --port 1 --limit 10ms",
        "So many bytes as the port sends in this time; the answer says how many.",
    ),
    Example::new(
        "tidemark-controller set --port 1 --advice --token-file token",
        "What it advises now.",
    ),
    Example::new(
        "tidemark-controller status",
        "Links, estimates and advice of the controller that runs.",
    ),
    Example::new(
        "tidemark-controller status --controller https://tidemark.lab:8080 --ca ca.pem --json",
        "The same of another machine, for programs.",
    ),
    Example::new(
        "tidemark-controller top",
        "Every link live, those that miss a target first.",
    ),
    Example::new(
        "tidemark-controller completions bash > /etc/bash_completion.d/tidemark-controller",
        "For every user of this machine.",
    ),
];
