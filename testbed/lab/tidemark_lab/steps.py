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
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from pyroute2.netlink.exceptions import NetlinkError

from . import preflight, signals
from .api import ApiError
from .control_session import ControlSession, running
from .demo import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_PREFLIGHT, new_run_dir, write_json
from .errors import LabError, PreflightError
from .preflight import Paths, Ports
from .progress import Progress, bar
from .scenario import BULK_TCP_PORT, Scenario
from .traffic import Truth

# A step is judged once this has passed of it.
SETTLING_S = 10.0
MOST_CHANGES = 3
# The controller recommends before it may change anything by itself, as its
# operator would have it: what the first flows lose in slow start, at a limit that
# nobody chose for them, is no measure of the limit they need.
AUTO_AFTER_S = 8.0
# Flows of a step start within this time.
SPREAD_S = 0.5
FRAME_BYTES = 1514


@dataclass
class Options:
    flows: tuple[int, ...] = (4, 40, 8)
    seconds: float = 40.0
    out: Path = Path("runs")
    ports: Ports = field(default_factory=Ports)
    # Both can be kept with 40 flows: with half the loss or half the delay they
    # could not.
    loss_rate: float = 0.02
    delay_ms: float = 60.0
    utilisation: float = 0.98
    scenario: Scenario = field(
        default_factory=lambda: Scenario(
            base_rtts_ms=(24.0, 30.0, 36.0, 42.0),
            lbp_flows=0,
            rbp_senders=(),
            wl_senders=(),
            short_share=0.01,
        )
    )

    def settings(self) -> dict:
        """Of the controller: targets, and less waiting than by default."""
        return {
            "targets": {
                "utilisation": self.utilisation,
                "loss_rate": self.loss_rate,
                "delay_ms": self.delay_ms,
                "priority": ["delay", "loss", "utilisation"],
            },
            "control": {
                "mode": "recommend",
                "headroom": 0.25,
                "observe_s": 5.0,
                "min_change_interval_s": 4.0,
                "short_window_s": 2.0,
                "stable_s": 3,
                "advice_memory_s": 4,
                "deadband": 0.2,
                "max_step_factor": 4.0,
            },
            "window_s": 8.0,
        }


@dataclass
class Step:
    """One span of constant traffic, as it went."""

    n_b: int
    # Seconds since the first step began.
    start_s: float
    end_s: float
    limits_bytes: list[int]
    changes: int
    # In force when it ended.
    last_limit_bytes: float
    n_b_estimated: float | None
    utilisation: float
    loss_rate: float
    delay_max_ms: float
    # Of the time before it is judged.
    settling_loss_rate: float
    settling_delay_max_ms: float

    def problems(self, options: Options) -> list[str]:
        """What does not hold of what must."""
        found = []
        if self.loss_rate > options.loss_rate:
            found.append(f"loss {self.loss_rate:.3%} is above {options.loss_rate:.3%}")
        if self.delay_max_ms > options.delay_ms:
            found.append(f"delay {self.delay_max_ms:.1f} ms is above {options.delay_ms:g} ms")
        if self.changes > MOST_CHANGES:
            found.append(f"{self.changes} changes are more than {MOST_CHANGES}")
        return found


def flows_of(options: Options, namespace_of: dict[str, str]) -> list[dict]:
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
            f"ok    every bound held {SETTLING_S:g} s after each step, "
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
            "settling_s": SETTLING_S,
            "bounds": {"loss_rate": options.loss_rate, "delay_ms": options.delay_ms},
            "settings": options.settings(),
            "steps": [asdict(s) | {"problems": s.problems(options)} for s in steps],
            "changes": changes,
            "samples": samples,
        },
    )
    from .report.steps import draw

    (run_dir / "steps.svg").write_text(draw(record))
    return steps


def _watch(session: ControlSession, options: Options, progress: Progress) -> list[dict]:
    """What the controller says, about twice a second, until the last step ends."""
    total = options.seconds * len(options.flows)
    start = time.monotonic()
    samples = []
    automatic = False
    while (elapsed := time.monotonic() - start) < total - 0.2:
        session.supervisor.check()
        if not automatic and elapsed >= AUTO_AFTER_S:
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


