# SPDX-License-Identifier: Apache-2.0
"""Formats numbers with their units. Pure."""

from __future__ import annotations

from collections.abc import Callable

from .json_types import JsonObject

MISSING = "\u2013"
Format = Callable[[float], str]


def percent(digits: int) -> Format:
    return lambda v: f"{100 * v:.{digits}f} %"


def number(digits: int, unit: str = "") -> Format:
    return lambda v: f"{v:.{digits}f}{' ' if unit else ''}{unit}"


def kilobytes(value: float) -> str:
    return f"{value / 1000:.1f} kB"


def show(value: float | None, form: Format) -> str:
    return MISSING if value is None else form(value)


def interval(estimate: JsonObject | None, form: Format) -> str:
    """Formats as `value (low to high)`."""
    if not estimate or estimate.get("value") is None:
        return MISSING
    text = form(estimate["value"])
    low, high = estimate.get("low"), estimate.get("high")
    if low is None or high is None or low == high:
        return text
    return f"{text} ({form(low)} to {form(high)})"
