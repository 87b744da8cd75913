# SPDX-License-Identifier: Apache-2.0
"""Queue management in an experiment file: `codel:target=5ms,interval=100ms`. Pure.

Algorithms, keys and units are those of `tidemark-switch run --aqm`; a threshold may go by C·T̄, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema

from .quantities import Limit, fraction, seconds, size_bytes

# On a grid's axis: only a limit, no queue management.
NONE = "none"


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f'"{text}" is not understood: write a number like 0.125')
    return value


def _switched(text: str) -> str:
    if text not in ("on", "off"):
        raise ValueError(f'"{text}": write on or off')
    return text


Checks = dict[str, Callable[[str], object]]
_CODEL: Checks = {"target": seconds, "interval": seconds, "ecn": _switched}
# Algorithm → key → check of its value.
KEYS: dict[str, Checks] = {
    "codel": _CODEL,
    "fq_codel": {**_CODEL, "limit": Limit.parse, "quantum": size_bytes},
    "pie": {
        **dict.fromkeys(("target", "update_interval", "max_burst"), seconds),
        **dict.fromkeys(("alpha", "beta"), _number),
        "ecn": _switched,
    },
    "red": {
        **dict.fromkeys(("min_threshold", "max_threshold"), Limit.parse),
        "max_probability": fraction,
        "weight": _number,
        "mean_packet": size_bytes,
        **dict.fromkeys(("gentle", "ecn"), _switched),
    },
}
# Keys that must be given.
NEEDED = {"red": "min_threshold"}


@dataclass(frozen=True)
class Aqm:
    """An algorithm and its settings as written; a `Limit` if the plan works out the value."""

    algorithm: str
    settings: tuple[tuple[str, str | Limit], ...] = ()

    @classmethod
    def parse(cls, value: Any) -> Aqm | None:
        """Parses the text; None means only a limit."""
        if value is None or isinstance(value, Aqm):
            return value
        name, _, given = value.strip().partition(":") if isinstance(value, str) else ("", "", "")
        if (name, given) == (NONE, ""):
            return None
        if name not in KEYS:
            known = ", ".join(KEYS)
            raise ValueError(f'"{value}": there is no such algorithm: known: {known}, {NONE}')
        settings = dict(_setting(name, text) for text in given.split(",") if text.strip())
        if (needed := NEEDED.get(name)) and needed not in settings:
            raise ValueError(f"{name}: {needed} is missing: write {name}:{needed}=0.2bdp")
        return cls(name, tuple(settings.items()))

    def law(self, in_bytes: Callable[[Limit], int]) -> str:
        """Returns the argument of the switch's `--aqm`."""
        return self._text(lambda v: f"{in_bytes(v)}B" if isinstance(v, Limit) else v)

    def marking(self) -> Aqm:
        """Adds CE marks for ECN-capable packets, unless the settings say otherwise."""
        if "ecn" in dict(self.settings):
            return self
        return replace(self, settings=(*self.settings, ("ecn", "on")))

    def _text(self, said: Callable[[str | Limit], str]) -> str:
        settings = ",".join(f"{key}={said(value)}" for key, value in self.settings)
        return f"{self.algorithm}:{settings}" if settings else self.algorithm

    def __str__(self) -> str:
        return self._text(str)


def _setting(name: str, text: str) -> tuple[str, str | Limit]:
    key, equals, value = (part.strip() for part in text.partition("="))
    if (check := KEYS[name].get(key)) is None:
        raise ValueError(f'{name} has no "{key}": known: {", ".join(KEYS[name])}')
    value = value if equals else "on"
    try:
        checked = check(value)
    except ValueError as error:
        raise ValueError(f"{name}: {key}: {error}") from None
    return key, checked if isinstance(checked, Limit) else value


Management = Annotated[
    Aqm | None,
    PlainValidator(Aqm.parse),
    WithJsonSchema(
        {
            "type": "string",
            "format": "aqm",
            "pattern": rf"^\s*({'|'.join([*KEYS, NONE])})(:.*)?$",
            "examples": ["codel:target=5ms,interval=100ms", "red:min_threshold=0.2bdp"],
        }
    ),
]
