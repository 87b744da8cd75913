# SPDX-License-Identifier: Apache-2.0
"""A plan's ports at a running controller: applies phases, reads limits in force and estimates."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..api import ApiError, Controller
from ..errors import LabError
from ..json_types import JsonObject
from ..limits import acts_at_bytes, request
from .backend import Place
from .model import Phase, Targets
from .plan import Limits, Plan
from .quantities import FRAME_BYTES

ADVICE_WAIT_S = 15.0
SERIES_POINTS = 20_000
# Until a phase says otherwise, advice is applied only when the experiment asks for it.
FIRST_MODE = "confirm"
# Reason given for the first limits in the controller's audit log.
FIRST = "experiment, before its first phase"


@dataclass(frozen=True)
class Links:
    """A plan's ports at the controller; `check` raises if a program of the run has ended."""

    plan: Plan
    places: Sequence[Place]
    controller: Controller
    check: Callable[[], None]

    def link(self, switch: int) -> JsonObject:
        return self.controller.get(path(self.places[switch]))

    def set_limits(self, switch: int, limits: Limits, reason: str) -> None:
        where, body = limit_request(self.places[switch], limits.document(), reason)
        self.controller.post(where, body)

    def set_phase(self, phase: Phase, before: list[Limits]) -> list[Limits]:
        """Applies the settings of a phase; returns the limits then in force."""
        self._order(phase)
        return self._changed(phase, before, self.plan.limits_in(phase, before))

    def set_advised(
        self, phase: Phase, before: list[Limits], advice: Sequence[JsonObject | None]
    ) -> list[Limits]:
        """Applies the settings of a phase that starts with the advice from the one before it;
        returns the limits then in force."""
        self._order(phase)
        most = self.plan.most_limit_bytes
        wanted = [limits_of_advice(a, b, most) for a, b in zip(advice, before, strict=True)]
        return self._changed(phase, before, wanted)

    def _changed(self, phase: Phase, before: list[Limits], wanted: list[Limits]) -> list[Limits]:
        for k, limits in enumerate(wanted):
            if limits != before[k]:
                self.set_limits(k, limits, reason(phase))
        return wanted

    def apply_advice(self, phase: Phase, before: list[Limits]) -> list[Limits]:
        """Applies the settings of a phase that starts with the current advice, for a controller
        that keeps no phases; returns the limits then in force."""
        self._order(phase)
        return [self.advised(k, before[k]) for k in range(len(self.places))]

    def _order(self, phase: Phase) -> None:
        """Sets the controller's targets and mode, if the phase has any."""
        if phase.targets is not None:
            self.set_targets(phase.targets)
        if phase.mode is not None:
            self.controller.post("/mode", {"mode": phase.mode})

    def set_targets(self, wanted: Targets) -> None:
        for place in self.places:
            self.controller.post("/targets", target_request(place, wanted))

    def advised(self, switch: int, before: Limits) -> Limits:
        """Applies the controller's advice, or nothing if it equals the limit in force. Returns the
        limits then in force."""
        deadline = time.monotonic() + ADVICE_WAIT_S
        while True:
            self.check()
            state = self.advice(switch)
            if state["can_apply"]:
                done = self.controller.post("/advice/apply", named(self.places[switch]))
                return limits_of(done["limit"], before)
            if (state["advice"] or {}).get("limit_bytes") == before.acts_at_bytes:
                return before
            if time.monotonic() > deadline:
                raise LabError(
                    f"no advice can be applied at switch {switch + 1}: {state.get('why_not')}"
                )
            time.sleep(0.2)

    def advice(self, switch: int) -> JsonObject:
        """Returns the current advice, and whether it can be applied."""
        return self.controller.get(f"/advice?{query(self.places[switch])}")

    def in_force(self, before: list[Limits]) -> list[Limits]:
        """Returns the current limits of the switches: in auto mode the controller changes them."""
        found = []
        for k in range(len(self.places)):
            limit = self.link(k).get("limit")
            found.append(limits_of(limit, before[k]) if limit else before[k])
        return found

    def now(self) -> list[tuple[int, int]]:
        """Returns the clock of each switch, by its newest reports, and the Unix time here; ns."""
        return [(self.link(k)["now_ns"], time.time_ns()) for k in range(len(self.places))]

    def series(self, from_ns: int) -> JsonObject:
        """Returns the first switch's series, from a time of its clock until now."""
        to_ns = self.link(0)["now_ns"]
        span = f"from_ns={from_ns}&to_ns={to_ns}&max_points={SERIES_POINTS}"
        return self.controller.get(f"{path(self.places[0])}/series?{span}")

    def live(self) -> list[JsonObject]:
        """Returns the controller's current view of each switch."""
        found: list[JsonObject] = []
        for k in range(len(self.places)):
            try:
                found.append(in_short(self.link(k)))
            except ApiError:
                found.append({})
        return found


def in_short(link: JsonObject) -> JsonObject:
    """Summarises a link's state as the controller returns it."""
    estimates = (link.get("estimate") or {}).get("estimates") or {}
    return {
        "n_b": (estimates.get("n_b") or {}).get("value"),
        "limit_bytes": acts_at_bytes(link.get("limit")),
        "advice_bytes": (link.get("advice") or {}).get("limit_bytes"),
    }


def path(place: Place) -> str:
    return f"/links/{place.node}/{place.port}"


def query(place: Place) -> str:
    return f"node={place.node}&port={place.port}"


def named(place: Place) -> JsonObject:
    return {"node": place.node, "port": place.port}


def reason(phase: Phase) -> str:
    """Reason for the audit log of the controller."""
    return f"experiment, phase {phase.name}"


def limit_request(place: Place, limit: JsonObject, why: str) -> tuple[str, JsonObject]:
    """Path and body of a request that sets a limit."""
    return f"{path(place)}/limit", {**request(limit), "reason": why}


def limits_of(document: JsonObject, before: Limits) -> Limits:
    threshold = document.get("threshold_bytes")
    return Limits(
        document.get("action", before.action),
        int(document.get("limit_bytes") or before.limit_bytes),
        None if threshold is None else int(threshold),
    )


def limits_of_advice(advice: JsonObject | None, before: Limits, most_bytes: int) -> Limits:
    """Limits from advice, which gives a threshold and the limit above it for a port that marks."""
    wanted = (advice or {}).get("limit_bytes")
    if advice is None or wanted is None:
        raise LabError("the phase before led to no advice that could be applied")
    if before.threshold_bytes is None:
        return replace(before, limit_bytes=wanted)
    above = (advice.get("marking") or {"limit_bytes": 2 * wanted})["limit_bytes"]
    limit_bytes = min(above, most_bytes)
    return Limits(before.action, limit_bytes, min(wanted, limit_bytes - FRAME_BYTES))


def target_request(place: Place, wanted: Targets) -> JsonObject:
    """A bound left out of a request keeps its value, so every bound is given."""
    return {**named(place), "loss_rate": None, "delay_ms": None, **targets(wanted)}


def targets(wanted: Targets) -> JsonObject:
    """Targets in the form of the controller's configuration; a missing key is no bound."""
    out: JsonObject = {
        "utilisation": wanted.utilisation,
        "confidence": wanted.confidence,
        "margin": wanted.margin,
    }
    if wanted.loss is not None:
        out["loss_rate"] = wanted.loss
    if wanted.delay is not None:
        out["delay_ms"] = 1e3 * wanted.delay
    return out
