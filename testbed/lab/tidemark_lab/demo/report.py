# SPDX-License-Identifier: Apache-2.0
"""`report.html` of a run: predicted and measured side by side, with the figures."""

from __future__ import annotations

from html import escape
from pathlib import Path

from ..figures.command import made
from ..json_types import JsonObject
from ..outcome import write_text
from ..papers import report as figure_report
from ..report import page
from . import tables
from .tables import Table


def write(run_dir: Path, summary: JsonObject) -> Path:
    """One self-contained file. Raises LabError where there is nothing to draw."""
    figures, facts = made(run_dir)
    parts = [
        "<h2>Outcome</h2>",
        _table(tables.outcome(summary)),
        _verdicts(summary),
        _advice(summary),
        *(part for figure in figures for part in figure_report.section(figure, data=False)),
        "<h2>Estimates beside the truth</h2>",
        _table(tables.estimates(summary)),
        "<h2>Evidence</h2>",
        _table(tables.evidence(summary)),
        '<p class="soft">The packets are in <code>capture/</code> (Parquet), these numbers in '
        "<code>summary.json</code>.</p>",
    ]
    path = run_dir / "report.html"
    about = "; ".join([*facts, *_about(summary)]) + "."
    write_text(path, page.page(f"Tidemark run {run_dir.name}", about, parts))
    return path


def _about(summary: JsonObject) -> list[str]:
    config = summary.get("config", {})
    scenario = config.get("scenario") or {}
    facts = []
    rtts = scenario.get("base_rtts_ms")
    if rtts:
        facts.append("base RTT " + ", ".join(f"{r:g}" for r in rtts) + " ms")
    counts = [
        (scenario.get("lbp_flows"), "locally bottlenecked"),
        (len(scenario.get("rbp_senders") or ()), "remotely bottlenecked"),
        (len(scenario.get("wl_senders") or ()), "window-limited"),
    ]
    known = [f"{n} {what}" for n, what in counts if n]
    if known:
        facts.append("flows: " + ", ".join(known))
    for key, label in (("kernel", "Linux"), ("version", "Tidemark")):
        if config.get(key):
            facts.append(f"{label} {config[key]}")
    return facts


def _verdicts(summary: JsonObject) -> str:
    sentences = tables.verdicts(summary)
    return f"<p>Under the advised limit:</p>{page.items(sentences)}" if sentences else ""


def _advice(summary: JsonObject) -> str:
    for phase in summary["phases"]:
        advice = phase.get("advice")
        if advice and advice.get("reasons"):
            rule = escape(str(advice.get("rule") or "none"))
            return (
                f"<p>The advice after phase {escape(phase['name'])} (deciding rule: {rule}):</p>"
                + page.items(advice["reasons"], "ol")
            )
    return ""


def _table(table: Table) -> str:
    return page.table(table.head, table.rows)
