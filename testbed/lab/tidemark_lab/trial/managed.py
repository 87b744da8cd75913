# SPDX-License-Identifier: Apache-2.0
"""Queue management on trial: the same traffic under CoDel, FQ-CoDel, PIE and RED, each in its own
run, because the switch is started with them. The controller only watches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from ..experiment.aqm import Aqm
from ..experiment.backend import MeasuredPhase
from ..experiment.conduct import Live
from ..experiment.judge import Case
from ..experiment.load import ExperimentError
from ..json_types import JsonObject
from .hold import tried
from .outcome import of_row

# The switch's defaults, but for RED's threshold, which depends on the link. Floyd and Jacobson
# (1993, 6.3): large enough for utilisation under bursty traffic; the upper one by the delay
# allowed. With the switch's ratio of 3 the upper is C·T̄/2, and gentle mode ends at C·T̄.
DEFAULTS = ("codel", "fq_codel", "pie", f"red:min_threshold={1 / 6:.4f}bdp")


def laws(said: Sequence[str] | None) -> tuple[Aqm, ...]:
    """Parses the laws, each once; ignores `none`. Raises ExperimentError."""
    try:
        parsed = [Aqm.parse(text) for text in (DEFAULTS if said is None else said)]
    except ValueError as error:
        raise ExperimentError(f"--aqm: {error}") from error
    return tuple(dict.fromkeys(aqm for aqm in parsed if aqm is not None))


def try_all(case: Case, aqms: Sequence[Aqm]) -> list[JsonObject]:
    """Returns trials like those of limits, with the law in place of the limit."""
    if aqms and case.back_end.name != "embedded":
        case.progress.say(f"{case.name}: queue management left out: only embedded has it")
        return []
    switch = case.point.experiment.topology.switches[0]
    marks = switch.action == "mark_ce"
    return [_tried(case, aqm.marking() if marks else aqm) for aqm in aqms]


def _tried(case: Case, aqm: Aqm) -> JsonObject:
    found: JsonObject = {}
    run = case.run(
        partial(_conduct, aqm, found),
        {"topology.switches.[0].aqm": str(aqm)},
        folder=re.sub(r"[^a-z0-9.]+", "-", f"aqm-{aqm}".lower()),
    )
    row = run.rows[0]
    return {
        "aqm": row["aqm"],
        "limit_bytes": None,
        "occupancy_max_bytes": row["occupancy_max_bytes"],
        "rules": [],
        "applies": True,
        **found,
        **of_row(row),
    }


def _conduct(aqm: Aqm, found: JsonObject, live: Live) -> list[MeasuredPhase]:
    live.begin()
    limits, label = live.plan.first_limits(), f"{live.name}: {aqm.algorithm}"
    outcome, phase = tried(live, aqm.algorithm, limits, label)
    found |= outcome
    return [phase]
