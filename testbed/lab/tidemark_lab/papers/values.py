# SPDX-License-Identifier: Apache-2.0
"""Lists values that disagree, by reason. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from .paper import Check

T = TypeVar("T")
_NUMBER = re.compile(r"(?:(?<![\w.])-)?\d+(?:\.\d+)?(?:e[+-]\d+)?")
_REMARK = re.compile(r" \([^()]*\)$")
_SPREAD = re.compile(r" ± \S+")
# More cases that differ only in their numbers are written as ranges.
MOST_LISTED = 5


def differences(checks: Sequence[Check]) -> list[str]:
    """Returns one item per reason; reasons that differ only in their numbers are merged."""
    outside = [c for c in checks if c.verdict in ("DISAGREES", "not measured")]
    items = []
    for same in _grouped(outside, lambda c: _masked(c.reason)):
        why = _together([c.reason for c in same]) or "why is not known"
        told = "; ".join(map(_cases, _grouped(same, _quantity)))
        items.append(f"- {told}. {why[0].upper()}{why[1:]}.")
    return items


def _cases(checks: Sequence[Check]) -> str:
    """Lists one quantity's cases: ours against the paper's value, given once if all share it."""
    shared = len(checks) > 1 and len({c.paper for c in checks}) == 1
    told = [_ours(c) + ("" if shared else f" vs {c.paper}") for c in checks]
    cases: list[str] = []
    for same in _grouped(told, lambda t: _masked(_SPREAD.sub("", t))):
        ends = _together([_SPREAD.sub("", t) for t in same])
        cases += [f"{ends} ({len(same)} values)"] if len(same) > MOST_LISTED else same
    paper = f" (paper: {checks[0].paper})" if shared else ""
    return f"**{_quantity(checks[0])}**{paper}: {'; '.join(cases)}"


def _quantity(check: Check) -> str:
    return _REMARK.sub("", check.what.partition(": ")[2] or check.what)


def _ours(check: Check) -> str:
    case, colon, _ = check.what.partition(": ")
    value = check.verdict if check.ours is None else check.measured
    return f"{case}: {value}" if colon else value


def _grouped(items: Iterable[T], key: Callable[[T], str]) -> list[list[T]]:
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def _masked(text: str) -> str:
    return _NUMBER.sub("#", text)


def _together(texts: Sequence[str]) -> str:
    """Merges texts that differ in their numbers into one with ranges."""
    columns = zip(*map(_NUMBER.findall, texts), strict=True)
    ends = [(min(c, key=float), max(c, key=float)) for c in columns]
    ranges = iter([low if low == high else f"{low} to {high}" for low, high in ends])
    return _NUMBER.sub(lambda _: next(ranges), texts[0])
