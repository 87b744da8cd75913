# SPDX-License-Identifier: Apache-2.0
"""Replaces `simple_switch_grpc` where there is none: `tidemark-switch` with BMv2's command line and
the Thrift calls that the lab uses. Thrift calls are logged to a file; the bottleneck's rate is
given at the start, as tidemark-switch cannot change it while running.

bmv2_stand_in.py TIDEMARK_SWITCH CALLS PORT RATE_BPS -- ARGUMENTS OF simple_switch_grpc
"""

import itertools
import json
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path


def answer(server, calls):
    """Answers calls: each is a method with two integers and returns 0."""
    while True:
        client, _ = server.accept()
        with client:
            message = client.recv(4096)
            if not message:
                # Only a check that it listens.
                continue
            (length,) = struct.unpack("!I", message[4:8])
            name = message[8 : 8 + length].decode()
            body = message[12 + length :]
            values = []
            while body[0]:
                size, form = (4, "!i") if body[0] == 8 else (8, "!q")
                values.append(struct.unpack(form, body[3 : 3 + size])[0])
                body = body[3 + size :]
            with Path(calls).open("a") as file:
                print(json.dumps([name, *values]), file=file)
            short = name.split(":")[1].encode()
            reply = struct.pack("!II", 0x80010002, len(short)) + short + struct.pack("!I", 1)
            client.sendall(reply + struct.pack("!bhib", 8, 0, 0, 0))


def main():
    program, calls, port, rate_bps = sys.argv[1:5]
    arguments = sys.argv[6:]
    if arguments == ["--version"]:
        print("stand-in")
        return
    if arguments == ["--help"]:
        print("--thrift-port")
        return
    after = dict(itertools.pairwise(arguments))
    with Path(calls).open("a") as file:
        print(json.dumps(arguments), file=file)
    argv = [program, "run", "--insecure", "--grpc", after["--grpc-server-addr"]]
    for key, value in itertools.pairwise(arguments):
        if key == "-i":
            number, interface = value.split("@")
            rate = f",rate={rate_bps}bit" if number == port else ""
            argv += ["--port", f"{number}={interface},queue=8192p{rate}"]
    server = socket.create_server(("127.0.0.1", int(after["--thrift-port"])))
    threading.Thread(target=answer, args=(server, calls), daemon=True).start()
    switch = subprocess.Popen(argv)
    signal.signal(signal.SIGTERM, lambda *_: switch.terminate())
    sys.exit(switch.wait())


if __name__ == "__main__":
    main()
