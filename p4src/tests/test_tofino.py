# SPDX-License-Identifier: Apache-2.0
"""The TNA program: its artifacts match these sources, and all programs share one layout."""

import json
import re
import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import compile_tofino
import sources
import tofino_assembly

SOURCE_DIR = compile_tofino.SOURCE_DIR
TARGETS = pytest.mark.parametrize("target", compile_tofino.TARGETS, ids=lambda t: t.name)


def code(path: Path) -> str:
    text = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S)
    return re.sub(r"//.*", "", text)


def header_bits(name: str) -> int:
    text = code(SOURCE_DIR / "include" / "report.p4")
    body = re.search(rf"\bheader {name} {{(.*?)}}", text, re.S)[1]
    return sum(int(bits) for bits in re.findall(r"bit<(\d+)>", body))


# --- one layout -----------------------------------------------------------------


def layout_headers() -> set[str]:
    included = "".join(code(f) for f in (SOURCE_DIR / "include").glob("*.p4"))
    return set(re.findall(r"\bheader (\w+)", included))


def layout_constants() -> set[str]:
    included = code(SOURCE_DIR / "include" / "report.p4")
    return set(re.findall(r"\bconst bit<\d+>\s+(\w+)", included))


@pytest.mark.parametrize("folder", ["v1model", "tna"])
def test_the_shared_files_are_the_only_definition(folder):
    """No program defines headers or constants of a report itself."""
    assert {"report_group_h", "report_main_h", "ipv4_h"} <= layout_headers()
    assert {"METADATA_BITS_FORWARDED", "REPORT_DOMAIN"} <= layout_constants()
    for path in (SOURCE_DIR / folder).glob("*.p4"):
        text = code(path)
        assert not set(re.findall(r"\bheader (\w+)", text)) & layout_headers(), path.name
        assert not re.search(r"\bheader report_(?!to)\w+_h\b", text), path.name
        assert not set(re.findall(r"\bconst bit<\d+>\s+(\w+)", text)) & layout_constants(), (
            path.name
        )


@pytest.mark.parametrize("folder", ["v1model", "tna"])
def test_both_programs_include_the_shared_files(folder):
    types = (SOURCE_DIR / folder / "types.p4").read_text()
    assert '#include "../include/headers.p4"' in types
    assert '#include "../include/report.p4"' in types


def emitted(path: Path) -> list[str]:
    """Returns the headers in the order in which the (last) deparser sends them."""
    return re.findall(r"packet\.emit\(hdr\.(\w+)\)", code(path).split("Deparser(")[-1])


def test_both_programs_send_the_headers_in_one_order():
    tna = emitted(SOURCE_DIR / "tna" / "deparser.p4")
    # v1model also repeats options and extension headers; TNA reports neither.
    v1model = [
        name
        for name in emitted(SOURCE_DIR / "v1model" / "parser.p4")
        if name not in ("ipv4_options", "ipv6_extension")
    ]
    assert tna == v1model
    assert tna[0] == "ethernet"
    assert tna[-1] == "report_pad"


def test_lengths_are_those_of_the_headers():
    """The lengths that a report states are the sums of its headers' lengths."""
    always = ["group", "main", "ports", "queue", "ingress_time", "domain"]
    for outcome, extra in (("FORWARDED", "egress_time"), ("DROPPED", "drop")):
        headers = [f"report_{name}_h" for name in [*always, extra]]
        report_bytes = sum(header_bits(name) for name in headers) // 8
        for family, inner_bytes in (("IPV4", 40), ("IPV6", 60)):
            assert constant(f"UDP_LENGTH_{outcome}_{family}") == 8 + report_bytes + inner_bytes
            assert constant(f"INNER_WORDS_{family}") * 4 == inner_bytes


def constant(name: str) -> int:
    text = code(SOURCE_DIR / "include" / "report.p4")
    expression = re.search(rf"\bconst bit<\d+>\s+{name} = (.*?);", text)[1]
    return sum(
        int(term, 0) if term[0].isdigit() else constant(term)
        for term in (part.strip() for part in expression.split("+"))
    )


def test_every_mirror_cut_is_a_multiple_of_4():
    """Tofino 2 truncates mirrored packets only at a multiple of 4 bytes."""
    text = code(SOURCE_DIR / "tna" / "types.p4")
    body = re.search(r"\bheader mirror_h {(.*?)}", text, re.S)[1].replace("kind_t", "bit<3>")
    mirror_bytes = sum(int(bits) for bits in re.findall(r"bit<(\d+)>", body)) // 8
    assert mirror_bytes == tofino_assembly.MIRROR_BYTES
    for tag in (0, 4):
        for ip in (20, 40):
            for transport in (0, 8, 20):
                assert (mirror_bytes + 14 + tag + ip + transport) % 4 == 0


