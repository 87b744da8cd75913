# SPDX-License-Identifier: Apache-2.0
"""Starts the switch under test."""

import os
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tidemark_lab.bmv2 import command as bmv2

from runner import SetupError
from runner.network import die_with_parent

GRPC_PORT = 9559
THRIFT_PORT = 9090
DEVICE_ID = 1
CPU_PORT = bmv2.CPU_PORT
START_TIMEOUT_S = 20.0
# Above processes without real-time priority, and below the sender of a benchmark.
REAL_TIME = ["chrt", "--rr", "10"]
# Queues per port, for the tests of priority queues; other tests use only the lowest.
PRIORITY_QUEUES = 4


@dataclass
class Running:
    """A started switch."""

    process: subprocess.Popen
    log: Path
    # Tells the tests how to slow a port down.
    control: str

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def embedded_binary(repository: Path) -> Path:
    folder = os.environ.get("TIDEMARK_BIN_DIR")
    path = (Path(folder) if folder else repository / "target" / "release") / "tidemark-switch"
    if not path.exists():
        raise SetupError(f"{path} is missing: run `make build` (or cargo build --release)")
    return path


def bmv2_binary() -> Path:
    path = bmv2.find()
    if path is None:
        raise SetupError(
            f"{bmv2.PROGRAM} is not on PATH: install p4lang-bmv2, or use --switch embedded"
        )
    return path


def start_embedded(
    binary: Path,
    ports: list[int],
    logs: Path,
    merge: bool = False,
    real_time: bool = False,
    priority_queues: int = 1,
) -> Running:
    """merge: segments of one flow leave as super-frames. In tests each packet is separate."""
    command = [*REAL_TIME] if real_time else []
    command += [str(binary), "run", "--grpc", f"127.0.0.1:{GRPC_PORT}"]
    command += ["--priority-queues", str(priority_queues)]
    command += ["--device-id", str(DEVICE_ID), "--cpu-port", str(CPU_PORT)]
    for port in ports:
        command += ["--port", f"{port}=sw{port},gro={'on' if merge else 'off'}"]
    return _start(command, logs / "tidemark-switch.log", f"embedded:{binary}")


def start_bmv2(
    binary: Path, ports: list[int], logs: Path, real_time: bool = False, priority_queues: int = 1
) -> Running:
    """real_time: above all processes without real-time priority."""
    command = [*REAL_TIME] if real_time else []
    command += bmv2.arguments(
        binary,
        device_id=DEVICE_ID,
        interfaces={port: f"sw{port}" for port in ports},
        grpc=f"127.0.0.1:{GRPC_PORT}",
        thrift_port=THRIFT_PORT,
    )
    command += ["--priority-queues", str(priority_queues)]
    return _start(command, logs / "simple_switch_grpc.log", f"thrift:127.0.0.1:{THRIFT_PORT}")


def _start(command: list[str], log: Path, control: str) -> Running:
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent
        )
    running = Running(process, log, control)
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SetupError(f"{command[0]} ended with code {process.returncode}:\n{tail(log)}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", GRPC_PORT)) == 0:
                return running
        time.sleep(0.05)
    running.stop()
    raise SetupError(f"{command[0]} does not serve gRPC after {START_TIMEOUT_S} s:\n{tail(log)}")


def tail(log: Path, lines: int = 20) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
