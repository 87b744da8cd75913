#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cuts simulated runs to their first seconds and packs them for the repository.

    reduce.py --data ../shared/data/ns3            # writes runs/<name>/
    reduce.py --data ../shared/data/ns3 --check    # fails if the files differ
    reduce.py --unpack bscl_n20_bdp --out DIR      # the pcap, the trace, the truth

README.md describes the files. The truth of a cut run is computed here, from its packets and
samples by the definitions, independently of the Rust code that it judges.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
import struct
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUNS = HERE / "runs"

# Seconds of the run's clock to keep. A run is judged after its warm-up.
KEPT_S = {
    "bscl_n20_bdp": 25,
    "bscl_n60_bdp": 25,
    "elastic_n2_b100": 20,
    "one_bbr_1bdp": 20,
    "one_cubic_half_bdp": 20,
    "one_newreno_1bdp": 20,
    "reno_n16_sqrt": 15,
}
INTERVAL_NS = 10_000_000
MSS = 1448
SEGMENT_BYTES = 1500
# A window is used for at most this long after it was seen.
CARRY_NS = 2_000_000_000

PCAP_MAGIC_NS = 0xA1B23C4D
HEADERS_BYTES = 42
DROPPED = 0x80
MASK = 0xFFFFFFFF

SAMPLE = re.compile(
    r"^          <idle>-0       \[(\d{3})\] \.\.s2\. +(\d+)\.(\d{6}): tcp_probe: family=AF_INET "
    r"src=(\S+) dest=(\S+) mark=0x0 data_len=(\d+) snd_nxt=0x([0-9a-f]+) snd_una=0x([0-9a-f]+) "
    r"snd_cwnd=(\d+) ssthresh=(\d+) snd_wnd=(\d+) srtt=(\d+) rcv_wnd=(\d+) sock_cookie=([0-9a-f]+) "
    r"skbaddr=0{16} skaddr=0{16}$"
)
TRACE_HEADING = "# tracer: nop\n"


# --- the source's files ---------------------------------------------------------------------


def read_reports(path: Path, until_ns: int) -> list[tuple[int, bytes]]:
    """Returns capture time (ns) and UDP payload of each report up to a time."""
    data = gzip.decompress(path.read_bytes())
    (magic,) = struct.unpack_from("<I", data)
    if magic != PCAP_MAGIC_NS:
        raise SystemExit(f"{path}: not a little-endian nanosecond pcap")
    reports, at = [], 24
    while at < len(data):
        seconds, ns, length, _ = struct.unpack_from("<IIII", data, at)
        time_ns = seconds * 10**9 + ns
        if time_ns > until_ns:
            break
        reports.append((time_ns, data[at + 16 + HEADERS_BYTES : at + 16 + length]))
        at += 16 + length
    return reports


def read_samples(path: Path, until_us: int) -> list[tuple[int, ...]]:
    """Returns (cpu, time in us, source, destination, cookie, numbers) of samples up to a time."""
    samples = []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            found = SAMPLE.match(line.rstrip("\n"))
            if not found:
                raise SystemExit(f"{path}: not a tcp_probe line of the simulator: {line!r}")
            g = found.groups()
            time_us = int(g[1]) * 10**6 + int(g[2])
            if time_us > until_us:
                break
            numbers = (int(g[5]), int(g[6], 16), int(g[7], 16), *(int(x) for x in g[8:13]))
            samples.append((int(g[0]), time_us, g[3], g[4], g[13], numbers))
    return samples


# --- columns of differences -----------------------------------------------------------------


def signed(difference: int) -> int:
    return (difference + 2**31) % 2**32 - 2**31


