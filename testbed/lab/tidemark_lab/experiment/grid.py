# SPDX-License-Identifier: Apache-2.0
"""Points of a grid: the file with each combination of values filled in. Pure."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import re
from dataclasses import dataclass, replace
from typing import Any

from ..json_types import JsonObject
from . import load
from .load import ExperimentError
from .model import Experiment

_STEP = re.compile(r"([A-Za-z0-9_-]+)|\[([0-9]+)\]")


@dataclass(frozen=True)
class Point:
    experiment: Experiment
    # The file's content for this point: without the grid, with the point's values.
    document: JsonObject
    # Path and value for each axis of the grid.
    settings: JsonObject
    repetition: int
    seed: int

    @property
    def digest(self) -> str:
        """Digest of everything that decides what the run does."""
        text = json.dumps([self.document, self.seed], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:10]

    def changed(self, values: JsonObject, seed: int | None = None) -> Point:
        """Returns a copy with other values, given by path, and possibly another seed."""
        document = copy.deepcopy(self.document)
        for path, value in values.items():
            put(document, path, value, self.experiment.name)
        experiment = load.check(document, self.experiment.name)
        seed = self.seed if seed is None else seed
        return replace(self, experiment=experiment, document=document, seed=seed)

    @property
    def run_id(self) -> str:
        """Name of the run directory; equal settings have equal names."""
        values = "-".join(_short(v) for v in self.settings.values())
        parts = [self.experiment.name, values, f"s{self.seed}", self.digest]
        return "-".join(p for p in parts if p)


def _short(value: Any) -> str:
    text = "+".join(map(_short, value)) if isinstance(value, list) else str(value)
    return re.sub(r"[^A-Za-z0-9.+]", "_", text)[:16]


def points(
    document: JsonObject, where: str, overrides: JsonObject | None = None, full: bool = False
) -> list[Point]:
    """Returns every combination of the grid, repeated as often as asked; repetitions come last, so
    that the whole grid is run once before anything is repeated. `full`: use the long form."""
    base = copy.deepcopy(document)
    if full:
        load.check(base, where)
        base = lengthened(base)
    for path, value in (overrides or {}).items():
        put(base, path, value)
        base.get("grid", {}).pop(path, None)
    load.check(base, where)
    # The long form does not affect the short one.
    base.pop("full", None)
    grid = base.pop("grid", {})
    for path, values in grid.items():
        if not values:
            raise ExperimentError(f'{where}: grid."{path}": has no values')
    found = []
    for combination in itertools.product(*grid.values()):
        settings = dict(zip(grid, combination, strict=True))
        one = copy.deepcopy(base)
        for path, value in settings.items():
            put(one, path, value, f"{where}: grid")
        at = ", ".join(f"{p} = {v}" for p, v in settings.items())
        experiment = load.check(one, f"{where} with {at}" if at else where)
        run = experiment.run
        one.setdefault("run", {}).pop("repetitions", None)
        one["run"].pop("seed", None)
        # Makes the default explicit, because it affects the run.
        one["run"]["back_end"] = run.back_end
        if run.back_end != "ns3":
            one["topology"]["offloads"] = experiment.topology.offloads
        if run.back_end != "remote":
            # The places of hosts only matter to the back end `remote`.
            one.pop("remote", None)
        one.pop("about", None)
        # The judge affects no row.
        one.pop("judge", None)
        found += [Point(experiment, one, settings, r, run.seed + r) for r in range(run.repetitions)]
    if len(found) > 5000:
        raise ExperimentError(f"{where}: {len(found)} runs: at most 5000")
    ids = [p.run_id for p in found]
    if len(set(ids)) != len(ids):
        raise ExperimentError(f"{where}: grid: a list has a value twice")
    return sorted(found, key=lambda p: p.repetition)


def lengthened(document: JsonObject) -> JsonObject:
    """Returns a checked file with the short form's values replaced by the long form's."""
    out = copy.deepcopy(document)
    full = out.pop("full", {})
    run = out.setdefault("run", {})
    run |= {k: full[k] for k in ("warmup", "repetitions") if k in full}
    for phase in out["phases"]:
        phase |= {k: full[k] for k in ("settle", "duration") if k in full}
    out["phases"] += full.get("phases", [])
    if "grid" in full:
        out["grid"] = out.get("grid", {}) | full["grid"]
    return out


def put(document: JsonObject, path: str, value: Any, where: str = "--set") -> None:
    """Sets the value at a path such as `traffic.persistent.long.count`; list items are given by
    name or as `[0]`. Adds missing keys and tables to the table that exists."""
    steps = [m[1] if m[1] is not None else int(m[2]) for m in _STEP.finditer(path)]
    if not steps:
        raise ExperimentError(f'{where}: "{path}" is not the path of a parameter')
    here: Any = document
    for number, step in enumerate(steps[:-1]):
        done = ".".join(map(str, steps[: number + 1]))
        if isinstance(here, dict) and step not in here and isinstance(steps[number + 1], str):
            # A table that the file leaves out; the check rejects it if the model has no such table.
            here[step] = {}
        here = _inside(here, step, f'{where}: "{path}": there is no {done}')
    if isinstance(here, dict) and isinstance(steps[-1], str):
        here[steps[-1]] = value
        return
    raise ExperimentError(f'{where}: "{path}": {steps[-1]} is not a key of a table')


def _inside(here: Any, step: int | str, problem: str) -> Any:
    if isinstance(here, dict) and step in here:
        return here[step]
    if isinstance(here, list):
        if isinstance(step, int) and step < len(here):
            return here[step]
        for item in here:
            if isinstance(item, dict) and item.get("name") == step:
                return item
    raise ExperimentError(problem)
