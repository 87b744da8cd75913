# SPDX-License-Identifier: Apache-2.0
"""Tables of a demo run, from `summary.json`, as rows of text. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..formats import MISSING, Format, interval, kilobytes, number, percent, show
from ..json_types import JsonObject
from ..markdown import aligned
from ..verdict import sentence

# Header, and rows that begin with their label.
Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


@dataclass(frozen=True)
class Quantity:
    """A measured value of a phase, by its path; some also have a prediction and a target."""

    label: str
    path: str
    form: Format
    # Name in the prediction and the targets.
    name: str = ""
    # Side of the target's bound, and its format.
    side: str = ""
    of_target: Format = str
    in_sentence: str = ""

    def measured(self, phase: JsonObject) -> float | None:
        value: Any = phase
        for key in self.path.split("."):
            value = value[key]
        return value

    def target(self, targets: JsonObject) -> str:
        wanted = targets.get(self.name)
        return MISSING if wanted is None else f"{self.side} {self.of_target(wanted)}"

    def verdict(self, value: float, predicted: JsonObject, target: float | None) -> str:
        parts = [f"{self.in_sentence or self.label} {self.form(value)} measured"]
        low, high = predicted.get("low"), predicted.get("high")
        if low is not None and high is not None:
            # A prediction is not wrong by one packet of delay or by rounding.
            slack = 0.02 * max(abs(low), abs(high))
            inside = low - slack <= value <= high + slack
            ends = f"{self.form(low)} to {self.form(high)}"
            parts.append(f"{'within' if inside else 'outside'} the predicted {ends}")
        if target is not None:
            missed = value < target if self.side == "≥" else value > target
            parts.append(f"target {self.form(target)} {'missed' if missed else 'met'}")
        return "; ".join(parts) + "."


MS = number(1, "ms")
LIMIT = Quantity("limit", "limit_bytes", kilobytes, "limit_bytes")
RATES = (
    Quantity("utilisation", "utilisation", percent(1), "utilisation", "≥", percent(0)),
    Quantity("loss rate", "loss_rate", percent(3), "loss_rate", "≤", percent(1)),
)
LARGEST_DELAY = Quantity(
    "queueing delay, largest", "delay_ms.max", MS, "delay_ms", "≤", MS, "largest queueing delay"
)
QUEUE = (
    Quantity("queueing delay, median", "delay_ms.p50", MS),
    Quantity("queueing delay, p99", "delay_ms.p99", MS),
    LARGEST_DELAY,
    Quantity("occupancy, median", "occupancy_bytes.p50", kilobytes),
    Quantity("occupancy, p99", "occupancy_bytes.p99", kilobytes),
    Quantity("occupancy, largest", "occupancy_bytes.max", kilobytes),
)

APPLICATION = (
    Quantity("transfers, whole", "transfers.completed", number(0)),
    Quantity("their mean size", "transfers.mean_bytes", kilobytes),
    Quantity("completion time, median", "transfers.completion_ms.p50", MS),
    Quantity("completion time, p95", "transfers.completion_ms.p95", MS),
    Quantity("completion time, p99", "transfers.completion_ms.p99", MS),
    Quantity("page load (model)", "page.load_ms", number(0, "ms")),
    Quantity("voice, mouth to ear (model)", "voice.mouth_to_ear_ms", MS),
    Quantity("voice, MOS of 1 to 4.5 (E-model)", "voice.mos", number(2)),
)


def outcome(summary: JsonObject) -> Table:
    """Measurements of each phase; the advice's prediction next to the phase that ran under it."""
    phases, targets = summary["phases"], _targets(summary)
    advice = _advice(summary)
    predicted = {
        **(advice.get("predicted") or {}),
        "limit_bytes": {"value": advice.get("limit_bytes")},
    }

    def row(q: Quantity) -> tuple[str, ...]:
        values = (show(q.measured(p), q.form) for p in phases)
        return (q.label, *values, interval(predicted.get(q.name), q.form), q.target(targets))

    dropped = ("dropped / CE marked", *(f"{p['drops']} / {p['ce_marked']}" for p in phases))
    head = ("", *(f"phase {p['name']}, measured" for p in phases), "advice, predicted", "target")
    return head, [*map(row, (LIMIT, *RATES)), (*dropped, "", ""), *map(row, QUEUE)]


