# SPDX-License-Identifier: Apache-2.0
"""The front as a ClickHouse server: formats, errors, deduplication, persistence."""

from __future__ import annotations

import gzip
import json
import struct
import urllib.error
import urllib.parse
import urllib.request

from tidemark_clickhouse.statements import Insert, parse_insert, split


def post(front, body: bytes, headers: dict[str, str] | None = None, **pairs: str):
    pairs = {"database": "tidemark"} | pairs
    request = urllib.request.Request(
        f"{front.url}/?{urllib.parse.urlencode(pairs)}", data=body, headers=headers or {}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read()


def test_statements():
    assert split("-- a;\nA 'x;y' /* ; */; B") == ["A 'x;y'", "B"]
    assert parse_insert("SELECT 1") is None
    assert parse_insert("INSERT INTO d.t SELECT 1") is None
    insert, data = parse_insert("insert into `t` (a, `b c`) SETTINGS x = 1 FORMAT CSV\n1,2\n")
    assert insert == Insert("`t`", ("a", "b c"), "x = 1", "CSV")
    assert data == "1,2\n"


def test_interface(front):
    """One front for all tests without restarts: starting it takes a second."""
    with urllib.request.urlopen(f"{front.url}/ping") as answer:
        assert answer.read() == b"Ok.\n"
    assert front.query("SELECT 1 AS a, 'x' AS b") == [["1", "x"]]
    assert front.query("SELECT {a:UInt8} + 1", a=4) == [["5"]]
    status, _, body = post(front, b"SELECT 1 AS a", default_format="JSONEachRow")
    assert (status, json.loads(body)) == (200, {"a": 1})

    # Errors have the same code as a server's.
    status, headers, body = post(front, b"SELECT * FROM nothing")
    assert (status, headers["X-ClickHouse-Exception-Code"]) == (404, "60")
    assert b"UNKNOWN_TABLE" in body
    status, headers, _ = post(front, b"SELEC 1")
    assert (status, headers["X-ClickHouse-Exception-Code"]) == (400, "62")

    # Input formats, compressed and plain.
    front.query(
        "CREATE TABLE t (a UInt32, b String, c UInt8 ALIAS a) ENGINE = MergeTree ORDER BY a "
        "SETTINGS non_replicated_deduplication_window = 100"
    )
    query = "INSERT INTO t (a, b) FORMAT RowBinary"
    assert post(front, struct.pack("<IB", 7, 2) + b"hi", query=query)[0] == 200
    rows = b'{"a": 8, "b": "x"}\n{"a": 9, "b": "y"}\n'
    packed = gzip.compress(rows)
    query = "INSERT INTO t FORMAT JSONEachRow"
    assert post(front, packed, {"Content-Encoding": "gzip"}, query=query)[0] == 200
    post(front, b"INSERT INTO t (a, b) FORMAT CSV\n10,z\n")
    assert front.query("SELECT a, b FROM t ORDER BY a") == [
        ["7", "hi"], ["8", "x"], ["9", "y"], ["10", "z"],
    ]  # fmt: skip
    status, headers, _ = post(front, b"\x01\x02", query="INSERT INTO t (a, b) FORMAT RowBinary")
    assert status == 500 and headers["X-ClickHouse-Exception-Code"] == "33"
    assert post(front, b"", {"Content-Encoding": "br"}, query=query)[0] == 400

    # Equal tokens mean the same insert, even if the data differs.
    for data in (b"20,a\n", b"21,b\n"):
        post(front, data, query="INSERT INTO t FORMAT CSV", insert_deduplication_token="one")
    assert front.query("SELECT a FROM t WHERE a >= 20") == [["20"]]


def test_killed_front_keeps_rows_and_tokens(front):
    query = "INSERT INTO t FORMAT CSV"
    front.query(
        "CREATE TABLE t (a UInt32) ENGINE = MergeTree ORDER BY a "
        "SETTINGS non_replicated_deduplication_window = 100"
    )
    post(front, b"1\n", query=query, insert_deduplication_token="one")
    front.kill()
    front.start()
    post(front, b"1\n", query=query, insert_deduplication_token="one")
    post(front, b"2\n", query=query, insert_deduplication_token="two")
    assert front.query("SELECT a FROM t ORDER BY a") == [["1"], ["2"]]


def test_schema_has_a_lifetime(front):
    """TTL drops whole parts: rows of a day are stored together."""
    for table in ("postcards", "tcp_probe", "events", "queue_1ms", "queue_1s", "flow_1s"):
        create = front.query(
            "SELECT create_table_query FROM system.tables WHERE database = 'tidemark' "
            f"AND name = '{table}'"
        )[0][0]
        assert "PARTITION BY stored_on" in create, table
        assert "TTL stored_on" in create, table
        assert "ttl_only_drop_parts = 1" in create, table
