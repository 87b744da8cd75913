# SPDX-License-Identifier: Apache-2.0
"""The containerlab topology, deployed like containerlab does, but without containerlab.

Each node is a network namespace with the image's root file system; links are veth pairs, added once
the commands run. Real TCP crosses the switch, and the controller must find the flows.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from test_image import HERE, IMAGE, buildah

TOPOLOGY = HERE / "containerlab/tidemark.clab.yml"
# containerlab's management network, over which the controller reaches the switch.
SWITCH_ADDRESS, CONTROLLER_ADDRESS = "192.0.2.1", "192.0.2.2"
# A container has nothing of the host's: TIDEMARK_BIN_DIR of the Makefile would affect `tidemark`.
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def ip(*words: object) -> None:
    subprocess.run(["ip", *(str(w) for w in words)], check=True, capture_output=True)


class Deployment:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.nodes = yaml.safe_load(TOPOLOGY.read_text())["topology"]["nodes"]
        self.links = yaml.safe_load(TOPOLOGY.read_text())["topology"]["links"]
        self.processes: list[subprocess.Popen[bytes]] = []
        self.made: list[str] = []

    def namespace(self, node: str) -> str:
        mode = self.nodes[node].get("network-mode", "")
        owner = mode.removeprefix("container:") or node
        return f"clab{os.getpid()}{owner}"

    def start(self) -> None:
        shutil.copytree(HERE / "containerlab/config", self.root / "config", dirs_exist_ok=True)
        hosts = f"127.0.0.1 localhost\n{SWITCH_ADDRESS} clab-tidemark-s1\n"
        (self.root / "etc/hosts").write_text(hosts)
        for node in self.nodes:
            namespace = self.namespace(node)
            if namespace not in self.made:
                ip("netns", "add", namespace)
                self.made.append(namespace)
                ip("-n", namespace, "link", "set", "lo", "up")
        self.wire("mgmt0", [("s1", SWITCH_ADDRESS), ("collector", CONTROLLER_ADDRESS)])
        for node, what in self.nodes.items():
            self.processes.append(self.run(node, f"{what['entrypoint']} {what['cmd']}"))
        for link in self.links:
            (a, a_name), (b, b_name) = (end.split(":") for end in link["endpoints"])
            ends = ["name", a_name, "netns", self.namespace(a), "type", "veth"]
            ip("link", "add", *ends, "peer", "name", b_name, "netns", self.namespace(b))
            for node, name in ((a, a_name), (b, b_name)):
                ip("-n", self.namespace(node), "link", "set", name, "up")
        for node, what in self.nodes.items():
            for command in what.get("exec", []):
                done = self.run(node, command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                text, _ = done.communicate(timeout=30)
                assert done.returncode == 0, f"{node}: {command}: {text.decode()}"

    def wire(self, name: str, ends: list[tuple[str, str]]) -> None:
        (a, a_address), (b, b_address) = ends
        first = ["name", name, "netns", self.namespace(a), "type", "veth"]
        ip("link", "add", *first, "peer", "name", name, "netns", self.namespace(b))
        for node, address in ((a, a_address), (b, b_address)):
            ip("-n", self.namespace(node), "addr", "add", f"{address}/30", "dev", name)
            ip("-n", self.namespace(node), "link", "set", name, "up")

    def run(self, node: str, words: str, **more: int) -> subprocess.Popen[bytes]:
        """Runs a command line of the topology in its node."""
        log = (self.root / f"tmp/{node}.log").open("ab")
        command = ["ip", "netns", "exec", self.namespace(node), "chroot", str(self.root)]
        streams = {"stdout": log, "stderr": log} | more
        script = words.replace("\n", " ")
        with log:
            return subprocess.Popen(
                [*command, "sh", "-c", script], env=ENVIRONMENT, start_new_session=True, **streams
            )

    def link(self) -> dict:
        """Returns the controller's answer for the bottleneck."""
        fetch = (
            "import urllib.request as r;"
            "print(r.urlopen('http://127.0.0.1:8080/api/v1/links/1/2',timeout=5).read().decode())"
        )
        command = ["ip", "netns", "exec", self.namespace("collector"), "python3", "-c", fetch]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    def logs(self) -> str:
        logs = sorted((self.root / "tmp").glob("*.log"))
        return "\n".join(f"== {p.name}\n{p.read_text()[-2000:]}" for p in logs)

    def stop(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for namespace in self.made:
            ip("netns", "del", namespace)


@pytest.fixture
def deployment() -> Iterator[Deployment]:
    assert os.geteuid() == 0, "network namespaces need root"
    container = buildah("from", "--pull-never", IMAGE)
    lab = Deployment(Path(buildah("mount", container)))
    try:
        lab.start()
        yield lab
    finally:
        lab.stop()
        buildah("umount", container)
        buildah("rm", container)


def test_the_controller_finds_the_eight_flows(deployment: Deployment):
    seen = None
    for _ in range(90):
        time.sleep(1)
        with contextlib.suppress(subprocess.CalledProcessError):
            seen = deployment.link()
            n_b = ((seen.get("estimate") or {}).get("estimates") or {}).get("n_b") or {}
            if n_b.get("value", 0) >= 6.5:
                break
    else:
        pytest.fail(f"{json.dumps(seen)[:3000]}\n{deployment.logs()}")
    assert n_b["value"] == pytest.approx(8, abs=1.5)
    assert seen["estimate"]["utilisation"]["mean"] > 0.9
