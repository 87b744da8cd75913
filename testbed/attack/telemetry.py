# SPDX-License-Identifier: Apache-2.0
"""A: what whoever can send to the report port can do."""

from __future__ import annotations

import os
import random
import tempfile
import threading
import time

from programs import NODES, Lab, claim, eventually
from reports import NODE, PORT, Exporter, honest, individual, packet

S = 1_000_000_000
STRANGER = "127.0.0.2"


def warm(lab: Lab, switch, seconds: float = 6.0) -> None:
    """Until the controller knows the honest port."""
    switch.for_s(seconds)
    eventually("the controller knows the port", lambda: lab.links(), 20)


def _live(lab: Lab) -> str:
    assert lab.controller
    claim("clock restarted" not in lab.controller.log_text(), "the controller started anew")
    link = lab.link()
    claim(not link["stale"], "the honest port is stale")
    claim(link["age_s"] < 1.0, f"telemetry is {link['age_s']:.2f} s old")
    lag_s = lab.lag_s()
    # A point is a second long, and ends when the next begins.
    claim(lag_s < 4.0, f"the newest second is {lag_s:.1f} s behind")
    return f"age {link['age_s']:.2f} s, newest second {lag_s:.1f} s ago"


def forged(scale: float) -> str:
    """A0: reports with the exporter's address: without its key, with another, sent again."""
    key = os.urandom(32)
    with tempfile.NamedTemporaryFile("w", suffix=".key") as file:
        file.write(key.hex())
        file.flush()
        nodes = NODES.replace("[nodes.10]", f'[nodes.10]\nkey_file = "{file.name}"')
        with Lab(nodes=nodes) as lab, honest(lab.udp) as switch:
            switch.key = key
            warm(lab, switch)
            kept = [switch.datagram([_report(k)]) for k in range(500)]
            for datagram in kept:
                switch.raw(datagram)
            switch.reports += len(kept)
            before = lab.link()["capture_start_ns"]
            # The same address, node and part, numbers and times to come.
            stranger = Exporter(lab.udp, "127.0.0.1")
            other = Exporter(lab.udp, "127.0.0.1")
            other.key = os.urandom(32)
            count = int(2000 * min(1.0, scale))
            for k in range(count):
                stranger.sequence = other.sequence = switch.sequence + k + 50
                stranger.send(_report(k, 9 * S))
                other.send(_report(k, 9 * S))
                stranger.raw(kept[k % len(kept)])
                if k % 8 == 0:
                    switch.for_s(0.004)
            stranger.close()
            other.close()
            switch.for_s(3.0)
            told = [lab.counter(f"reports_refused_{why}") for why in ("no_tag", "wrong_tag")]
            # By their numbers, then by their times.
            ways = ("duplicate", "refused_replayed", "implausible_time")
            again = sum(lab.counter(f"reports_{way}") for way in ways)
            claim(told == [count, count], f"{count} forged of each kind, refused {told}")
            claim(again == count, f"{count} sent again, refused {again}")
            rows, lost = lab.counter("postcard_rows"), lab.status()["reports"]["lost"]
            claim(rows <= switch.reports, f"{rows} rows of {switch.reports} honest reports")
            claim(lost == 0, f"{lost} reports are said to be lost")
            claim(lab.link()["capture_start_ns"] == before, "the series began again")
            return (
                f"{3 * count} refused, {rows} rows of {switch.reports} honest reports; {_live(lab)}"
            )


def _report(flow: int, delay_ns: int = 250_000) -> bytes:
    """Of a packet that left now after so long."""
    return individual(PORT, time.time_ns() - delay_ns, delay_ns, packet(flow, 0))


def link_spray(scale: float) -> str:
    """A1: one datagram for each egress port, of an unknown node and of a known one."""
    with Lab() as lab, honest(lab.udp) as switch:
        warm(lab, switch)
        for node, source in ((99, STRANGER), (NODE, STRANGER)):
            stranger = Exporter(lab.udp, source, node, hw_id=1)
            for port in range(1, 65_536):
                now_ns = time.time_ns()
                stranger.send(individual(port, now_ns - 1000, 500, packet(port, 0)))
                if port % 64 == 0:
                    switch.for_s(0.004)
            stranger.close()
        switch.for_s(max(10.0, 60.0 * scale))
        live = _live(lab)
        lab.claim_memory(200, 200)
        known, kept = len(lab.links()), lab.status()["packets_in_memory"]
        return f"{lab.memory()}; {live}; links known {known}, packets kept {kept}"


