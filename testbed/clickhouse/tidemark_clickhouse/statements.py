# SPDX-License-Identifier: Apache-2.0
"""SQL text: refuses statements, splits text into statements, parses INSERTs with data."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""--[^\n]* | /\*.*?\*/ | '(?:\\.|''|[^'\\])*' | `(?:\\.|[^`\\])*` | "(?:\\.|[^"\\])*" | ; """,
    re.VERBOSE | re.DOTALL,
)


def split(sql: str) -> list[str]:
    """Returns the statements of `sql`, without comments and semicolons."""
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
    """An `INSERT INTO table (columns) SETTINGS settings FORMAT format`, followed by data."""

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
    """Parses an INSERT with data; returns it and the data that follows in the text."""
    match = _INSERT.match(sql)
    if not match:
        return None
    columns = tuple(c.strip().strip('`"') for c in (match["columns"] or "").split(",") if c.strip())
    insert = Insert(match["table"], columns, match["settings"] or "", match["format"])
    return insert, sql[match.end() :]


SYNTAX_ERROR = 62
ACCESS_DENIED = 497


class Refused(Exception):
    """A statement that this front refuses, with ClickHouse's code."""

    def __init__(self, text: str, code: int = ACCESS_DENIED):
        super().__init__(text)
        self.code = code


_LEXEME = re.compile(
    r"""(?P<space> \s+ | --[^\n]* | /\*(?:(?!/\*).)*?\*/ )
    | (?P<string> '(?:\\.|''|[^'\\])*' )
    | (?P<quoted> `(?:``|[^`\\])*` | "(?:""|[^"\\])*" )
    | (?P<word> [A-Za-z_]\w* )
    | (?P<number> \d+ )
    | (?P<sign> [-+*%=<>!(),.;:?@^|&~{}\[\]] | /(?!\*) )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
READS = frozenset({"SELECT", "WITH", "SHOW", "DESCRIBE", "DESC", "EXISTS", "EXPLAIN"})
WRITES = frozenset({"CREATE", "ALTER", "DROP", "INSERT", "OPTIMIZE", "TRUNCATE"})
# Words, and functions by name, that the engine runs for everybody.
_WORDS = frozenset({"OUTFILE", "INFILE"})
_FUNCTIONS = frozenset({"FILE", "PYTHON"})


def check(sql: str, read_only: bool) -> None:
    """Refuses statements that could reach beyond the tables, and, if `read_only`, writes.

    Every character outside of strings and comments must be understood here as the
    engine understands it; what could be read in two ways (heredocs, `#` comments,
    nested comments, escapes in names) is refused.

    :raises Refused: with the reason.
    """
    at, first, before = 0, "", ""
    while at < len(sql):
        found = _LEXEME.match(sql, at)
        if not found:
            raise Refused(f"this front does not take {sql[at : at + 12]!r} at character {at}")
        at = found.end()
        kind, text = found.lastgroup, found.group()
        if kind == "space":
            continue
        if text == "(" and before in _FUNCTIONS:
            raise Refused(f"this front does not run {before.lower()}(): it reaches beyond tables")
        if first and before == ";":
            raise Refused("one statement at a time", SYNTAX_ERROR)
        word = text.upper() if kind == "word" else ""
        if not first and text != "(":
            first = word or text
            if first not in READS | WRITES:
                raise Refused(f"{text} is no statement that this front runs", SYNTAX_ERROR)
        if word in _WORDS:
            raise Refused(f"this front does not run {word}: it reaches beyond tables")
        # An INSERT may begin with WITH.
        if read_only and (first in WRITES or word == "INSERT"):
            raise Refused(f"{word or first} needs POST: GET only reads")
        before = word or (text[1:-1].upper() if kind == "quoted" else text)
    if not first:
        raise Refused("no query", SYNTAX_ERROR)
