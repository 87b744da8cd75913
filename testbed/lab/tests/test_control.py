# SPDX-License-Identifier: Apache-2.0
"""The control loop with real programs and real TCP. Needs root and everything built."""

import os
import signal
import time

import pytest

from tidemark_lab import netns, steps
from tidemark_lab.api import ApiError
from tidemark_lab.control_session import ControlSession, running
from tidemark_lab.errors import LabError
from tidemark_lab.preflight import Paths, Ports
from tidemark_lab.progress import Progress
from tidemark_lab.scenario import Scenario

pytestmark = pytest.mark.root
# Other than the demo's: both may run beside each other's leftovers.
PORTS = Ports(console=18480, switch=19459, collector=19460, collector_metrics=19461)
SETTLED_S = 40


def test_flows_of_steps_are_there_when_they_should_be():
    options = steps.Options(flows=(2, 4, 1), seconds=20)
    names = {host.name: "ns" for host in options.scenario.hosts}
    flows = steps.flows_of(options, names)
    there = [
        sum(f["start_s"] < (k + 0.5) * 20 < f["stop_s"] for f in flows)
        for k in range(len(options.flows))
    ]
    assert there == [2, 4, 1]
    assert all(f["start_s"] % 20 <= steps.SPREAD_S for f in flows)
    again = steps.flows_of(steps.Options(flows=(2, 1, 2), seconds=20), names)
    assert [(f["start_s"], f["stop_s"]) for f in again] == [(0.0, 60), (0.25, 20), (40.0, 60)]


def test_auto_mode_follows_changing_traffic_without_oscillation(tmp_path):
    """The steps of `make steps`, shortened. Real TCP in real time: a machine that is
    busy elsewhere may spoil a run, so one is repeated."""
    options = steps.Options(flows=(4, 40, 8), seconds=18, ports=PORTS)
    before = netns.names()
    for attempt in range(2):
        run_dir = tmp_path / f"attempt-{attempt}"
        run_dir.mkdir()
        measured = steps.measure(options, Paths.find(), run_dir, Progress())
        print(steps.table(measured))
        problems = [(s.n_b, p) for s in measured for p in s.problems(options)]
        few, many, some = (s.last_limit_bytes for s in measured)
        # More flows need more buffer for the same loss.
        if many < few * 1.1 or some > many / 1.3:
            problems.append((0, f"limits do not follow: {few:.0f}, {many:.0f}, {some:.0f} bytes"))
        if not problems:
            break
    assert not problems
    assert (run_dir / "steps.svg").stat().st_size > 10_000
    assert netns.names() == before


@pytest.fixture
def lab(tmp_path):
    """Steady traffic, controlled by hand; everything may be restarted."""
    scenario = Scenario(
        base_rtts_ms=(10.0, 20.0),
        lbp_flows=4,
        rbp_senders=(),
        wl_senders=(),
        short_share=0.0,
        start_spread_s=0.2,
    )
    settings = {"window_s": 4.0, "control": {"min_change_interval_s": 1.0}}
    session = ControlSession(scenario, PORTS, Paths.find(), tmp_path, settings)
    before = netns.names()
    with running(session):
        session.start_network()
        session.start_switch()
        session.start_collector()
        session.start_controller(observe_s=5.0)
        session.start_traffic()
        wait(session, estimated, "the first estimate")
        yield session
        session.finish()
    assert netns.names() == before


def wait(session, condition, what):
    try:
        return session.supervisor.wait_until(lambda: condition(session), what, SETTLED_S)
    except LabError as error:
        link = {k: v for k, v in session.link().items() if k != "advice"}
        estimate = link.pop("estimate") or {}
        values = estimate.get("utilisation"), (estimate.get("estimates") or {}).get("n_b")
        span = estimate.get("from_ns"), estimate.get("to_ns")
        raise LabError(f"{error}\nlink: {link}\nestimate: {values} {span}") from error


def estimated(session) -> dict | None:
    """The link, once its estimate is of this traffic alone: two clocks mixed
    would show more than the capacity, and more flows than there are."""
    try:
        link = session.link()
    except ApiError:
        return None
    estimate = link.get("estimate")
    if link.get("stale", True) or not estimate or not estimate["utilisation"]["mean"]:
        return None
    sound = 0.5 < estimate["utilisation"]["mean"] <= 1.01
    return link if sound and estimate["estimates"]["n_b"]["value"] <= 5 else None


def grow_old(session):
    """A restarted clock is told from late reports by how far back it goes."""
    wait(session, lambda s: s.link()["now_ns"] > 12e9, "the switch to be some seconds old")


def kill(session, name):
    """As a crash would: no chance to save anything."""
    child = session.supervisor._children[name]
    os.kill(child.process.pid, signal.SIGKILL)
    session.supervisor.stop(name)


def test_every_restart_is_survived_and_the_limit_known_again(lab):
    place = {"node": lab.scenario.node_id, "port": lab.scenario.bottleneck_port}
    wanted = 150_000
    lab.controller.post(f"{lab.link_path}/limit", {"bytes": wanted, "reason": "restart test"})
    lab.controller.post("/targets", {**place, "delay_ms": 17.0})
    lab.controller.post("/mode", {"mode": "recommend"})

    # The controller: killed, not ended.
    kill(lab, "controller")
    lab.start_controller(observe_s=5.0)
    link = wait(lab, estimated, "an estimate after the controller's restart")
    assert lab.limit_bytes() == wanted
    assert link["limit"]["limit_bytes"] == link["reported_limit_bytes"] == wanted
    assert link["targets"]["delay_ms"] == 17.0
    status = lab.controller.get("/status")
    assert status["mode"] == "recommend"
    changes = lab.controller.get("/changes")["changes"]
    assert changes[-1]["reason"] == "restart test"

    # The collector: it renumbers the flows.
    before = status["collectors"][0]["instance"]
    kill(lab, "collector")
    # A capture is never written over.
    lab.capture_dir = lab.run_dir / "capture-2"
    lab.start_collector()

    def other_collector(session):
        collector = session.controller.get("/status")["collectors"][0]
        return collector["connected"] and collector["instance"] != before

    wait(lab, other_collector, "the new collector")
    wait(lab, estimated, "an estimate after the collector's restart")
    assert lab.limit_bytes() == wanted

    # The switch: program, entries and clock are gone.
    grow_old(lab)
    kill(lab, "switch")
    restarted = time.monotonic()
    lab.start_switch()
    log = lab.run_dir / "logs" / "controller.log"
    wait(lab, lambda _: "its clock restarted" in log.read_text(), "the new clock")
    link = wait(lab, estimated, "an estimate on the new switch's clock")
    # Nothing is later than the switch is old.
    assert link["now_ns"] / 1e9 <= time.monotonic() - restarted + 1
    assert link["estimate"]["to_ns"] <= link["now_ns"]
    assert lab.limit_bytes() == wanted
    assert link["reported_limit_bytes"] == wanted
    last = lab.controller.get("/changes")["changes"][-1]
    assert (last["origin"], last["outcome"]) == ("restore", "set")
    assert last["limit"]["limit_bytes"] == wanted

    # Both at once: what the controller set is written down.
    grow_old(lab)
    kill(lab, "controller")
    kill(lab, "switch")
    lab.start_switch()
    lab.start_controller(observe_s=5.0)
    wait(lab, lambda s: s.limit_bytes() == wanted, "the limit out of the state file")
    wait(lab, estimated, "an estimate after both restarts")
