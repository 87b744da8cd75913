# SPDX-License-Identifier: Apache-2.0
"""A paper's figures, and how ours compare with them. Pure but for drawing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .draw import Drawing, Rows


@dataclass(frozen=True)
class Check:
    """A value or statement printed in the paper, compared with ours. `low` and `high` are the
    tolerance: a constant of the drawing code, fixed before any run."""

    # Identical in every repetition.
    what: str
    paper: str
    ours: float | None
    low: float
    high: float
    unit: str = ""
    # The cause of a disagreement, as far as known.
    why: str = ""
    # A remark on our value, whether or not it agrees.
    about: str = ""
    # Computed from the settings, not measured, so it does not count as agreement.
    computed: bool = False
    # Standard deviation over repetitions, and their number.
    spread: float = 0.0
    repetitions: int = 1

    @property
    def agrees(self) -> bool | None:
        """None if ours could not be measured, or is computed."""
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
        """The reason why a value disagrees or is missing."""
        return self.why if self.agrees is False else self.about

    @property
    def measured(self) -> str:
        """Our value as text."""
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
    """Makes a check with a factor in either direction; `paper`: the printed value as text."""
    return Check(what, paper or f"{said:g}", ours, said / factor, said * factor, why=why)


def within(
    what: str, said: float, ours: float | None, off: float, paper: str = "", why: str = ""
) -> Check:
    """Makes a check with a difference in either direction; `paper`: the printed value as text."""
    return Check(what, paper or f"{said:g}", ours, said - off, said + off, why=why)


@dataclass
class Figure:
    """One of our figures: a picture, its data, and its comparison with the paper."""

    # The paper's name for it.
    name: str
    title: str
    # Drawn from the rows, or an SVG document.
    picture: Drawing | str
    columns: tuple[str, ...]
    rows: Rows = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    # Scaling, and other differences from the paper.
    note: str = ""
    # Number of columns that identify a row: the others are averaged over repetitions. 0: one
    # repetition is shown. None: the rows of all repetitions are shown together.
    keys: int | None = 0
    # Rows of the repetitions, whose mean `rows` has.
    repeated: list[Rows] = field(default_factory=list)

    def row(self, *values: object) -> None:
        self.rows.append(values)

    def check(
        self, what: str, paper: str, ours: float | None, low: float, high: float, **more: Any
    ) -> None:
        """Adds a `Check` with these fields."""
        self.checks.append(Check(what, paper, ours, low, high, **more))

    @cached_property
    def svg(self) -> str:
        if isinstance(self.picture, str):
            return self.picture
        return self.picture.svg(self.rows, self.repeated)

    @property
    def file(self) -> str:
        return self.name.lower().replace(" ", "-").replace(".", "").replace(",", "")
