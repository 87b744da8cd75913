# SPDX-License-Identifier: Apache-2.0
"""Who sets the limit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from .. import limits
from ..control_session import ControlSession
from ..json_types import JsonObject
from ..scenario import FRAME_BYTES
from ..steps_record import Options, planned
from .search import Search

LEAST_LIMIT_BYTES = 4 * FRAME_BYTES
# Of the search: a limit is held so long, and judged without what the one before left behind.
WINDOW_S = 6.0
SETTLE_S = 1.0


class Controller(Protocol):
    """Acts on a running lab whose limit is C·T̄ when it starts."""

    name: str
    about: str

    def settings(self, options: Options) -> JsonObject:
        """Of Tidemark's controller, which measures for all."""
        ...

    def act(self, session: ControlSession, elapsed_s: float) -> None:
        """Called about twice a second."""
        ...


def _passive(options: Options) -> JsonObject:
    """It measures, and sets what it is told to."""
    settings = options.settings()
    control = {"mode": "confirm", "min_change_interval_s": 1.0}
    return {**settings, "control": control}


def set_limit(session: ControlSession, limit_bytes: int, why: str) -> None:
    """Through the controller, so that it stands among the changes."""
    session.controller.post(
        f"{session.link_path}/limit",
        {**limits.request(session.scenario.limit_of(limit_bytes)), "reason": why},
    )


@dataclass
class Fixed:
    """A limit that is set once, when it can be known."""

    name: str
    about: str
    # None: not yet.
    limit_bytes: Callable[[ControlSession, float], int | None]
    done: bool = False

    def settings(self, options: Options) -> JsonObject:
        return _passive(options)

    def act(self, session: ControlSession, elapsed_s: float) -> None:
        if self.done:
            return
        limit_bytes = self.limit_bytes(session, elapsed_s)
        if limit_bytes is not None:
            self.done = True
            if limit_bytes != session.limit_bytes():
                set_limit(session, max(LEAST_LIMIT_BYTES, limit_bytes), self.name)


@dataclass
class Auto:
    """Tidemark's auto mode, once the first flows are there."""

    name: str = "auto"
    about: str = "Tidemark's auto mode"
    done: bool = False

    def settings(self, options: Options) -> JsonObject:
        return options.settings()

    def act(self, session: ControlSession, elapsed_s: float) -> None:
        if not self.done and elapsed_s >= planned().auto_after_s:
            session.controller.post("/mode", {"mode": "auto"})
            self.done = True


@dataclass
class Searching:
    """A search without a model, a limit for each window."""

    search: Search
    name: str = "search"
    about: str = "Bayesian optimisation over windows"
    _limit_bytes: int | None = None
    _from_ns: int = 0
    _since_s: float = field(default=0.0)

    def settings(self, options: Options) -> JsonObject:
        return _passive(options)

    def act(self, session: ControlSession, elapsed_s: float) -> None:
        if elapsed_s < planned().auto_after_s:
            return
        if self._limit_bytes is not None:
            if elapsed_s - self._since_s < WINDOW_S:
                return
            self.search.observe(self._limit_bytes, window(session, self._from_ns))
        limit_bytes = self.search.next_limit_bytes()
        if limit_bytes != self._limit_bytes:
            set_limit(session, limit_bytes, self.name)
        self._limit_bytes, self._since_s = limit_bytes, elapsed_s
        self._from_ns = session.link()["now_ns"] + round(SETTLE_S * 1e9)


def window(session: ControlSession, from_ns: int) -> JsonObject:
    """What was measured since a time of the switch's clock."""
    to_ns = session.link()["now_ns"]
    series = session.controller.get(
        f"{session.link_path}/series?from_ns={from_ns}&to_ns={to_ns}&max_points=2000"
    )
    column = {
        name: np.nan_to_num(np.array(series[name], dtype=float))
        for name in ("arrivals", "drops", "ce_marked", "utilisation", "delay_max_ms")
    }
    arrivals = float(column["arrivals"].sum())
    lost = float(column["drops"].sum() + column["ce_marked"].sum())
    return {
        "utilisation": float(column["utilisation"].mean()) if arrivals else 0.0,
        "loss_rate": lost / arrivals if arrivals else 0.0,
        "delay_max_ms": float(column["delay_max_ms"].max()) if arrivals else 0.0,
    }


def contestants(options: Options) -> list[Controller]:
    """New ones, for one run each."""
    scenario = options.scenario
    bdp = scenario.bdp_limit_bytes
    first = options.flows[0]

    def of_rule(session: ControlSession, elapsed_s: float) -> int | None:
        """When estimates are as old as auto mode would have them."""
        if elapsed_s < planned().auto_after_s:
            return None
        place = f"node={scenario.node_id}&port={scenario.bottleneck_port}"
        rules = session.controller.get(f"/rules?{place}")["rules"]
        wanted = next((r["buffer_bytes"] for r in rules if r["id"] == "bscl"), None)
        return None if wanted is None else min(round(wanted), _most_bytes(options))

    root = round(bdp / math.sqrt(first))
    targets = options.settings()["targets"]
    return [
        Fixed("bdp", "C·T̄, fixed", lambda _, __: bdp),
        Fixed("sqrt_n", f"C·T̄/√n of the first step (n = {first}), fixed", lambda _, __: root),
        Fixed("bscl", "BSCL's buffer of the first estimate, fixed", of_rule),
        Searching(Search(LEAST_LIMIT_BYTES, _most_bytes(options), targets)),
        Auto(),
    ]


def _most_bytes(options: Options) -> int:
    """What the delay bound leaves, and C·T̄ at least: who searches needs not go beyond."""
    scenario = options.scenario
    by_delay = round(scenario.capacity_bps / 8 * options.delay_ms / 1e3)
    return max(by_delay, scenario.bdp_limit_bytes)