def one_long_delay(scale: float) -> str:
    """A2: one report whose packet waited 10 s; then 90 a second, at a made-up port."""
    with Lab() as lab, honest(lab.udp) as switch:
        warm(lab, switch)
        before_s = lab.lag_s()
        stranger = Exporter(lab.udp, STRANGER, hw_id=1)
        stranger.send(individual(PORT, time.time_ns() - 10 * S, 10 * S - 1_000_000, packet(1, 0)))
        stranger.close()
        switch.for_s(15.0)
        after_s = lab.lag_s()
        claim(after_s < before_s + 2.0, f"lag {before_s:.1f} -> {after_s:.1f} s")
        stranger = Exporter(lab.udp, STRANGER, hw_id=1)
        reports = int(90 * max(10.0, 40.0 * scale))
        for k in range(reports):
            left_ns = time.time_ns() - 1_000_000
            stranger.send(individual(PORT + 76, left_ns - 9 * S, 9 * S, packet(k, 0)))
            switch.for_s(1 / 90)
        stranger.close()
        sustained_s = lab.lag_s()
        claim(sustained_s < before_s + 2.0, f"lag {before_s:.1f} -> {sustained_s:.1f} s, sustained")
        return (
            f"newest second {before_s:.1f} s ago before, {after_s:.1f} s after one, "
            f"{sustained_s:.1f} s after {reports}; {_live(lab)}"
        )


def wipe(scale: float) -> str:
    """A3: datagrams of twelve reports, the clock 1000 s back or 59 s ahead."""
    with Lab() as lab, honest(lab.udp) as switch:
        warm(lab, switch)
        begun = lab.link()["capture_start_ns"]
        stranger = Exporter(lab.udp, STRANGER, hw_id=1)
        for offset_s in (-1000, 59, -1000, 59, 3600):
            at = time.time_ns() + offset_s * S
            stranger.send(*(individual(PORT, at + k, 1000, packet(k, 0)) for k in range(12)))
            switch.for_s(1.5)
        stranger.close()
        eventually("all is counted", lambda: lab.status()["reports"]["received"] >= switch.reports)
        claim(lab.link()["capture_start_ns"] == begun, "the series began again")
        rows = lab.counter("postcard_rows")
        claim(rows >= switch.reports, f"{switch.reports - rows} honest reports were refused")
        return f"nothing started anew; {rows} rows of {switch.reports} honest reports; {_live(lab)}"


def full_tables(scale: float) -> str:
    """A4: 1024 node ids before the switch's first report, and 6000 streams."""
    with Lab(settings="accept_unknown_nodes = true\n") as lab, honest(lab.udp) as switch:
        stranger = Exporter(lab.udp, STRANGER)
        for node in range(1000, 2024):
            stranger.node = node
            stranger.send(individual(1, time.time_ns(), 1000, packet(node, 0)))
        stranger.node = NODE
        for _ in range(100):
            # A stream is a source port and a hw_id.
            source = Exporter(lab.udp, STRANGER)
            for hw_id in range(2, 62):
                source.hw_id, source.sequence = hw_id, 0
                source.send(individual(PORT, time.time_ns() - 1000, 500, packet(hw_id, 0)))
            source.close()
            time.sleep(0.01)
        stranger.close()
        before = lab.status()
        lost_before = before["reports"]["lost"]
        warm(lab, switch, 3.0)
        switch.sequence += 500
        switch.for_s(2.0)
        eventually("the gap is counted", lambda: lab.status()["reports"]["lost"] >= 500, 10)
        lost = lab.status()["reports"]["lost"] - lost_before
        claim(500 <= lost <= 510, f"500 honest reports missing, {lost} counted")
        refused = lab.counter("nodes_refused") - before["pipeline"]["nodes_refused"]
        claim(refused == 0, f"{refused} reports of the configured node were refused")
        return f"configured node served, gap of 500 counted as {lost}; {lab.memory()}"


