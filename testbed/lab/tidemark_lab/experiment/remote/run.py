# SPDX-License-Identifier: Apache-2.0
"""State of a run on remote hosts, and undoing its changes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ...api import ApiError, Controller
from ...errors import LabError
from ...json_types import JsonObject
from ...limits import request
from ...progress import Progress
from .. import live
from ..backend import MeasuredPhase
from ..live import Links
from ..plan import Limits
from .clocks import Offset
from .configs import Machines
from .session import Session


@dataclass
class Run:
    """State shared by a run's steps. `clear` may be called at any point, and always is."""

    machines: Machines
    # URL of the controller.
    url: str
    run_dir: Path
    session: Session
    progress: Progress
    measured: list[MeasuredPhase] = field(default_factory=list)
    # Host name → description and clock; kept in hosts.json.
    hosts: JsonObject = field(default_factory=dict)
    offsets: dict[str, Offset] = field(default_factory=dict)
    # Limits and targets of the ports before the run; None once restored.
    before: list[JsonObject] | None = None
    mode: str | None = None
    limits: list[Limits] = field(default_factory=list)

    @cached_property
    def links(self) -> Links:
        file = Path(self.machines.lab.controller.token_file).expanduser()
        try:
            token = file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise LabError(f"remote.controller.token_file: {file}: {error}") from error
        controller = Controller(self.url, token)
        return Links(self.machines.plan, self.machines.places, controller, self.session.check)

    def told(self, words: list[str]) -> None:
        """Logs a step before it is done."""
        with (self.session.log_dir / "steps.log").open("a") as log:
            log.writelines(f"{line}\n" for line in words)
        self.progress.show(f"{self.machines.plan.experiment.name}: {words[0][:60]}")

    def let_pass(self, label: str, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.session.check()
            self.progress.show(f"{label}, {left:.0f} s")
            time.sleep(min(0.5, left))

    def restore(self) -> list[str]:
        """Restores settings one by one, whatever fails; returns what went wrong."""
        before, self.before = self.before, None
        problems = []
        if before is None or self.mode is None:
            return []
        # The mode first: in auto mode the controller would keep changing limits.
        posts: list[tuple[str, JsonObject]] = [("/mode", {"mode": self.mode})]
        for place, was in zip(self.links.places, before, strict=True):
            why = "experiment, as it was before"
            body = {**request(was["limit"]), "reason": why}
            posts.append((f"{live.path(place)}/limit", body))
            posts.append(("/targets", {**live.named(place), **was["targets"]}))
        for path, body in posts:
            try:
                self.links.controller.post(path, body)
            except ApiError as error:
                problems.append(f"{path} is not as it was before ({body}): {error}")
        return problems

    def clear(self) -> list[str]:
        """Cleans up after the last step or after a failure. Returns problems."""
        return [*self.restore(), *self.session.end_all()]
