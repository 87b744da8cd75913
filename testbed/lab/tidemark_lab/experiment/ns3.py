# SPDX-License-Identifier: Apache-2.0
"""The ns-3 scenario in testbed/ns3: a separate program, compiled on first use.

It links ns-3 and is under the GPL, version 2; the lab runs it, and never links or imports it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ..errors import LabError
from ..places import NS3_SOURCES, remedy
from ..processes import run_within

LIBRARIES = ("core", "network", "internet", "point-to-point", "traffic-control")
VERSION = "3.44"
# The Makefile has the same version.
WHEEL = "ns3==3.44.post0"
OPTIONS = ("-std=c++20", "-O2")
COMPILE_TIMEOUT_S = 600
# A simulation that never ends is a fault of the scenario. Long runs get more. CPU time, because a
# run that waits on a busy machine is not at fault.
MOST_CPU_S = 1800.0


class Ns3Missing(LabError):
    """The wheel or the compiler is missing."""


def find_wheel() -> Path:
    """Returns the folder with ns-3's `include` and `lib64`: $TIDEMARK_NS3, or the place where `make
    venv-ns3` installs it."""
    named = os.environ.get("TIDEMARK_NS3")
    place = Path(named) if named else Path(sys.prefix) / "ns3" / "ns3"
    if (place / "include" / "ns3" / "core-module.h").exists():
        return place
    how = remedy(
        "run `make venv-ns3` (69 MB)",
        f"run `pip install --no-deps --target DIR {WHEEL}` (69 MB), set TIDEMARK_NS3=DIR/ns3",
    )
    raise Ns3Missing(f"no ns-3 {VERSION} in {place}: {how}")


def program() -> Path:
    """Returns the compiled scenario, from the cache or compiled now."""
    wheel = find_wheel()
    sources = sorted([*NS3_SOURCES.glob("*.cc"), *NS3_SOURCES.glob("*.h")])
    digest = hashlib.sha256(f"{wheel} {OPTIONS} {VERSION}".encode())
    for source in sources:
        digest.update(source.name.encode() + source.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tidemark"
    made = cache / f"ns3-bottleneck-{digest.hexdigest()[:16]}"
    if made.exists():
        return made
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if not compiler:
        raise Ns3Missing("no C++ compiler: install g++ 12 or later, or set CXX")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as partial:
        out = Path(partial) / "bottleneck"
        libraries = [f"-lns{VERSION}-{name}" for name in LIBRARIES]
        done = subprocess.run(
            [
                *(compiler, *OPTIONS, f"-I{wheel / 'include'}", "-o", str(out)),
                *(str(s) for s in sources if s.suffix == ".cc"),
                *(f"-L{wheel / 'lib64'}", f"-Wl,-rpath,{wheel / 'lib64'}", *libraries),
            ],
            capture_output=True,
            text=True,
            timeout=COMPILE_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            raise LabError(f"testbed/ns3 does not compile: {done.stderr.strip()[-2000:]}")
        # If another process compiled it in the meantime, its program is identical.
        out.replace(made)
    return made


def simulate(scenario: str, out: Path, most_cpu_s: float = MOST_CPU_S) -> None:
    """Runs a scenario; writes `reports.pcap`, `tcp_probe.txt` and `truth.json` to `out`.

    Raises LabError if it fails or takes more than `most_cpu_s` of CPU time."""
    out.mkdir(parents=True, exist_ok=True)
    text = out / "scenario.txt"
    text.write_text(scenario)
    argv = [str(program()), str(text), str(out)]
    try:
        done = run_within(argv, most_cpu_s)
    except LabError as error:
        raise LabError(f"ns-3: {error}: fewer seconds, flows or capacity") from None
    if done.returncode != 0:
        said = done.stderr.strip()[-1000:] or f"ended with {done.returncode}"
        raise LabError(f"ns-3: {said}")
