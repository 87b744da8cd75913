# SPDX-License-Identifier: Apache-2.0
"""Figures of a paper, and comparison of ours with them. Pure but for the drawing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .draw import Drawing, Rows


@dataclass(frozen=True)
class Check:
    """A printed value or statement of the paper, compared with ours. `low` and `high` are the
    tolerance: a constant of the code that draws the figure, older than any run."""

    # Equal in every repetition.
    what: str
    paper: str
    ours: float | None
    low: float
    high: float
    unit: str = ""
    # The cause of a disagreement, as far as it is known.
    why: str = ""
    # A remark on ours in any case.
    about: str = ""
    # Follows from the settings, not from a measurement: no agreement.
    computed: bool = False
    # Standard deviation over repetitions, and how many.
    spread: float = 0.0
    repetitions: int = 1

    @property
    def agrees(self) -> bool | None:
        """None where ours could not be measured, and where nothing was."""
        if self.ours is None or self.computed:
            return None
        return self.low <= self.ours <= self.high

    @property
    def verdict(self) -> str:
        if self.computed:
            return "computed"
        return {None: "not measured", True: "agrees", False: "DISAGREES"}[self.agrees]

    def row(self) -> tuple[str, ...]:
        what = f"{self.what} ({self.about})" if self.about else self.what
        why = self.why if self.agrees is False else ""
        return (what, self.paper, self.measured, self.tolerance, self.verdict, why)

    @property
    def reason(self) -> str:
        """Of a value that does not agree, or is not there."""
        return self.why if self.agrees is False else self.about

    @property
    def measured(self) -> str:
        """Ours as text."""
        if self.ours is None:
            return "-"
        if self.repetitions == 1:
            return f"{self.ours:.3g}{self.unit}"
        return f"{self.ours:.3g} ± {self.spread:.2g}{self.unit}"

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
    """One of ours: a picture, its data, and what is held against the paper."""

    # As the paper calls it.
    name: str
    title: str
    # Drawn from the rows, or an SVG document.
    picture: Drawing | str
    columns: tuple[str, ...]
    rows: Rows = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    # How it was scaled, and what of it is not the paper's.
    note: str = ""
    # How many columns say what a row is of: repetitions are averaged over the others. 0: one
    # repetition is shown. None: the rows of all are shown together.
    keys: int | None = 0
    # The repetitions that the rows are the mean of.
    repeated: list[Rows] = field(default_factory=list)

    def row(self, *values: object) -> None:
        self.rows.append(values)

    def check(
        self, what: str, paper: str, ours: float | None, low: float, high: float, **more: Any
    ) -> None:
        """A `Check`, with its fields."""
        self.checks.append(Check(what, paper, ours, low, high, **more))

    @cached_property
    def svg(self) -> str:
        if isinstance(self.picture, str):
            return self.picture
        return self.picture.svg(self.rows, self.repeated)

    @property
    def file(self) -> str:
        return self.name.lower().replace(" ", "-").replace(".", "").replace(",", "")
