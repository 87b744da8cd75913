# SPDX-License-Identifier: Apache-2.0
"""The loop of rounds, and its verdict. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..json_types import JsonObject
from ..summary import mean_utilisation
from ..trial.hold import Seconds
from ..trial.outcome import mean_range
from ..verdict import FINE

ROUNDS = 3
INSIDE, NONE_MEETS, WRONG = "inside the bounds", "says that none meets them", "WRONG"
# The value is outside the bounds, but its range is not.
WITHIN_ERROR = "outside by less than it may be off"
# Measured quantities that are predicted.
PREDICTED = ("utilisation", "loss_rate", "delay_mean_ms")
# Advice closer (relative) to the limit in force counts as equal.
SAME_LIMIT = 0.03
# Prediction ranges are widened by this much: a few packets of a run.
RESOLUTION = {"utilisation": 1e-4}


class BackEnd(Protocol):
    """Measures a limit under one experiment's traffic, and applies advice."""

    def measure(self, number: int, limit_bytes: int) -> JsonObject:
        """Measures round `number` (from 0) at a limit: `measured` and `n_b` as below, `n_b_true`,
        and the controller's `advice` and `verdict`."""

    def apply(self, advice: JsonObject) -> int:
        """Applies the advice; returns the limit then in force, bytes."""


def measured(estimate: JsonObject, seconds: Seconds) -> JsonObject:
    """The outcome of a limit, and the estimated number of flows. Loss is drops over arrivals,
    ranges are 90 % ranges from single seconds."""
    loss, n_b = seconds.loss, estimate["estimates"]["n_b"]
    utilisation = mean_utilisation(estimate)
    return {
        "measured": {
            # A packet cut off by the end of the phase counts in full.
            "utilisation": None if utilisation is None else min(1.0, utilisation),
            "utilisation_range": list(mean_range(seconds.utilisation)),
            "loss_rate": loss.value,
            "loss_range": [loss.low, loss.high],
            "marked_rate": estimate["ce_marked"] / max(estimate["arrivals"], 1),
            "delay_mean_ms": estimate["delay_ms"]["mean"],
            "delay_max_ms": estimate["delay_ms"]["max"],
        },
        "n_b": {key: n_b[key] for key in ("value", "low", "high")},
    }


def iterate(
    back_end: BackEnd,
    first_limit_bytes: int,
    rounds: int = ROUNDS,
    told: Callable[[JsonObject], None] = lambda _: None,
) -> list[JsonObject]:
    """Runs the rounds, including round 0 at the first limit.

    Ends early where the limit in force is to be kept: nothing would be applied.
    """
    done: list[JsonObject] = []
    limit_bytes, predicted = first_limit_bytes, None
    for number in range(rounds + 1):
        one = {
            "round": number,
            "limit_bytes": limit_bytes,
            "predicted": predicted,
            **back_end.measure(number, limit_bytes),
        }
        one["held"] = held(predicted, one["measured"])
        done.append(one)
        told(one)
        if number == rounds or stays(one):
            break
        advice = one["advice"]
        predicted = advice["predicted"]
        limit_bytes = back_end.apply(advice)
    return done


def stays(one: JsonObject) -> bool:
    """Whether the limit of a round should be kept."""
    advised = one["advice"]["limit_bytes"]
    if advised is None or one["verdict"]["answer"] == FINE:
        return True
    return bool(abs(advised / one["limit_bytes"] - 1) <= SAME_LIMIT)


def held(predicted: JsonObject | None, measured: JsonObject) -> JsonObject:
    """Whether the measurement is in the predicted range, by quantity; empty if none."""
    if not predicted:
        return {}
    out = {}
    for name in PREDICTED:
        expected, came = predicted.get(name), measured.get(name)
        if expected and came is not None:
            off = RESOLUTION.get(name, 0.0)
            out[name] = expected["low"] - off <= came <= expected["high"] + off
    return out


def misses(measured: JsonObject, targets: JsonObject) -> list[str]:
    """Bounds that a measurement violates; utilisation and loss violate theirs only if their whole
    range does."""
    out = []
    if measured["utilisation_range"][1] < targets["utilisation"]:
        out.append("utilisation")
    if targets.get("loss_rate") is not None and measured["loss_range"][0] > targets["loss_rate"]:
        out.append("loss")
    if targets.get("delay_ms") is not None and measured["delay_max_ms"] > targets["delay_ms"]:
        out.append("delay")
    return out


def inside(measured: JsonObject, targets: JsonObject) -> bool:
    """Whether the measured values themselves meet the bounds."""
    loss, delay = targets.get("loss_rate"), targets.get("delay_ms")
    return (
        measured["utilisation"] >= targets["utilisation"]
        and (loss is None or measured["loss_rate"] <= loss)
        and (delay is None or measured["delay_max_ms"] <= delay)
    )


def verdict(done: list[JsonObject], targets: JsonObject) -> JsonObject:
    """How the rounds ended, and why that is right or wrong.

    Outside the bounds is right only where the advice had said so: of the limit that was
    run last, or of any other it could find after that run.
    """
    last = done[-1]
    missed = misses(last["measured"], targets)
    infeasible = [one["advice"].get("infeasible") or {} for one in done[-2:]]
    said = {bound for each in infeasible for bound in each.get("given_up") or []}
    if not missed:
        word = INSIDE if inside(last["measured"], targets) else WITHIN_ERROR
    elif set(missed) <= said:
        word = NONE_MEETS
    else:
        word = WRONG
    return {"verdict": word, "missed": missed, "given_up": sorted(said)}
