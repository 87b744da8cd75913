# SPDX-License-Identifier: Apache-2.0
"""An experiment between hosts with ssh servers, through an existing switch and controller. Needs
root; leaves nothing."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import tomli_w
from experiment_files import document
from remote_lab import PORTS, processes_of, standing

from tidemark_lab.__main__ import main
from tidemark_lab.experiment import compare, store, table
from tidemark_lab.experiment.embedded import configs

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.root

PORT_OPTIONS = [f"{option}={number}" for option, number in PORTS.by_option().items()]


def experiment(**changes):
    return document(
        topology__switches__0__rate="10mbit",
        run__warmup="2s",
        traffic__persistent__0__congestion_control="reno",
        phases=[{"name": "half", "limit": "0.5bdp", "settle": "1s", "duration": "9s"}],
        **changes,
    )


def left(lab) -> list[str]:
    """Returns a run's programs and directories that are left on its hosts."""
    names = [h.name for h in lab.layout.plan.hosts] + ["rx"]
    there = [p for n in names for p in processes_of(lab.layout.namespace(n))]
    there = [p for p in there if "sshd" not in p]
    return there + [str(p) for p in lab.lab.run_dir.glob("tidemark-*")]


def nothing_left(lab) -> None:
    deadline = time.monotonic() + 15
    while found := left(lab):
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


def test_remote_hosts_give_what_the_embedded_back_end_gives(tmp_path, binary):
    binary("tidemark-traffic")
    file = tmp_path / "x.toml"
    file.write_text(tomli_w.dumps(experiment()))
    assert main(["run", str(file), "--out", str(tmp_path / "embedded"), *PORT_OPTIONS]) == 0
    with standing(experiment(), tmp_path) as lab:
        limit_before = lab.lab.limit_bytes(0)
        file.write_text(tomli_w.dumps({**experiment(), "remote": lab.table}))
        out = str(tmp_path / "remote")
        argv = ["run", str(file), "--back-end", "remote", "--out", out]
        assert main(argv) == 0
        nothing_left(lab)
        assert lab.lab.limit_bytes(0) == limit_before
    (run_dir,) = store.find([tmp_path / "remote"])
    record = json.loads((run_dir / "run.json").read_text())
    (row,) = record["rows"]
    assert row["true_n_b"] == 4 and round(row["n_b"]) == 4
    assert row["classes_right"] == 4 and not row["classes_wrong"]
    assert row["reports_lost"] == 0 and row["limit_bytes"] == 18_750
    assert row["occupancy_max_bytes"] <= 18_750 + 1514
    tables = [table.of_runs(store.find([tmp_path / name])) for name in ("embedded", "remote")]
    (pair,), _ = compare.pairs(*tables)
    print(compare.markdown([pair]))
    assert pair.differences() == []
    hosts = json.loads((run_dir / "hosts.json").read_text())
    assert len(hosts) == 3
    for host in hosts.values():
        # One machine, so the clocks are equal.
        clock = host["clock"]["after"]
        assert abs(clock["offset_ms"]) <= clock["error_ms"]


def test_ended_in_the_middle_it_puts_back_what_it_changed(tmp_path, binary):
    """Ends a run by Ctrl-C, then by SIGKILL, after which hosts clean up by themselves."""
    binary("tidemark-traffic")
    with standing(experiment(), tmp_path) as lab:
        file = tmp_path / "x.toml"
        file.write_text(tomli_w.dumps({**experiment(), "remote": lab.table}))
        argv = [sys.executable, "-m", "tidemark_lab", "run", str(file), "--back-end", "remote"]
        argv += ["--out", str(tmp_path)]
        limit_before = lab.lab.limit_bytes(0)
        for number in (signal.SIGINT, signal.SIGKILL):
            with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
                deadline = time.monotonic() + 60
                while lab.lab.limit_bytes(0) in (limit_before, None):
                    assert time.monotonic() < deadline and process.poll() is None
                    time.sleep(0.05)
                assert left(lab)
                os.kill(process.pid, number)
                process.stderr.read()
            assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
            nothing_left(lab)
            if number == signal.SIGINT:
                assert lab.lab.limit_bytes(0) == limit_before


def test_a_controller_of_the_run_and_collector_and_programs_that_are_there(tmp_path, binary):
    where = binary("tidemark-traffic").parent
    doc = experiment()
    doc["phases"][0] |= {"duration": "3s", "settle": "500ms"}
    token = tmp_path / "telemetry.token"
    token.write_text("a-token-of-this-test-alone\n")
    token.chmod(0o600)
    with standing(doc, tmp_path, controller_there=False) as lab:
        start_collector(lab, token)
        config = lab.lab.run_dir / "controller.toml"
        written = tomllib.loads(config.read_text())
        address = {"address": written["collectors"][0], "token_file": str(token)}
        config.write_text(tomli_w.dumps({**written, "collectors": [address]}))
        token_file = lab.table["controller"]["token_file"]
        # Namespaces share a file system: the receiver's ssh server can read the capture.
        there = {k: v for k, v in lab.table["receiver"].items() if k != "address"}
        there |= {"capture": str(lab.lab.capture_dir), "rotate": "1s"}
        lab.table["controller"] = {"config": str(config), "token_file": token_file}
        lab.table["collector"] = {
            "there": there,
            "grpc": f"127.0.0.1:{PORTS.collector}",
            "token_file": str(token),
        }
        lab.table["programs"] = str(where)
        file = tmp_path / "x.toml"
        file.write_text(tomli_w.dumps({**doc, "remote": lab.table}))
        assert main(["run", str(file), "--back-end", "remote", "--out", str(tmp_path)]) == 0
        nothing_left(lab)
        assert lab.lab.supervisor.running()[-1] == "collector"
        lab.lab.supervisor.check()
    (run_dir,) = store.find([tmp_path / "x"])
    (row,) = json.loads((run_dir / "run.json").read_text())["rows"]
    assert row["true_n_b"] == 4 and row["arrivals"] > 1000 and row["reports_lost"] == 0
    assert row["utilisation"] > 0.8
    assert list((run_dir / "capture").glob("tcp_probe-*.parquet"))


def start_collector(lab, token) -> None:
    """Starts the lab's own collector, which accepts the agents' samples."""
    made = configs.collector(lab.layout, PORTS, lab.lab.capture_dir)
    made["grpc"]["token_file"] = str(token)
    made["capture"]["rotate_s"] = 1
    document = {**made, "tcp_probe": {"enabled": False}, "agents": {"accept": True}}
    lab.lab.start_collector(document)
