# SPDX-License-Identifier: Apache-2.0
"""Merges the figures of several repetitions: means and their spread. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean, pstdev

from .paper import Check, Figure

Row = Sequence[object]


def together(repeated: Sequence[Sequence[Figure]]) -> list[Figure]:
    """Returns each figure once, in the order of the first repetition that has it."""
    by_name: dict[str, list[Figure]] = {}
    for figures in repeated:
        for figure in figures:
            by_name.setdefault(figure.name, []).append(figure)
    return [found[0] if len(found) == 1 else _one(found) for found in by_name.values()]


def _one(found: Sequence[Figure]) -> Figure:
    first = found[0]
    count = f" {len(found)} repetitions: "
    checks = _checks([f.checks for f in found])
    if first.keys is None:
        rows = [row for f in found for row in f.rows]
        return replace(first, rows=rows, checks=checks, note=f"{first.note}{count}drawn together.")
    if first.keys == 0:
        return replace(first, checks=checks, note=f"{first.note}{count}the first is drawn.")
    rows, columns = _rows(found, first.keys)
    return replace(
        first,
        rows=rows,
        columns=(*first.columns, *columns),
        checks=checks,
        note=f"{first.note}{count}pale behind their mean.",
        repeated=[f.rows for f in found],
    )


def _rows(found: Sequence[Figure], keys: int) -> tuple[list[Row], list[str]]:
    """Means of the numeric columns, and their standard deviations as additional columns."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for figure in found:
        for row in figure.rows:
            groups.setdefault(tuple(row[:keys]), []).append(row)
    values = range(keys, len(found[0].columns))
    rows: list[Row] = []
    for key, same in groups.items():
        means = [_mean([row[k] for row in same]) for k in values]
        spreads = [_spread([row[k] for row in same]) for k in values]
        rows.append((*key, *means, *spreads))
    return rows, [f"{found[0].columns[k]}_sd" for k in values]


def _numbers(values: Sequence[object]) -> list[float]:
    return [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]


def _mean(values: Sequence[object]) -> object:
    """Mean of the numbers; without numbers, the values' common text."""
    if numbers := _numbers(values):
        return mean(numbers)
    said = list(dict.fromkeys(v for v in values if v not in (None, "")))
    return said[0] if len(said) == 1 else ("; ".join(map(str, said)) if said else values[0])


def _spread(values: Sequence[object]) -> object:
    numbers = _numbers(values)
    return pstdev(numbers) if numbers else None


def _checks(repeated: Sequence[Sequence[Check]]) -> list[Check]:
    groups: dict[str, list[Check]] = {}
    for checks in repeated:
        for check in checks:
            groups.setdefault(check.what, []).append(check)
    return [_check(same) for same in groups.values()]


def _check(same: Sequence[Check]) -> Check:
    """The mean of ours and of the tolerances, which may depend on measurements; the reason is from
    a repetition that disagrees."""
    values = [c.ours for c in same if c.ours is not None]
    outside = next((c for c in same if c.agrees is False), same[0])
    return replace(
        outside,
        ours=mean(values) if values else None,
        low=mean(c.low for c in same),
        high=mean(c.high for c in same),
        spread=pstdev(values) if values else 0.0,
        repetitions=max(len(values), 1),
    )
