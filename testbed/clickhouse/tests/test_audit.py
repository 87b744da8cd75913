# SPDX-License-Identifier: Apache-2.0
"""The controller's audit log in ClickHouse: stored once per record, whichever process is killed."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path

import pytest
from conftest import BIN_DIR, Daemon, Front, eventually, free_port

TOKEN = "token-of-the-test"
FORMER = {
    "unix_ms": 1_700_000_000_123, "node": 10, "port": 5, "origin": "auto", "outcome": "worse",
    "before": {"action": "unlimited"}, "limit": {"action": "drop_tail", "limit_bytes": 172_448},
    "reason": "it's \"worse\"\n", "error": None, "expected": None, "measured_before": None,
    "measured_after": {
        "utilisation": 0.99, "loss_rate": 0.002, "drops": 9, "delay_mean_ms": 5.0,
        "delay_p50_ms": 4.5, "delay_p99_ms": 12.5, "delay_max_ms": 13.0,
    },
}  # fmt: skip


class Controller(Daemon):
    """`tidemark-controller run` without a collector or a switch."""

    def __init__(self, directory: Path, url: str):
        self.http = free_port()
        self.log = directory / "audit.jsonl"
        self.config = directory / "controller.toml"
        self.config.write_text(
            f'collectors = ["127.0.0.1:{free_port()}"]\n'
            f'[http]\nlisten = "127.0.0.1:{self.http}"\ntoken = "{TOKEN}"\n'
            f'[control]\naudit_log = "{self.log}"\ndry_run = true\n'
            f'[clickhouse]\nurl = "{url}"\ncontroller = "lab"\nretry_max_ms = 500\n'
            f'[[switches]]\nnode = 10\naddress = "127.0.0.1:{free_port()}"\n'
        )

    def start(self) -> None:
        command = [str(BIN_DIR / "tidemark-controller"), "run", "--config", str(self.config)]
        self.launch(command, "stdout", "console: ")

    def set_limit(self, limit_bytes: int) -> None:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http}/api/v1/links/10/5/limit",
            data=json.dumps({"bytes": limit_bytes, "reason": "test"}).encode(),
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status == 200

    def metric(self, name: str) -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        return float(re.search(rf"^tidemark_controller_{name} (\S+)$", text, re.M)[1])


@pytest.fixture
def controller(tmp_path: Path, front: Front):
    c = Controller(tmp_path, front.url)
    c.log.write_text(json.dumps(FORMER) + "\n" + '{"unix_ms": 2, "no\n')
    yield c
    c.kill()


def limits(front: Front) -> list[str]:
    return [r[0] for r in front.query("SELECT limit_bytes FROM changes ORDER BY unix_ms")]


def test_every_record_once(front: Front, controller: Controller):
    front.stop()
    controller.start()
    controller.set_limit(100_000)
    eventually("an attempt fails", lambda: controller.metric("audit_store_retries_total") > 0)
    size = controller.log.stat().st_size
    eventually("all waits", lambda: controller.metric("audit_waiting_bytes") == size)
    front.start()
    eventually("all is stored", lambda: controller.metric("audit_waiting_bytes") == 0)
    assert controller.metric("audit_records_stored_total") == 2
    assert controller.metric("audit_records_rejected_total") == 1, "the line that is no record"
    assert controller.metric("audit_records_not_written_total") == 0
    assert limits(front) == ["172448", "100000"]

    # Killed after the insert, before its position was saved.
    controller.set_limit(90_000)
    eventually("it is stored", lambda: len(limits(front)) == 3)
    controller.kill()
    Path(f"{controller.log}.stored").unlink()
    controller.start()
    eventually("all is stored again", lambda: controller.metric("audit_records_stored_total") == 3)
    assert limits(front) == ["172448", "100000", "90000"]

    # A limit set just before the program ends is stored when it ends.
    controller.set_limit(80_000)
    controller.end()
    assert limits(front) == ["172448", "100000", "90000", "80000"]

    rows = front.file("limit_changes", node=10, port=5, queue=0, from_ms=0, to_ms=1_700_000_001_000)
    assert len(rows) == 1
    row = rows[0]
    assert (row["origin"], row["outcome"]) == ("auto", "worse")
    assert row["time"] == "2023-11-14 22:13:20.123"
    assert row["limit_before_bytes"] == "\\N"
    assert (float(row["after_loss_rate"]), float(row["after_delay_p99_ms"])) == (0.002, 12.5)
    stored = front.query("SELECT record FROM changes WHERE outcome = 'worse' FORMAT JSONEachRow")
    assert json.loads(json.loads(stored[0][0])["record"]) == FORMER


def test_a_log_that_starts_anew_is_read_from_its_begin(front: Front, controller: Controller):
    controller.start()
    controller.set_limit(100_000)
    eventually("both are stored", lambda: len(limits(front)) == 2)
    controller.end()
    controller.log.write_text("")
    controller.start()
    controller.set_limit(70_000)
    eventually("it is stored", lambda: len(limits(front)) == 3)
    assert limits(front)[-1] == "70000"
