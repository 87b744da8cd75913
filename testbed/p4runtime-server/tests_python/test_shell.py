# SPDX-License-Identifier: Apache-2.0
"""p4runtime-shell against the embedded switch: connect, push a program, table
entries, clone sessions, multicast groups.

p4runtime-shell pins old releases of protobuf and p4runtime, so it wants an
environment of its own, which `make test-shell` makes.
"""

import os
import socket
import subprocess
import time
import warnings
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
BUILD = REPOSITORY / "p4src" / "build"
PROGRAM = BUILD / "tidemark.json"
P4INFO = BUILD / "tidemark.p4info.txtpb"
CPU_PORT = 510

try:
    import p4runtime_sh.shell as sh
    from p4runtime_sh.p4runtime import P4RuntimeWriteException
except ImportError:
    warnings.warn("SKIPPED: p4runtime-shell is not installed here", stacklevel=1)
    pytest.skip("p4runtime-shell is not installed", allow_module_level=True)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def started(*options: str):
    folder = Path(os.environ.get("TIDEMARK_BIN_DIR", REPOSITORY / "target" / "release"))
    port = free_port()
    command = [str(folder / "tidemark-switch"), "run", "--grpc", f"127.0.0.1:{port}", *options]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 10
    while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
        assert process.poll() is None and time.monotonic() < deadline, "switch does not start"
        time.sleep(0.02)
    return process, f"127.0.0.1:{port}"


@pytest.fixture
def shell():
    process, address = started("--cpu-port", str(CPU_PORT))
    try:
        sh.setup(
            device_id=1,
            grpc_addr=address,
            election_id=(0, 1),
            config=sh.FwdPipeConfig(str(P4INFO), str(PROGRAM)),
        )
        yield sh
        sh.teardown()
    finally:
        process.terminate()
        process.wait(10)


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


def test_program_alone_serves_its_p4info():
    process, address = started("--program", str(PROGRAM))
    try:
        sh.setup(device_id=1, grpc_addr=address, election_id=(0, 1), config=None)
        entry = sh.TableEntry("Ingress.queue_limit")(action="Ingress.drop_tail")
        entry.match["egress_port"] = "1"
        entry.action["limit_bytes"] = "30000"
        entry.insert()
        sh.teardown()
    finally:
        process.terminate()
        process.wait(10)
