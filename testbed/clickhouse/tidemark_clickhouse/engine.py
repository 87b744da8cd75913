# SPDX-License-Identifier: Apache-2.0
"""The engine: one session of chDB, one query at a time."""

from __future__ import annotations

import contextlib
import re
import tempfile
import threading
from pathlib import Path

from chdb import session

from .access import write_config
from .statements import Insert, split

_CODE = re.compile(r"Code: (\d+)\.")
_NAME = re.compile(r"[A-Za-z_]\w*\Z")
# Longest time that a query can delay others.
QUERY_S = 60
# Content coding of a request → the engine's name for it.
CODINGS = {"": "none", "identity": "none", "zstd": "zstd", "gzip": "gz", "lz4": "lz4"}


class EngineError(Exception):
    """An error of ClickHouse with its code."""

    def __init__(self, text: str):
        super().__init__(text)
        found = _CODE.search(text)
        self.code = int(found[1]) if found else 1001

    @property
    def status(self) -> int:
        """The HTTP status that a server would return."""
        if self.code in (60, 81):
            return 404
        return 400 if self.code in (36, 47, 62, 159, 452, 456) else 500


def quote(value: str) -> str:
    """Quotes a string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def identifier(name: str) -> str:
    """Quotes a name."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def settings_clause(settings: dict[str, str]) -> str:
    """Returns ` SETTINGS a='b'`, or an empty string."""
    for name in settings:
        if not _NAME.match(name):
            raise EngineError(f"Code: 115. DB::Exception: Unknown setting {name!r}")
    text = ", ".join(f"{name} = {quote(value)}" for name, value in settings.items())
    return f" SETTINGS {text}" if text else ""


class Engine:
    """A chDB session; tables are stored in `path`. Thread-safe."""

    def __init__(self, path: Path, query_s: int = QUERY_S):
        path.mkdir(parents=True, exist_ok=True)
        if set("?&%") & set(str(path)):
            raise EngineError(f"{path}: the engine takes no path with ?, & or %")
        config = write_config(path, query_s)
        self._lock = threading.Lock()
        try:
            self._session = session.Session(f"file:{path}?config-file={config}")
        except RuntimeError as e:
            raise EngineError(f"{path}: {e}") from None
        self._incoming = path / "incoming"
        self._incoming.mkdir(exist_ok=True)
        for left in self._incoming.iterdir():
            left.unlink()

    def close(self) -> None:
        with self._lock:
            self._session.close()

    def _run(self, sql: str, fmt: str, params: dict[str, str] | None = None) -> bytes:
        try:
            answer = self._session.query(sql, fmt, params=params or None)
        except Exception as e:  # chDB raises RuntimeError and its own classes.
            raise EngineError(str(e)) from None
        return answer.bytes() if answer is not None and hasattr(answer, "bytes") else b""

    def _use(self, database: str) -> None:
        if not _NAME.match(database):
            raise EngineError(f"Code: 81. DB::Exception: Database {database!r} does not exist")
        self._run(f"USE {database}", "Null")

    def query(
        self,
        sql: str,
        database: str = "default",
        fmt: str = "TabSeparated",
        params: dict[str, str] | None = None,
        settings: dict[str, str] | None = None,
    ) -> bytes:
        """Runs a query or statement."""
        extra = settings_clause(settings or {})
        with self._lock:
            self._use(database)
            if extra and re.match(r"\s*(SELECT|WITH|INSERT)\b", sql, re.IGNORECASE):
                sql = sql.rstrip().rstrip(";") + extra
            return self._run(sql, fmt, params)

    def script(self, sql: str, database: str) -> None:
        """Runs several statements, such as a schema file."""
        for statement in split(sql):
            self.query(statement, database)

    def insert(
        self,
        insert: Insert,
        data: bytes,
        coding: str = "",
        database: str = "default",
        settings: dict[str, str] | None = None,
    ) -> None:
        """Inserts data of any input format, compressed or not, as one block."""
        with tempfile.NamedTemporaryFile(dir=self._incoming, delete=False) as f:
            f.write(data)
        try:
            with self._lock:
                self._use(database)
                self._insert(insert, Path(f.name), CODINGS[coding], settings or {})
        finally:
            with contextlib.suppress(FileNotFoundError):
                Path(f.name).unlink()

    def _insert(self, insert: Insert, path: Path, coding: str, settings: dict[str, str]) -> None:
        database, _, table = insert.table.replace("`", "").rpartition(".")
        described = self._run(
            "SELECT name, type FROM system.columns "
            f"WHERE database = {quote(database) if database else 'currentDatabase()'} "
            f"AND table = {quote(table)} AND default_kind NOT IN ('ALIAS', 'MATERIALIZED')",
            "TabSeparatedRaw",
        ).decode()
        types = dict(line.split("\t", 1) for line in described.splitlines())
        where = ".".join(identifier(name) for name in (database, table) if name)
        if not types:
            raise EngineError(f"Code: 60. DB::Exception: Table {insert.table} does not exist")
        columns = insert.columns or tuple(types)
        for name in columns:
            if name not in types:
                raise EngineError(
                    f"Code: 16. DB::Exception: No such column {name} in table {insert.table}"
                )
        names = ", ".join(identifier(c) for c in columns)
        # One block of data is one block of the insert: deduplication and atomicity are as in a
        # server.
        whole = {
            "max_threads": "1",
            "max_insert_threads": "1",
            "input_format_parallel_parsing": "0",
            "max_block_size": "100000000",
            "max_insert_block_size": "100000000",
            "min_insert_block_size_rows": "100000000",
            "min_insert_block_size_bytes": "0",
        }
        self._run(
            f"INSERT INTO {where} ({names}) FROM INFILE {quote(str(path))} "
            f"COMPRESSION {quote(coding)}{settings_clause(whole | settings)} "
            f"FORMAT {insert.format}",
            "Null",
        )
