# SPDX-License-Identifier: Apache-2.0
"""C: what the controller does when its telemetry dies, or it does itself."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any, Literal

from programs import Lab, claim, eventually
from reports import honest
from switch_lab import FIRST, LIMIT, SwitchLab, in_force, post
from telemetry import warm


def silent_switch(scale: float) -> str:
    """C3: the switch, or its mirror session, is dead while the collector lives."""
    with Lab() as lab, honest(lab.udp) as switch:
        warm(lab, switch)
        time.sleep(12.0)
        link = lab.link()
        claim(link["stale"], f"silent for 12 s, and not stale: age {link['age_s']:.2f} s")
        claim(link["age_s"] > 8.0, f"silent for 12 s: age {link['age_s']:.2f} s")
        return f"silent for 12 s: age {link['age_s']:.1f} s, stale"


NEW = 250_000
# p4.v1.Update.type; an INSERT comes before it, and is refused.
MODIFY = b"\x08\x02"


class CutPath:
    """TCP to the switch, cut when the write of a limit passes: after it, or before."""

    def __init__(self, to_port: int, write: bytes):
        self.to_port, self.write = to_port, write
        self.cut: Literal["never", "before", "after"] = "never"
        self.cut_now = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
                switch = socket.create_connection(("127.0.0.1", self.to_port))
            except OSError:
                return
            for a, b, requests in ((client, switch, True), (switch, client, False)):
                threading.Thread(target=self._carry, args=(a, b, requests), daemon=True).start()

    def _carry(self, a: socket.socket, b: socket.socket, requests: bool) -> None:
        try:
            while data := a.recv(65536):
                modifies = self.write in data and MODIFY in data
                if requests and self.cut != "never" and modifies:
                    self.cut_now.set()
                # After the write, its answer is what is missing.
                if not self.cut_now.is_set() or (requests and self.cut == "after"):
                    b.sendall(data)
        except OSError:
            pass
        for end in (a, b):
            # Wakes the thread of the other direction, which closing does not.
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def _outcomes(directory: Path) -> list[str]:
    """Of the operator's writes; the initial limit has records of its own."""
    log = directory / "audit.jsonl"
    if not log.exists():
        return []
    # The last line may be half of one.
    whole = (line for line in log.read_text().splitlines(True) if line.endswith("\n"))
    records: list[dict[str, Any]] = [json.loads(line) for line in whole]
    return [r["outcome"] for r in records if r["origin"] == "operator"]


def _killed_during_a_write(reached: bool) -> str:
    """kill -9 after a write has reached the switch, or before."""
    with SwitchLab() as lab:
        lab.start_switch()
        # The limit, as P4Runtime writes numbers.
        path = CutPath(lab.grpc, NEW.to_bytes(3, "big"))
        log = f'audit_log = "{lab.directory}/audit.jsonl"'
        try:
            first = lab.controller(log, path.port)
            eventually("the switch has its limit", lambda: in_force(first) == FIRST, 30)
            path.cut = "after" if reached else "before"

            def ask() -> None:
                with contextlib.suppress(OSError, http.client.HTTPException):
                    post(first, LIMIT, {"bytes": NEW})

            threading.Thread(target=ask, daemon=True).start()
            claim(path.cut_now.wait(30), "nothing is written")
            # What was sent is there; its answer is not.
            time.sleep(0.5)
            claim(
                "intended" in _outcomes(lab.directory),
                "no record of what was about to be written",
            )
            first.kill()
            claim(
                "set" not in _outcomes(lab.directory),
                "the outcome was written: the kill came too late",
            )
            path.cut = "never"
            path.cut_now.clear()
            second = lab.controller(log, path.port)

            def told() -> dict[str, Any] | None:
                changes = second.get("/api/v1/changes")["changes"]
                ended = (c for c in changes if "ended during this write" in c["reason"])
                return next(ended, None)

            eventually("the next start tells of the write", told, 30)
            change, now = told(), in_force(second)
            assert change
            claim(
                change["outcome"] == ("set" if now == NEW else "failed"),
                f"told as {change['outcome']}, in force {now}",
            )
            claim(now == (NEW if reached else FIRST), f"in force {now}")
            return f"in force {now}, told as {change['outcome']}"
        finally:
            path.listener.close()


def killed_during_a_write(scale: float) -> str:
    """C4: kill -9 between a write and its record, with the embedded switch."""
    after = _killed_during_a_write(reached=True)
    return f"after the write: {after}; before it: {_killed_during_a_write(reached=False)}"
