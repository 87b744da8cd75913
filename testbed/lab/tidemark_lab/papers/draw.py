# SPDX-License-Identifier: Apache-2.0
"""Axes and SVG of the papers' figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..report.style import subplots, to_svg


def svg(name: str, columns: int, height_in: float, fill: Callable[[Any], None]) -> str:
    """A row of axes in the papers' width, filled by `fill`; an SVG document whose ids begin with
    its name, so that several can stand in one page."""
    figure, axes = subplots(1, columns, height_in=height_in, squeeze=False)
    fill(axes[0])
    return to_svg(figure, name)
