# SPDX-License-Identifier: Apache-2.0
"""C: what the controller writes to a switch that it should not, with the embedded switch."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from programs import BIN_DIR, REPOSITORY, Program, claim, eventually, free_port

NODE, PORT = 10, 5
FIRST = 312_500
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

    def controller(self, control: str, first: int = FIRST) -> Program:
        config = CONFIG.format(
            directory=self.directory,
            token=TOKEN,
            control=control,
            grpc=self.grpc,
            p4=P4,
            first=first,
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


LIMIT = f"/links/{NODE}/{PORT}/limit"


def dry_run(scale: float) -> str:
    """C1: a dry run beside a switch without a program, and one that restarts."""
    with SwitchLab() as lab:
        lab.start_switch()
        dry = lab.controller("dry_run = true")
        eventually("it sees the switch", lambda: seen(dry)["health"]["connected"], 20)

        def nothing(when: str) -> None:
            # Twice as long as between two looks at a switch.
            time.sleep(4.0)
            switch = seen(dry)
            claim(not switch["health"]["program_loaded"], f"{when}: a program was pushed")
            claim(not switch["limits"], f"{when}: limits {switch['limits']}")

        nothing("at the start")
        status, told = post(dry, f"/links/{NODE}/{PORT}/reports", {"on": True})
        claim(status != 400, f"not what an operator asks: {told}")
        status, told = post(dry, LIMIT, {"bytes": 250_000})
        nothing("after an operator")
        lab.end_switch()
        lab.start_switch()
        eventually("it sees the switch again", lambda: seen(dry)["health"]["connected"], 30)
        nothing("after a restart of the switch")
        return f"no program, no entry, no limit; an operator is told {status}, {_brief(told)}"


def _brief(answer: dict[str, Any]) -> str:
    error = answer.get("error")
    return error["message"] if error else f"dry_run {answer.get('dry_run')}"


def beyond_the_range(scale: float) -> str:
    """C2: limits outside the range, by an operator and by what a former run left."""
    most = 400_000
    with SwitchLab() as lab:
        lab.start_switch()
        wide = lab.controller("max_step_factor = 10.0")
        eventually("the switch has its limit", lambda: in_force(wide) == FIRST, 30)
        status, told = post(wide, LIMIT, {"bytes": 900_000})
        claim(status == 200, f"the limit of the former run is not set: {status} {told}")
        wide.end()
        narrow = lab.controller(f"max_step_factor = 10.0\nmax_limit_bytes = {most}")
        eventually("the limit is read", lambda: in_force(narrow) is not None, 30)
        status, told = post(narrow, LIMIT, {"bytes": 800_000})
        claim(status in (400, 409), f"an operator's 800000 is answered {status} {told}")
        # A switch that has lost all gets back what the former run set: not beyond the range.
        lab.end_switch()
        lab.start_switch()
        eventually(
            "the switch has a limit again",
            lambda: seen(narrow)["provisioned"] and in_force(narrow) is not None,
            60,
        )
        time.sleep(4.0)
        limit = in_force(narrow)
        claim(limit is not None and limit <= most, f"after a restart of the switch: {limit}")
        return f"an operator is refused ({status}); after a restart of the switch {limit}"


def full_audit_log(scale: float) -> str:
    """C5: the disk of the audit log is full."""
    with SwitchLab() as lab:
        lab.start_switch()
        log = 'audit_log = "/dev/full"\n'
        strict = lab.controller(log + 'audit = "required"')
        eventually("the switch has its limit", lambda: in_force(strict) == FIRST, 30)
        status, told = post(strict, LIMIT, {"bytes": 250_000})
        claim(status == 503, f"answered {status}: {told}")
        time.sleep(3.0)
        claim(in_force(strict) == FIRST, f"in force {in_force(strict)}, without a record")
        strict.end()
        loose = lab.controller(log + 'audit = "best_effort"')
        eventually("the limit is read", lambda: in_force(loose) == FIRST, 30)
        status, told = post(loose, LIMIT, {"bytes": 250_000})
        claim((status, told.get("recorded")) == (200, False), f"answered {status}: {told}")
        audit = loose.get("/api/v1/status")["audit"]
        claim(audit["not_written"] > 0 and audit["problem"], f"/status does not tell: {audit}")
        missing = audit["not_written"]
        return f"required: 503 and nothing written; best effort: told, {missing} records missing"
