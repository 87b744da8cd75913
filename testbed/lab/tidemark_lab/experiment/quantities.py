# SPDX-License-Identifier: Apache-2.0
"""Quantities as an experiment writes them: `50mbit`, `20ms`, `64kB`, `0.5bdp`, `2%`. Pure.

A bare number is refused wherever a unit decides what it means.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

# On the wire beyond the Ethernet frame: preamble, frame check sequence, gap.
WIRE_BYTES = 24
# Of a full segment, with its Ethernet header: what a queue holds.
FRAME_BYTES = 1514

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_QUANTITY = re.compile(rf"({_NUMBER})\s*([A-Za-z%_/]+)")

RATES = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
BYTES = {"B": 1, "kB": 1_000, "MB": 1_000_000, "packets": FRAME_BYTES}
# Of a limit, beside the sizes.
BDP, BDP_SQRT_N = "bdp", "bdp/sqrt_n"


def _parse(value: Any, units: list[str], example: str) -> tuple[float, str]:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f'write a text with a unit, like "{example}"')
    if not isinstance(value, str):
        raise ValueError(f'{value} has no unit: write for example "{example}"')
    found = _QUANTITY.fullmatch(value.strip())
    if not found or found[2] not in units:
        raise ValueError(
            f'"{value}" is not understood: write for example "{example}" '
            f"(units: {', '.join(units)})"
        )
    number = float(found[1])
    if not math.isfinite(number) or number > 1e12:
        raise ValueError(f'"{value}" is too large')
    return number, found[2]


def rate_bps(value: Any) -> float:
    """`50mbit`: 50 000 000; above 0."""
    number, unit = _parse(value, list(RATES), "50mbit")
    if number <= 0:
        raise ValueError("a rate is above 0")
    return number * RATES[unit]


def seconds(value: Any) -> float:
    """`20ms`: 0.02; 0 or above."""
    number, unit = _parse(value, list(TIMES), "20ms")
    return number * TIMES[unit]


def size_bytes(value: Any) -> int:
    """`64kB`: 64 000; a packet is a full frame of 1514 bytes; above 0."""
    number, unit = _parse(value, list(BYTES), "64kB")
    if number <= 0:
        raise ValueError("a size is above 0")
    return round(number * BYTES[unit])


def fraction(value: Any) -> float:
    """`2%` or 0.02."""
    if isinstance(value, str):
        return _parse(value, ["%"], "2%")[0] / 100
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError('write a fraction, like 0.02 or "2%"')
    if not 0 <= value <= 1:
        raise ValueError(f'{value} is not within 0 to 1: write percentages as "2%"')
    return float(value)


@dataclass(frozen=True)
class Limit:
    """A limit of a port: so many bytes, or so many times C·T̄ or C·T̄/√N_b."""

    number: float
    unit: str

    @classmethod
    def parse(cls, value: Any) -> Limit:
        if isinstance(value, Limit):
            return value
        number, unit = _parse(value, [*BYTES, BDP, BDP_SQRT_N], "0.5bdp")
        if number <= 0:
            raise ValueError("a limit is above 0")
        return cls(number, unit)

    def in_bytes(self, bdp_bytes: float, n_b: int) -> int:
        """At least one frame."""
        if self.unit in BYTES:
            return max(FRAME_BYTES, round(self.number * BYTES[self.unit]))
        whole = self.number * bdp_bytes
        if self.unit == BDP_SQRT_N:
            whole /= math.sqrt(max(n_b, 1))
        return max(FRAME_BYTES, round(whole))

    def __str__(self) -> str:
        return f"{self.number:g}{self.unit}"

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
        return text_schema([*BYTES, BDP, BDP_SQRT_N], "limit", ["1bdp", "40packets", "64kB"])


def text_schema(units: list[str], title: str, examples: list[str]) -> JsonSchemaValue:
    """JSON Schema of a text with a unit."""
    pattern = rf"^{_NUMBER}\s*({'|'.join(re.escape(u) for u in units)})$"
    return {"type": "string", "format": title, "pattern": pattern, "examples": examples}


Rate = Annotated[
    float,
    BeforeValidator(rate_bps),
    WithJsonSchema(text_schema(list(RATES), "rate", ["50mbit", "2.5gbit"])),
]
Seconds = Annotated[
    float,
    BeforeValidator(seconds),
    WithJsonSchema(text_schema(list(TIMES), "time", ["20ms", "15s"])),
]
Size = Annotated[
    int,
    BeforeValidator(size_bytes),
    WithJsonSchema(text_schema(list(BYTES), "size", ["8kB", "40packets"])),
]
Fraction = Annotated[
    float,
    BeforeValidator(fraction),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                text_schema(["%"], "percentage", ["2%"]),
            ],
            "format": "fraction",
        }
    ),
]
