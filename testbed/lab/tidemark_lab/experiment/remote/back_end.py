# SPDX-License-Identifier: Apache-2.0
"""Runs a plan on remote hosts, and says which parts of a plan it cannot run."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ... import signals
from ...errors import LabError, PreflightError
from ...preflight import Paths, check_programs
from ...progress import Progress
from .. import load
from ..backend import BackEnd, MeasuredPhase, Place, without_aqm
from ..load import ExperimentError
from ..plan import Plan
from ..quantities import MTU
from .configs import Machines
from .model import RemoteLab
from .run import Run
from .script import Script
from .session import Session

# Stands for the token in the names of a dry run.
NO_TOKEN = "RUN"
TOOLS = ("ssh", "scp")
PROGRAMS = ("tidemark-collector", "tidemark-controller", "tidemark-traffic")
LOOPBACK = ("127.", "localhost:", "[::1]:")


@dataclass
class Remote(BackEnd):
    """Real TCP between hosts reached by SSH, through existing switches."""

    paths: Paths = field(default_factory=Paths.find)
    name: str = "remote"
    several: bool = False

    def refuse(self, plan: Plan) -> list[str]:
        lab = plan.experiment.remote
        if lab is None:
            return ["remote: is missing: it says where hosts, switches and controller are"]
        return [*_not_there(plan, lab), *_not_done(plan, lab)]

    def ready(self, out: Path) -> list[str]:
        for tool in TOOLS:
            if shutil.which(tool) is None:
                raise PreflightError(f"{tool} is not on PATH", "install openssh-client")
        check_programs(self.paths, PROGRAMS)
        out.mkdir(parents=True, exist_ok=True)
        return []

    def place(self, plan: Plan, switch: int) -> Place:
        return Machines(plan, _lab(plan)).place(switch)

    def words(self, plan: Plan, run_dir: Path) -> list[str]:
        """Describes everything that a run does, in order; one line per command."""
        script = self._script(plan, run_dir, NO_TOKEN)
        lines = [f"mkdir -m 700 {script.sockets}"]
        for step in script.steps():
            lines += step.words
        return [*lines, f"rm -r {script.sockets}"]

    def _script(self, plan: Plan, run_dir: Path, token: str) -> Script:
        lab = _lab(plan)
        sockets = Path(tempfile.gettempdir()) / f"tidemark-{token}"
        machines = Machines(plan, lab)
        return Script(machines, self.paths, run_dir, token, controller_url(lab), sockets)

    def run(self, plan: Plan, run_dir: Path, progress: Progress) -> list[MeasuredPhase]:
        script = self._script(plan, run_dir, secrets.token_hex(3))
        session = Session(run_dir / "logs", script.sockets)
        run = Run(script.machines, script.url, run_dir, session, progress)
        with _cleared(run):
            session.open()
            for step in script.steps():
                run.told(step.words)
                step.do(run)
        return run.measured


@contextmanager
def _cleared(run: Run) -> Iterator[None]:
    """Runs the block; always restores the limits and leaves nothing on the hosts."""
    problems: list[str] = []
    try:
        yield
    finally:
        with signals.ignored():
            problems = run.clear()
        for problem in problems:
            run.progress.say(f"left: {problem}")
    if problems:
        raise LabError("not everything could be put back: " + "; ".join(problems))


def _lab(plan: Plan) -> RemoteLab:
    lab = plan.experiment.remote
    if lab is None:
        raise ExperimentError("remote: is missing")
    return lab


def controller_url(lab: RemoteLab) -> str:
    """URL of the controller, from the file or from the configuration started here."""
    if lab.controller.url is not None:
        return lab.controller.url.rstrip("/")
    try:
        http = load.read(Path(lab.controller.config or "").expanduser()).get("http", {})
    except ExperimentError as error:
        raise ExperimentError(f"remote.controller.config: {error}") from error
    scheme = "https" if "tls" in http else "http"
    return f"{scheme}://{http.get('listen', '127.0.0.1:8080')}"


def _not_there(plan: Plan, lab: RemoteLab) -> list[str]:
    """Returns parts of the plan that the table does not name, or names twice."""
    found = []
    groups = {h.name: h.rtts for h in plan.experiment.topology.hosts}
    for number, sender in enumerate(lab.senders):
        key = f"remote.senders[{number}]"
        rtts = groups.get(sender.hosts)
        if rtts is None:
            found.append(f"{key}.hosts: there are no hosts {sender.hosts} in topology.hosts")
        elif sender.rtt is None and len(rtts) > 1:
            found.append(f"{key}.rtt: is missing: {sender.hosts} has {len(rtts)} round trips")
        elif sender.rtt is not None and sender.rtt not in rtts:
            found.append(f"{key}.rtt: {sender.hosts} has no {1e3 * sender.rtt:g}ms")
    machines = Machines(plan, lab)
    taken: dict[int, str] = {}
    for host in plan.hosts:
        machine = machines.sender(host)
        if machine is None:
            found.append(
                f"remote.senders: none stands for {host.group} with {1e3 * host.rtt_s:g}ms"
            )
        elif id(machine) in taken:
            found.append(
                f"traffic: {host.group} with {1e3 * host.rtt_s:g}ms has flows with and without "
                "ECN, which is a setting of a host: take two groups of hosts"
            )
        else:
            taken[id(machine)] = host.name
    names = [s.name for s in plan.experiment.topology.switches]
    there = [s.name for s in lab.switches]
    if sorted(names) != sorted(there):
        found.append(
            f"remote.switches: are {', '.join(there)}, the topology has {', '.join(names)}"
        )
    return found


def _not_done(plan: Plan, lab: RemoteLab) -> list[str]:
    """Returns parts of the plan that this back end does not support."""
    found = without_aqm(plan)
    experiment = plan.experiment
    for number, group in enumerate(experiment.traffic.persistent):
        if group.remote is not None:
            found.append(
                f"traffic.persistent[{number}].remote: no slow link is made on remote hosts: "
                "take embedded or ns3"
            )
        if group.transport == "tcp" and "newreno" in group.congestion_control:
            found.append(
                f"traffic.persistent[{number}].congestion_control: newreno is not of the "
                "kernel: take reno, or embedded or ns3"
            )
    if experiment.topology.mtu != MTU or any(h.mtu != MTU for h in plan.hosts):
        found.append("topology: mtu: remote hosts keep theirs: set it there and leave it out")
    if plan.datagrams:
        found.append("traffic.datagrams: not between remote hosts: take ns3 or embedded")
    found += [
        f"traffic: {key}: remote hosts keep their kernel's: take embedded or ns3"
        for key in plan.stack_settings
    ]
    for number, switch in enumerate(experiment.topology.switches):
        if switch.scheduling != "fifo":
            found.append(
                f"topology.switches[{number}].scheduling: this command sets limits only: set it "
                "at the switch and leave it out, or take ns3"
            )
    if not experiment.topology.offloads:
        found.append(
            "topology.offloads: remote hosts keep theirs: turn them off there (ethtool -K) and "
            "leave it out"
        )
    if experiment.controller:
        where = lab.controller.config or "its own configuration"
        found.append(f"controller: the keys of this controller are in {where}")
    here = lab.collector.there is None
    if here and lab.collector.token_file is None and not lab.collector.grpc.startswith(LOOPBACK):
        found.append("remote.collector.token_file: is missing: grpc is not on loopback")
    return found
