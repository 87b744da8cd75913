# SPDX-License-Identifier: Apache-2.0
"""What a figure of a paper is, and how ours is held against it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Check:
    """A printed value or statement of the paper beside ours. `low` and `high` are the tolerance:
    a constant of the code that draws the figure, older than any run."""

    what: str
    paper: str
    ours: float | None
    low: float
    high: float
    unit: str = ""
    # Where it disagrees: why, as far as it is known.
    why: str = ""

    @property
    def agrees(self) -> bool | None:
        """None where ours could not be measured."""
        return None if self.ours is None else self.low <= self.ours <= self.high

    @property
    def verdict(self) -> str:
        return {None: "not measured", True: "agrees", False: "DISAGREES"}[self.agrees]

    def row(self) -> tuple[str, ...]:
        ours = "-" if self.ours is None else f"{self.ours:.3g}{self.unit}"
        why = self.why if self.agrees is False else ""
        return (self.what, self.paper, ours, self.tolerance, self.verdict, why)

    @property
    def tolerance(self) -> str:
        return f"{self.low:.3g} to {self.high:.3g}{self.unit}"


def within_factor(
    what: str, said: float, ours: float | None, factor: float, paper: str = "", why: str = ""
) -> Check:
    """Held to a factor on both sides of a printed value; `paper`: how it is written."""
    return Check(what, paper or f"{said:g}", ours, said / factor, said * factor, why=why)


def within(
    what: str, said: float, ours: float | None, off: float, paper: str = "", why: str = ""
) -> Check:
    """Held to so much on both sides of a printed value; `paper`: how it is written."""
    return Check(what, paper or f"{said:g}", ours, said - off, said + off, why=why)


@dataclass
class Figure:
    """One of ours: an SVG document, its data, and what is held against the paper."""

    # As the paper calls it.
    name: str
    title: str
    svg: str
    columns: tuple[str, ...]
    rows: list[Sequence[object]]
    checks: list[Check] = field(default_factory=list)
    # How it was scaled, and what of it is not the paper's.
    note: str = ""

    @property
    def file(self) -> str:
        return self.name.lower().replace(" ", "-").replace(".", "").replace(",", "")
