# SPDX-License-Identifier: GPL-2.0-only
"""Compares the report as the programs write it with the Scapy layer, bit by bit. (The
collector's codec is compared with the same file by its own tests.)"""

import json
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ptf-tests"))
import layout
from tidemark_ptf import report

P4SRC = Path(layout.__file__).resolve().parent
BUILD = P4SRC / "build"
COMMITTED = json.loads((BUILD / "report_layout.json").read_text())
PROGRAM = json.loads((BUILD / "tidemark.json").read_text())

# Fields whose name in the Scapy layer differs from the P4 source.
SCAPY_NAMES = {
    "report_ingress_time.time_ns": "ingress_ns",
    "report_egress_time.time_ns": "egress_ns",
    "report_drop.queue_id": "drop_queue_id",
    "report_drop.reason": "drop_reason",
    "report_drop.pad": "drop_pad",
    "report_domain.limit": "limit",
    "report_domain.sampling_shift": "sampling_shift",
    "report_domain.flags": "policy_flags",
    "report_domain.reserved": "policy_reserved",
}


def header_fields() -> dict[str, list[tuple[str, int]]]:
    """Returns the fields (name, bits) of each header type of the shared files."""
    text = "".join(map(layout._source, layout.INCLUDES))
    typedefs = dict(re.findall(r"typedef\s+bit<(\d+)>\s+(\w+);", text))
    widths = {name: int(bits) for bits, name in typedefs.items()}
    found = {}
    for name, body in re.findall(r"header\s+(\w+)\s*\{([^}]*)\}", text):
        fields = []
        for kind, field in re.findall(r"([\w<>]+)\s+(\w+)\s*;", body):
            bits = re.fullmatch(r"bit<(\d+)>", kind)
            fields.append((field, int(bits[1]) if bits else widths[kind]))
        found[name] = fields
    return found


def emitted(deparser: Path) -> list[str]:
    """Returns the members of the headers struct in the order in which a deparser of
    reports emits them."""
    text = re.sub(r"//[^\n]*", "", deparser.read_text())
    # A file may hold several deparsers; selects the one for reports.
    controls = re.split(r"\bcontrol\b", text)
    bodies = [c for c in controls if "report_group" in c and ".emit(" in c]
    if len(bodies) != 1:
        raise ValueError(f"{deparser} has {len(bodies)} deparsers of reports")
    return re.findall(r"\.emit\(hdr\.(\w+)\)", bodies[0])


def from_source(deparser: Path) -> dict:
    """Returns the layouts according to the sources."""
    types = header_fields()
    headers = [(m, types[f"{m}_h"]) for m in emitted(deparser) if f"{m}_h" in types]
    return layout._layouts(headers)


def deparsers():
    files = sorted(P4SRC.glob("*/*.p4"))
    # Other deparsers report stacks, without this metadata.
    return [f for f in files if "emit(hdr.report_domain)" in f.read_text()]


def test_committed_layout_is_that_of_the_program():
    assert (BUILD / "report_layout.json").read_text() == layout.text(PROGRAM), "run `make p4`"


def test_there_is_a_deparser():
    assert any(f.parent.name == "v1model" for f in deparsers())


@pytest.mark.parametrize("deparser", deparsers(), ids=lambda f: f"{f.parent.name}/{f.name}")
def test_every_program_writes_this_layout(deparser):
    assert from_source(deparser) == COMMITTED["payloads"]


def test_lengths_of_the_design():
    lengths = {k: v["bytes"] for k, v in COMMITTED["payloads"].items()}
    for transport in ("tcp", "udp", "none"):
        assert lengths[f"forwarded ipv4 {transport}"] == 92
        assert lengths[f"dropped ipv4 {transport}"] == 88
        assert lengths[f"forwarded ipv6 {transport}"] == 112
        assert lengths[f"dropped ipv6 {transport}"] == 108
    constants = COMMITTED["constants"]
    for way, family in (k.split()[:2] for k in lengths):
        name = f"UDP_LENGTH_{way.upper()}_{family.upper()}"
        assert constants[name] == 8 + lengths[f"{way} {family} tcp"]


def values(payload: dict, way: str, family: str) -> dict:
    """Returns a value for each field: the program's constant, or else a pattern that
    no other field has."""
    constants = COMMITTED["constants"]
    fixed = {
        "report_group.version": constants["REPORT_VERSION"],
        "report_main.report_type": constants["REPORT_TYPE_INT"],
        "report_main.inner_type": constants[f"INNER_TYPE_{family.upper()}"],
        "report_main.metadata_bits": constants[f"METADATA_BITS_{way.upper()}"],
        "report_main.metadata_length_words": constants[f"METADATA_WORDS_{way.upper()}"],
        "report_main.length_words": constants["MAIN_CONTENTS_WORDS"]
        + constants[f"METADATA_WORDS_{way.upper()}"]
        + constants[f"INNER_WORDS_{family.upper()}"],
        "report_main.domain": constants["REPORT_DOMAIN"],
        "report_main.domain_bits": constants["REPORT_DOMAIN_BITS"],
    }
    result = {}
    for i, field in enumerate(payload["fields"]):
        pattern = int.from_bytes(bytes((37 * i + 11 * j + 1) & 0xFF for j in range(16)), "big")
        result[field["name"]] = fixed.get(field["name"], pattern >> 3 & ((1 << field["bits"]) - 1))
    return result


@pytest.mark.parametrize("kind", COMMITTED["payloads"])
def test_scapy_reads_each_field_where_the_program_writes_it(kind):
    payload = COMMITTED["payloads"][kind]
    way, family, _ = kind.split()
    written = values(payload, way, family)
    number = 0
    for field in payload["fields"]:
        number = number << field["bits"] | written[field["name"]]
    data = number.to_bytes(payload["bytes"], "big")
    parsed = report.TelemetryReport(data)
    inner = 0
    for field in payload["fields"]:
        name = field["name"]
        header, short = name.split(".")
        if header in ("ipv4", "ipv6", "tcp", "udp", "report_no_transport", "report_pad"):
            inner = inner or field["offset_bits"] // 8
            continue
        assert getattr(parsed, SCAPY_NAMES.get(name, short)) == written[name], name
    assert parsed.inner == data[inner:]
    assert not parsed.payload
    parsed.clear_cache()
    assert bytes(parsed)[:inner] == data[:inner]
