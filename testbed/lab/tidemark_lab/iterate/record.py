# SPDX-License-Identifier: Apache-2.0
"""What is kept and said of the rounds, whatever the back end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..json_types import JsonObject
from ..outcome import EXIT_FAILED, EXIT_OK, write_json
from ..progress import Progress
from . import table
from .rounds import WRONG, verdict


def teller(name: str, progress: Progress) -> Callable[[JsonObject], None]:
    """Shows each round that is done."""

    def told(one: JsonObject) -> None:
        m = one["measured"]
        progress.say(
            f"{name}: round {one['round']} at {one['limit_bytes']} bytes: "
            f"utilisation {m['utilisation']:.2%}, lost {m['loss_rate']:.3%}"
        )

    return told


def document(
    name: str, about: str, targets: dict[str, float], rounds: list[JsonObject]
) -> JsonObject:
    """What is kept of a traffic."""
    return {
        "name": name,
        "about": about,
        "targets": dict(targets),
        "rounds": rounds,
        "verdict": verdict(rounds, targets),
    }


def write(run_dir: Path, documents: list[JsonObject]) -> None:
    """iterate.json, iterate.md, iterate.svg."""
    write_json(run_dir / "iterate.json", {"traffics": documents})
    text = [table.summary(documents), *(table.markdown(d) for d in documents)]
    (run_dir / "iterate.md").write_text("\n".join(text))
    # Drawing takes a second to import.
    from ..report.iterate import draw

    (run_dir / "iterate.svg").write_text(draw(documents))


def finish(run_dir: Path, documents: list[JsonObject], failed: bool, progress: Progress) -> int:
    """The summary; the exit code is 1 where a traffic ended wrong."""
    if not documents:
        return EXIT_FAILED
    progress.say(table.summary(documents))
    progress.say(f"iterate: {run_dir}")
    wrong = any(d["verdict"]["verdict"] == WRONG for d in documents)
    return EXIT_FAILED if failed or wrong else EXIT_OK
