# SPDX-License-Identifier: Apache-2.0
"""Auto mode under traffic that changes: N_b steps, and the limit must follow.

    python -m tidemark_lab.steps [--seconds 40] [--flows 4,40,8]

Real TCP through the switch, whose controller is set to auto mode once it has seen
the first flows. Written to the
run directory: `steps.json` (what each step was and whether its bounds held) and
`steps.svg` (limit, occupancy, loss and N_b over time).
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict
from pathlib import Path

from pyroute2.netlink.exceptions import NetlinkError

from . import preflight, signals
from .api import ApiError
from .control_session import ControlSession, running
from .errors import LabError, PreflightError
from .json_types import JsonObject
from .limits import acts_at_bytes
from .outcome import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PREFLIGHT,
    new_run_dir,
    write_json,
)
from .preflight import Paths, Ports
from .progress import Progress, bar
from .scenario import BULK_TCP_PORT
from .steps_record import MOST_CHANGES, Options, Record, Step, planned
from .traffic import Truth

# Flows of a step start within this time.
SPREAD_S = 0.5


def flows_of(options: Options, namespace_of: dict[str, str]) -> list[JsonObject]:
    """Flow i is there in every step that has more than i flows."""
    scenario = options.scenario
    flows = []
    for i in range(max(options.flows)):
        sender = scenario.senders[scenario.lbp_sender(i)]
        for first, last in _spans([n > i for n in options.flows]):
            joining = [j for j in range(max(options.flows)) if _joins(options.flows, first, j)]
            place = joining.index(i) / len(joining)
            flows.append(
                {
                    "name": f"lbp-{i + 1}-step-{first + 1}",
                    "kind": "lbp",
                    "netns": namespace_of[sender.name],
                    "source": f"{sender.address}:0",
                    "destination": f"{scenario.receiver.address}:{BULK_TCP_PORT}",
                    "base_rtt_ms": scenario.base_rtts_ms[scenario.lbp_sender(i)],
                    "congestion_control": scenario.lbp_congestion_control(i),
                    "start_s": round(first * options.seconds + place * SPREAD_S, 3),
                    "stop_s": (last + 1) * options.seconds,
                }
            )
    return flows


def _joins(counts: tuple[int, ...], step: int, flow: int) -> bool:
    return counts[step] > flow and (step == 0 or counts[step - 1] <= flow)


def _spans(there: list[bool]) -> list[tuple[int, int]]:
    """First and last of each run of true values."""
    spans: list[tuple[int, int]] = []
    for i, is_there in enumerate(there):
        if not is_there:
            continue
        if spans and spans[-1][1] == i - 1:
            spans[-1] = (spans[-1][0], i)
        else:
            spans.append((i, i))
    return spans


def run(options: Options, progress: Progress) -> int:
    """Runs the steps; the exit code says whether everything held."""
    paths = Paths.find()
    try:
        for note in preflight.run(options.scenario, options.ports, paths, options.out):
            progress.say(f"note: {note}")
    except PreflightError as error:
        progress.say(f"steps: {error}")
        return EXIT_PREFLIGHT
    with signals.as_exception():
        run_dir = new_run_dir(options.out)
        try:
            steps = measure(options, paths, run_dir, progress)
        except signals.Interrupted as interruption:
            progress.say(f"interrupted ({interruption}); everything was removed")
            return EXIT_INTERRUPTED
        except (LabError, OSError, NetlinkError) as error:
            progress.say(f"steps: {error}")
            return EXIT_FAILED
    failed = 0
    progress.say(table(steps))
    for step in steps:
        for problem in step.problems(options):
            progress.say(f"FAIL  N_b {step.n_b}: {problem}")
            failed += 1
    if not failed:
        progress.say(
            f"ok    every bound held {planned().settling_s:g} s after each step, "
            f"with at most {MOST_CHANGES} changes"
        )
    progress.say(f"figure: {run_dir / 'steps.svg'}")
    return EXIT_FAILED if failed else EXIT_OK


def measure(options: Options, paths: Paths, run_dir: Path, progress: Progress) -> list[Step]:
    """Runs everything, writes `steps.json` and `steps.svg`, leaves nothing."""
    with signals.deferred():
        session = ControlSession(
            options.scenario, options.ports, paths, run_dir, options.settings()
        )
    with running(session):
        session.spec["flows"] = flows_of(options, session.topology.namespace_of)
        progress.say(f"run directory: {run_dir}")
        session.start_network()
        session.start_switch()
        session.start_collector()
        session.start_controller(observe_s=5.0)
        progress.say(f"console: {session.url}/")
        session.start_traffic()
        samples = _watch(session, options, progress)
        link = session.controller.get(session.link_path)
        series = session.controller.get(
            f"{session.link_path}/series?from_ns={link['capture_start_ns']}"
            f"&to_ns={link['now_ns']}&max_points=20000"
        )
        changes = session.controller.get("/changes")["changes"]
        session.finish()
    truth = Truth.read(session.truth_path)
    record = Record(options, truth, samples, series, changes)
    steps = record.steps()
    write_json(
        run_dir / "steps.json",
        {
            "flows": options.flows,
            "seconds": options.seconds,
            "settling_s": planned().settling_s,
            "bounds": {"loss_rate": options.loss_rate, "delay_ms": options.delay_ms},
            "settings": options.settings(),
            "steps": [asdict(s) | {"problems": s.problems(options)} for s in steps],
            "changes": changes,
            "samples": samples,
        },
    )
    # Drawing takes a second to import.
    from .report.steps import draw

    (run_dir / "steps.svg").write_text(draw(record))
    return steps


def _watch(session: ControlSession, options: Options, progress: Progress) -> list[JsonObject]:
    """What the controller says, about twice a second, until the last step ends."""
    total = options.seconds * len(options.flows)
    start = time.monotonic()
    samples = []
    automatic = False
    while (elapsed := time.monotonic() - start) < total - 0.2:
        session.supervisor.check()
        if not automatic and elapsed >= planned().auto_after_s:
            session.controller.post("/mode", {"mode": "auto"})
            automatic = True
        step = min(int(elapsed / options.seconds), len(options.flows) - 1)
        text = ""
        try:
            samples.append(_sample(session.link()))
        except ApiError:
            pass
        else:
            text = "  limit {limit_bytes} bytes, advice {advice_bytes}, N_b {n_b}".format(
                **samples[-1]
            )
        progress.show(
            f"N_b {options.flows[step]:<3} {bar(elapsed, total)} {elapsed:4.0f}/{total:.0f} s{text}"
        )
        time.sleep(0.5)
    return samples


def _sample(link: JsonObject) -> JsonObject:
    estimate = link.get("estimate") or {}
    n_b = (estimate.get("estimates") or {}).get("n_b") or {}
    return {
        "unix_ns": time.time_ns(),
        "now_ns": link["now_ns"],
        "limit_bytes": acts_at_bytes(link.get("limit")),
        "advice_bytes": (link.get("advice") or {}).get("limit_bytes"),
        "latest_bytes": link["steadiness"]["latest_bytes"],
        "n_b": n_b.get("value"),
    }


def table(steps: list[Step]) -> str:
    rows = [("N_b", "estimated", "changes", "limits (kB)", "utilisation", "loss", "delay max")]
    for s in steps:
        rows.append(
            (
                str(s.n_b),
                "-" if s.n_b_estimated is None else f"{s.n_b_estimated:.1f}",
                str(s.changes),
                " ".join(f"{b / 1e3:.0f}" for b in s.limits_bytes) or "-",
                f"{s.utilisation:.2%}",
                f"{s.loss_rate:.3%} ({s.settling_loss_rate:.3%} settling)",
                f"{s.delay_max_ms:.1f} ms ({s.settling_delay_max_ms:.1f} settling)",
            )
        )
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tidemark-lab steps", description=__doc__)
    add_arguments(parser)
    return from_arguments(parser.parse_args(argv))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("runs"), help="where run directories go")
    parser.add_argument(
        "--flows",
        type=lambda text: tuple(int(n) for n in text.split(",")),
        default=planned().flows,
        help="N_b of each step",
    )
    parser.add_argument("--seconds", type=float, default=planned().seconds, help="of each step")
    Ports.add_options(parser)


def from_arguments(arguments: argparse.Namespace) -> int:
    if arguments.seconds < planned().settling_s + 2 or min(arguments.flows) < 1:
        print(f"steps: --seconds must be at least {planned().settling_s + 2:g}, --flows above 0")
        return 2
    options = Options(
        flows=arguments.flows,
        seconds=arguments.seconds,
        out=arguments.out,
        ports=Ports.of(arguments),
    )
    return run(options, Progress())


if __name__ == "__main__":
    sys.exit(main())
