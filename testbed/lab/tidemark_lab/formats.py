# SPDX-License-Identifier: Apache-2.0
"""Numbers as they are shown. Pure."""

from __future__ import annotations

from collections.abc import Callable

from .json_types import JsonObject

Format = Callable[[float], str]
MISSING = "-"


def percent(digits: int) -> Format:
    return lambda v: f"{100 * v:.{digits}f} %"


def number(digits: int, unit: str = "") -> Format:
    return lambda v: f"{v:.{digits}f}{' ' if unit else ''}{unit}"


def kilobytes(value: float) -> str:
    return f"{value / 1000:.1f} kB"


def show(value: float | None, form: Format, missing: str = MISSING) -> str:
    return missing if value is None else form(value)


def interval(estimate: JsonObject | None, form: Format, missing: str = MISSING) -> str:
    """`value (low to high)`."""
    if not estimate or estimate.get("value") is None:
        return missing
    text = form(estimate["value"])
    low, high = estimate.get("low"), estimate.get("high")
    if low is None or high is None or low == high:
        return text
    return f"{text} ({form(low)} to {form(high)})"