def random_flows(scale: float) -> str:
    """A5: 2 M five-tuples at 50 k/s through the honest port."""
    flows = int(2_000_000 * scale)
    with Lab() as lab, honest(lab.udp) as switch:
        warm(lab, switch)
        stranger = Exporter(lab.udp, STRANGER, hw_id=1)
        begin, sent = time.monotonic(), 0
        while sent < flows:
            due = min(flows, int((time.monotonic() - begin) * 50_000))
            while sent < due:
                now_ns = time.time_ns() - 300_000
                batch = [
                    individual(PORT, now_ns + k, 250_000, packet(sent + k + 100, 0))
                    for k in range(8)
                ]
                stranger.send(*batch)
                sent += 8
                if sent % 200 == 0:
                    switch.once()
            time.sleep(0.001)
        seconds = time.monotonic() - begin
        switch.for_s(5.0)
        assert lab.controller
        answer = len(lab.controller.raw(f"/api/v1/links/{NODE}/{PORT}"))
        claim(answer < 4 << 20, f"GET of the link is {answer / 1e6:.1f} MB")
        live = _live(lab)
        lab.claim_memory(500, 500)
        received = lab.status()["reports"]["received"]
        return (
            f"{flows} flows in {seconds:.0f} s ({received} reports received); {lab.memory()}; "
            f"GET of the link {answer / 1e6:.2f} MB; {live}"
        )


def mutated(scale: float) -> str:
    """A6: reports with flipped bits, and cut at every byte."""
    pick = random.Random(6)
    with Lab() as lab, honest(lab.udp) as switch:
        warm(lab, switch)
        stranger = Exporter(lab.udp, STRANGER, hw_id=1)
        mutations = int(200_000 * scale)
        ages_s: list[float] = []
        over = threading.Event()

        def ask() -> None:
            while not over.wait(0.5):
                ages_s.append(lab.link()["age_s"])

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        for k in range(mutations):
            if k % 20 == 0:
                plain = stranger.datagram([individual(PORT, time.time_ns(), 1000, packet(k, 0))])
            datagram = bytearray(plain)
            for _ in range(1 + k % 3):
                datagram[pick.randrange(len(datagram))] = pick.randrange(256)
            stranger.raw(
                bytes(datagram[: pick.randrange(1, len(datagram) + 1)] if k % 5 == 0 else datagram)
            )
            if k % 50 == 0:
                switch.for_s(0.004)
        stranger.close()
        switch.for_s(5.0)
        assert lab.controller
        claim("clock restarted" not in lab.controller.log_text(), "the controller started anew")
        over.set()
        asking.join()
        age_s = max(ages_s)
        claim(age_s < 1.0, f"telemetry was {age_s:.1f} s old")
        lost = lab.status()["reports"]["lost"]
        claim(lost < mutations, f"{lost} reports are said to be lost")
        lab.claim_memory(200, 200)
        told = f"{mutations} mutations: age {age_s:.2f} s at most, lost {lost}; {lab.memory()}"
        return f"{told}; then {_live(lab)}"


def end_under_flood(scale: float) -> str:
    """A7: SIGTERM while reports go on coming as fast as they can be sent."""
    with Lab(controller=False) as lab:
        stranger = Exporter(lab.udp, STRANGER)
        stop = threading.Event()

        def flood() -> None:
            datagram = stranger.datagram([individual(PORT, time.time_ns(), 1000, packet(1, 0))])
            while not stop.is_set():
                try:
                    stranger.raw(datagram)
                except ConnectionRefusedError:
                    time.sleep(0.001)

        threads = [threading.Thread(target=flood, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(3.0)
        seconds = lab.collector.end()
        stop.set()
        for thread in threads:
            thread.join()
        claim(seconds < 5.0, f"it took {seconds:.1f} s")
        return f"ended after {seconds:.2f} s"
