# SPDX-License-Identifier: Apache-2.0
"""The results of trials as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from ..json_types import JsonObject
from ..markdown import bounds
from ..markdown import table as table_lines
from .candidates import ADVICE
from .ranking import buffer_bytes

HEAD = (
    "rank",
    "limit (kB)",
    "rules, or queue management",
    "utilisation",
    "lost",
    "marked",
    "delay p99 / max (ms)",
    "short flows p50 / p95 (ms)",
    "fairness",
    "targets",
)
MANAGED = (
    "Queue management has no limit here: it ranks by the largest queue that a packet met. The "
    "controller does not know of it, so there is neither advice nor a verdict."
)


def markdown(traffic: JsonObject) -> str:
    """One experiment: a heading, a table of its trials by rank, and the reasons not to trust some
    of them."""
    lines = [
        f"## {traffic['name']}: {traffic['about']}",
        "",
        f"Targets: {bounds(traffic['targets'])}.",
        "",
        *table_lines(HEAD, map(_cells, traffic["trials"])),
    ]
    advised = [t for t in traffic["trials"] if ADVICE in t["rules"]]
    if advised and advised[0]["rank"] is None:
        lines += ["", "Tidemark's advice was refused."]
    elif advised and advised[0]["rank"] > 1:
        best = traffic["trials"][0]
        ranked = sum(t["rank"] is not None for t in traffic["trials"])
        lines += [
            "",
            f"Tidemark's advice came {advised[0]['rank']} of {ranked}; {_names(best)} did better.",
        ]
    if any(t["limit_bytes"] is None for t in traffic["trials"]):
        lines += ["", MANAGED]
    return "\n".join(lines) + "\n"


def _cells(t: JsonObject) -> Sequence[str]:
    limit = f"{buffer_bytes(t) / 1e3:.1f}"
    if t["limit_bytes"] is None:
        limit = f"none; queue {limit}"
    rules = _names(t) + ("" if t["applies"] else " (conditions do not hold)")
    if t.get("refused"):
        return ("-", limit, rules, *["-"] * (len(HEAD) - 4), f"refused: {t['refused']}")
    stolen = " (CPU stolen)" if t["cpu_was_stolen"] else ""
    wide = "" if t["loss_settled"] else " (time limit)"
    return (
        str(t["rank"]),
        limit,
        rules,
        f"{t['utilisation']:.2%}{stolen}",
        _rate(t["loss_rate"], t["loss_range"]) + wide,
        _rate(t["marked_rate"], t["marked_range"]),
        f"{t['delay_p99_ms']:.1f} / {t['delay_max_ms']:.1f}",
        f"{_ms(t['completion_p50_ms'])} / {_ms(t['completion_p95_ms'])}",
        "-" if t["jain"] is None else f"{t['jain']:.3f}",
        "met" if t["shortfall"] == 0 else f"missed by {t['shortfall']:.1%}",
    )


def _rate(value: float, ends: Sequence[float]) -> str:
    return f"{value:.3%} ({ends[0]:.3%} to {ends[1]:.3%})" if value > 0 else "none"


def _names(trial: JsonObject) -> str:
    return ", ".join(trial["rules"]) or str(trial["aqm"])


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
