# SPDX-License-Identifier: Apache-2.0
"""The results of trials as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from ..json_types import JsonObject

HEAD = (
    "rank",
    "limit (kB)",
    "rules",
    "utilisation",
    "lost or marked",
    "delay p99 / max (ms)",
    "short flows p50 / p95 (ms)",
    "fairness",
    "targets",
)


def markdown(traffic: JsonObject) -> str:
    """One traffic: a heading, a table of its trials in the order of their ranks, and what
    of it is not to be trusted."""
    lines = [
        f"## {traffic['name']}: {traffic['about']}",
        "",
        f"Targets: utilisation {traffic['targets']['utilisation']:.0%}, loss "
        f"{traffic['targets']['loss_rate']:.1%}, delay {traffic['targets']['delay_ms']:g} ms.",
        "",
        _row(HEAD),
        _row(["---"] * len(HEAD)),
        *(_row(_cells(trial)) for trial in traffic["trials"]),
    ]
    advised = [t for t in traffic["trials"] if "advice" in t["rules"]]
    if advised and advised[0]["rank"] > 1:
        best = traffic["trials"][0]
        lines += [
            "",
            f"Tidemark's advice came {advised[0]['rank']} of {len(traffic['trials'])}; "
            f"{_names(best)} did better.",
        ]
    return "\n".join(lines) + "\n"


def _cells(t: JsonObject) -> Sequence[str]:
    loss = t["loss_range"]
    stolen = " (CPU stolen)" if t["cpu_was_stolen"] else ""
    wide = "" if t["loss_settled"] else " (time limit)"
    return (
        str(t["rank"]),
        f"{t['limit_bytes'] / 1e3:.1f}",
        _names(t) + ("" if t["applies"] else " (conditions do not hold)"),
        f"{t['utilisation']:.2%}{stolen}",
        f"{t['loss_rate']:.3%} ({loss[0]:.3%} to {loss[1]:.3%}){wide}",
        f"{t['delay_p99_ms']:.1f} / {t['delay_max_ms']:.1f}",
        f"{_ms(t['completion_p50_ms'])} / {_ms(t['completion_p95_ms'])}",
        "-" if t["jain"] is None else f"{t['jain']:.3f}",
        "met" if t["shortfall"] == 0 else f"missed by {t['shortfall']:.1%}",
    )


def _names(trial: JsonObject) -> str:
    return ", ".join(trial["rules"])


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
