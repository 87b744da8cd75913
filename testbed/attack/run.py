# SPDX-License-Identifier: Apache-2.0
"""The findings of a review of security, tried again: `make attack`.

Each attack starts a collector, and a controller where it matters, on loopback with
temporary directories, does what the finding says, and claims what must hold.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import control
import grpc_strangers
import http_strangers
import telemetry
from programs import BIN_DIR, Succeeded


@dataclass(frozen=True)
class Finding:
    """One finding: what it did once, and what does it again."""

    name: str
    once: str
    attack: Callable[[float], str]


FINDINGS = (
    Finding("A0", "believed: estimates and advice move", telemetry.forged),
    Finding("A1", "collector 7.6 GiB and controller 3.1 GiB after 110 s", telemetry.link_spray),
    Finding("A2", "data 12.7 s late until the collector is restarted", telemetry.one_long_delay),
    Finding("A3", "series, estimates and the watch on a change forgotten", telemetry.wipe),
    Finding("A4", "the configured node refused, its losses unseen", telemetry.full_tables),
    Finding("A5", "controller 4.3 GiB, GET of the link 147 MB", telemetry.random_flows),
    Finding("A6", "2.1e11 reports said to be lost", telemetry.mutated),
    Finding("A7", "SIGTERM waits for the end of the flood", telemetry.end_under_flood),
    Finding("B1", "collector 1.3 GiB after 45 s", grpc_strangers.silent_subscribers),
    Finding("B2", "honest agents refused until the restart", grpc_strangers.made_up_agents),
    Finding("C3", "silent for 12 s: age 0.06 s, not stale", control.silent_switch),
    Finding("C4", "a limit on the switch that no record has", control.killed_during_a_write),
    Finding("D1", "a foreign name is answered 200", http_strangers.rebinding),
    Finding("D2", "1000 half requests open after 35 s", http_strangers.slow_requests),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="attack", description=__doc__)
    names = [f.name for f in FINDINGS]
    parser.add_argument("--only", help=f"these, comma-separated: {', '.join(names)}")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="of the long ones: how much of them (default 1)"
    )
    args = parser.parse_args()
    wanted = args.only.split(",") if args.only else names
    if unknown := set(wanted) - set(names):
        parser.error(f"--only: there is no {', '.join(sorted(unknown))}")
    if not 0.0 < args.scale <= 10.0:
        parser.error("--scale: above 0 and at most 10")
    if not (BIN_DIR / "tidemark-collector").exists():
        print(f"attack: {BIN_DIR} has no tidemark-collector: run `make build`", file=sys.stderr)
        return 2
    failed = []
    for finding in FINDINGS:
        if finding.name not in wanted:
            continue
        begin = time.monotonic()
        try:
            told, held = finding.attack(args.scale), True
        except Succeeded as e:
            told, held = str(e), False
        except Exception as e:  # an attack that cannot be carried out proves nothing
            traceback.print_exc()
            told, held = f"could not be tried: {e}", False
        if not held:
            failed.append(finding.name)
        word = "held  " if held else "FAILED"
        seconds = time.monotonic() - begin
        print(
            f"{finding.name}  {word}  {told}  (at 63e1e1a: {finding.once}; {seconds:.0f} s)",
            flush=True,
        )
    print(f"attack: {len(wanted) - len(failed)} of {len(wanted)} held", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
