# SPDX-License-Identifier: Apache-2.0
"""Reads the output of p4c's Tofino backend: the assembly (``.bfa``) and its logs.

An exit code of 0 proves nothing: p4c between February and September 2026
lost the match registers of every parser ``select`` on packet data (p4c issue
5752), which leaves a parser that stops at the first one. ``check`` detects that
and other faults that would make reports wrong without an error.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path

# Bytes before mirrored headers (types.p4, mirror_h).
MIRROR_BYTES = 30
ETHER_TYPES = ("0x0800", "0x86dd", "0x8100")
MATCH_BITS = {"byte": 8, "half": 16, "word": 32}


class Miscompiled(Exception):
    """The assembly cannot do what the program says."""


def without_comments(text: str) -> str:
    """Returns the relevant lines of the assembly: without comments and the id of the run."""
    lines = (re.sub(r"\s+#.*", "", line).rstrip() for line in text.splitlines())
    kept = (
        line for line in lines if line.strip() and not line.lstrip().startswith(("#", "run_id"))
    )
    return "\n".join(kept) + "\n"


def sections(text: str) -> dict[str, list[str]]:
    """Returns the lines of each top-level section, by name (``parser egress``)."""
    result: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in without_comments(text).splitlines():
        if heading := re.match(r"(\w[\w ]*):", line):
            lines = result.setdefault(heading[1], [])
        else:
            lines.append(line)
    return result


# --- parser -------------------------------------------------------------------


class State:
    def __init__(self) -> None:
        self.registers: list[str] = []
        self.branches: dict[str, str] = {}


def parser_states(lines: list[str]) -> dict[str, State]:
    states: dict[str, State] = {}
    state, value = State(), ""
    for line in lines[lines.index("  states:") + 1 :]:
        if found := re.match(r"    (\S+):$", line):
            state = states[found[1]] = State()
        elif found := re.match(r"      match: \[ (.*) \]", line):
            state.registers = [name.strip() for name in found[1].split(",")]
        elif found := re.match(r"      (\S+):$", line):
            value = found[1]
            state.branches[value] = ""
        elif found := re.match(r"        next: (\S+)", line):
            state.branches[value] = found[1]
    return states


def register_bits(name: str) -> int:
    return next((bits for kind, bits in MATCH_BITS.items() if name.startswith(kind)), 1)


def value_bits(value: str) -> int:
    digits = {"0b": 1, "0o": 3, "0x": 4}
    return len(value[2:]) * digits.get(value[:2], 0)


def check_parser(gress: str, lines: list[str]) -> None:
    states = parser_states(lines)
    start = next(found[1] for line in lines if (found := re.match(r"  start: (\S+)", line)))
    for name, state in states.items():
        if len(state.branches) > 1 and not state.registers:
            raise Miscompiled(f"{gress} parser: {name} branches without a match register")
        width = sum(register_bits(register) for register in state.registers)
        for value in state.branches if state.registers else ():
            if value != "*" and value_bits(value) < width:
                raise Miscompiled(f"{gress} parser: {name} compares {value} with {width} bits")
    reached, pending = set(), [start]
    while pending:
        name = pending.pop()
        if name in states and name not in reached:
            reached.add(name)
            pending.extend(states[name].branches.values())
    for name in ("parse_ipv4", "parse_ipv6", "parse_vlan", "parse_tcp", "parse_udp"):
        if name not in reached:
            raise Miscompiled(f"{gress} parser: {name} is never reached")
    types = {value for name in reached for value in states[name].branches}
    for ether_type in ETHER_TYPES:
        if ether_type not in types:
            raise Miscompiled(f"{gress} parser: nothing is compared with {ether_type}")


# --- PHV, checksums, mirror ---------------------------------------------------


def containers(lines: list[str]) -> dict[str, set[str]]:
    """Returns the header fields (and metadata) that each container holds at some time."""
    result: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        if line.lstrip().startswith("context_json"):
            break
        if found := re.match(r"  ([\w$.]+?)(?:\.\d+-\d+)?: (.*)", line):
            for container in re.findall(r"\b([TMD]?[BHW]\d+)\b", found[2]):
                result[container].add(found[1])
    return result


def checksum_units(lines: list[str]) -> dict[str, list[tuple[str, bool]]]:
    """Returns the containers that each unit sums, and whether an entry has a condition."""
    units: dict[str, list[tuple[str, bool]]] = {}
    unit: list[tuple[str, bool]] | None = None
    for line in lines:
        if found := re.match(r"  partial_checksum (\d+):", line):
            unit = units.setdefault(found[1], [])
        elif unit is not None and (found := re.match(r"    - ([TMD]?[BHW]\d+)\b(.*)", line)):
            unit.append((found[1], "pov" in found[2]))
        elif not line.startswith("    "):
            unit = None
    return units


def header_of(field: str) -> str:
    return ".".join(field.split(".")[:2])


def check_checksums(phv: list[str], deparser: list[str]) -> None:
    """Checks that no checksummed container has a second use.

    Tofino 1 sums containers even if their header is absent, when they must be 0,
    so nothing else may ever use them. Tofino 2 has a condition for each entry.
    """
    shared = containers(phv)
    units = checksum_units(deparser)
    if len(units) != 2:
        raise Miscompiled(f"{len(units)} checksums in the egress deparser, not 2")
    for unit, entries in units.items():
        for container, conditional in entries:
            owners = {header_of(f) for f in shared[container] if not f.startswith("$duplicate")}
            if not conditional and len(owners) > 1:
                raise Miscompiled(
                    f"checksum {unit}: {container} holds {', '.join(sorted(owners))} at times"
                )


def check_mirror(deparser: list[str]) -> None:
    listed = []
    inside = False
    for line in deparser:
        if re.match(r"  mirror:", line):
            inside = True
        elif inside and (found := re.match(r"      - [TMD]?([BHW])\d+", line)):
            listed.append({"B": 1, "H": 2, "W": 4}[found[1]])
        elif inside and not line.startswith("    "):
            inside = False
    # The first one is the session.
    if sum(listed[1:]) != MIRROR_BYTES:
        raise Miscompiled(f"the mirror header has {sum(listed[1:])} bytes, not {MIRROR_BYTES}")


def check(assembly: Path) -> None:
    """Raises Miscompiled if the assembly contradicts the program."""
    found = sections(assembly.read_text())
    for gress in ("ingress", "egress"):
        check_parser(gress, found[f"parser {gress}"])
    check_checksums(found["phv egress"], found["deparser egress"])
    check_mirror(found["deparser egress"])


# --- resources ----------------------------------------------------------------


def resources(assembly: Path) -> dict:
    """Returns the chip resources that the program uses, from the assembly and its logs."""
    log = json.loads((assembly.parent / "logs" / "resources.json").read_text())["resources"]
    phv = json.loads((assembly.parent / "logs" / "phv.json").read_text())
    mau = log["mau"]
    return {
        "stages": {"used": stages_used(assembly), "available": mau["nStages"]},
        "tables": tables(assembly),
        "logical_tables": total(mau, "logical_tables", "ids", "size"),
        "sram_blocks": total(mau, "rams", "srams", ("nRows", "nColumns")),
        "tcam_blocks": total(mau, "tcams", "tcams", ("nRows", "nColumns")),
        "map_rams": total(mau, "map_rams", "maprams", ("nRows", "nUnits")),
        "stateful_alus": total(mau, "meter_alus", "meters", "nAlus"),
        "gateways": total(mau, "gateways", "gateways", ("nRows", "nUnits")),
        "hash_distribution_units": total(
            mau, "hash_distribution_units", "units", ("nHashIds", "nUnitIds")
        ),
        "vliw_instructions": total(mau, "vliw", "instructions", "size"),
        "phv_containers": phv_containers(phv),
    }


def total(log: dict, kind: str, used: str, size: str | tuple[str, str]) -> dict:
    # The log omits empty stages; all stages are alike.
    stages = log["mau_stages"]
    unit = stages[0][kind]
    each = unit[size] if isinstance(size, str) else unit[size[0]] * unit[size[1]]
    return {
        "used": sum(len(stage[kind][used]) for stage in stages),
        "available": each * log["nStages"],
    }


def stage_lines(assembly: Path):
    for name, lines in sections(assembly.read_text()).items():
        if found := re.match(r"stage (\d+) (ingress|egress|ghost)", name):
            yield int(found[1]), found[2], lines


def stages_used(assembly: Path) -> dict[str, int]:
    last: Counter[str] = Counter()
    for stage, gress, lines in stage_lines(assembly):
        if any(not line.lstrip().startswith("dependency") for line in lines):
            last[gress] = max(last[gress], stage + 1)
    return dict(sorted(last.items()))


def tables(assembly: Path) -> list[dict]:
    """Returns the tables with entries or state, by stage, with the assembler's kinds."""
    result = []
    for stage, gress, lines in stage_lines(assembly):
        for line in lines:
            found = re.match(r"  (exact_match|ternary_match|hash_action|stateful) ([^\s:]+)", line)
            if found:
                result.append({"stage": stage, "gress": gress, "table": found[2], "kind": found[1]})
    return sorted(result, key=lambda t: (t["gress"], t["stage"], t["table"]))


def phv_containers(phv: dict) -> dict[str, dict[str, int]]:
    """Returns the number of containers in use, by size, for both pipes together."""
    used: Counter[tuple[str, int]] = Counter()
    for container in phv["containers"]:
        if container["slices"]:
            used[(container["container_type"], container["bit_width"])] += 1
    result: dict[str, dict[str, int]] = {}
    for (kind, bits), count in sorted(used.items()):
        result.setdefault(kind, {})[f"{bits}_bit"] = count
    return result
