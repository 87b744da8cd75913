# SPDX-License-Identifier: Apache-2.0
"""`doctor`: checks whether this machine can run the demo, and so any experiment on real TCP."""

from __future__ import annotations

import argparse
from pathlib import Path

from .demo import variant
from .demo.variant import Variant
from .experiment import execute, grid, load
from .experiment.bmv2.back_end import Bmv2
from .experiment.embedded.back_end import Embedded
from .outcome import EXIT_OK
from .preflight import Ports
from .progress import Progress

BACK_ENDS = {"embedded": Embedded, "bmv2": Bmv2}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("runs"), help="directory for the runs")
    parser.add_argument(
        "--back-end",
        choices=list(BACK_ENDS),
        default="embedded",
        help="switch for the traffic; bmv2 is simple_switch_grpc on PATH",
    )
    Ports.add_options(parser)


def from_arguments(arguments: argparse.Namespace) -> int:
    progress = Progress()
    back_end = BACK_ENDS[arguments.back_end](Ports.of(arguments))
    wanted = Variant(bmv2=arguments.back_end == "bmv2")
    document = variant.of(load.read(load.FILES / "demo.toml"), wanted)
    for note in back_end.ready(arguments.out):
        progress.say(f"note: {note}")
    execute.refuse(grid.points(document, "demo"), back_end)
    progress.say("ok")
    return EXIT_OK
