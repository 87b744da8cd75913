# SPDX-License-Identifier: Apache-2.0
"""Reads EXPERIMENT.toml; every error names the file and the path of the key."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..errors import LabError
from ..json_types import JsonObject
from ..places import EXPERIMENTS
from .model import Experiment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


# Experiments that come with the lab.
FILES = EXPERIMENTS


class ExperimentError(LabError):
    """The file cannot be run: says where, why, and what to do."""


def said(error: LabError) -> str:
    """Error text for the terminal: an error of a file already names its place."""
    return str(error) if isinstance(error, ExperimentError) else f"lab: {error}"


def read(path: Path) -> JsonObject:
    """Reads the file; its paths become relative to the current directory."""
    try:
        document = tomllib.loads(path.read_text())
    except OSError as error:
        raise ExperimentError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path}: is not TOML: {error}") from error
    _find_programs(document, path.parent)
    return document


def _find_programs(document: JsonObject, folder: Path) -> None:
    """Resolves paths of programs; leaves values of the wrong type to `check`."""
    topology = document.get("topology")
    switches = topology.get("switches") if isinstance(topology, dict) else None
    for switch in switches if isinstance(switches, list) else []:
        program = switch.get("program") if isinstance(switch, dict) else None
        if not isinstance(program, dict):
            continue
        file, entries = program.get("file"), program.get("entries")
        if isinstance(file, str) and file != Path(file).stem:
            program["file"] = str((folder / file).resolve())
        if isinstance(entries, list):
            program["entries"] = [
                str((folder / e).resolve()) if isinstance(e, str) else e for e in entries
            ]


def value(text: str) -> object:
    """Parses a TOML value; returns the text itself if it is none."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def check(document: JsonObject, where: str) -> Experiment:
    """Returns the typed experiment, or raises with every error in it."""
    try:
        return Experiment.model_validate(document)
    except ValidationError as error:
        lines = [f"{where}: {_line(e, document)}" for e in error.errors()]
        raise ExperimentError("\n".join(lines)) from error


def _line(error: ErrorDetails, document: JsonObject) -> str:
    loc = _without_tags(error["loc"], document)
    path = path_text(loc)
    if error["type"] == "extra_forbidden":
        known = known_keys(loc[:-1])
        near = difflib.get_close_matches(str(loc[-1]), known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        return f"{path}: there is no such key ({hint})"
    if error["type"] == "missing":
        return f"{path}: is missing"
    text = error["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if error["type"] == "value_error" or not isinstance(error.get("input"), (str, int, float)):
        return f"{path}: {text}" if path else text
    return f"{path}: {error['input']!r}: should be {text}"


def _without_tags(loc: tuple[int | str, ...], document: Any) -> tuple[int | str, ...]:
    """Removes a union's tags, which Pydantic adds to the path but the file does not have."""
    kept: list[int | str] = []
    here = document
    for number, part in enumerate(loc):
        last = number == len(loc) - 1
        if isinstance(here, dict):
            if part not in here and not last:
                continue
            here = here.get(part)
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        elif not last:
            continue
        kept.append(part)
    return tuple(kept)


def path_text(loc: tuple[int | str, ...]) -> str:
    """Formats a path like `traffic.persistent[0].count`."""
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in loc).removeprefix(".")


def known_keys(loc: tuple[int | str, ...]) -> list[str]:
    """Returns the keys allowed at a place; empty if unknown."""
    kinds: list[type[BaseModel]] = [Experiment]
    for part in loc:
        if isinstance(part, int):
            continue
        found: list[type[BaseModel]] = []
        for kind in kinds:
            if part in kind.model_fields:
                found += models(kind.model_fields[part].annotation)
            else:
                # The name of an entry in a table: the models stay those of its values.
                found.append(kind)
        kinds = found
    return sorted({key for kind in kinds for key in kind.model_fields})


def models(annotation: Any) -> list[type[BaseModel]]:
    """Returns the models that a type consists of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for argument in get_args(annotation) for m in models(argument)]
