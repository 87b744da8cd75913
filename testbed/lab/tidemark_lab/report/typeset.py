# SPDX-License-Identifier: Apache-2.0
"""Typesets symbols in the texts of an SVG: N_b, T_e, r^n, sqrt(n), alpha. Pure."""

from __future__ import annotations

import re
from html import escape, unescape
from unicodedata import lookup

# Size of subscripts and superscripts, and their shifts, in em.
_SMALL, _DOWN, _UP = 0.75, 0.2, -0.4
_GREEK = {n: lookup(f"GREEK SMALL LETTER {n}") for n in ("alpha", "beta", "gamma", "rho")}
_GREEK |= {"delta": "Δ", "Delta": "Δ", "sqrt": "√"}
_NAME = re.compile(rf"(?<![A-Za-z0-9_])({'|'.join(_GREEK)})(?![A-Za-z0-9])")
_MINUS = re.compile(r"(?<= )-(?= )|(?<=\d)-(?=[a-z]\b)")
_TEXT = re.compile(r"(<text\b[^>]*>)([^<]+)</text>")
# A letter with a subscript, or a variable that stands alone; with its superscript.
_SYMBOL = re.compile(
    r"(?<![A-Za-z0-9_])([^\W\d_](?=_)|[BCNQWbknr])"
    r"(?:_([^\W\d_]{1,3}|\d))?(?:\^(\w+))?(?![A-Za-z0-9_])"
)


def typeset(svg: str) -> str:
    """Returns the document with its symbols typeset; texts that already have tspans stay."""
    return _TEXT.sub(lambda m: f"{m[1]}{pieces(unescape(m[2]))}</text>", svg)


def pieces(text: str) -> str:
    """Returns a text as the content of a `<text>` element."""
    text = _NAME.sub(lambda m: _GREEK[m[1]], text).replace("*", "·")
    text = _MINUS.sub(lookup("MINUS SIGN"), re.sub(r"√\((\w+)\)", r"√\1", text))
    out, shift = "", 0.0
    for number, part in enumerate(_SYMBOL.split(text)):
        if not part:
            continue
        level = (0.0, 0.0, _DOWN, _UP)[number % 4]
        size = _SMALL if level else 1.0
        style = ' font-style="italic"' if number % 4 in (1, 3) and part.isalpha() else ""
        style += f' font-size="{size}em"' if level else ""
        style += f' dy="{(level - shift) / size:.3g}em"' if level != shift else ""
        content = escape(part, quote=False)
        out += f"<tspan{style}>{content}</tspan>" if style else content
        shift = level
    return out