def predictors(length: int, timestamps: int) -> str:
    """Returns the predictor of each 32-bit word of a report, as one letter per word.

    `f`: the flow's previous report. `c`: the capture time plus its error in the previous report.
    Any other letter: the previous report with the same letter there (drops have their own
    sequence numbers).
    """
    kinds = ["f"] * (length // 4)
    kinds[0], kinds[6] = str(timestamps), "p"
    for i in range(timestamps):
        kinds[7 + 2 * i], kinds[8 + 2 * i] = "p", "c"
    return "".join(kinds)


class Words:
    """Predicts 32-bit words from earlier words; used for packing and unpacking."""

    def __init__(self) -> None:
        self.before: dict[int, int] = {}
        self.of_flow: dict[int, list[int]] = {}

    def expected(self, kind: str, i: int, flow: int, time_ns: int) -> int:
        if kind == "f":
            words = self.of_flow.get(flow)
            return words[i] if words else 0
        base = time_ns if kind == "c" else 0
        return (base + self.before.get((kind, i), 0)) & MASK

    def note(self, kinds: str, words: list[int], flow: int, time_ns: int) -> None:
        for i, kind in enumerate(kinds):
            if kind != "f":
                self.before[kind, i] = (words[i] - (time_ns if kind == "c" else 0)) & MASK
        self.of_flow[flow] = words


def pack(reports: list[tuple[int, bytes]], samples: list[tuple[int, ...]]) -> bytes:
    columns: dict[str, list[int]] = defaultdict(list)
    forms: dict[tuple[int, int], int] = {}
    flows: dict[tuple[int, bytes], int] = {}
    kinds: list[str] = []
    state, last_ns = Words(), 0
    for time_ns, payload in reports:
        timestamps = 1 if payload[11] & DROPPED else 2
        form = forms.setdefault((len(payload), timestamps), len(forms))
        if form == len(kinds):
            kinds.append(predictors(len(payload), timestamps))
        inner = payload[inner_at(payload) :]
        flow = flows.setdefault((form, inner[9:10] + inner[12:24]), len(flows))
        columns["form"].append(form)
        columns["flow"].append(flow)
        columns["captured_ns"].append(time_ns - last_ns)
        last_ns = time_ns
        words = list(struct.unpack(f">{len(payload) // 4}I", payload))
        for i, kind in enumerate(kinds[form]):
            difference = signed(words[i] - state.expected(kind, i, flow, time_ns))
            columns[f"{form}.{i}"].append(difference)
        state.note(kinds[form], words, flow, time_ns)
    sockets: dict[tuple[str, str, str], int] = {}
    last_us, numbers_before = 0, {}
    for cpu, time_us, source, destination, cookie, numbers in samples:
        socket = sockets.setdefault((source, destination, cookie), len(sockets))
        before = numbers_before.get(socket, (0,) * len(numbers))
        columns["cpu"].append(cpu)
        columns["socket"].append(socket)
        columns["time_us"].append(time_us - last_us)
        last_us = time_us
        for i, (number, was) in enumerate(zip(numbers, before, strict=True)):
            columns[f"sample.{i}"].append(number - was)
        numbers_before[socket] = numbers
    packed = {"forms": kinds, "sockets": list(sockets), "columns": columns}
    return gzip.compress(json.dumps(packed, separators=(",", ":")).encode(), 9, mtime=0)


def unpack(data: bytes) -> tuple[list[tuple[int, bytes]], list[tuple[int, ...]]]:
    packed = json.loads(gzip.decompress(data))
    columns = {name: iter(values) for name, values in packed["columns"].items()}
    reports, state, time_ns = [], Words(), 0
    for form in columns["form"]:
        flow = next(columns["flow"])
        time_ns += next(columns["captured_ns"])
        kinds, words = packed["forms"][form], []
        for i, kind in enumerate(kinds):
            difference = next(columns[f"{form}.{i}"])
            words.append((state.expected(kind, i, flow, time_ns) + difference) & MASK)
        state.note(kinds, words, flow, time_ns)
        reports.append((time_ns, struct.pack(f">{len(words)}I", *words)))
    samples, time_us, before = [], 0, {}
    for socket in columns["socket"]:
        time_us += next(columns["time_us"])
        was = before.get(socket, (0,) * 8)
        numbers = tuple(was[i] + next(columns[f"sample.{i}"]) for i in range(8))
        before[socket] = numbers
        samples.append((next(columns["cpu"]), time_us, *packed["sockets"][socket], numbers))
    return reports, samples


# --- the truth of a cut run -----------------------------------------------------------------


def inner_at(payload: bytes) -> int:
    """Returns the offset of the reported packet's IP header: a drop lacks one timestamp."""
    return 48 if payload[11] & DROPPED else 52


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def weighted_quantile(values: list[tuple[float, float]], q: float) -> float:
    values = sorted(values)
    total, seen = sum(w for _, w in values), 0.0
    for value, weight in values:
        seen += weight
        if seen >= q * total:
            return value
    return values[-1][0]


def clusters(times_ns: list[int], gap_ns: float) -> list[int]:
    """Returns the drops per loss event: drops less than a gap apart belong to one event."""
    sizes: list[int] = []
    for before, t in zip([-math.inf, *times_ns], times_ns, strict=False):
        if t - before >= gap_ns:
            sizes.append(0)
        sizes[-1] += 1
    return sizes


def windows(samples, truth, from_ns: int, to_ns: int) -> list[tuple[float, float]]:
    """Returns (window in segments, time it was held in ns) of all LBP flows."""
    capture = truth["capture"]
    offset_s, drift = capture["switch_clock_minus_host_clock_s"], capture["switch_drift_ppm"] * 1e-6
    lbp = {f"{f['src']}:{f['sport']}" for f in truth["flows"] if f["kind"] == "lbp"}
    held: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for _, time_us, source, _, _, numbers in samples:
        if source in lbp:
            time_ns = (time_us * 1e-6 * (1 + drift) + offset_s) * 1e9
            window = min(numbers[3], numbers[5] / MSS)
            held[source].append((time_ns, max(window, 1.0)))
    out = []
    for seen in held.values():
        ends = [t for t, _ in seen[1:]] + [to_ns]
        for (at, window), end in zip(seen, ends, strict=True):
            start = max(at, from_ns)
            duration = min(end, to_ns, start + CARRY_NS) - start
            if duration > 0:
                out.append((window, duration))
    return out


def measured(reports, samples, truth, kept_s: float) -> dict:
    """Returns the defined quantities between warm-up and cut, computed from the packets."""
    zero_ns = round(truth["capture"]["switch_clock_minus_host_clock_s"] * 1e9)
    from_ns = zero_ns + round(truth["warmup_s"] * 1e9)
    from_ns += -from_ns % INTERVAL_NS
    to_ns = zero_ns + round((kept_s - 0.1) * 1e9)
    to_ns -= to_ns % INTERVAL_NS
    arrivals, left_bytes, drops_ns = 0, 0, []
    for _, payload in reports:
        (ingress_ns,) = struct.unpack_from(">Q", payload, 28)
        dropped = payload[11] & DROPPED
        arrivals += from_ns <= ingress_ns < to_ns
        if dropped and from_ns <= ingress_ns < to_ns:
            drops_ns.append(ingress_ns)
        if not dropped and from_ns <= struct.unpack_from(">Q", payload, 36)[0] < to_ns:
            (ip_bytes,) = struct.unpack_from(">H", payload, inner_at(payload) + 2)
            left_bytes += ip_bytes
    bytes_per_s = truth["C_bps"] / 8
    n, t_e_s = truth["n_flows"]["lbp"], truth["lbp_rtt_harmonic_mean_s"]
    bursts = clusters(sorted(drops_ns), t_e_s * 1e9)
    share_pkts = bytes_per_s * t_e_s / SEGMENT_BYTES / n
    held = windows(samples, truth, from_ns, to_ns)
    low = share_pkts / weighted_quantile(held, 0.01)
    high = weighted_quantile(held, 0.99) / share_pkts
    loss_burst = mean(bursts)
    return {
        "from_ns": from_ns,
        "to_ns": to_ns,
        "arrivals": arrivals,
        "drops": len(drops_ns),
        "loss_rate": len(drops_ns) / arrivals,
        "utilisation": left_bytes / (bytes_per_s * (to_ns - from_ns) / 1e9),
        "mean_loss_burst_pkts": loss_burst,
        "alpha": loss_burst / n if loss_burst is not None else None,
        "delta": max(1.0, low, high),
    }


def sequence_gaps(reports: list[tuple[int, bytes]]) -> int:
    """Returns the reports lost within the cut: gaps in the sequence numbers of each hw_id."""
    lost, last = 0, {}
    for _, payload in reports:
        (word,) = struct.unpack_from(">I", payload)
        source, number = word >> 22 & 0x3F, word & 0x3FFFFF
        if source in last:
            lost += number - last[source] - 1
        last[source] = number
    return lost


def reduced_truth(name, full, reports, samples, kept_s) -> dict:
    truth = {
        "run": name,
        "origin": {k: full[k] for k in ("generator", "command", "seed")} | {"kept_s": kept_s},
    }
    for key in ("C_bps", "B_pkts", "warmup_s", "n_flows", "lbp_rtt_harmonic_mean_s"):
        truth[key] = full[key]
    lost = sequence_gaps(reports)
    truth["capture"] = {
        **full["capture"],
        "seconds": kept_s,
        "reports_sent": len(reports) + lost,
        "reports_lost": lost,
        "tcp_probe_samples": len(samples),
    }
    begun = [f for f in full["flows"] if f["start_s"] < kept_s]
    truth["n_flows"]["short"] = sum(f["kind"] == "short" for f in begun)
    keys = ("kind", "cc", "src", "dst", "sport", "dport", "proto", "base_rtt_s", "start_s")
    truth["flows"] = [{k: f[k] for k in keys} for f in begun]
    truth["measured"] = measured(reports, samples, truth, kept_s)
    return truth


def truth_text(truth: dict) -> str:
    """Formats the truth with one flow per line."""
    flows = truth.pop("flows")
    head = json.dumps(truth, indent=1)
    lines = ",\n  ".join(json.dumps(f) for f in flows)
    return f'{head[:-2]},\n "flows": [\n  {lines}\n ]\n}}\n'


def reduce(source: Path, name: str) -> tuple[bytes, str]:
    kept_s = KEPT_S[name]
    reports = read_reports(source / name / "reports.pcap.gz", kept_s * 10**9)
    samples = read_samples(source / name / "tcp_probe.txt.gz", kept_s * 10**6)
    packed = pack(reports, samples)
    if unpack(packed) != (reports, samples):
        raise SystemExit(f"{name}: the packed data does not unpack to the same data")
    full = json.loads((source / name / "truth.json").read_text())
    return packed, truth_text(reduced_truth(name, full, reports, samples, kept_s))


# --- files for other programs ---------------------------------------------------------------


def trace_line(sample: tuple[int, ...]) -> str:
    cpu, us, source, destination, cookie, numbers = sample
    length, snd_nxt, snd_una, cwnd, ssthresh, snd_wnd, srtt, rcv_wnd = numbers
    return (
        f"          <idle>-0       [{cpu:03}] ..s2. {us // 10**6:5}.{us % 10**6:06}: tcp_probe: "
        f"family=AF_INET src={source} dest={destination} mark=0x0 data_len={length} "
        f"snd_nxt=0x{snd_nxt:x} snd_una=0x{snd_una:x} snd_cwnd={cwnd} ssthresh={ssthresh} "
        f"snd_wnd={snd_wnd} srtt={srtt} rcv_wnd={rcv_wnd} sock_cookie={cookie} "
        f"skbaddr={0:016} skaddr={0:016}\n"
    )


def frame(payload: bytes) -> bytes:
    """Returns the datagram as a frame; its source port and checksum are not kept."""
    ip_bytes = 28 + len(payload)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, ip_bytes, 0, 0x4000, 64, 17, 0)
    ip += bytes([192, 0, 2, 10, 192, 0, 2, 1])
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", ~total & 0xFFFF) + ip[12:]
    udp = struct.pack(">HHHH", 49152, 32766, 8 + len(payload), 0)
    return bytes.fromhex("02000000000a02000000000b0800") + ip + udp + payload


