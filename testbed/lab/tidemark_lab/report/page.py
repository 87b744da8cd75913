# SPDX-License-Identifier: Apache-2.0
"""The page: text, tables and figures in one file that needs nothing else."""

from __future__ import annotations

from html import escape

from . import figures, tables
from .data import Run
from .tables import Table

STYLE = """
:root { color-scheme: light; }
body { margin: 2.5rem auto; max-width: 58rem; padding: 0 1.2rem; background: #fff; color: #12262c;
  font: 15px/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .4rem; }
p { margin: .3rem 0; } .soft, figcaption { color: #47606a; }
figure { margin: 1.2rem 0 1.6rem; } figure svg { width: 100%; height: auto; display: block; }
figcaption { font-size: 13.5px; margin-top: .3rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; }
th, td { border-bottom: 1px solid #d2dcda; padding: .28rem 0 .28rem 1.1rem; text-align: right;
  white-space: nowrap; }
th { font-weight: 400; color: #47606a; } th[scope=row] { text-align: left; padding-left: 0; }
thead th { vertical-align: bottom; } ol, ul { margin: .3rem 0; padding-left: 1.4rem; }
@media print { body { margin: 0; max-width: none; } }
"""


def render(run: Run) -> str:
    """The whole document."""
    title = f"Tidemark run {run.name}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{escape(_about(run))}</p>',
        "<h2>Outcome</h2>",
        _table(tables.outcome(run)),
        _verdicts(run),
        _advice(run),
        "<h2>Queue</h2>",
        _figure(
            "occupancy",
            figures.occupancy(run),
            "Occupancy of the queue over the run. Red ticks: drops. Shaded: the phases that were "
            "measured; what lies between them is warm-up and settling.",
        ),
        _figure(
            "closeup",
            figures.close_up(run),
            "Close-up of the middle of each phase: every dot is the occupancy a packet met on "
            "arrival, every cross a packet refused.",
        ),
        _figure(
            "distribution",
            figures.distribution(run),
            "Distribution of the occupancy met by arrivals and of the queueing delay of the "
            "packets that left.",
        ),
        "<h2>Flows</h2>",
        _windows(run),
        "<h2>Estimates beside the truth</h2>",
        _table(tables.estimates(run)),
        "<h2>Evidence</h2>",
        _table(tables.evidence(run)),
        '<p class="soft">The packets are in <code>capture/</code> (Parquet), these numbers in '
        "<code>summary.json</code>.</p>",
        "</body></html>",
    ]
    return "\n".join(p for p in parts if p) + "\n"


def _about(run: Run) -> str:
    config = run.summary.get("config", {})
    scenario = config.get("scenario") or {}
    facts = [f"Port {run.port} of node {run.node_id}"]
    if run.capacity_bps:
        facts.append(f"{run.capacity_bps / 1e6:g} Mb/s")
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
    return "; ".join(facts) + "."


def _verdicts(run: Run) -> str:
    sentences = tables.verdicts(run)
    if not sentences:
        return ""
    items = "".join(f"<li>{escape(s)}</li>" for s in sentences)
    return f"<p>Under the advised limit:</p><ul>{items}</ul>"


def _advice(run: Run) -> str:
    for phase in run.phases:
        advice = phase.document.get("advice")
        if advice and advice.get("reasons"):
            reasons = "".join(f"<li>{escape(r)}</li>" for r in advice["reasons"])
            rule = escape(str(advice.get("rule") or "none"))
            return (
                f"<p>The advice after phase {escape(phase.name)} (deciding rule: {rule}):</p>"
                f"<ol>{reasons}</ol>"
            )
    return ""


def _windows(run: Run) -> str:
    svg = figures.windows(run)
    if svg is None:
        return '<p class="soft">No tcp_probe samples: the senders\' windows are not known.</p>'
    return _figure(
        "windows",
        svg,
        "Congestion window of every locally bottlenecked flow, one row per base round-trip time, "
        "above the queue they share. Crosses: drops of the flow at this port. The first slow start "
        "may run beyond the axis.",
    )


def _figure(name: str, svg: str, caption: str) -> str:
    return f'<figure>{svg}<figcaption id="{name}-caption">{escape(caption)}</figcaption></figure>'


def _table(table: Table) -> str:
    """Labels of rows are ours and may hold markup; the cells are text."""
    head = "".join(f'<th scope="col">{escape(h)}</th>' for h in table.head)
    rows = []
    for label, *cells in table.rows:
        data = "".join(f"<td>{escape(c)}</td>" for c in cells)
        rows.append(f'<tr><th scope="row">{label}</th>{data}</tr>')
    body = "".join(rows)
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
