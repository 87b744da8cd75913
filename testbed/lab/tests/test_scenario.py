# SPDX-License-Identifier: Apache-2.0
import pytest

from tidemark_lab.scenario import Scenario, harmonic_mean
from tidemark_lab.topology import Topology


def test_round_trips_are_the_sum_of_both_ports():
    scenario = Scenario()
    rtts = [h.delay_ms + scenario.receiver.delay_ms for h in scenario.senders]
    assert rtts == [10, 20, 30, 40]
    assert scenario.bdp_limit_bytes == 312_500


def test_ports_addresses_and_macs_are_distinct():
    hosts = Scenario().hosts
    for key in ("port", "address", "mac", "name"):
        assert len({getattr(h, key) for h in hosts}) == len(hosts)
    assert Scenario().report_port not in {h.port for h in hosts}


def test_half_of_the_flows_of_each_kind_and_every_rtt_sees_both():
    scenario = Scenario()
    kinds = [
        (scenario.lbp_sender(i), scenario.lbp_congestion_control(i))
        for i in range(scenario.lbp_flows)
    ]
    assert [c for _, c in kinds].count("reno") == 6
    assert len(set(kinds)) == 2 * len(scenario.senders)


def test_effective_rtt_is_the_harmonic_mean():
    assert harmonic_mean([10, 20, 30, 40]) == pytest.approx(19.2)
    assert harmonic_mean([]) is None


def test_bad_values_are_refused():
    with pytest.raises(ValueError, match="base_rtts_ms"):
        Scenario(base_rtts_ms=(0.0,))
    with pytest.raises(ValueError, match="rbp_senders"):
        Scenario(rbp_senders=(4,))
    with pytest.raises(ValueError, match="short_share"):
        Scenario(short_share=1.0)


def test_interface_names_fit_the_kernel_and_ports_say_rate_and_delay():
    topology = Topology(Scenario(), "ffff")
    assert len(topology.report_interface) <= 15
    ports = topology.switch_ports()
    assert ports[0] == "1=p1@tm-ffff-sw,delay=5000us,queue=8192p"
    assert "rate=100000000bit" in ports[4] and "delay=5000us" in ports[4]
    assert sum("rate=" in p for p in ports) == 1
    assert "delay=" not in ports[5]
