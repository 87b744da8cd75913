# SPDX-License-Identifier: Apache-2.0
"""B: what whoever reaches the collector's gRPC port can do."""

from __future__ import annotations

import time

import grpc
from programs import NODES, Lab, claim
from reports import PORT, Exporter, honest, individual, packet


def _raw(message: bytes) -> bytes:
    return message


def silent_subscribers(scale: float) -> str:
    """B1: strangers subscribe and never read."""
    with Lab(controller=False) as lab, honest(lab.udp) as switch:
        channels = []
        for _ in range(10):
            # The window of HTTP/2 stays shut: nothing is ever read.
            channel = grpc.insecure_channel(f"127.0.0.1:{lab.grpc}")
            grpc.channel_ready_future(channel).result(10)
            stream = channel.unary_stream("/tidemark.v1.Telemetry/Subscribe", _raw, _raw)(b"")
            channels.append((channel, stream))
        many = Exporter(lab.udp, "127.0.0.2", hw_id=1)
        end = time.monotonic() + 45 * scale
        flow = 0
        while time.monotonic() < end:
            now_ns = time.time_ns() - 300_000
            for _ in range(4):
                many.send(
                    *(
                        individual(PORT, now_ns + k, 250_000, packet(100 + (flow + k) % 2000, 0))
                        for k in range(8)
                    )
                )
                flow += 8
            switch.once()
            time.sleep(0.0016)
        many.close()
        lab.claim_memory(300, 0)
        done = f"{flow} reports of 2000 flows; {lab.memory()}"
        for channel, stream in channels:
            stream.cancel()
            channel.close()
        return done


def _batch(instance: str) -> bytes:
    """AgentBatch with host, instance and sequence 1."""

    def text(number: int, value: bytes) -> bytes:
        return bytes([number << 3 | 2, len(value)]) + value

    return text(1, b"stranger") + text(2, instance.encode()) + b"\x18\x01"


def made_up_agents(scale: float) -> str:
    """B2: 1100 agents that do not exist, then one that does."""
    settings = "[agents]\naccept = true\n"
    with Lab(controller=False, nodes=NODES + settings) as lab:
        target = f"127.0.0.1:{lab.grpc}"

        def push(instance: str) -> bool:
            with grpc.insecure_channel(target, [("grpc.use_local_subchannel_pool", 1)]) as channel:
                call = channel.stream_stream("/tidemark.v1.Agent/Push", _raw, _raw)
                try:
                    return bool(next(iter(call(iter([_batch(instance)]), timeout=10)), b""))
                except grpc.RpcError:
                    return False

        taken = sum(push(f"made-up-{k}") for k in range(int(1100 * max(scale, 0.1))))
        claim(push("honest"), "an honest agent is refused")
        return f"{taken} made-up agents came and went; the honest one is served"
