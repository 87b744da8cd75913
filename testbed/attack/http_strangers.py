# SPDX-License-Identifier: Apache-2.0
"""D: what whoever reaches the controller's HTTP port can do."""

from __future__ import annotations

import contextlib
import http.client
import resource
import socket
import time

from programs import Lab, claim, eventually


def rebinding(scale: float) -> str:
    """D1: a page that reaches the controller through a name of its own."""
    with Lab() as lab:
        assert lab.controller
        connection = http.client.HTTPConnection("127.0.0.1", lab.controller.http, timeout=10)
        connection.request("GET", "/api/v1/status", headers={"Host": "evil.example"})
        answer = connection.getresponse()
        answer.read()
        claim(answer.status in (400, 403, 421), f"Host: evil.example is answered {answer.status}")
        refused = answer.status
        connection.request("GET", "/api/v1/status")
        answer = connection.getresponse()
        answer.read()
        for header in ("Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy"):
            claim(answer.getheader(header) is not None, f"no {header}")
        return f"{refused} for a foreign name; the security headers are there"


def _get(port: int, path: str, source: str) -> socket.socket:
    """A request whose answer nobody reads."""
    s = socket.socket()
    s.settimeout(5.0)
    s.bind((source, 0))
    s.connect(("127.0.0.1", port))
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return s


def _idle_listeners() -> str:
    """520 listeners to events that ask for nothing more."""
    with Lab() as lab:
        assert lab.controller
        held = []
        for _ in range(520):
            with contextlib.suppress(OSError):
                held.append(_get(lab.controller.http, "/api/v1/events", "127.0.0.2"))
        eventually("others are answered", lambda: lab.controller.raw("/api/v1/status", 2.0), 20)
        listening = 0
        for s in held:
            with contextlib.suppress(OSError):
                listening += s.recv(12) == b"HTTP/1.1 200"
            s.close()
        claim(0 < listening <= 64, f"{listening} listeners of one address")
        return f"others are answered; {listening} of 520 listeners of one address were let in"


def _slow_requests() -> str:
    """A thousand connections that never finish their request."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    with Lab() as lab:
        assert lab.controller
        half = []
        for _ in range(1000):
            s = socket.socket()
            s.setblocking(False)
            # Beyond its connections the controller leaves them in the backlog.
            s.connect_ex(("127.0.0.1", lab.controller.http))
            half.append(s)
        time.sleep(1.0)
        for s in half:
            with contextlib.suppress(OSError):
                s.send(b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nX: ")
        begin = time.monotonic()

        def answers() -> bool:
            try:
                lab.controller.raw("/api/v1/status", 2.0)
                return True
            except OSError:
                return False

        eventually("the controller answers again", answers, 60)
        seconds = time.monotonic() - begin
        open_now = 0
        for s in half:
            s.settimeout(0.01)
            try:
                open_now += s.recv(4096) != b""
            except TimeoutError:
                open_now += 1
            except OSError:
                pass
            s.close()
        claim(open_now < 600, f"{open_now} half requests are still open")
        return f"answers after {seconds:.1f} s; {open_now} of 1000 half requests still open"


def connections(scale: float) -> str:
    """D2: half requests, and listeners to events, that take every connection."""
    return f"{_slow_requests()}; {_idle_listeners()}"