def test_the_checksum_follows_the_mark():
    """Compares lower_checksum with the recomputed header sum, for every checksum."""
    text = code(SOURCE_DIR / "tna" / "egress.p4")
    table = re.search(r"table lower_checksum {(.*?)^    }", text, re.S | re.M)[1]
    entries = re.findall(r"\((\d), (\w+)\): (\w+)\((\w*)\);", table)
    assert len(entries) == 5

    def lowered(ecn: int, checksum: int) -> int:
        for key_ecn, key_checksum, action, value in entries:
            if int(key_ecn) == ecn and key_checksum in ("_", str(checksum)):
                if action == "set_checksum":
                    return int(value, 16)
                return checksum - int(action.removeprefix("lower_checksum_"))
        raise AssertionError(f"no entry for ECN {ecn}, checksum {checksum}")

    for ecn in (1, 2):
        for checksum in range(0x10000):
            total = (~checksum & 0xFFFF) + (3 - ecn)
            total = (total & 0xFFFF) + (total >> 16)
            assert lowered(ecn, checksum) == ~total & 0xFFFF, (ecn, checksum)


# --- committed artifacts -----------------------------------------------------------


def const_table(name: str) -> tuple[list[str], list[tuple[list[str], str]]]:
    """Returns the keys of an egress table and its constant entries (values, action)."""
    body = code(SOURCE_DIR / "tna" / "egress.p4")
    body = re.search(rf"\btable {name} {{(.*?)\n    }}", body, re.S)[1]
    keys = re.findall(r"([\w.]+(?:\(\))?): ternary;", body)
    entries = re.findall(r"\(([^()]*)\): (\w+)\(\);", body)
    return keys, [([v.strip() for v in values.split(",")], action) for values, action in entries]


def first_match(table, packet: dict[str, int]) -> str:
    keys, entries = table
    words = {"true": 1, "false": 0}
    for values, action in entries:
        assert len(values) == len(keys)
        wanted = {
            k: words.get(v) if v in words else int(v)
            for k, v in zip(keys, values, strict=True)
            if v != "_"
        }
        if all(packet.get(k, 0) == v for k, v in wanted.items()):
            return action
    return "leave_unreported"


def test_what_is_dropped_or_marked_is_reported_out_of_the_sample():
    """As in v1model: a packet reported only because of its mark is flagged (flag 2)."""
    decision = const_table("report_decision")
    watched = {"hdr.bridge.watched": 1, "meta.has_collector": 1, "hdr.ipv4.isValid()": 1}
    watched |= {"meta.collector_address_diff": 1, "meta.collector_port_diff": 1}
    for sampled, dropped, marked, expected in [
        (1, 0, 0, "mirror_headers"),
        (1, 0, 1, "mirror_headers"),
        (0, 1, 0, "mirror_headers"),
        (0, 0, 1, "mirror_out_of_sample"),
        (0, 0, 0, "leave_unreported"),
    ]:
        packet = watched | {"hdr.bridge.sampled": sampled}
        packet |= {"meta.dropped": dropped, "meta.marked": marked}
        assert first_match(decision, packet) == expected, packet
        for no_report in (
            "hdr.bridge.watched",
            "meta.has_collector",
            "meta.collector_address_diff",
        ):
            assert first_match(decision, packet | {no_report: 0}) == "leave_unreported"


def recorded_digest(target) -> dict:
    return json.loads((target.build_dir / compile_tofino.DIGEST_NAME).read_text())


@TARGETS
def test_build_is_not_stale(target):
    assert compile_tofino.stale_sources(target) == [], (
        "p4src changed since p4src/build/tofino* was made: run python3 p4src/compile_tofino.py"
    )


@TARGETS
def test_a_changed_source_is_noticed(target, tmp_path):
    for folder in ("include", "tna"):
        (tmp_path / folder).mkdir()
        for f in (SOURCE_DIR / folder).glob("*.p4"):
            (tmp_path / folder / f.name).write_bytes(f.read_bytes())
    assert compile_tofino.stale_sources(target, source_dir=tmp_path) == []
    (tmp_path / "tna" / "egress.p4").write_text("// changed")
    (tmp_path / "include" / "new.p4").write_text("// new")
    assert compile_tofino.stale_sources(target, source_dir=tmp_path) == [
        "include/new.p4",
        "tna/egress.p4",
    ]


@TARGETS
def test_committed_files_are_those_of_the_digest(target):
    recorded = recorded_digest(target)["outputs"]
    for name in compile_tofino.COMMITTED:
        path = target.build_dir / name
        assert path.stat().st_size == recorded[name]["bytes"], name
        assert sources.sha256(path.read_bytes()) == recorded[name]["sha256"], name


