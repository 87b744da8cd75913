# SPDX-License-Identifier: Apache-2.0
"""`report.html` of a run: predicted and measured side by side, with the figures."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

from ..figures.command import made
from ..json_types import JsonObject
from ..outcome import write_text
from ..papers import report as figure_report
from ..report import page
from ..verdict import CANNOT_SAY
from . import tables


def write(run_dir: Path, summary: JsonObject) -> Path:
    """Writes one self-contained file. Raises LabError if there is nothing to draw."""
    figures, facts = made(run_dir)
    said = tables.verdicts(summary)
    parts = [
        *(f"<p>{escape(line)}</p>" for line in tables.sentences(summary)),
        *(picture for phase in summary["phases"] if (picture := _picture(run_dir, phase))),
        "<h2>Outcome</h2>",
        page.table(*tables.outcome(summary)),
        f"<p>Under the advised limit:</p>{page.items(said)}" if said else "",
        _advice(summary),
        _application(summary),
        *(part for figure in figures for part in figure_report.section(figure, data=False)),
        "<h2>Estimates and the truth</h2>",
        page.table(*tables.estimates(summary)),
        "<h2>Evidence</h2>",
        page.table(*tables.evidence(summary)),
        '<p class="soft">The packets are in <code>capture/</code> (Parquet), these numbers in '
        "<code>summary.json</code>.</p>",
    ]
    path = run_dir / "report.html"
    about = "; ".join([*facts, *_about(summary)]) + "."
    write_text(path, page.page(f"Tidemark run {run_dir.name}", about, parts))
    return path


def _application(summary: JsonObject) -> str:
    head, rows = tables.application(summary)
    if not rows:
        return ""
    return (
        f"<h2>As applications see it</h2>{page.table(head, rows)}"
        '<p class="soft">Transfers are measured; page load and voice are models of them, of delay '
        "and of loss.</p>"
    )


def _picture(run_dir: Path, phase: JsonObject) -> str:
    """Returns the picture of a phase's verdict; empty if there is none or it cannot be trusted."""
    if (phase["verdict"] or {}).get("answer") in (None, CANNOT_SAY):
        return ""
    for drawn in sorted((run_dir / "links").glob(f"{phase['name']}-*.svg")):
        data = base64.b64encode(drawn.read_bytes()).decode()
        text = f"Utilisation, loss and delay over the limit, phase {phase['name']}"
        return f'<figure><img alt="{escape(text)}" src="data:image/svg+xml;base64,{data}"></figure>'
    return ""


def _about(summary: JsonObject) -> list[str]:
    config = summary["config"]
    scenario = config["scenario"]
    counts = [
        (scenario["lbp_flows"], "locally bottlenecked"),
        (len(scenario["rbp_senders"]), "remotely bottlenecked"),
        (len(scenario["wl_senders"]), "window-limited"),
    ]
    return [
        "base RTT " + ", ".join(f"{r:g}" for r in scenario["base_rtts_ms"]) + " ms",
        "flows: " + ", ".join(f"{n} {what}" for n, what in counts if n),
        f"Linux {config['kernel']}",
        f"Tidemark {config['version']}",
    ]


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
