# SPDX-License-Identifier: Apache-2.0
"""A stranger can affect only the front's tables."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

import pytest
from conftest import Front, free_port
from tidemark_clickhouse.origin import foreign, host_name
from tidemark_clickhouse.statements import Refused, check

SECRET = "tidemark-secret-4711"
# Each one reaches beyond the tables, or hides that from a reader of the text.
HOSTILE = (
    "SELECT * FROM file('{secret}', 'LineAsString')",
    "SELECT file('{secret}')",
    "SELECT FILE /* x */ ('{secret}')",
    "SELECT `file`('{secret}')",
    "SELECT \"file\"('{secret}')",
    "SELECT `\\x66ile`('{secret}')",
    "SELECT $$'$$, file('{secret}') --'",
    "SELECT 1 # '\n, file('{secret}') # '",
    "SELECT 1 /* /* */ ' */ , file('{secret}') --'",
    "SELECT \u2018'\u2019, file('{secret}') --'",
    "SELECT 1; SELECT file('{secret}')",
    "SELECT * FROM url('{url}', 'LineAsString')",
    "SELECT * FROM remote('127.0.0.1:1', system.one)",
    "SELECT * FROM s3('{url}', 'CSV')",
    "SELECT * FROM Python(engine)",
    "SELECT * FROM executable('id', 'TSV', 'a String')",
    "SELECT 1 INTO OUTFILE '{out}'",
    "INSERT INTO FUNCTION file('{out}', 'CSV', 'a UInt8') SELECT 1",
    "INSERT INTO victim FROM INFILE '{secret}' FORMAT CSV",
    "CREATE TABLE h (a String) ENGINE = File(CSV, '{out}')",
    "CREATE TABLE h (a String) ENGINE = URL('{url}', CSV)",
    "CREATE TABLE h ENGINE = Memory AS SELECT * FROM file('{secret}', 'LineAsString')",
    "CREATE DATABASE h ENGINE = Filesystem('/etc')",
    "CREATE DICTIONARY h (a UInt64) PRIMARY KEY a SOURCE(FILE(path '{secret}' format 'CSV')) "
    "LAYOUT(FLAT()) LIFETIME(0)",
    "CREATE FUNCTION h AS (x) -> x",
    "SYSTEM SHUTDOWN",
    "BACKUP TABLE victim TO File('{out}')",
    "SET readonly = 1",
    "EXECUTE AS default SELECT 1",
    "GRANT ALL ON *.* TO default",
)


def ask(front, method: str, sql: str, headers: dict[str, str] | None = None):
    connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=30)
    query = {"database": "tidemark"} | ({"query": sql} if method == "GET" else {})
    connection.request(
        method,
        f"/?{urllib.parse.urlencode(query)}",
        None if method == "GET" else sql.encode(),
        headers or {},
    )
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


@pytest.fixture
def open_directory():
    """A directory that the front may read and write."""
    with tempfile.TemporaryDirectory(prefix="tidemark-open-") as directory:
        Path(directory).chmod(0o777)
        yield Path(directory)


def test_nothing_beyond_the_tables(front, open_directory):
    """Rejects access to files and other servers, and disguised statements."""
    secret, out = open_directory / "secret", open_directory / "out"
    secret.write_text(SECRET)
    secret.chmod(0o644)
    front.query("CREATE TABLE victim (a UInt8) ENGINE = MergeTree ORDER BY a")
    for statement in HOSTILE:
        sql = statement.format(secret=secret, out=out, url=f"{front.url}/ping")
        for method in ("GET", "POST"):
            status, text = ask(front, method, sql)
            assert status in (400, 403, 500), f"{method} {sql}: {status} {text}"
            assert SECRET not in text, sql
        assert not out.exists(), sql
    tables = {name for (name,) in front.query("SHOW TABLES")}
    assert "victim" in tables and "h" not in tables
    # Allowed statements still work.
    assert front.query("WITH 2 AS a SELECT a * 2 AS `b``c`, 'it''s' AS d") == [["4", "it\\'s"]]


def test_get_only_reads(front):
    front.query("CREATE TABLE victim (a UInt8) ENGINE = MergeTree ORDER BY a")
    for sql in (
        "CREATE TABLE other (a UInt8) ENGINE = Memory",
        "DROP TABLE victim",
        "INSERT INTO victim SELECT 1",
        "INSERT INTO victim FORMAT CSV 1",
        "WITH 1 AS x INSERT INTO victim SELECT x",
        "TRUNCATE TABLE victim",
        "ALTER TABLE victim ADD COLUMN b UInt8",
    ):
        status, text = ask(front, "GET", sql)
        assert (status, "GET only reads" in text) == (403, True), f"{sql}: {status} {text}"
    assert ask(front, "GET", "SELECT count(), truncate(1.5) FROM victim") == (200, "0\t1\n")
    assert ask(front, "GET", "SHOW TABLES LIKE 'victim'") == (200, "victim\n")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:8123"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:9"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_another_site_may_not_ask(front, headers):
    for method in ("GET", "POST"):
        assert ask(front, method, "SELECT 1", headers)[0] == 403, method
    assert ask(front, "POST", "DROP TABLE postcards", headers)[0] == 403
    assert front.number("SELECT count() FROM postcards") == 0


def test_own_pages_may():
    hosts = frozenset({"localhost", "127.0.0.1", "::1"})
    own = {"Host": "localhost:8123", "Origin": "http://localhost:8123"}
    assert foreign(own | {"Sec-Fetch-Site": "same-origin"}, hosts) is None
    assert foreign({"Host": "[::1]:8123"}, hosts) is None
    assert foreign({}, hosts) is not None
    assert host_name("[::1]:8123") == "::1" and host_name("LocalHost") == "localhost"


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "  -- only a comment",
        "SELECT 'open",
        "SELECT `open",
        "/* open",
        "SELECT \x00",
        "EXPLAI 1",
    ],
)
def test_what_is_not_understood_is_refused(sql):
    with pytest.raises(Refused):
        check(sql, read_only=False)


def test_never_root(front, tmp_path):
    status = Path(f"/proc/{front.process.pid}/status").read_text()
    uids = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]
    assert "0" not in uids
    command = [sys.executable, "-m", "tidemark_clickhouse", "--listen", "127.0.0.1:0"]
    if os.geteuid() != 0:
        command += ["--path", str(tmp_path / "t"), "--user", "nobody"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (done.returncode, "--user needs root" in done.stderr) == (1, True), done.stderr
        return
    for extra, told in (
        (["--path", str(tmp_path / "t")], "it does not run as root: name the user"),
        (["--path", str(tmp_path / "t"), "--user", "root"], "is root"),
        (["--path", str(tmp_path / "t"), "--user", "no-such-user"], "there is no such user"),
        (["--path", str(tmp_path / "t"), "--user", "nobody"], "nobody cannot reach"),
    ):
        done = subprocess.run(command + extra, capture_output=True, text=True, timeout=60)
        assert (done.returncode, told in done.stderr) == (1, True), done.stderr


@pytest.mark.skipif("TIDEMARK_CLICKHOUSE_IMAGE" in os.environ, reason="of the front alone")
def test_no_query_keeps_the_others_waiting():
    """Queries run one at a time, and anybody who reaches the front can request a long one."""
    with tempfile.TemporaryDirectory(prefix="tidemark-front-") as directory:
        Path(directory).chmod(0o755)
        front = Front(Path(directory) / "tables", free_port(), "--query-seconds", "2").start()
        try:
            endless = "SELECT count() FROM numbers(1000000000000) WHERE number % 7 = 3"
            asked = {
                ("/", endless): "TIMEOUT_EXCEEDED",
                ("/?max_execution_time=900", endless): "SETTING_CONSTRAINT_VIOLATION",
                ("/", f"{endless} SETTINGS max_execution_time = 0"): "SETTING_CONSTRAINT_VIOLATION",
                ("/", "SET max_execution_time = 1000"): "no statement that this front runs",
            }
            for (path, sql), why in asked.items():
                connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=50)
                connection.request("POST", path, sql)
                answer = connection.getresponse()
                body = answer.read().decode()
                assert answer.status == 400 and why in body, (path, sql, body)
                connection.close()
            assert front.query("SELECT 1") == [["1"]]
        finally:
            front.stop()
