# SPDX-License-Identifier: Apache-2.0
"""The conclusion on a link's buffer."""

from __future__ import annotations

import html
import json
from typing import Any

from tidemark_buffer._native import verdict_words
from tidemark_buffer._picture import Origin, Picture


class Verdict:
    """The conclusion on a link's buffer: too big, fine, too small, or what is missing to say so.

    ``print(verdict)`` says it in sentences, a notebook shows it. :meth:`to_dict` has all of
    it, with the names and units of ``tidemark-controller analyze --json``.
    """

    def __init__(self, value: dict[str, Any], about: dict[str, Any], origin: Origin) -> None:
        self._value = value
        self._about = about
        self._origin = origin

    @property
    def about(self) -> dict[str, Any]:
        """Run, phase, node, port and span that the verdict is on."""
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
        """The limit in force, bytes; ``None`` where it is not known or there is none."""
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
        """Probability that each target is met at :attr:`set_bytes`: the smallest of them."""
        return self._value["chance"]

    @property
    def measured(self) -> list[dict[str, Any]]:
        """Every limit that was measured, the one in force first, with its outcome."""
        return list(self._value["measured"])

    @property
    def curve(self) -> list[dict[str, Any]]:
        """Outcome expected over the limit, each with ``buffer_bytes`` and ``predicted``:
        ``utilisation`` and ``loss_rate`` as fractions, ``delay_mean_ms`` and ``delay_ms`` (of a
        full queue), with ``value``, ``low`` and ``high``."""
        return list(self._value.get("curve", []))

    @property
    def rules(self) -> list[dict[str, Any]]:
        """Sizes of the papers: ``id``, ``name``, ``bytes``, and whether its assumptions
        ``holds`` (``None`` where that is not known)."""
        return list(self._value.get("rules", []))

    def to_dict(self) -> dict[str, Any]:
        """All of it."""
        return dict(self._value)

    def plot(self, theme: str = "light") -> Picture:
        """The picture: utilisation, loss and delay over the limit, what was measured, the
        targets, the papers' sizes, the limit in force and the advised interval.

        :param theme: ``light`` or ``dark``.
        :raises ValueError: too little was measured, or no such theme.
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
