# SPDX-License-Identifier: GPL-2.0-only
"""Records the reports of a TCP transfer through Tofino's model, and the traffic at its ports.

    python ptf-tests/record_transfer.py FOLDER       # FOLDER/reports.pcap, FOLDER/transfer.json

Needs what `run.py --switch tofino-model` needs (docs/how-to/tofino.md), dumpcap and tshark.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
# The package p4runtime was generated for an older protobuf.
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"

from pyroute2 import IPRoute  # noqa: E402

from runner import network, tofino_model  # noqa: E402
from tidemark_ptf import packets  # noqa: E402
from tidemark_ptf.base import COLLECTOR_HOST, REPORT_PORT, SWITCH_HOST, UDP_PORT  # noqa: E402
from tidemark_ptf.bfrt import Client  # noqa: E402

NODE_ID = 20
LIMIT_CELLS = 1250
TCP = 6
# Bytes and rate (bit/s) of each flow. The model forwards some 30 packets with reports a second.
FLOWS = [(450_000, 120_000), (225_000, 60_000)]
FIRST_PORT, FIRST_SOURCE_PORT = 5001, 40001
SO_MAX_PACING_RATE = 47
CONGESTION_CONTROL = b"reno"
SENDER, RECEIVER = 1, 2
LONGEST_S = 300
# In the model, reports wait behind forwarded packets.
SILENCE_S = 6
FIELDS = ["frame.time_epoch", "ip.src", "ip.dst", "tcp.srcport", "tcp.dstport", "ip.len", "tcp.len"]


def run(*argv: object) -> str:
    return subprocess.run([str(a) for a in argv], check=True, capture_output=True, text=True).stdout


def configure(there: tofino_model.Installation, folder: Path, ports: list[int]) -> None:
    """Sets up ports, forwarding, reports of TCP, and the limit; every tenth packet is lost."""
    address = f"127.0.0.1:{tofino_model.GRPC_PORT}"
    dev = {port: there.chip.port_offset + port for port in ports}
    client = Client(address, tofino_model.P4_NAME, str(there.sde))
    # Packets lost by the model leave by port 0. On Tofino 2 this is the CPU's, so none is lost.
    loses = there.chip.port_offset == 0
    for port in [0, *dev.values()] if loses else dev.values():
        data = {"$SPEED": "BF_SPEED_10G", "$FEC": "BF_FEC_TYP_NONE", "$PORT_ENABLE": True}
        client.write("INSERT", "$PORT", {"$DEV_PORT": port}, data=data)
    # Only one client can bind at a time.
    client.close()
    forward = ", ".join(
        f'{{ mac = "{packets.mac(host)}", port = {dev[host]} }}' for host in (SENDER, RECEIVER)
    )
    file = folder / "controller.toml"
    file.write_text(f"""
collectors = ["127.0.0.1:9560"]
[targets]
utilisation = 0.98
[[links]]
node = {NODE_ID}
port = {dev[RECEIVER]}
[[switches]]
node = {NODE_ID}
address = "{address}"
device_id = 0
limit_unit_bytes = {there.chip.cell_bytes}
[switches.bfrt]
p4_name = "{tofino_model.P4_NAME}"
[switches.provision]
forward = [{forward}]
watch = [{{ protocol = {TCP} }}]
reports = {{ port = {dev[REPORT_PORT]}, node_id = {NODE_ID}, udp_port = {UDP_PORT}, \
src_mac = "{packets.mac(SWITCH_HOST)}", dst_mac = "{packets.mac(COLLECTOR_HOST)}", \
src_ip = "{packets.address(SWITCH_HOST)}", dst_ip = "{packets.address(COLLECTOR_HOST)}" }}
[switches.provision.limits]
{dev[RECEIVER]} = {{ action = "drop_tail", limit_bytes = {LIMIT_CELLS * there.chip.cell_bytes} }}
""")
    run(there.controller, "provision", "--config", file)
    if loses:
        client = Client(address, tofino_model.P4_NAME, str(there.sde))
        client.write("MODIFY", "Ingress.hardware_drop", None, "deflect")
        client.close()


def at_once(work: Callable[[int], None]) -> None:
    """Runs `work` for all flows at the same time."""
    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(FLOWS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def receive(n: int) -> None:
    with socket.create_server((packets.address(RECEIVER), FIRST_PORT + n)) as server:
        connection, _ = server.accept()
        with connection:
            while connection.recv(1 << 16):
                pass


def send(n: int) -> None:
    size, pace_bps = FLOWS[n]
    with socket.socket() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION_CONTROL)
        s.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, pace_bps // 8)
        s.bind((packets.address(SENDER), FIRST_SOURCE_PORT + n))
        s.connect((packets.address(RECEIVER), FIRST_PORT + n))
        s.sendall(bytes(size))
        s.shutdown(socket.SHUT_WR)
        s.recv(1)


def host(number: int, peer: int, work: Callable[[int], None], done: Path) -> int:
    """Starts a process in its own namespace, with the far end of its port's link."""
    name = f"ptf{number}"
    told, tell = os.pipe()
    if not (child := os.fork()):
        network.die_with_parent()
        network.enter_new_namespace()
        os.write(tell, b"x")
        while name not in {n for _, n in socket.if_nameindex()}:
            time.sleep(0.05)
        run("ip", "link", "set", name, "address", packets.mac(number))
        run("ip", "link", "set", name, "up")
        run("ip", "address", "add", f"{packets.address(number)}/24", "dev", name)
        to_peer = [packets.address(peer), "lladdr", packets.mac(peer), "dev", name]
        run("ip", "neighbour", "replace", *to_peer, "nud", "permanent")
        at_once(work)
        done.touch()
        # The link disappears with this process.
        time.sleep(LONGEST_S)
        os._exit(0)
    os.read(told, 1)
    with IPRoute() as ip:
        ip.link("set", index=ip.link_lookup(ifname=name)[0], net_ns_pid=child)
    return child


