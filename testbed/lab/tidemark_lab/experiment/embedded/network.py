# SPDX-License-Identifier: Apache-2.0
"""Builds the network of a layout."""

from __future__ import annotations

from ... import wiring
from ...state import RunState
from ..senders import Host
from .layout import RECEIVER_ADDRESS, RECEIVER_MAC, Layout


def build(layout: Layout, state: RunState) -> None:
    """Builds everything, recording each part first."""
    offloads, mtu = layout.plan.experiment.topology.offloads, layout.plan.experiment.topology.mtu
    min_rto_s = layout.plan.experiment.traffic.min_rto

    def set_route(namespace: str, host: Host) -> None:
        wiring.set_route(namespace, RECEIVER_ADDRESS, host.initial_window, min_rto_s)

    for switch in layout.switches:
        wiring.make_switch_namespace(state, layout.switch_namespace(switch))
    names = [layout.namespace(h.name) for h in layout.plan.hosts]
    names += [a.namespace for a in layout.access.values()]
    for name in [*names, layout.receiver_namespace]:
        wiring.make_namespace(state, name)
    for host in layout.plan.hosts:
        end = layout.host_end(host)
        namespace = layout.namespace(host.name)
        wiring.connect_host(
            namespace, layout.address(host), layout.mac(host), end, host.ecn, offloads, host.mtu
        )
        set_route(namespace, host)
    last = layout.switches[-1]
    wiring.connect_host(
        layout.receiver_namespace,
        RECEIVER_ADDRESS,
        RECEIVER_MAC,
        layout.end(last, layout.out_port(last)),
        # The receiver grants ECN to senders that ask.
        any(h.ecn for h in layout.plan.hosts),
        offloads,
        mtu,
    )
    for switch in layout.switches[1:]:
        wiring.connect_switches(
            layout.end(switch - 1, layout.out_port(switch - 1)),
            layout.end(switch, layout.back_port(switch)),
            offloads,
            layout.mtu_between_switches,
        )
    for flow in layout.plan.flows:
        if access := layout.access.get(flow.name):
            host = flow.host
            wiring.connect_access(access, layout.receiver_namespace, host.ecn, offloads, host.mtu)
            set_route(access.namespace, host)
    for switch in layout.switches:
        link = layout.report_link(switch)
        end = layout.end(switch, layout.report_port(switch))
        wiring.connect_root(
            state, link.collector_interface, link.collector_address, end, link.collector_mac
        )
        wiring.raise_switch_end(end, offloads)
