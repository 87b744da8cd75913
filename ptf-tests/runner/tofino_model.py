# SPDX-License-Identifier: Apache-2.0
"""Tofino's model and the switch daemon, from an installation of open-p4studio (SDE)."""

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from runner import SetupError
from runner.network import die_with_parent
from runner.switches import Running, tail

GRPC_PORT = 50052
# Port on which the model waits for the daemon.
MODEL_PORT = 8001
P4_NAME = "tidemark"
# Each register access is a message between the two: start takes minutes on a slow machine.
START_TIMEOUT_S = 600.0
HOW_TO = 'docs/how-to/tofino.md, "On the model"'


@dataclass(frozen=True)
class Chip:
    """How the model, the daemon and the program identify a chip."""

    family: str
    # Revision B0 of each chip.
    model_type: int
    cell_bytes: int
    # Host 1 is at the port after this offset. Tofino 2 has CPU ports first.
    port_offset: int

    @property
    def binary(self) -> str:
        return f"pipe/{self.family}.bin"


CHIPS = [Chip("tofino", 2, 80, 0), Chip("tofino2", 5, 176, 8)]


@dataclass(frozen=True)
class Installation:
    """Files needed on this machine."""

    sde: Path
    program: Path
    controller: Path
    chip: Chip


def find(repository: Path) -> Installation:
    sde = _folder("SDE_INSTALL", "the installation of open-p4studio")
    program = _folder(
        "TIDEMARK_TOFINO_PROGRAM",
        "out/tofino1 or out/tofino2 of `p4src/compile_tofino.py --keep out`",
    )
    binaries = Path(os.environ.get("TIDEMARK_BIN_DIR") or repository / "target" / "release")
    needed = [sde / "bin" / "tofino-model", sde / "bin" / "bf_switchd"]
    chip = next((c for c in CHIPS if (program / c.binary).exists()), CHIPS[0])
    needed += [program / name for name in ("bfrt.json", "pipe/context.json", chip.binary)]
    needed += [binaries / "tidemark-controller"]
    for path in needed:
        if not path.exists():
            raise SetupError(f"{path} is missing ({HOW_TO})")
    if not list(sde.glob("lib/**/bfrt_grpc/bfruntime_pb2.py")):
        raise SetupError(f"{sde}/lib has no bfrt_grpc/bfruntime_pb2.py ({HOW_TO})")
    return Installation(sde, program, binaries / "tidemark-controller", chip)


def _folder(variable: str, what: str) -> Path:
    value = os.environ.get(variable)
    if not value:
        raise SetupError(f"--switch tofino-model needs {variable}: {what} ({HOW_TO})")
    path = Path(value).resolve()
    if not path.is_dir():
        raise SetupError(f"{variable}={value} is no directory ({HOW_TO})")
    return path


def _daemon_configuration(there: Installation) -> dict:
    """Returns the daemon's configuration; paths are relative to the installation."""
    program = os.path.relpath(there.program, there.sde)
    pipeline = {
        "p4_pipeline_name": "pipe",
        "context": f"{program}/pipe/context.json",
        "config": f"{program}/{there.chip.binary}",
        "pipe_scope": [0, 1, 2, 3],
        "path": program,
    }
    loaded = {
        "program-name": P4_NAME,
        "bfrt-config": f"{program}/bfrt.json",
        "p4_pipelines": [pipeline],
    }
    return {
        "chip_list": [{"chip_family": there.chip.family, "instance": 0}],
        "p4_devices": [{"device-id": 0, "p4_programs": [loaded]}],
    }


@dataclass
class Model(Running):
    """The daemon, and the chip that it controls."""

    chip: subprocess.Popen

    def stop(self) -> None:
        super().stop()
        # The chip ignores SIGTERM.
        self.chip.kill()
        self.chip.wait()


def start(there: Installation, ports: list[int], logs: Path) -> Model:
    offset = there.chip.port_offset
    interfaces = [{"device_port": offset + port, "if": f"sw{port}"} for port in ports]
    port_file = logs / "ports.json"
    port_file.write_text(json.dumps({"PortToIf": interfaces}))
    daemon_file = logs / f"{P4_NAME}.conf"
    daemon_file.write_text(json.dumps(_daemon_configuration(there), indent=2))
    common = ["--install-dir", str(there.sde)]
    chip = [str(there.sde / "bin" / "tofino-model"), "-d", "1", "-f", str(port_file)]
    chip += ["--p4-target-config", str(daemon_file), "--chip-type"]
    chip += [str(there.chip.model_type)]
    # Deflects every tenth packet that asks for deflection, as if its queue were full.
    chip += ["--logs-disable", "--no-cli", "--dod-test-mode", *common]
    daemon = [str(there.sde / "bin" / "bf_switchd"), "--conf-file", str(daemon_file)]
    daemon += ["--init-mode=cold", "--background", "--skip-port-add"]
    daemon += ["--server-listen-local-only", *common]
    environment = os.environ | {"LD_LIBRARY_PATH": f"{there.sde}/lib:/usr/local/lib"}
    chip_process = _process(chip, logs / "tofino-model.log", environment)
    log = logs / "bf_switchd.log"
    try:
        _wait_for(MODEL_PORT, chip_process, logs / "tofino-model.log")
        running = Model(_process(daemon, log, environment), log, "none:", chip_process)
    except SetupError:
        chip_process.kill()
        raise
    try:
        _wait_for(GRPC_PORT, running.process, log)
    except SetupError:
        running.stop()
        raise
    return running


def _process(command: list[str], log: Path, environment: dict) -> subprocess.Popen:
    with log.open("wb") as out:
        return subprocess.Popen(
            command,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            cwd=log.parent,
            env=environment,
            preexec_fn=die_with_parent,
        )


def _wait_for(port: int, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            text = f"{log.stem} ended with code {process.returncode}"
            raise SetupError(f"{text}:\n{tail(log)}")
        if _listens(port):
            return
        time.sleep(0.2)
    raise SetupError(f"{log.stem} does not listen after {START_TIMEOUT_S} s:\n{tail(log)}")


def _listens(port: int) -> bool:
    """Returns whether the port is open; as the model accepts one caller, it is not called."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            if state == "0A" and int(local.rsplit(":", 1)[1], 16) == port:
                return True
    return False
