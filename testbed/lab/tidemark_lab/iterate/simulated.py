# SPDX-License-Identifier: Apache-2.0
"""Simulates each limit, and runs the controller's estimators and advice on the capture.

Results of earlier limits are kept from round to round in an evidence file, as a running controller
keeps them in memory.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass

from .. import offline
from ..experiment.judge import Case
from ..experiment.ns3_scenario import IP_SHARE
from ..experiment.plan import Plan
from ..experiment.quantities import FRAME_BYTES
from ..json_types import JsonObject
from ..outcome import write_json
from ..sweep.table import passive_view
from ..trial.hold import Seconds
from ..verdict import kept
from .rounds import measured

SWITCH = "topology.switches.[0]"


@dataclass
class Simulated:
    """One experiment's traffic; each round is a run in its own directory."""

    case: Case
    # Ignores the senders' windows.
    passive: bool = False
    keep_captures: bool = False
    # The limit above a threshold, once advice has given it.
    _above_bytes: int | None = None

    @property
    def first_limit_bytes(self) -> int:
        point = self.case.point
        return Plan.of(point.experiment, point.seed).first_limits()[0].acts_at_bytes

    def measure(self, number: int, limit_bytes: int) -> JsonObject:
        """Runs a round with its own seed: the traffic is the same, its random numbers are not."""
        case, seed = self.case, 100 * self.case.point.seed + number
        run = case.run(changed=self._limits(limit_bytes), seed=seed, folder=f"round-{number}")
        window = run.phases[0].windows[0]
        capture = run.run_dir / "capture"
        seen = passive_view(capture, capture.with_name("passive")) if self.passive else capture
        link = offline.of_link(
            case.paths.binary("tidemark-controller"),
            *("advise", seen, "--json"),
            *("--from-ns", window.start_ns, "--to-ns", window.end_ns),
            *("--evidence", case.run_dir / "evidence.json", *self._targets()),
        )
        write_json(run.run_dir / "advice.json", link)
        each = json.loads((run.run_dir / "ns3.json").read_text())["each_s"]
        if not self.keep_captures:
            for folder in {seen, capture}:
                shutil.rmtree(folder)
        phase = run.plan.experiment.phases[0]
        here = slice(round(phase.settle), round(phase.settle + phase.duration))
        rate_bps = run.plan.experiment.topology.switches[0].rate * IP_SHARE
        seconds = Seconds(
            each["arrivals"][here],
            each["drops"][here],
            each["ce_marks"][here],
            [8 * b / rate_bps for b in each["ip_bytes_out"][here]],
        )
        return {
            **measured(link, seconds),
            "n_b_true": run.plan.n_b(0),
            "advice": link["advice"],
            "verdict": kept(link["verdict"]),
            "caveats": link["caveats"],
        }

    def apply(self, advice: JsonObject) -> int:
        """Sets the next run's limit, in whole packets, and with marks the limit above it."""
        if marking := advice.get("marking"):
            self._above_bytes = marking["limit_bytes"]
        return max(1, round(advice["limit_bytes"] / FRAME_BYTES)) * FRAME_BYTES

    def _limits(self, acts_at_bytes: int) -> JsonObject:
        if self.case.point.experiment.topology.switches[0].action == "drop_tail":
            return {f"{SWITCH}.limit": f"{acts_at_bytes}B"}
        above = {} if self._above_bytes is None else {f"{SWITCH}.limit": f"{self._above_bytes}B"}
        return {f"{SWITCH}.threshold": f"{acts_at_bytes}B", **above}

    def _targets(self) -> list[str]:
        wanted = self.case.point.experiment.targets
        out = ["--utilisation", f"{wanted.utilisation * 100:.9g}%"]
        out += ["--loss", "none" if wanted.loss is None else f"{wanted.loss * 100:.9g}%"]
        out += ["--confidence", f"{wanted.confidence:.9g}", "--margin", f"{wanted.margin:.9g}"]
        if wanted.delay is not None:
            out += ["--delay", f"{1e3 * wanted.delay:.9g}ms"]
        return out