def write_files(name: str, out: Path) -> None:
    """Writes a run's files in the form that `tidemark-collector import` reads."""
    reports, samples = unpack((RUNS / name / "records.gz").read_bytes())
    out.mkdir(parents=True, exist_ok=True)
    pcap = [struct.pack("<IHHIIII", PCAP_MAGIC_NS, 2, 4, 0, 0, 65535, 1)]
    for time_ns, payload in reports:
        data = frame(payload)
        times = (time_ns // 10**9, time_ns % 10**9)
        pcap.append(struct.pack("<IIII", *times, len(data), len(data)) + data)
    (out / "reports.pcap.gz").write_bytes(gzip.compress(b"".join(pcap), 1, mtime=0))
    trace = TRACE_HEADING + "".join(map(trace_line, samples))
    (out / "tcp_probe.txt.gz").write_bytes(gzip.compress(trace.encode(), 1, mtime=0))
    (out / "truth.json").write_bytes((RUNS / name / "truth.json").read_bytes())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the complete runs")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument(
        "--unpack", metavar="RUN", choices=sorted(KEPT_S), help="write a run's files"
    )
    parser.add_argument("--out", type=Path, help="where --unpack writes")
    args = parser.parse_args()
    if args.unpack:
        if not args.out:
            parser.error("--unpack needs --out DIR")
        write_files(args.unpack, args.out)
        return 0
    if not args.data:
        parser.error("--data DIR or --unpack RUN is needed")
    different = 0
    for name in KEPT_S:
        packed, truth = reduce(args.data, name)
        files = {"records.gz": packed, "truth.json": truth.encode()}
        for file, data in files.items():
            path = RUNS / name / file
            if args.check:
                same = path.is_file() and path.read_bytes() == data
                different += not same
                print(f"{'same     ' if same else 'DIFFERENT'} {path}")
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                print(f"{len(data):8} bytes {path}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