def _sample(link: dict) -> dict:
    estimate = link.get("estimate") or {}
    n_b = (estimate.get("estimates") or {}).get("n_b") or {}
    return {
        "unix_ns": time.time_ns(),
        "now_ns": link["now_ns"],
        "limit_bytes": (link.get("limit") or {}).get("limit_bytes"),
        "advice_bytes": (link.get("advice") or {}).get("limit_bytes"),
        "latest_bytes": link["steadiness"]["latest_bytes"],
        "n_b": n_b.get("value"),
    }


class Record:
    """Everything of a run on one axis: seconds since the first step."""

    def __init__(
        self, options: Options, truth: Truth, samples: list[dict], series: dict, changes: list[dict]
    ):
        self.options = options
        starts = [f["start"]["unix_ns"] for f in truth.flows if f["kind"] == "lbp"]
        self._zero_unix_ns = min(starts)
        # The watermark is late by what the collector holds back; the least late.
        self._unix_minus_switch_ns = min(s["unix_ns"] - s["now_ns"] for s in samples)
        at = np.array(series["time_ns"], dtype=float) + self._unix_minus_switch_ns
        self.time_s = (at - self._zero_unix_ns) / 1e9
        self.step_s = series["step_ns"] / 1e9
        columns = ("arrivals", "drops", "delay_max_ms", "utilisation")
        self.columns = {c: np.array(series[c], dtype=float) for c in columns}
        self.limit_bytes = np.array(series["limit_bytes"], dtype=float)
        self.sample_s = np.array([self._since(s["unix_ns"]) for s in samples])
        self.samples = samples
        self.changes = [c for c in changes if c["outcome"] == "set"]

    def _since(self, unix_ns: float) -> float:
        return (unix_ns - self._zero_unix_ns) / 1e9

    def change_times_s(self) -> list[float]:
        return [self._since(c["unix_ms"] * 1e6) for c in self.changes]

    def steps(self) -> list[Step]:
        options = self.options
        return [
            self._step(n, k * options.seconds, (k + 1) * options.seconds)
            for k, n in enumerate(options.flows)
        ]

    def _step(self, n_b: int, start_s: float, end_s: float) -> Step:
        judged = self._part(start_s + SETTLING_S, end_s)
        settling = self._part(start_s, start_s + SETTLING_S)
        changed = [
            c["limit"].get("limit_bytes", 0)
            for c, at in zip(self.changes, self.change_times_s(), strict=True)
            if start_s <= at < end_s
        ]
        estimates = [
            s["n_b"]
            for s, at in zip(self.samples, self.sample_s, strict=True)
            if start_s + SETTLING_S <= at < end_s and s["n_b"] is not None
        ]
        return Step(
            n_b=n_b,
            start_s=start_s,
            end_s=end_s,
            limits_bytes=changed,
            changes=len(changed),
            last_limit_bytes=float(self.limit_bytes[judged][-1]),
            n_b_estimated=float(np.median(estimates)) if estimates else None,
            utilisation=float(self.columns["utilisation"][judged].mean()),
            loss_rate=self._loss(judged),
            delay_max_ms=float(self.columns["delay_max_ms"][judged].max()),
            settling_loss_rate=self._loss(settling),
            settling_delay_max_ms=float(self.columns["delay_max_ms"][settling].max()),
        )

    def _part(self, start_s: float, end_s: float) -> np.ndarray:
        part = (self.time_s >= start_s) & (self.time_s + self.step_s <= end_s)
        if not part.any():
            raise LabError(f"no telemetry between {start_s:g} and {end_s:g} s")
        return part

    def _loss(self, part: np.ndarray) -> float:
        arrivals = self.columns["arrivals"][part].sum()
        return float(self.columns["drops"][part].sum() / arrivals) if arrivals else 0.0


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
        default=(4, 40, 8),
        help="N_b of each step",
    )
    parser.add_argument("--seconds", type=float, default=40.0, help="of each step")
    for option, value in Ports().by_option().items():
        parser.add_argument(option, type=int, default=value, metavar="PORT")


def from_arguments(arguments: argparse.Namespace) -> int:
    if arguments.seconds < SETTLING_S + 2 or min(arguments.flows) < 1:
        print(f"steps: --seconds must be at least {SETTLING_S + 2:g}, --flows above 0")
        return 2
    ports = Ports(
        console=arguments.console_port,
        switch=arguments.switch_port,
        collector=arguments.collector_port,
        collector_metrics=arguments.metrics_port,
    )
    options = Options(
        flows=arguments.flows, seconds=arguments.seconds, out=arguments.out, ports=ports
    )
    return run(options, Progress())


if __name__ == "__main__":
    sys.exit(main())
