# SPDX-License-Identifier: Apache-2.0
"""Experiments on remote hosts, tested without hosts: the table, refusals, every command of a
run."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import tomli_w
from experiment_files import REMOTE, TWO_SWITCHES, document

from tidemark_lab.__main__ import main
from tidemark_lab.experiment import load
from tidemark_lab.experiment.plan import Plan
from tidemark_lab.experiment.remote.back_end import Remote
from tidemark_lab.experiment.remote.configs import Machines

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def experiment(base=None, **changes):
    return document({**document(base), "run": {"back_end": "remote"}, "remote": REMOTE}, **changes)


def plan(doc):
    return Plan.of(load.check(doc, "x.toml"), 1)


def test_the_example_of_the_documentation_runs():
    """Tests the example without its hosts."""
    page = (Path(__file__).resolve().parents[3] / "docs/how-to/experiments.md").read_text()
    (example,) = (b for b in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "[remote]" in b)
    made = plan(tomllib.loads(example))
    assert Remote().refuse(made) == []
    assert len(Remote().words(made, Path("/run"))) > 30


def problems(**changes):
    return "\n".join(Remote().refuse(plan(experiment(**changes))))


def test_a_whole_file_is_refused_nothing():
    assert problems() == ""


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"remote__senders__0__destination": "-oProxyCommand=x"}, "senders[0].destination"),
        ({"remote__senders__0__address": "near"}, "senders[0].address"),
        ({"remote__senders__0__prot": 3}, "did you mean port?"),
        ({"remote__receiver__options": ["-v"]}, "remote.receiver.options[0]"),
        ({"remote__controller__url": "192.0.2.2"}, "remote.controller.url"),
        ({"remote__controller__config": "c.toml"}, "remote.controller: give url"),
        ({"remote__directory": "tmp; rm"}, "remote.directory"),
        ({"remote__most_clock_offset": 3}, "3 has no unit"),
        ({"remote__collector__listen": []}, "remote.collector: give listen"),
    ],
)
def test_an_error_of_the_table_has_its_key(changes, says):
    with pytest.raises(load.ExperimentError) as error:
        load.check(experiment(**changes), "x.toml")
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"remote__senders": REMOTE["senders"][:1]},
            "remote.senders: none stands for near with 40",
        ),
        ({"remote__senders__1__hosts": "far"}, "remote.senders[1].hosts: there are no hosts far"),
        ({"remote__senders__1__rtt": "41ms"}, "remote.senders[1].rtt: near has no 41ms"),
        ({"remote__switches__0__name": "s2"}, "remote.switches: are s2, the topology has s1"),
        ({"remote__collector__grpc": "192.0.2.1:9560"}, "remote.collector.token_file"),
        ({"traffic__persistent__0__remote": {"rate": "1mbit"}}, "traffic.persistent[0].remote"),
        ({"traffic__persistent__0__congestion_control": "newreno"}, "take reno"),
        ({"traffic__persistent__0__initial_window": 2}, "traffic: initial_window: remote hosts"),
        ({"traffic__min_rto": "1s"}, "traffic: min_rto: remote hosts keep"),
        ({"topology__offloads": False}, "topology.offloads: remote hosts keep theirs"),
        ({"topology__switches__0__scheduling": "fair"}, "topology.switches[0].scheduling"),
        ({"controller": {"window_s": 3}}, "controller: the keys"),
        (
            {"traffic__datagrams": [{"name": "u", "hosts": "near", "count": 1, "rate": "1mbit"}]},
            "traffic.datagrams: not between remote hosts",
        ),
    ],
)
def test_what_it_cannot_do_is_refused_by_its_key(changes, says):
    assert says in problems(**changes)


def test_flows_with_and_without_ecn_need_hosts_of_their_own():
    doc = experiment()
    doc["traffic"]["persistent"].append({"name": "e", "count": 1, "hosts": "near", "ecn": True})
    assert "with and without ECN" in "\n".join(Remote().refuse(plan(doc)))


def test_without_the_table_it_is_refused_and_elsewhere_the_table_is_nothing(tmp_path, capsys):
    file = tmp_path / "x.toml"
    file.write_text(tomli_w.dumps(document()))
    argv = ["run", str(file), "--out", str(tmp_path), "--dry-run"]
    assert main([*argv, "--back-end", "remote"]) == 2
    assert "remote: is missing" in capsys.readouterr().err
    assert main([*argv, "--back-end", "ns3"]) == 0
    name = capsys.readouterr().err.split()[-1]
    file.write_text(tomli_w.dumps({**document(), "remote": REMOTE}))
    assert main([*argv, "--back-end", "ns3"]) == 0
    assert capsys.readouterr().err.split()[-1] == name


def dry_run(tmp_path, capsys, doc):
    file = tmp_path / "x.toml"
    file.write_text(tomli_w.dumps(doc))
    assert main(["run", str(file), "--out", str(tmp_path / "runs"), "--dry-run"]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_dry_run_shows_every_command_in_order_and_touches_nothing(tmp_path, capsys, monkeypatch):
    def touched(*_args, **_kwargs):
        raise AssertionError("a dry run starts no process")

    monkeypatch.setattr(subprocess, "Popen", touched)
    lines = dry_run(tmp_path, capsys, experiment())
    assert not (tmp_path / "runs").exists()
    order = [
        "mkdir -m 700",
        "ssh .* lab@rx .*mkdir /tmp/tidemark-RUN-rx",
        "ssh .* -R 127.0.0.1:19560:127.0.0.1:9560 root@a1 .*mkdir /tmp/tidemark-RUN-h1",
        "ssh .* -R 127.0.0.1:19561:127.0.0.1:9560 root@a2 .*mkdir /tmp/tidemark-RUN-h2",
        "ssh .* root@a1 .*tcp_available_congestion_control",
        "ask every host for its time",
        "tidemark-collector run --config .*collector.toml &",
        "scp .*tidemark-traffic lab@rx:/tmp/tidemark-RUN-rx/tidemark-traffic",
        "scp .*traffic-h1.json root@a1:/tmp/tidemark-RUN-h1/traffic.json",
        "ssh .* lab@rx .*tidemark-traffic serve --listen 10.0.0.250:5001 .*&",
        "ssh .* root@a1 .*tidemark-collector agent --to 127.0.0.1:19560 .*10.0.0.11/32",
        "ssh .* root@a2 .*tidemark-traffic send --spec /tmp/tidemark-RUN-h2/traffic.json",
        "GET http://192.0.2.2:8080/api/v1/links/7/3",
        'POST http://192.0.2.2:8080/api/v1/mode {"mode": "confirm"}',
        "POST http://192.0.2.2:8080/api/v1/targets",
        'POST http://192.0.2.2:8080/api/v1/links/7/3/limit .*"bytes": 75000',
        "let 6 s pass: x: warm-up",
        "measure for 10 s: x: one",
        "end traffic-h1",
        "end receiver",
        "end agent-h2",
        "scp .* root@a1:/tmp/tidemark-RUN-h1/truth.json .*truth-h1.json",
        r"ask every host for its time, 10 times \(after\)",
        "POST limits, targets and mode as they were",
        "end collector",
        r"end the session at lab@rx \(rx\)",
        "rm -r",
    ]
    at = 0
    for pattern in order:
        found = [k for k in range(at, len(lines)) if re.search(pattern, lines[k])]
        assert found, f"{pattern} is not after line {at}:\n" + "\n".join(lines[at:])
        at = found[0] + 1
    # Asks no questions, and tries only one key.
    for line in lines:
        if line.startswith(("ssh ", "scp ")):
            words = shlex.split(line)
            assert "BatchMode=yes" in words
            if "lab@rx" in line:
                assert {"Port=2222", "IdentityFile=/keys/lab", "IdentitiesOnly=yes"} <= set(words)
                assert "UserKnownHostsFile=/keys/known" in words


def test_programs_that_are_there_are_not_copied_and_a_controller_is_started(tmp_path, capsys):
    config = tmp_path / "controller.toml"
    config.write_text('[http]\nlisten = "127.0.0.1:18080"\n')
    doc = experiment(remote__programs="/usr/bin")
    doc["remote"]["controller"] = {"config": str(config), "token_file": "t"}
    doc["phases"].append({"name": "two", "duration": "5s", "apply_advice": True, "mode": "auto"})
    lines = dry_run(tmp_path, capsys, doc)
    text = "\n".join(lines)
    assert not re.search("scp .*target/release", text)
    assert "/usr/bin/tidemark-traffic send" in text
    started = next(k for k, line in enumerate(lines) if f"run --config {config} &" in line)
    ended = lines.index("end controller")
    assert started < lines.index("let 6 s pass: x: warm-up") < ended
    advice = 'POST http://127.0.0.1:18080/api/v1/advice/apply {"node": 7, "port": 3}'
    assert lines.index('POST http://127.0.0.1:18080/api/v1/mode {"mode": "auto"}') < lines.index(
        advice
    )
    config.unlink()
    assert main(["run", str(tmp_path / "x.toml"), "--dry-run"]) == 2
    assert "remote.controller.config" in capsys.readouterr().err


def test_the_capture_of_a_collector_that_is_there_is_fetched(tmp_path, capsys):
    there = {"destination": "lab@collector", "capture": "/var/lib/capture", "rotate": "3s"}
    doc = experiment()
    doc["remote"]["collector"] = {"there": there, "grpc": "192.0.2.9:9560", "token_file": "t"}
    lines = dry_run(tmp_path, capsys, doc)
    assert not any("tidemark-collector run" in line or line == "end collector" for line in lines)
    assert any("-R 127.0.0.1:19560:192.0.2.9:9560 root@a1" in line for line in lines)
    order = [
        "ssh .* lab@collector .*mkdir /tmp/tidemark-RUN-collector",
        "ssh .* lab@collector .*touch /tmp/tidemark-RUN-collector/begin",
        "end agent-h2",
        "let 5 s pass: x: the collector's last files",
        "ssh .* lab@collector .*find /var/lib/capture/ .*-newer /tmp/tidemark-RUN-collector/begin",
        "scp .* lab@collector:/tmp/tidemark-RUN-collector/capture .*/capture",
        "end the session at lab@collector",
    ]
    at = 0
    for pattern in order:
        found = [k for k in range(at, len(lines)) if re.search(pattern, lines[k])]
        assert found, f"{pattern} is not after line {at}:\n" + "\n".join(lines[at:])
        at = found[0] + 1


def test_a_collector_beyond_loopback_asks_for_its_token():
    made = plan(
        experiment(remote__collector__grpc="192.0.2.1:9560", remote__collector__token_file="t")
    )
    machines = Machines(made, made.experiment.remote)
    grpc = machines.collector(Path("/c"))["grpc"]
    assert grpc == {"listen": "192.0.2.1:9560", "token_file": str(Path("t").absolute())}
    agent = [line for line in Remote().words(made, Path("/run")) if "collector agent" in line]
    assert len(agent) == 2 and all("--token-file" in line for line in agent)


def test_several_switches_in_a_row_are_places_of_one_controller():
    doc = experiment(TWO_SWITCHES)
    doc["remote"] = {
        **REMOTE,
        "senders": [
            {"destination": "a", "address": "10.0.0.1", "hosts": "far"},
            {"destination": "b", "address": "10.0.0.2", "hosts": "near"},
        ],
        "switches": [
            {"name": "second", "node": 9, "port": 1},
            {"name": "first", "node": 8, "port": 4},
        ],
    }
    made = plan(doc)
    assert Remote().refuse(made) == []
    machines = Machines(made, made.experiment.remote)
    assert [(p.node, p.port) for p in machines.places] == [(8, 4), (9, 1)]
    nodes = machines.collector(Path("/c"))["nodes"]
    assert nodes["8"]["ports"]["4"]["capacity_bps"] == 10_000_000
    assert nodes["9"]["name"] == "second"


def test_each_host_sends_its_own_flows_with_a_seed_of_its_own():
    doc = experiment()
    doc["traffic"]["open_loop"] = [
        {
            "name": "mice",
            "hosts": "near",
            "load": "5%",
            "size": {"distribution": "fixed", "size": "9kB"},
        }
    ]
    made = plan(doc)
    machines = Machines(made, made.experiment.remote)
    specs = [machines.traffic(h) for h in made.hosts]
    names = [f["name"] for s in specs for f in s["flows"]]
    assert sorted(names) == [f"long-{k}" for k in (1, 2, 3, 4)]
    assert len({s["seed"] for s in specs}) == 2
    for spec, address in zip(specs, ("10.0.0.11", "10.0.0.12"), strict=True):
        assert spec["listeners"] == []
        senders = spec["flows"] + spec["poisson"]
        assert {s["source"] for s in senders} == {f"{address}:0"}
        assert not any("netns" in s for s in senders)
        assert len(spec["poisson"]) == 1


def test_what_a_run_does_is_what_a_dry_run_shows(tmp_path):
    """Both use one list of steps, and the descriptions omit nothing."""
    made = plan(experiment())
    script = Remote()._script(made, tmp_path, "RUN")
    lines = [line for step in script.steps() for line in step.words]
    assert Remote().words(made, tmp_path)[1:-1] == lines
    for step in script.steps():
        if argv := step.argv:
            assert any(line.startswith(shlex.join(argv)) for line in lines)
        for _, body in step.posts:
            assert any(line.endswith(json.dumps(body)) for line in lines)
