# SPDX-License-Identifier: Apache-2.0
"""The embedded switch, with p4runtime-shell connected to it.

p4runtime-shell pins old releases of protobuf and p4runtime, so it needs an
environment of its own, which `make test-shell` creates.
"""

import os
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
BUILD = REPOSITORY / "p4src" / "build"
SWITCH = REPOSITORY / "switch" / "daemon"
ENTITIES = SWITCH / "tests" / "data" / "entities"
CPU_PORT = 510

try:
    import p4runtime_sh.shell as sh
except ImportError as e:
    raise pytest.UsageError("p4runtime-shell is missing: run `make test-shell`") from e


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextmanager
def connected(program: Path | None = None, **config):
    """Yields the shell, connected to a switch of its own."""
    folder = Path(os.environ.get("TIDEMARK_BIN_DIR", REPOSITORY / "target" / "release"))
    address = f"127.0.0.1:{free_port()}"
    command = [str(folder / "tidemark-switch"), "run", "--grpc", address]
    command += ["--cpu-port", str(CPU_PORT)]
    if program is not None:
        command += ["--program", str(program)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 10
        port = int(address.rsplit(":", 1)[1])
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
            assert process.poll() is None and time.monotonic() < deadline, "switch does not start"
            time.sleep(0.02)
        sh.setup(device_id=1, grpc_addr=address, election_id=(0, 1), **config)
        try:
            yield sh
        finally:
            sh.teardown()
    finally:
        process.terminate()
        process.wait(10)


def pushed(folder: Path, name: str):
    return sh.FwdPipeConfig(str(folder / f"{name}.p4info.txtpb"), str(folder / f"{name}.json"))


@pytest.fixture
def shell():
    """Shell with Tidemark's own program."""
    with connected(config=pushed(BUILD, "tidemark")) as s:
        yield s


@pytest.fixture
def entities():
    """Shell with the program that has every kind of entity."""
    with connected(config=pushed(ENTITIES, "entities")) as s:
        yield s


@pytest.fixture
def program_alone():
    """Shell with the program that the switch was started with."""
    with connected(BUILD / "tidemark.json") as s:
        yield s