TABLES = {"l2_forward", "queue_limit", "watch", "watch6", "report_port", "report_to"}
# On a Tofino, the queues are those of the traffic manager.
V1MODEL_ALONE = ["Ingress.take_queue", "Ingress.set_queue_count"]


def described_tables(p4info: str) -> dict[str, list[tuple[str, str]]]:
    """Returns the match fields (name, type) of each table, by the last part of its name."""
    result = {}
    for block in re.split(r"^tables {", p4info, flags=re.M)[1:]:
        block = re.split(r"^}", block, flags=re.M)[0]
        name = re.search(r'name: "([\w.]+)"', block)[1].split(".")[-1]
        fields = re.findall(
            r'match_fields {\s+id: \d+\s+name: "([\w.]+)".*?match_type: (\w+)', block, re.S
        )
        result[name] = fields
    return result


def described_actions(p4info: str) -> dict[str, list[str]]:
    result = {}
    for block in re.split(r"^actions {", p4info, flags=re.M)[1:]:
        block = re.split(r"^}", block, flags=re.M)[0]
        names = re.findall(r'name: "([\w.]+)"', block)
        # Limits are in bytes on one target and in cells on the other.
        result[names[0]] = [re.sub(r"_(bytes|cells)$", "", name) for name in names[1:]]
    return result


@TARGETS
def test_tables_and_actions_are_those_of_v1model(target):
    v1model = (compile_tofino.BUILD_DIR / "tidemark.p4info.txtpb").read_text()
    tna = (target.build_dir / "p4info.txtpb").read_text()
    for name in TABLES:
        assert described_tables(tna)[name] == described_tables(v1model)[name], name
    ours, theirs = described_actions(tna), described_actions(v1model)
    for name in V1MODEL_ALONE:
        theirs.pop(name)
    for name, parameters in theirs.items():
        assert ours[name] == parameters, name


# --- the assembly reader ------------------------------------------------------------


PARSER = """\
  start: start
  states:
    start:
      *:
        load: {{ half : 12..13 }}
        next: parse_ethernet
    parse_ethernet:
      {match}
      0x0800:
        next: parse_ipv4
      0x86dd:
        next: parse_ipv6
      0x8100:
        next: parse_vlan
      0x****:
        next: end
    parse_vlan:
      *:
        next: end
    parse_ipv6:
      *:
        next: end
    parse_ipv4:
      match: [ byte0 ]
      0x06:
        next: parse_tcp
      0x11:
        next: parse_udp
      0x**:
        next: end
    parse_tcp:
      *:
        next: end
    parse_udp:
      *:
        next: end
"""


def test_a_parser_that_lost_its_match_register_is_noticed():
    good = PARSER.format(match="match: [ half ]").splitlines()
    tofino_assembly.check_parser("ingress", good)
    bad = [line for line in PARSER.format(match="").splitlines() if line.strip()]
    with pytest.raises(tofino_assembly.Miscompiled, match="without a match register"):
        tofino_assembly.check_parser("ingress", bad)
    cut = [line for line in good if "parse_ipv6" not in line]
    with pytest.raises(tofino_assembly.Miscompiled, match="parse_ipv6"):
        tofino_assembly.check_parser("ingress", cut)


def test_a_checksummed_container_with_a_second_use_is_noticed():
    deparser = [
        "  partial_checksum 0: ",
        "    - W1: { }",
        "  partial_checksum 1: ",
        "    - H2: { swap: 1 }",
    ]
    phv = ["  hdr.ipv4.src_addr: W1", "  hdr.tcp.window: {  stage 2..3: H2(0..15) } "]
    tofino_assembly.check_checksums(phv, deparser)
    with pytest.raises(tofino_assembly.Miscompiled, match="W1"):
        tofino_assembly.check_checksums([*phv, "  meta.limit_cells: {  stage 2: W1 } "], deparser)


# --- compiling ----------------------------------------------------------------------


@TARGETS
def test_recompiling_gives_the_same(target, tmp_path):
    """The compiler of the committed results gives the same output, byte by byte. Another
    version compiles the program, and the assembly passes the checks."""
    compiler = compile_tofino.find_compiler()
    if compiler is None:
        message = (
            f"SKIPPED: no Tofino compiler (P4C_TOFINO, bf-p4c, p4c-barefoot): the sources of "
            f"{target.program} are compared with their digest, NOT compiled"
        )
        warnings.warn(message, stacklevel=1)
        pytest.skip(message)
    compile_tofino.compile_program(compiler, target, tmp_path)
    fresh = compile_tofino.digest(target, tmp_path)
    recorded = recorded_digest(target)
    if fresh["compiler"] == recorded["compiler"]:
        assert fresh["outputs"] == recorded["outputs"]
