# SPDX-License-Identifier: Apache-2.0
"""Configurations of traffic, collector and controller for a plan. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...addresses import REPORT_UDP_PORT
from ...json_types import JsonObject
from ...preflight import Paths, Ports
from .. import live, traffic_spec
from ..plan import Plan
from ..senders import Flow, Host
from ..traffic_spec import Endpoint
from .layout import RECEIVER_ADDRESS, Layout

# Longer than any run: the controller never judges a change by itself unless the file says so.
OBSERVE_S = 86_400.0


def grpc_port(ports: Ports, switch: int) -> int:
    """gRPC port of a switch; 10 apart, so that the lab's other ports lie between."""
    return ports.switch + 10 * switch


def collector(layout: Layout, ports: Ports, capture_dir: Path) -> JsonObject:
    links = [layout.report_link(k) for k in layout.switches]
    longest_rtt_ms = 1e3 * max(h.rtt_s for h in layout.plan.hosts)
    return {
        "listen": [f"{link.collector_address}:{REPORT_UDP_PORT}" for link in links],
        "grpc": {"listen": f"127.0.0.1:{ports.collector}"},
        "http": {"listen": f"127.0.0.1:{ports.metrics}"},
        "capture": {"dir": str(capture_dir)},
        "tcp_probe": {"enabled": True, "clock": "mono_raw", "host": "local"},
        # Packets wait for their samples longer than a round trip with a full queue.
        "pipeline": {"join_wait_ms": max(500, round(3 * longest_rtt_ms))},
        "nodes": {
            str(layout.node(k)): {
                "name": switch.name,
                "exporters": [links[k].switch_address],
                "time_unit": "ns",
                "depth_unit": "bytes",
                "ports": {
                    str(layout.out_port(k)): {
                        "name": switch.name,
                        "capacity_bps": round(switch.rate),
                    }
                },
                **(switch.program.node if switch.program else {}),
            }
            for k, switch in enumerate(layout.plan.experiment.topology.switches)
        },
    }


def controller(layout: Layout, ports: Ports, paths: Paths, run_dir: Path) -> JsonObject:
    experiment = layout.plan.experiment
    document: JsonObject = {
        "collectors": [f"127.0.0.1:{ports.collector}"],
        "retention_s": 600.0,
        "state_file": str(run_dir / "controller.state.json"),
        "http": {
            "listen": f"127.0.0.1:{ports.console}",
            "token_file": str(run_dir / "controller.token"),
        },
        "targets": live.targets(experiment.targets),
        "control": {
            "mode": live.FIRST_MODE,
            "audit_log": str(run_dir / "audit.jsonl"),
            "min_limit_bytes": layout.plan.least_limit_bytes,
            # The switch's own queue must never be the one that drops.
            "max_limit_bytes": layout.plan.most_limit_bytes,
            "max_step_factor": 64.0,
            "min_change_interval_s": 1.0,
            "observe_s": OBSERVE_S,
        },
        "links": [{"node": layout.node(k), "port": layout.out_port(k)} for k in layout.switches],
        "switches": [
            {
                "node": layout.node(k),
                "address": f"127.0.0.1:{grpc_port(ports, k)}",
                "provision": provision(layout, k, paths),
            }
            for k in layout.own_switches
        ],
    }
    for key, value in experiment.controller.items():
        if isinstance(value, dict):
            document[key] = {**document.get(key, {}), **value}
        else:
            document[key] = value
    return document


def program_files(paths: Paths) -> JsonObject:
    return {
        "p4info": str(paths.p4_dir / "tidemark.p4info.txtpb"),
        "program": str(paths.p4_dir / "tidemark.json"),
    }


def _protocols(plan: Plan) -> list[int]:
    """IP protocols of the plan: TCP, and UDP if it has UDP flows."""
    return [6, 17] if plan.congestion_controls("quic") or plan.datagrams else [6]


def provision(layout: Layout, switch: int, paths: Paths) -> JsonObject:
    port = layout.out_port(switch)
    link = layout.report_link(switch)
    return {
        **program_files(paths),
        "flood_ports": layout.flood_ports(switch),
        "forward": layout.forward(switch),
        "watch": [{"protocol": p, "egress_port": port} for p in _protocols(layout.plan)],
        "reports": {
            "port": layout.report_port(switch),
            "node_id": layout.node(switch),
            "src_mac": link.switch_mac,
            "dst_mac": link.collector_mac,
            "src_ip": link.switch_address,
            "dst_ip": link.collector_address,
            "udp_port": REPORT_UDP_PORT,
        },
        "limits": {str(port): layout.plan.first_limits()[switch].document()},
    }


def traffic(layout: Layout, names: Mapping[str, str] = traffic_spec.NO_NAMES) -> JsonObject:
    """Returns the spec of tidemark-traffic, one process for all namespaces; `names`: socket names
    of congestion controls that differ in this kernel."""
    return traffic_spec.spec(layout.plan, _Endpoints(layout), names=names)


@dataclass(frozen=True)
class _Endpoints:
    layout: Layout

    def receiver(self) -> Endpoint:
        return Endpoint(RECEIVER_ADDRESS, self.layout.receiver_namespace)

    def of_host(self, host: Host) -> Endpoint:
        return Endpoint(self.layout.address(host), self.layout.namespace(host.name))

    def of_flow(self, flow: Flow) -> Endpoint:
        access = self.layout.access.get(flow.name)
        return Endpoint(access.address, access.namespace) if access else self.of_host(flow.host)
