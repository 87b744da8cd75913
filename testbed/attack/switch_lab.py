# SPDX-License-Identifier: Apache-2.0
"""The embedded switch, and controllers that write its limits."""

from __future__ import annotations

import json
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from programs import BIN_DIR, REPOSITORY, Program, eventually, free_port

NODE, PORT = 10, 5
FIRST = 312_500
LIMIT = f"/links/{NODE}/{PORT}/limit"
TOKEN = "a-token-for-attacks"
P4 = REPOSITORY / "p4src" / "build"
CONFIG = """
collectors = ["127.0.0.1:9"]
state_file = "{directory}/state.json"
[http]
listen = "HTTP"
token = "{token}"
[control]
{control}
[[switches]]
node = 10
address = "127.0.0.1:{grpc}"
[switches.provision]
p4info = "{p4}/tidemark.p4info.txtpb"
program = "{p4}/tidemark.json"
[switches.provision.limits]
5 = {{ action = "drop_tail", limit_bytes = {first} }}
"""


class SwitchLab:
    """The embedded switch, and controllers that are started and ended beside it."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="tidemark-attack-")
        self.directory = Path(self._directory.name)
        self.grpc = free_port()
        self.switch: subprocess.Popen[bytes] | None = None
        self.controllers: list[Program] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for controller in self.controllers:
            controller.kill()
        self.end_switch()
        self._directory.cleanup()

    def start_switch(self) -> None:
        """One without a program."""
        path = self.directory / "switch.log"
        with path.open("w") as log:
            self.switch = subprocess.Popen(
                [BIN_DIR / "tidemark-switch", "run", "--grpc", f"127.0.0.1:{self.grpc}"],
                stderr=log,
            )
        eventually("the switch is ready", lambda: "ready:" in path.read_text(), 20)

    def end_switch(self) -> None:
        if self.switch:
            self.switch.kill()
            self.switch.wait()

    def controller(self, control: str, grpc: int | None = None) -> Program:
        """One with these lines under `[control]`; `grpc`: where it finds the switch."""
        config = CONFIG.format(
            directory=self.directory,
            token=TOKEN,
            control=control,
            grpc=grpc or self.grpc,
            p4=P4,
            first=FIRST,
        )
        self.controllers.append(Program("controller", config, self.directory, "console: "))
        return self.controllers[-1]


def seen(controller: Program) -> dict[str, Any]:
    """The switch, as a controller sees it."""
    return controller.get("/api/v1/status")["switches"][0]


def in_force(controller: Program) -> int | None:
    return seen(controller)["limits"].get(str(PORT), {}).get("limit_bytes")


def post(controller: Program, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """A request of an operator: its status and its answer."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{controller.http}/api/v1{path}",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)
