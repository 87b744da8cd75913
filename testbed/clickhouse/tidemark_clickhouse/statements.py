# SPDX-License-Identifier: Apache-2.0
"""SQL text: splitting it into statements, and taking INSERTs with data apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""--[^\n]* | /\*.*?\*/ | '(?:\\.|''|[^'\\])*' | `(?:\\.|[^`\\])*` | "(?:\\.|[^"\\])*" | ; """,
    re.VERBOSE | re.DOTALL,
)


def split(sql: str) -> list[str]:
    """The statements of `sql`, without comments and semicolons."""
    out, current, at = [], "", 0
    for token in _TOKEN.finditer(sql):
        current += sql[at : token.start()]
        at = token.end()
        text = token.group()
        if text == ";":
            out.append(current.strip())
            current = ""
        elif text.startswith(("--", "/*")):
            current += " "
        else:
            current += text
    out.append((current + sql[at:]).strip())
    return [s for s in out if s]


@dataclass(frozen=True)
class Insert:
    """INSERT INTO table (columns) SETTINGS settings FORMAT format, data follows."""

    table: str
    columns: tuple[str, ...]
    settings: str
    format: str


_INSERT = re.compile(
    r"""\s*INSERT\s+INTO\s+(?:TABLE\s+)?
    (?P<table>(?:`[^`]+`|\w+)(?:\.(?:`[^`]+`|\w+))?)\s*
    (?:\((?P<columns>[^()]*)\)\s*)?
    (?:SETTINGS\s+(?P<settings>.*?)\s+)?
    FORMAT\s+(?P<format>\w+)[ \t]*(?:\r?\n|;|$)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def parse_insert(sql: str) -> tuple[Insert, str] | None:
    """An INSERT with data, and the data that follows it in the text itself."""
    match = _INSERT.match(sql)
    if not match:
        return None
    columns = tuple(c.strip().strip('`"') for c in (match["columns"] or "").split(",") if c.strip())
    insert = Insert(match["table"], columns, match["settings"] or "", match["format"])
    return insert, sql[match.end() :]
