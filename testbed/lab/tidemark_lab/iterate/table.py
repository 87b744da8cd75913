# SPDX-License-Identifier: Apache-2.0
"""The rounds as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from ..json_types import JsonObject
from ..markdown import bounds
from ..markdown import table as table_lines
from ..verdict import words
from .rounds import WRONG

HEAD = (
    "round",
    "limit (kB)",
    "utilisation",
    "lost",
    "delay mean / max (ms)",
    "predicted: utilisation, loss, mean delay",
    "N_b (true)",
    "the advice then",
)

# Predicted quantities: key, factor, digits, unit.
PARTS = (
    ("utilisation", 100, 2, "%"),
    ("loss_rate", 100, 3, "%"),
    ("delay_mean_ms", 1, 1, "ms"),
)


def summary(traffics: Sequence[JsonObject]) -> str:
    """One line per experiment: how it ended."""
    rows = []
    for t in traffics:
        last = t["rounds"][-1]["measured"]
        limits = " → ".join(f"{r['limit_bytes'] / 1e3:.1f}" for r in t["rounds"])
        ended = f"{last['utilisation']:.2%}, {_loss(last)}, {last['delay_max_ms']:.0f} ms at most"
        word = t["verdict"]["verdict"]
        if t["verdict"]["missed"]:
            word += " (" + ", ".join(t["verdict"]["missed"]) + ")"
        rows.append((t["name"], bounds(t["targets"]), limits, ended, word))
    wrong = [t["name"] for t in traffics if t["verdict"]["verdict"] == WRONG]
    asked = [h for t in traffics for r in t["rounds"] for h in r["held"].values()]
    lines = [
        *table_lines(("traffic", "bounds", "limits (kB)", "ended", "verdict"), rows),
        "",
        f"{len(traffics) - len(wrong)} of {len(traffics)} traffics end inside their bounds, as far "
        "as can be told, or are told that none meets them"
        f"{'; not: ' + ', '.join(wrong) if wrong else ''}. "
        f"{sum(asked)} of {len(asked)} predicted ranges held what came.",
    ]
    return "\n".join(lines) + "\n"


def markdown(traffic: JsonObject) -> str:
    """One experiment, round by round."""
    lines = [
        f"## {traffic['name']}: {traffic['about']}",
        "",
        f"Bounds: {bounds(traffic['targets'])}.",
        "",
        *table_lines(HEAD, map(_cells, traffic["rounds"])),
        "",
        f"Ends: {traffic['verdict']['verdict']}.",
    ]
    return "\n".join(lines) + "\n"


def _cells(r: JsonObject) -> Sequence[str]:
    m, n_b = r["measured"], r["n_b"]
    return (
        str(r["round"]),
        f"{r['limit_bytes'] / 1e3:.1f}",
        f"{m['utilisation']:.2%}",
        _loss(m),
        f"{m['delay_mean_ms']:.1f} / {m['delay_max_ms']:.1f}",
        _predicted(r),
        f"{n_b['value']:.1f} ({r['n_b_true']})",
        _words(r["advice"], r["verdict"]),
    )


def _loss(m: JsonObject) -> str:
    low, high = m["loss_range"]
    marked = f", {m['marked_rate']:.1%} marked" if m["marked_rate"] else ""
    return f"{m['loss_rate']:.3%} ({low:.3%} to {high:.3%}){marked}"


def _predicted(r: JsonObject) -> str:
    if not r["predicted"]:
        return "-"
    f, held = r["predicted"], r["held"]
    return ", ".join(
        f"{f[name]['low'] * factor:.{digits}f} to {f[name]['high'] * factor:.{digits}f} {unit}"
        f"{'' if held[name] else ' **no**'}"
        for name, factor, digits, unit in PARTS
        if name in held
    )


def _words(advice: JsonObject, verdict: JsonObject) -> str:
    if advice["limit_bytes"] is None:
        return "none: " + "; ".join(advice["reasons"][-1:])
    given_up = (advice.get("infeasible") or {}).get("given_up") or []
    fits = f"cannot keep {' and '.join(given_up)}" if given_up else "meets all"
    return f"{advice['limit_bytes'] / 1e3:.1f} kB, {fits}; {words(verdict)}"
