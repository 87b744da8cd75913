# SPDX-License-Identifier: Apache-2.0
"""A self-contained HTML page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

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
# Symbols such as N_b.
_SYMBOL, _AS_SHOWN = re.compile(r"\b([NTC])_([be])\b"), r"<var>\1<sub>\2</sub></var>"


def page(title: str, about: str, parts: Iterable[str]) -> str:
    """Returns the whole document; `parts` are HTML."""
    lines = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{escape(about)}</p>',
        *parts,
        "</body></html>",
    ]
    return "\n".join(part for part in lines if part) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table; the first cell of each row is its label."""
    heads = "".join(f'<th scope="col">{escape(h)}</th>' for h in head)
    body = "".join(
        f'<tr><th scope="row">{_SYMBOL.sub(_AS_SHOWN, escape(label))}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for label, *cells in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def figure(svg: str, name: str, caption: str) -> str:
    """Returns a figure; `caption` is HTML; the SVG refers to it by `name`."""
    return (
        f'<figure>{svg[svg.index("<svg") :]}<figcaption id="{name}-caption">{caption}</figcaption>'
        "</figure>"
    )


def items(sentences: Iterable[str], kind: str = "ul") -> str:
    return f"<{kind}>{''.join(f'<li>{escape(s)}</li>' for s in sentences)}</{kind}>"
