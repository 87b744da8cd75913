# SPDX-License-Identifier: Apache-2.0
"""Position of each field of a report, as the programs write it.

`compile.py` puts the result into ``build/report_layout.json``; the collector's
codec and the Scapy layer are tested against it byte by byte.
"""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

SOURCE_DIR = Path(__file__).resolve().parent
INCLUDES = ["include/headers.p4", "include/report.p4"]

_INNER = {"ipv4": ["ipv4"], "ipv6": ["ipv6"]}
_TRANSPORT = {
    "tcp": ["tcp"],
    "udp": ["udp", "report_pad"],
    "none": ["report_no_transport", "report_pad"],
}
_PASS = {"forwarded": ["report_egress_time"], "dropped": ["report_drop"]}
_ALWAYS = [
    "report_group",
    "report_main",
    "report_ports",
    "report_queue",
    "report_ingress_time",
    "report_domain",
]


def _source(name: str) -> str:
    text = (SOURCE_DIR / name).read_text()
    return re.sub(r"//[^\n]*", "", text)


def constants() -> dict[str, int]:
    """Returns every constant of the shared files, by name."""
    values: dict[str, int] = {}
    for name, expression in re.findall(
        r"const\s+bit<\d+>\s+(\w+)\s*=\s*([^;]+);", "".join(map(_source, INCLUDES))
    ):
        terms = [t.strip() for t in expression.split("+")]
        values[name] = sum(values[t] if t in values else int(t, 0) for t in terms)
    return values


def from_compiled(program: dict) -> dict:
    """Returns the layouts according to the compiler's output."""
    types = {t["name"]: t["fields"] for t in program["header_types"]}
    instances = {h["name"]: types[h["header_type"]] for h in program["headers"]}
    headers = [
        (name, [(f[0], f[1]) for f in instances[name]])
        for name in program["deparsers"][0]["order"]
        if not any(f[1] == "*" for f in instances[name])
    ]
    return _layouts(headers)


def _layouts(headers: list[tuple[str, list[tuple[str, int]]]]) -> dict:
    layouts = {}
    for (way, a), (family, b), (transport, c) in itertools.product(
        _PASS.items(), _INNER.items(), _TRANSPORT.items()
    ):
        present = {*_ALWAYS, *a, *b, *c}
        fields, at = [], 0
        for name, header in headers:
            if name not in present:
                continue
            for field, bits in header:
                fields.append({"name": f"{name}.{field}", "offset_bits": at, "bits": bits})
                at += bits
        missing = present - {name for name, _ in headers}
        if missing:
            raise ValueError(f"not emitted: {', '.join(sorted(missing))}")
        layouts[f"{way} {family} {transport}"] = {"bytes": at // 8, "fields": fields}
    return layouts


def text(program: dict) -> str:
    """Formats the layouts, one line per field."""
    lines = ['{"constants": {']
    items = [f"  {json.dumps(k)}: {v}" for k, v in constants().items()]
    lines.append(",\n".join(items))
    lines.append('}, "payloads": {')
    payloads = []
    for name, payload in from_compiled(program).items():
        rows = ",\n".join(f"  {json.dumps(f)}" for f in payload["fields"])
        payloads.append(
            f'{json.dumps(name)}: {{"bytes": {payload["bytes"]}, "fields": [\n{rows}]}}'
        )
    lines.append(",\n".join(payloads))
    lines.append("}}")
    return "\n".join(lines) + "\n"
