# SPDX-License-Identifier: Apache-2.0
"""Quantities in an experiment file: `50mbit`, `20ms`, `64kB`, `0.5bdp`, `2%`. Pure.

A number without a unit is refused where the unit matters.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from . import units

# Bytes on the wire besides the Ethernet frame: preamble, frame check sequence, gap.
WIRE_BYTES = 24
# Size of a full segment with its Ethernet header, as a queue counts it.
FRAME_BYTES = 1514
# Bytes of a frame before the IP packet.
ETHERNET_BYTES = 14
MTU = FRAME_BYTES - ETHERNET_BYTES

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_QUANTITY = re.compile(rf"({_NUMBER})\s*(.*)")
# Largest value of any quantity, in its base unit.
_MOST = 1e18


class Strict(BaseModel):
    """A model that rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Units = list[tuple[float, list[str]]]


def _by_first_name(table: Units) -> dict[str, float]:
    return {names[0]: size for size, names in table if names[0]}


RATES = _by_first_name(units.RATE)
TIMES = _by_first_name(units.TIME)
BYTES = _by_first_name(units.SIZE)
# Unit of a limit, in addition to the sizes.
PACKETS = "packets"
BDP, BDP_SQRT_N = "bdp", "bdp/sqrt_n"
_LIMIT = [(size, [n for n in names if n]) for size, names in units.SIZE]
_LIMIT += [*units.TIME, (1.0, [BDP]), (1.0, [BDP_SQRT_N])]


def _comparable(unit: str) -> tuple[str, str]:
    """A unit's name in lower case, except for a `B` or `b` at the end or before `/s` and `ps`,
    whose case matters."""
    second = next((end for end in ("/s", "ps") if unit.endswith(end)), "")
    stem = unit.removesuffix(second)
    return (stem[:-1].lower() + "B" if stem.endswith("B") else stem.lower()), second


def _parse(value: Any, table: Units, example: str) -> tuple[float, str]:
    """Returns the value in the base unit, and the first name of its unit."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f'write a text with a unit, like "{example}"')
    if not isinstance(value, str):
        raise ValueError(f'{value} has no unit: write for example "{example}"')
    found = _QUANTITY.fullmatch(value.strip())
    for size, names in table:
        if found and _comparable(found[2]) in map(_comparable, names):
            number = float(found[1]) * size
            if not 0 <= number <= _MOST:
                raise ValueError(f'"{value}" is below 0 or too large')
            return number, names[0]
    raise ValueError(
        f'"{value}" is not understood: write for example "{example}" '
        f"(units: {', '.join(names[0] for _, names in table if names[0])})"
    )


def rate_bps(value: Any) -> float:
    """Parses a rate: `50mbit` is 50 000 000; above 0."""
    number = _parse(value, units.RATE, "50mbit")[0]
    if number <= 0:
        raise ValueError("a rate is above 0")
    return number


def seconds(value: Any) -> float:
    """Parses a time: `20ms` is 0.02; 0 or above."""
    return _parse(value, units.TIME, "20ms")[0]


def size_bytes(value: Any) -> int:
    """Parses a size: `64kB` is 64 000; a packet is a full frame of 1514 bytes; above 0."""
    number = _parse(value, units.SIZE, "64kB")[0]
    if number <= 0:
        raise ValueError("a size is above 0")
    return round(number)


def fraction(value: Any) -> float:
    """Parses a fraction: `2%` or 0.02."""
    if isinstance(value, str):
        value = _parse(value, units.RATIO, "2%")[0]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError('write a fraction, like 0.02 or "2%"')
    if not 0 <= value <= 1:
        raise ValueError(f'{value} is not within 0 to 1: write percentages as "2%"')
    return float(value)


@dataclass(frozen=True)
class Limit:
    """A port's limit: in bytes, as the time to drain it, or as a multiple of C·T̄ or C·T̄/√N_b."""

    number: float
    unit: str

    @classmethod
    def parse(cls, value: Any) -> Limit:
        if isinstance(value, Limit):
            return value
        number, unit = _parse(value, _LIMIT, "0.5bdp")
        if number <= 0:
            raise ValueError("a limit is above 0")
        return cls(number / (BYTES | TIMES).get(unit, 1), unit)

    def in_bytes(
        self, bdp_bytes: float, n_b: int, rate_bps: float, frame_bytes: int = FRAME_BYTES
    ) -> int:
        """Returns the limit in bytes, at least one frame; `packets` are full frames."""
        if self.unit == PACKETS:
            return max(frame_bytes, round(self.number * frame_bytes))
        if self.unit in BYTES:
            return max(frame_bytes, round(self.number * BYTES[self.unit]))
        if self.unit in TIMES:
            return max(frame_bytes, round(self.number * TIMES[self.unit] * rate_bps / 8))
        whole = self.number * bdp_bytes
        if self.unit == BDP_SQRT_N:
            whole /= math.sqrt(max(n_b, 1))
        return max(frame_bytes, round(whole))

    def __str__(self) -> str:
        return f"{self.number:.12g}{self.unit}"

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: Any, _handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return text_schema(_LIMIT, "limit", ["1bdp", "10ms", "40packets", "64kB"])


def text_schema(table: Units, title: str, examples: list[str]) -> JsonSchemaValue:
    """JSON Schema of a text with a unit."""
    names = "|".join(_spelled(name) for _, names in table for name in names)
    pattern = rf"^\s*{_NUMBER}\s*({names})\s*$"
    return {"type": "string", "format": title, "pattern": pattern, "examples": examples}


def _spelled(unit: str) -> str:
    """Returns a pattern that matches a unit's name and ignores case where it does not matter."""
    stem, second = _comparable(unit)
    whole = stem[-1:] in ("B", "b")
    free = stem[:-1] if whole else stem
    letters = [f"[{c}{c.upper()}]" if c.isalpha() else re.escape(c) for c in free]
    return "".join(letters) + (stem[-1:] if whole else "") + second


Rate = Annotated[
    float,
    BeforeValidator(rate_bps),
    WithJsonSchema(text_schema(units.RATE, "rate", ["50mbit", "2.5gbit"])),
]
Seconds = Annotated[
    float,
    BeforeValidator(seconds),
    WithJsonSchema(text_schema(units.TIME, "time", ["20ms", "15s"])),
]
Size = Annotated[
    int,
    BeforeValidator(size_bytes),
    WithJsonSchema(text_schema(units.SIZE, "size", ["8kB", "40packets"])),
]
Fraction = Annotated[
    float,
    BeforeValidator(fraction),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                text_schema(units.RATIO, "percentage", ["2%"]),
            ],
            "format": "fraction",
        }
    ),
]
