# SPDX-License-Identifier: Apache-2.0
"""C: what the controller writes to a switch that it should not, with the embedded switch."""

from __future__ import annotations

import time
from typing import Any

from programs import claim, eventually
from switch_lab import FIRST, LIMIT, NODE, PORT, SwitchLab, in_force, post, seen


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
        eventually("the switch has a program", lambda: seen(strict)["health"]["program_loaded"], 30)
        eventually(
            "it tells that the initial limit waits",
            lambda: "has no limit" in (seen(strict)["provision_problem"] or ""),
            30,
        )
        status, told = post(strict, LIMIT, {"bytes": 250_000})
        claim(status == 503, f"answered {status}: {told}")
        time.sleep(3.0)
        claim(in_force(strict) is None, f"in force {in_force(strict)}, without a record")
        strict.end()
        loose = lab.controller(log + 'audit = "best_effort"')
        eventually("the switch has its limit", lambda: in_force(loose) == FIRST, 30)
        status, told = post(loose, LIMIT, {"bytes": 250_000})
        claim((status, told.get("recorded")) == (200, False), f"answered {status}: {told}")
        audit = loose.get("/api/v1/status")["audit"]
        claim(audit["not_written"] > 0 and audit["problem"], f"/status does not tell: {audit}")
        missing = audit["not_written"]
        return f"required: 503 and nothing written; best effort: told, {missing} records missing"