def _targets(summary: JsonObject) -> JsonObject:
    return (summary.get("config", {}).get("scenario") or {}).get("targets") or {}


def _advice(summary: JsonObject) -> JsonObject:
    """The first advice, or an empty object."""
    return next((p["advice"] for p in summary["phases"] if p.get("advice")), None) or {}


def application(summary: JsonObject) -> Table:
    """Phases as applications see them; no rows for a summary of an older version without them."""
    phases = [p for p in summary["phases"] if p.get("application")]

    def row(q: Quantity) -> tuple[str, ...]:
        return (q.label, *(show(q.measured(p["application"]), q.form) for p in phases))

    head = ("", *(f"phase {p['name']}" for p in phases))
    return head, list(map(row, APPLICATION)) if phases else []


def verdicts(summary: JsonObject) -> list[str]:
    """How the phase under the advised limit met predictions and targets, one sentence per quantity;
    empty without advice or without a phase after it."""
    for before, after in pairwise(summary["phases"]):
        if before.get("advice"):
            predicted, targets = before["advice"].get("predicted") or {}, _targets(summary)
            return [
                q.verdict(value, predicted.get(q.name) or {}, targets.get(q.name))
                for q in (*RATES, LARGEST_DELAY)
                if (value := q.measured(after)) is not None
            ]
    return []


ESTIMATES: tuple[tuple[str, str, Format], ...] = (
    ("n_b", "N_b, flows", number(1)),
    ("t_e_ms", "T_e", number(1, "ms")),
    ("c_e_share", "C_e/C", percent(1)),
    ("alpha", "\u03b1", number(2)),
    ("mean_loss_burst", "mean loss burst", number(1, "pkts")),
    ("delta", "\u0394", number(2)),
)


def estimates(summary: JsonObject) -> Table:
    """Every estimate with its interval, and the truth if known."""
    phases = summary["phases"]
    rows = [
        (label, *(cell for p in phases for cell in _beside_truth(p, name, form)))
        for name, label, form in ESTIMATES
    ]
    regimes = ((p["estimates"].get("regime") or {}).get("value") for p in phases)
    rows.append(("regime", *(cell for r in regimes for cell in (str(r or MISSING), MISSING))))
    heads = (cell for p in phases for cell in (f"phase {p['name']}, estimated", "truth"))
    return ("", *heads), rows


def _beside_truth(phase: JsonObject, name: str, form: Format) -> tuple[str, str]:
    truth = (phase.get("truth") or {}).get(name)
    return interval(phase["estimates"].get(name), form), show(truth, form)


def evidence(summary: JsonObject) -> Table:
    """Values that show whether the numbers can be trusted."""
    phases = summary["phases"]
    rows = [
        (label, *(f"{p['reports'][key]:,}".replace(",", "\u202f") for p in phases))
        for key, label in (
            ("received", "reports received"),
            ("lost", "reports lost"),
            ("malformed", "reports malformed"),
        )
    ]
    joined = (show(p["join"]["matched_fraction"], percent(2)) for p in phases)
    rows.append(("data packets of probed flows joined", *joined))
    return ("", *(f"phase {p['name']}" for p in phases)), rows


def sentences(summary: JsonObject) -> list[str]:
    """The verdict of each phase."""
    return [f"phase {p['name']}: {sentence(p['verdict'])}" for p in summary["phases"]]


def text(summary: JsonObject) -> str:
    """Returns the verdicts, all tables for a terminal, and the reasons for the advice."""
    tables = (outcome(summary), application(summary), estimates(summary), evidence(summary))
    lines = [*sentences(summary), ""]
    lines += [line for t in tables if t[1] for line in [*aligned(*t), ""]]
    reasons = _advice(summary).get("reasons") or []
    return "\n".join([*lines[:-1], *(f"  - {r}" for r in reasons)])
