# SPDX-License-Identifier: Apache-2.0
"""Compares two sets of runs: where they agree and where not. Pure but for reading files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ..json_types import JsonObject
from ..markdown import table
from .columns import SETTING

# Largest differences allowed between two back ends, fixed before any run.
UTILISATION_OFF = 0.02
LOSS_FACTOR = 1.5
# N_b values less than half a flow apart count as equal. Rounding instead would separate 11.4 from
# 11.6 and treat 11.6 and 12.4 as equal.
N_B_OFF = 0.5
# Loss rates are compared only with at least this many drops.
LEAST_DROPS = 20


@dataclass(frozen=True)
class Pair:
    """A phase with the same settings in both sets; means over repetitions."""

    what: str
    one: JsonObject
    other: JsonObject

    def differences(self) -> list[str]:
        found = []
        if abs(self.one["utilisation"] - self.other["utilisation"]) > UTILISATION_OFF:
            found.append(f"utilisation by more than {UTILISATION_OFF:g}")
        few = min(side["drops"] or 0 for side in (self.one, self.other)) < LEAST_DROPS
        if not few:
            ratio = self.one["loss_rate"] / self.other["loss_rate"]
            if not 1 / LOSS_FACTOR <= ratio <= LOSS_FACTOR:
                found.append(f"loss by a factor of {max(ratio, 1 / ratio):.2f}")
        n_b = [side["n_b"] for side in (self.one, self.other)]
        if None in n_b or abs(n_b[0] - n_b[1]) >= N_B_OFF:
            found.append("N_b")
        return found


def pairs(one: pa.Table, other: pa.Table) -> tuple[list[Pair], list[str]]:
    """Returns the pairs, and the settings that only one set has."""
    sides = [_means(one), _means(other)]
    both = [key for key in sides[0] if key in sides[1]]
    alone = [f"only in the first: {_words(k)}" for k in sides[0] if k not in sides[1]]
    alone += [f"only in the second: {_words(k)}" for k in sides[1] if k not in sides[0]]
    return [Pair(_words(k), sides[0][k], sides[1][k]) for k in both], alone


_Key = tuple[tuple[str, str], ...]
MEANS = ("utilisation", "loss_rate", "n_b", "delay_p50_ms", "delay_max_ms", "drops")


def _means(found: pa.Table) -> dict[_Key, JsonObject]:
    names = sorted(
        n for n in found.column_names if n in ("phase", "switch") or n.startswith(SETTING)
    )
    sums = [*((n, "mean") for n in MEANS), ("trusted", "sum"), ("trusted", "count")]
    return {
        tuple((n, row[n]) for n in names if row[n] is not None): {
            **{n: row[f"{n}_mean"] for n in MEANS},
            "runs": row["trusted_count"],
            "untrusted": row["trusted_count"] - row["trusted_sum"],
        }
        for row in found.group_by(names, use_threads=False).aggregate(sums).to_pylist()
    }


def _words(key: _Key) -> str:
    return ", ".join(
        value if name in ("phase", "switch") else f"{name.removeprefix(SETTING)} = {value}"
        for name, value in key
    )


def markdown(found: Sequence[Pair]) -> str:
    rows = []
    for pair in found:
        sides = (pair.one, pair.other)
        doubted = sum(s["untrusted"] for s in sides)
        cells = [
            pair.what,
            _both(sides, "utilisation", lambda v: f"{v:.2%}"),
            _both(sides, "loss_rate", lambda v: f"{v:.3%}"),
            _both(sides, "n_b", lambda v: f"{v:.1f}"),
            "; ".join(f"{_ms(s['delay_p50_ms'])} / {_ms(s['delay_max_ms'])}" for s in sides),
            f"{pair.one['runs']}; {pair.other['runs']}"
            + (f" ({doubted} not trusted)" if doubted else ""),
            ", ".join(pair.differences()) or "-",
        ]
        rows.append(cells)
    head = ("what", "utilisation", "loss", "N_b", "delay p50 / max (ms)", "runs", "differ in")
    return "\n".join(table(head, rows)) + "\n"


def _both(sides: tuple[JsonObject, JsonObject], name: str, form: Callable[[float], str]) -> str:
    return "; ".join("-" if s[name] is None else form(s[name]) for s in sides)


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
