# SPDX-License-Identifier: Apache-2.0
"""p4runtime-shell with Tidemark's program: table entries, clone sessions,
multicast groups."""

import re

import pytest
from conftest import REPOSITORY
from p4runtime_sh.p4runtime import P4RuntimeWriteException


def test_table_entries(shell):
    entry = shell.TableEntry("Ingress.l2_forward")(action="Ingress.forward")
    entry.match["hdr.ethernet.dst_addr"] = "02:00:00:00:00:01"
    entry.action["port"] = "1"
    entry.insert()
    with pytest.raises(P4RuntimeWriteException, match="ALREADY_EXISTS"):
        entry.insert()
    entry.action["port"] = "2"
    entry.modify()
    found = list(shell.TableEntry("Ingress.l2_forward").read())
    assert len(found) == 1
    assert int.from_bytes(found[0].action["port"].value, "big") == 2
    entry.delete()
    assert not list(shell.TableEntry("Ingress.l2_forward").read())

    watch = shell.TableEntry("Ingress.watch")(action="Ingress.report")
    watch.match["ipv4_src"] = "10.0.0.0&&&255.0.0.0"
    watch.priority = 3
    watch.action["sampling_shift"] = "4"
    watch.insert()
    assert [e.priority for e in shell.TableEntry("Ingress.watch").read()] == [3]

    default = shell.TableEntry("Ingress.l2_forward")(action="Ingress.forward", is_default=True)
    default.action["port"] = "3"
    default.modify()


def test_replication(shell):
    session = shell.CloneSessionEntry(1)
    session.add(5, 1)
    session.insert()
    assert [s.session_id for s in shell.CloneSessionEntry().read()] == [1]
    session.delete()
    group = shell.MulticastGroupEntry(1)
    group.add(1, 1).add(2, 2)
    group.insert()
    group.delete()
    with pytest.raises(P4RuntimeWriteException):
        group.delete()


def test_program_alone_serves_its_p4info(program_alone):
    entry = program_alone.TableEntry("Ingress.queue_limit")(action="Ingress.drop_tail")
    entry.match["egress_port"] = "1"
    entry.action["limit_bytes"] = "30000"
    entry.insert()


class Tables:
    """Holds tables as attributes, as the shell's prompt does."""

    def __init__(self, shell):
        self.shell = shell

    def __getitem__(self, name: str):
        return self.shell.TableEntry(name)


def test_what_the_page_shows_can_be_typed(program_alone):
    """Runs the examples of docs/how-to/p4runtime-shell.md."""
    page = (REPOSITORY / "docs/how-to/p4runtime-shell.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    tables = Tables(program_alone)
    names = {"table_entry": tables, "clone_session_entry": program_alone.CloneSessionEntry}
    exec(code, names)
    (limit,) = tables["Ingress.queue_limit"].read()
    assert int.from_bytes(limit.action["limit_bytes"].value, "big") == 30000
    for table in ("Ingress.l2_forward", "Ingress.watch"):
        assert len(list(tables[table].read())) == 1, table
    assert [s.session_id for s in program_alone.CloneSessionEntry().read()] == [1]
