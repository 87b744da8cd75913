# SPDX-License-Identifier: Apache-2.0
"""The programs themselves say whether the configurations are right."""

import subprocess

import tomli_w

from tidemark_lab import configs
from tidemark_lab.preflight import Paths, Ports
from tidemark_lab.scenario import Scenario


def validate(program, path, document):
    path.write_text(tomli_w.dumps(document))
    done = subprocess.run([program, "validate", "--config", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_collector_accepts_its_configuration(tmp_path, binary):
    document = configs.collector(Scenario(), Ports(), tmp_path / "capture")
    validate(binary("tidemark-collector"), tmp_path / "collector.toml", document)


def test_the_controller_accepts_its_configuration(tmp_path, binary):
    document = configs.controller(Scenario(), Ports(), Paths.find(), tmp_path, 30.0)
    validate(binary("tidemark-controller"), tmp_path / "controller.toml", document)


def test_every_host_is_forwarded_to_and_reports_are_not_flooded():
    scenario = Scenario()
    document = configs.provision(scenario, Paths.find())
    assert {f["port"] for f in document["forward"]} == {1, 2, 3, 4, 5}
    assert scenario.report_port not in document["flood_ports"]
    assert document["limits"] == {"5": {"action": "drop_tail", "limit_bytes": 312_500}}
    marking = configs.provision(Scenario(ecn=True), Paths.find())
    assert marking["limits"] == {
        "5": {"action": "mark_ce", "threshold_bytes": 312_500, "limit_bytes": 937_500}
    }
