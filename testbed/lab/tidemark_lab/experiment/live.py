# SPDX-License-Identifier: Apache-2.0
"""The ports of a plan at a running controller: settings of a phase, limits in force, estimates."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..api import ApiError, Controller
from ..errors import LabError
from ..json_types import JsonObject
from ..limits import acts_at_bytes, request
from .backend import Place
from .model import Phase, Targets
from .plan import Limits, Plan

ADVICE_WAIT_S = 15.0
SERIES_POINTS = 20_000
# Until a phase says otherwise: advice is applied when the experiment asks for it.
FIRST_MODE = "confirm"
# Why a limit was set, in the audit log of the controller.
FIRST = "experiment, before its first phase"


@dataclass(frozen=True)
class Links:
    """`check` raises where a program of the run has ended."""

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
        """Makes the settings of a phase; the limits then in force."""
        self._order(phase)
        limits = self.plan.limits_in(phase, before)
        for k, wanted in enumerate(limits):
            if wanted != before[k]:
                self.set_limits(k, wanted, reason(phase))
        return limits

    def apply_advice(
        self, phase: Phase, before: list[Limits]
    ) -> tuple[list[Limits], list[JsonObject]]:
        """Makes the settings of a phase that begins with the controller's advice; the limits then
        in force, and the advice."""
        self._order(phase)
        done = [self.advised(k, before[k]) for k in range(len(self.places))]
        return [limits for limits, _ in done], [advice for _, advice in done]

    def _order(self, phase: Phase) -> None:
        """Sets targets and mode of the controller from here on."""
        if phase.targets is not None:
            self.set_targets(phase.targets)
        if phase.mode is not None:
            self.controller.post("/mode", {"mode": phase.mode})

    def set_targets(self, wanted: Targets) -> None:
        for place in self.places:
            self.controller.post("/targets", target_request(place, wanted))

    def advised(self, switch: int, before: Limits) -> tuple[Limits, JsonObject]:
        """The controller's advice is applied; where it is the limit in force, nothing is."""
        deadline = time.monotonic() + ADVICE_WAIT_S
        while True:
            self.check()
            state = self.advice(switch)
            advice = state["advice"] or {}
            if state["can_apply"]:
                return self.apply(switch, before)
            if advice.get("limit_bytes") == before.acts_at_bytes:
                return before, advice
            if time.monotonic() > deadline:
                raise LabError(
                    f"no advice can be applied at switch {switch + 1}: {state.get('why_not')}"
                )
            time.sleep(0.2)

    def advice(self, switch: int) -> JsonObject:
        """The present state, and whether it can be applied."""
        return self.controller.get(f"/advice?{query(self.places[switch])}")

    def apply(self, switch: int, before: Limits) -> tuple[Limits, JsonObject]:
        """Applies the advice that there is; the limits then in force, and the advice."""
        done = self.controller.post("/advice/apply", named(self.places[switch]))
        return limits_of(done["limit"], before), done["advice"]

    def in_force(self, before: list[Limits]) -> list[Limits]:
        """What the switches have now: a controller in auto mode has its own."""
        found = []
        for k in range(len(self.places)):
            limit = self.link(k).get("limit")
            found.append(limits_of(limit, before[k]) if limit else before[k])
        return found

    def now(self) -> list[tuple[int, int]]:
        """The clock of each switch, as its newest reports have it, and Unix time here; ns."""
        return [(self.link(k)["now_ns"], time.time_ns()) for k in range(len(self.places))]

    def series(self, from_ns: int) -> JsonObject:
        """Of the first switch, from a time of its clock until now."""
        to_ns = self.link(0)["now_ns"]
        span = f"from_ns={from_ns}&to_ns={to_ns}&max_points={SERIES_POINTS}"
        return self.controller.get(f"{path(self.places[0])}/series?{span}")

    def live(self) -> list[JsonObject]:
        """What the controller says of each switch at this moment."""
        found: list[JsonObject] = []
        for k in range(len(self.places)):
            try:
                found.append(in_short(self.link(k)))
            except ApiError:
                found.append({})
        return found


def in_short(link: JsonObject) -> JsonObject:
    """The state of a controller's link at a moment."""
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
    """As the audit log of the controller has it."""
    return f"experiment, phase {phase.name}"


def limit_request(place: Place, limit: JsonObject, why: str) -> tuple[str, JsonObject]:
    """Path and body of what sets a limit."""
    return f"{path(place)}/limit", {**request(limit), "reason": why}


def limits_of(document: JsonObject, before: Limits) -> Limits:
    threshold = document.get("threshold_bytes")
    return Limits(
        document.get("action", before.action),
        int(document.get("limit_bytes") or before.limit_bytes),
        None if threshold is None else int(threshold),
    )


def target_request(place: Place, wanted: Targets) -> JsonObject:
    """What is left out stays as it is there, so no bound is null."""
    return {**named(place), "loss_rate": None, "delay_ms": None, **targets(wanted)}


def targets(wanted: Targets) -> JsonObject:
    """As the controller's configuration has them; what is not there is no bound."""
    out: JsonObject = {"utilisation": wanted.utilisation}
    if wanted.loss is not None:
        out["loss_rate"] = wanted.loss
    if wanted.delay is not None:
        out["delay_ms"] = 1e3 * wanted.delay
    return out
