# SPDX-License-Identifier: Apache-2.0
"""The command: iterates advice on traffics, by simulation or on real TCP."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Callable
from pathlib import Path

from ..errors import LabError
from ..json_types import JsonObject
from ..outcome import EXIT_INTERRUPTED, EXIT_OK, EXIT_PREFLIGHT, new_run_dir
from ..places import remedy
from ..preflight import PACKAGES, Paths, Ports
from ..progress import Progress
from ..trial.traffics import TRAFFICS as EMBEDDED_TRAFFICS
from . import embedded, ns3, table
from .record import document, finish, teller, write
from .rounds import iterate
from .simulated import Simulated
from .traffics import TRAFFICS, SimulatedTraffic

PROGRAMS = ("tidemark-collector", "tidemark-controller")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "back_end", choices=("simulated", "embedded"), nargs="?", default="simulated"
    )
    parser.add_argument("--out", type=Path, default=Path("runs"), help="where run directories go")
    parser.add_argument(
        "--only",
        type=lambda text: tuple(text.split(",")),
        metavar="NAME,...",
        help="these traffics (--list)",
    )
    parser.add_argument("--list", action="store_true", help="the traffics, nothing is run")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each round, measured")
    parser.add_argument(
        "--warmup", type=float, default=15.0, metavar="SECONDS", help="before, not measured"
    )
    parser.add_argument("--rounds", type=int, default=3, help="that follow the advice")
    parser.add_argument("--seed", type=int, default=1, help="of simulated runs")
    parser.add_argument("--passive", action="store_true", help="without the senders' windows")
    parser.add_argument("--keep", action="store_true", help="keep simulated reports and captures")
    Ports.add_options(parser)


def from_arguments(arguments: argparse.Namespace) -> int:
    simulated = arguments.back_end == "simulated"
    known = TRAFFICS if simulated else EMBEDDED_TRAFFICS
    if arguments.list:
        for traffic in known:
            print(f"{traffic.name:<10} {traffic.about}")
        return EXIT_OK
    names = arguments.only or tuple(t.name for t in known)
    if unknown := set(names) - {t.name for t in known}:
        print(f"iterate: no traffic {', '.join(sorted(unknown))}; --list names them")
        return EXIT_PREFLIGHT
    if arguments.seconds < 8 or arguments.rounds < 1 or not 0 <= arguments.warmup <= 600:
        print("iterate: --seconds at least 8, --rounds at least 1, --warmup from 0 to 600")
        return EXIT_PREFLIGHT
    progress = Progress()
    paths = Paths.find()
    if not simulated:
        return embedded.run(arguments, names, paths, progress)
    try:
        ns3.program()
        _have(paths)
    except LabError as error:
        progress.say(f"iterate: {error}")
        return EXIT_PREFLIGHT
    run_dir = new_run_dir(arguments.out)

    def one(traffic: SimulatedTraffic, told: Callable[[JsonObject], None]) -> JsonObject:
        back_end = Simulated(
            traffic,
            paths,
            run_dir / traffic.name,
            arguments.warmup + arguments.seconds,
            arguments.warmup,
            arguments.seed,
            passive=arguments.passive,
            keep=arguments.keep,
        )
        rounds = iterate(back_end, traffic.first_limit_bytes, arguments.rounds, told)
        return document(traffic.name, traffic.about, traffic.targets, rounds)

    documents: list[JsonObject] = []
    failed = False
    for traffic in (t for t in TRAFFICS if t.name in names):
        progress.show(f"{traffic.name}: round 0")
        try:
            documents.append(one(traffic, teller(traffic.name, progress)))
        except KeyboardInterrupt:
            progress.say("interrupted")
            return EXIT_INTERRUPTED
        except (LabError, OSError, subprocess.SubprocessError) as error:
            progress.say(f"{traffic.name}: {error}")
            failed = True
            continue
        progress.say(table.markdown(documents[-1]))
        write(run_dir, documents)
    return finish(run_dir, documents, failed, progress)


def _have(paths: Paths) -> None:
    for name in PROGRAMS:
        if not paths.binary(name).exists():
            how = remedy("run make build", f"install the packages {PACKAGES}")
            raise LabError(f"{paths.binary(name)} is not there: {how}")
