# SPDX-License-Identifier: Apache-2.0
"""Verdict on a link's buffer."""

from __future__ import annotations

import html
import json
from typing import Any

from tidemark_buffer._native import verdict_words
from tidemark_buffer._picture import Origin, Picture


class Verdict:
    """Verdict on a link's buffer: too big, fine, too small, or the data missing for an answer.

    ``print(verdict)`` prints it in sentences, a notebook displays it. :meth:`to_dict` returns
    all of it, with the names and units of ``tidemark-controller analyze --json``.
    """

    def __init__(self, value: dict[str, Any], about: dict[str, Any], origin: Origin) -> None:
        self._value = value
        self._about = about
        self._origin = origin

    @property
    def about(self) -> dict[str, Any]:
        """Run, phase, node, port and span of the verdict."""
        return dict(self._about)

    @property
    def answer(self) -> str:
        """``too_big``, ``fine``, ``too_small`` or ``cannot_say``."""
        return str(self._value["answer"])

    @property
    def because(self) -> str:
        """The reason, one sentence."""
        return str(self._value["because"])

    @property
    def in_force_bytes(self) -> float | None:
        """The limit in force, bytes; ``None`` if it is unknown or there is none."""
        return self._value["in_force_bytes"]

    @property
    def set_bytes(self) -> int | None:
        """The limit to set, bytes."""
        return self._value["set_bytes"]

    @property
    def low_bytes(self) -> int | None:
        """Lower end of the limits that serve, bytes."""
        return self._value["low_bytes"]

    @property
    def high_bytes(self) -> int | None:
        """Upper end of the limits that serve, bytes."""
        return self._value["high_bytes"]

    @property
    def chance(self) -> float | None:
        """Smallest probability with which a target is met at :attr:`set_bytes`."""
        return self._value["chance"]

    @property
    def measured(self) -> list[dict[str, Any]]:
        """Every measured limit with its outcome, the limit in force first."""
        return list(self._value["measured"])

    @property
    def curve(self) -> list[dict[str, Any]]:
        """Expected outcomes over the limit, each with ``buffer_bytes`` and ``predicted``:
        ``utilisation`` and ``loss_rate`` as fractions, ``delay_mean_ms`` and ``delay_ms`` (of a
        full queue), with ``value``, ``low`` and ``high``."""
        return list(self._value.get("curve", []))

    @property
    def rules(self) -> list[dict[str, Any]]:
        """Sizes by the papers' rules: ``id``, ``name``, ``bytes``, and ``holds``, whether the
        assumptions of the rule hold (``None`` if unknown)."""
        return list(self._value.get("rules", []))

    def to_dict(self) -> dict[str, Any]:
        """Returns the whole verdict."""
        return dict(self._value)

    def plot(self, theme: str = "light") -> Picture:
        """Returns the picture: utilisation, loss and delay over the limit, the measurements, the
        targets, the papers' sizes, the limit in force and the advised interval.

        :param theme: ``light`` or ``dark``.
        :raises ValueError: too little was measured, or there is no such theme.
        """
        return Picture(json.dumps(self._value), self._origin, theme)

    def _words(self) -> tuple[str, str, list[str]]:
        return verdict_words(json.dumps(self._value))

    def __str__(self) -> str:
        headline, because, would_change = self._words()
        return "\n".join([headline, f"  {because}", *(f"  - {w}" for w in would_change)])

    def __repr__(self) -> str:
        return f"Verdict({self.answer}: {self.because})"

    def _repr_html_(self) -> str:
        headline, because, would_change = self._words()
        changes = "".join(f"<li>{html.escape(w)}</li>" for w in would_change)
        return f"<p><strong>{html.escape(headline)}</strong></p><p>{html.escape(because)}</p>" + (
            f"<ul>{changes}</ul>" if changes else ""
        )
