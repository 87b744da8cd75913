# SPDX-License-Identifier: Apache-2.0
"""Runs the PTF tests of the data plane against a switch.

    python ptf-tests/run.py --switch embedded            # all tests
    python ptf-tests/run.py --switch bmv2 queue_limit    # one file
    python ptf-tests/run.py reports.Forwarded            # one test
    python ptf-tests/run.py --switch tofino-model        # the program for Tofino, on its model

Network, switch and tests run in their own network namespace, which disappears
with them. Needs root.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
sys.path.insert(0, str(HERE))

from runner import SetupError, network, switches, tofino_model  # noqa: E402

MODEL = "tofino-model"
# Hosts on ports 1 to 4, the receiver of reports on port 5.
PORTS = [1, 2, 3, 4, 5]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--switch", choices=["embedded", "bmv2", MODEL], default="embedded")
    parser.add_argument(
        "--program",
        type=Path,
        default=REPOSITORY / "p4src" / "build" / "tidemark.json",
        help="BMv2 JSON; the P4Info is in the same directory",
    )
    parser.add_argument("--logs", type=Path, help="keep logs here (default: only on failure)")
    parser.add_argument(
        "--save-reports", type=Path, metavar="PCAP", help="keep the reports that tests examine"
    )
    parser.add_argument("tests", nargs="*", help="files or classes (default: all)")
    return parser.parse_args()


def ptf_command(
    args: argparse.Namespace, tests: str, params: dict[str, object], logs: Path
) -> list[str]:
    if args.save_reports:
        params["save_reports"] = str(args.save_reports.resolve())
    command = [sys.executable, str(Path(sys.executable).with_name("ptf"))]
    command += ["--test-dir", str(HERE / tests), "--pypath", str(HERE)]
    command += ["--log-file", str(logs / "ptf.log"), "--disable-ipv6", "--quiet"]
    command += ["--test-case-timeout", "120"]
    command += ["--test-params", ";".join(f"{k}={v!r}" for k, v in params.items())]
    for port in PORTS:
        command += ["--interface", f"{port}@ptf{port}"]
    return command + args.tests


def v1model(args: argparse.Namespace) -> tuple[Callable, Callable]:
    """Returns a function that starts the switch, and one for the parameters of its tests."""
    p4info = args.program.with_name(args.program.stem + ".p4info.txtpb")
    for needed in (args.program, p4info):
        if not needed.exists():
            raise SetupError(f"{needed} is missing: run `make p4`")
    if args.switch == "embedded":
        binary, start = switches.embedded_binary(REPOSITORY), switches.start_embedded
    else:
        binary, start = switches.bmv2_binary(), switches.start_bmv2

    def params(switch: switches.Running) -> dict[str, object]:
        return {
            "grpc": f"127.0.0.1:{switches.GRPC_PORT}",
            "device_id": switches.DEVICE_ID,
            "switch": args.switch,
            "control": switch.control,
            "program": str(args.program),
            "p4info": str(p4info),
        }

    queues = switches.PRIORITY_QUEUES
    return lambda logs: start(binary, PORTS, logs, priority_queues=queues), params


def tofino() -> tuple[Callable, Callable]:
    """Returns a function that starts model and daemon, and one for their tests' parameters."""
    there = tofino_model.find(REPOSITORY)

    def params(_: switches.Running) -> dict[str, object]:
        return {
            "grpc": f"127.0.0.1:{tofino_model.GRPC_PORT}",
            "p4_name": tofino_model.P4_NAME,
            "sde_install": str(there.sde),
            "controller": str(there.controller),
            "cell_bytes": there.chip.cell_bytes,
            "port_offset": there.chip.port_offset,
        }

    return lambda logs: tofino_model.start(there, PORTS, logs), params


def run(args: argparse.Namespace, logs: Path) -> int:
    model = args.switch == MODEL
    start, params = tofino() if model else v1model(args)
    network.enter_new_namespace()
    network.make_links(PORTS)
    switch = start(logs)
    try:
        # The modules that p4runtime publishes were generated for an older protobuf.
        environment = os.environ | {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
        tests = subprocess.Popen(
            ptf_command(args, "tests_tofino" if model else "tests", params(switch), logs),
            env=environment,
            cwd=logs,
            preexec_fn=network.die_with_parent,
        )
        try:
            code = tests.wait()
        except KeyboardInterrupt:
            # The terminal has interrupted the tests as well.
            tests.wait()
            code = 130
        if switch.process.poll() is not None:
            print(f"the switch ended with code {switch.process.returncode}", file=sys.stderr)
            code = code or 1
        if code:
            print(f"last lines of {switch.log.name}:\n{switches.tail(switch.log)}", file=sys.stderr)
        return code
    finally:
        switch.stop()


def main() -> int:
    args = arguments()
    args.program = args.program.resolve()
    # Handled like an interrupt, so that the switch is stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    logs = (args.logs or Path(tempfile.mkdtemp(prefix="tidemark-ptf-"))).resolve()
    logs.mkdir(parents=True, exist_ok=True)
    code = 1
    try:
        code = run(args, logs)
    except SetupError as e:
        print(f"error: {e}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = 130
    finally:
        if args.logs or code not in (0, 2):
            print(f"logs: {logs}", file=sys.stderr)
        else:
            shutil.rmtree(logs, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
