# SPDX-License-Identifier: Apache-2.0
"""Finding and starting `simple_switch_grpc`."""

from __future__ import annotations

import shutil
from pathlib import Path

PROGRAM = "simple_switch_grpc"
CPU_PORT = 510


def find() -> Path | None:
    path = shutil.which(PROGRAM)
    return None if path is None else Path(path)


def arguments(
    binary: Path,
    *,
    device_id: int,
    interfaces: dict[int, str],
    grpc: str,
    thrift_port: int,
) -> list[str]:
    """Returns the command line. `interfaces`: by port. Has no option that needs nanomsg."""
    command = [str(binary), "--no-p4", "--device-id", str(device_id)]
    # Logging takes most of BMv2's time, even if nobody reads it.
    command += ["--log-level", "off"]
    command += ["--thrift-port", str(thrift_port)]
    for port, interface in interfaces.items():
        command += ["-i", f"{port}@{interface}"]
    return [*command, "--", "--grpc-server-addr", grpc, "--cpu-port", str(CPU_PORT)]
