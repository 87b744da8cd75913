# SPDX-License-Identifier: Apache-2.0
"""The switches that a demo can run on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .bmv2 import checks as bmv2_checks
from .bmv2 import preflight as bmv2_preflight
from .bmv2 import traffic as bmv2_traffic
from .bmv2.session import Bmv2Session
from .checks import Check
from .json_types import JsonObject
from .scenario import Scenario
from .session import Session


@dataclass(frozen=True)
class Switch:
    """A back end of the demo: what runs on it, on what, and how it is judged."""

    name: str
    session: type[Session]
    # Of a run that was given a seed, ECN or not, a capacity or None, and no offloads.
    scenario: Callable[[int, bool, int | None, bool], Scenario]
    # How long phases and what is waited for are, as a multiple of those of the embedded switch.
    times_as_long: float = 1.0
    # Raise PreflightError where it cannot run here: before what holds for every switch is
    # looked at and what former runs left is removed, and after.
    check_program: Callable[[], None] = lambda: None
    check_network: Callable[[], None] = lambda: None
    # From summary.json; beyond what is judged on every switch.
    judge: Callable[[JsonObject], list[Check]] = lambda _: []
    # What a reader of the result has to know.
    notes: Callable[[Scenario], list[str]] = lambda _: []


# Where a switch marks instead of dropping, it marks one packet in 25 or so: a flow of more
# packets in flight than six is held down by that, here, whatever it has elsewhere.
_REMOTE_RATE_WITH_MARKS = 1 / 3


def _embedded(seed: int, ecn: bool, capacity_bps: int | None, no_offloads: bool) -> Scenario:
    scenario = Scenario(seed=seed, ecn=ecn, offloads=not no_offloads)
    if ecn:
        slower = round(scenario.rbp_rate_bps * _REMOTE_RATE_WITH_MARKS)
        scenario = replace(scenario, rbp_rate_bps=slower)
    if capacity_bps is not None:
        scenario = replace(scenario, capacity_bps=capacity_bps)
    return scenario.with_room()


def _bmv2(seed: int, ecn: bool, capacity_bps: int | None, _no_offloads: bool) -> Scenario:
    return bmv2_traffic.scenario(seed=seed, ecn=ecn, capacity_bps=capacity_bps)


EMBEDDED = Switch("embedded", Session, _embedded)
BMV2 = Switch(
    "bmv2",
    Bmv2Session,
    _bmv2,
    # Windows need longer to grow and to shrink.
    times_as_long=1.5,
    check_program=bmv2_preflight.check_program,
    check_network=bmv2_preflight.check_addresses,
    judge=bmv2_checks.judge,
    notes=bmv2_traffic.notes,
)
SWITCHES = {s.name: s for s in (EMBEDDED, BMV2)}
