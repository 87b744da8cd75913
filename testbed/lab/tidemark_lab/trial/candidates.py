# SPDX-License-Identifier: Apache-2.0
"""The limits that are tried under an experiment's traffic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..experiment.quantities import FRAME_BYTES
from ..json_types import JsonObject

# Limits that differ by less are tried as one.
SAME_WITHIN = 0.03
# Pseudo-id, among the rules' ids, of the controller's advice.
ADVICE = "advice"


@dataclass(frozen=True)
class Candidate:
    """A limit, and the rules that ask for it."""

    limit_bytes: int
    rules: tuple[str, ...]
    # Whether all conditions of at least one of the rules hold.
    applies: bool


def of_rules(
    rules: Iterable[JsonObject], advice: JsonObject | None, least_bytes: int, most_bytes: int
) -> list[Candidate]:
    """Makes candidates of the controller's `Rule`s and its advice, in ascending order.

    Leaves out rules without a number. A limit outside the range is tried at the range's end, which
    is what a controller would set.
    """
    wanted = [
        (float(rule["buffer_bytes"]), str(rule["id"]), bool(rule["applies"]))
        for rule in rules
        if rule["buffer_bytes"] is not None
    ]
    if advice and advice.get("limit_bytes") is not None:
        wanted.append((float(advice["limit_bytes"]), ADVICE, True))
    ends = least_bytes, most_bytes
    asked = sorted((min(max(size, ends[0]), ends[1]), name, ok) for size, name, ok in wanted)
    groups: list[list[tuple[float, str, bool]]] = []
    for one in asked:
        # Compared with the smallest of the group, so that a chain of close limits is not one group.
        if groups and one[0] <= groups[-1][0][0] * (1 + SAME_WITHIN) + FRAME_BYTES / 2:
            groups[-1].append(one)
        else:
            groups.append([one])
    return [
        Candidate(
            round(sum(size for size, _, _ in group) / len(group)),
            tuple(name for _, name, _ in group),
            any(ok for _, _, ok in group),
        )
        for group in groups
    ]
