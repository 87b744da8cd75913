# SPDX-License-Identifier: Apache-2.0
"""Example command lines, for the help of each command."""

from __future__ import annotations

import argparse

# Command → arguments after `tidemark-lab`, and what they do.
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "run": (
        ("run demo", "Real TCP: measured, advised, applied, measured again."),
        ("run demo --keep --capacity 1gbit", "At 1 Gbit/s; the console stays until Ctrl-C."),
        ("run steps --flows 4,40,8", "Auto mode while the number of flows changes."),
        ("run sweep --only one,tiny", "Two of a set, each judged at several limits."),
        ("run trial --only reno4", "Each rule's buffer in turn, same traffic; four AQMs."),
        ("run iterate --only reno60 --rounds 3", "Advice followed three times."),
        ("run first", "An experiment from `list`, for its rows."),
        (
            "run first --set traffic.persistent.long.count=4 --out runs/more-flows",
            "With another number of flows.",
        ),
        ("run mine.toml --dry-run", "Shows the runs of your own file."),
    ),
    "sweep": (
        ("sweep algorithms --dry-run", "Shows the runs of a grid."),
        ("sweep algorithms --back-end ns3 --jobs 4", "Simulated, four runs at a time."),
    ),
    "table": (("table runs --out results", "All rows below a directory, as Parquet and CSV."),),
    "compare": (("compare runs/first runs/second", "Two experiments side by side."),),
    "figures": (("figures runs/first", "Occupancy, windows and rates as SVG and CSV."),),
    "list": (("list", "The available experiments."),),
    "clean": (("clean", "Removes namespaces and files of runs that were killed."),),
    "doctor": (("doctor --back-end bmv2", "What runs on BMv2 lack on this machine."),),
    "paper": (("paper utb --quick", "Figures of a paper, with one run of each setting."),),
}


def add_to(program: argparse.ArgumentParser, commands: dict[str, argparse.ArgumentParser]) -> None:
    """Adds examples to the end of each command's help, and a first step to the program's."""
    shown = {name: _text(program.prog, examples) for name, examples in EXAMPLES.items()}
    for name, command in commands.items():
        command.epilog = shown[name]
        command.formatter_class = argparse.RawDescriptionHelpFormatter
    run, *_ = EXAMPLES["run"]
    first = [e for e in EXAMPLES["run"] if e[0] == "run first"]
    program.epilog = _text(program.prog, (run, *first, EXAMPLES["figures"][0]))
    program.formatter_class = argparse.RawDescriptionHelpFormatter


def _text(program: str, examples: tuple[tuple[str, str], ...]) -> str:
    lines = (f"  {program} {line}\n      {what}" for line, what in examples)
    return "\n".join(("examples:", *lines))