def reports_seen() -> int:
    told = json.loads(run("ip", "-s", "-j", "link", "show", f"ptf{REPORT_PORT}"))
    return told[0]["stats64"]["rx"]["packets"]


def frames(file: Path) -> list[dict[str, str]]:
    columns = [word for field in FIELDS for word in ("-e", field)]
    lines = run("tshark", "-r", file, "-Y", "tcp", "-T", "fields", *columns).splitlines()
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in lines]


def truth(at_sender: list[dict], at_receiver: list[dict]) -> dict:
    """Counts the packets that entered and left the model, by flow."""
    times = [float(f["frame.time_epoch"]) for f in at_sender + at_receiver]
    flows: dict[str, dict] = {}
    ways = [(SENDER, at_sender, at_receiver), (RECEIVER, at_receiver, at_sender)]
    for source, entered, left in ways:
        for side, seen in (("entered", entered), ("left", left)):
            for f in seen:
                if f["ip.src"] != packets.address(source):
                    continue
                ends = f"{f['ip.src']}:{f['tcp.srcport']} > {f['ip.dst']}:{f['tcp.dstport']}"
                nothing = {"packets": 0, "ip_bytes": 0, "payload_bytes": 0}
                flow = flows.setdefault(ends, {"entered": dict(nothing), "left": dict(nothing)})
                flow[side]["packets"] += 1
                flow[side]["ip_bytes"] += int(f["ip.len"])
                flow[side]["payload_bytes"] += int(f["tcp.len"])
    return {"seconds": round(max(times) - min(times), 3), "flows": flows}


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    there = tofino_model.find(HERE.parent)
    ports = [SENDER, RECEIVER, REPORT_PORT]
    network.enter_new_namespace()
    network.make_links(ports)
    off = [word for feature in ("tx", "rx", "tso", "gso", "gro") for word in (feature, "off")]
    for end in (f"{side}{port}" for side in ("sw", "ptf") for port in ports):
        run("ethtool", "-K", end, *off)
    model = tofino_model.start(there, ports, folder)
    children: list[int] = []
    try:
        configure(there, folder, ports)
        files = {f"ptf{REPORT_PORT}": folder / "reports.pcap"}
        files |= {f"sw{port}": folder / f"port-{port}.pcap" for port in (SENDER, RECEIVER)}
        watchers = [
            subprocess.Popen(["dumpcap", "-q", "-P", "-i", link, "-f", "ip", "-w", str(file)])
            for link, file in files.items()
        ]
        done = folder / "done"
        done.unlink(missing_ok=True)
        children.append(host(RECEIVER, SENDER, receive, done))
        # By then it listens.
        time.sleep(2)
        children.append(host(SENDER, RECEIVER, send, folder / "sent"))
        deadline, seen = time.monotonic() + LONGEST_S, -1
        while not done.exists() or reports_seen() != seen:
            if time.monotonic() > deadline:
                raise SystemExit("the transfer did not end")
            seen = reports_seen()
            time.sleep(SILENCE_S)
        for watcher in watchers:
            watcher.terminate()
            watcher.wait()
    finally:
        model.stop()
        for child in children:
            os.kill(child, 9)
    at_ports = [frames(folder / f"port-{port}.pcap") for port in (SENDER, RECEIVER)]
    (folder / "transfer.json").write_text(json.dumps(truth(*at_ports), indent=1) + "\n")


if __name__ == "__main__":
    main()
