// SPDX-License-Identifier: GPL-2.0-only
// Bottlenecks in a row in ns-3: reports of their queues, the senders' windows, and the truth.
//
//     bottleneck SCENARIO OUT
//
// writes OUT/reports.pcap, OUT/tcp_probe.txt and OUT/truth.json, reproducibly for a given scenario.
// A separate program: it links ns-3 (GPL, version 2), and nothing links it.

#include "network.h"
#include "probe_writer.h"
#include "read_scenario.h"
#include "report_writer.h"
#include "tcp_flow.h"
#include "truth.h"
#include "udp_flow.h"

#include "ns3/core-module.h"

#include <cstdio>
#include <map>
#include <memory>

using namespace tidemark;

static void
Simulate(const Scenario& scenario, const std::string& out)
{
    ns3::RngSeedManager::SetSeed(1);
    ns3::RngSeedManager::SetRun(scenario.run.seed);
    auto set = [](const char* name, const ns3::AttributeValue& value) {
        ns3::Config::SetDefault(name, value);
    };
    set("ns3::TcpSocket::SegmentSize", ns3::UintegerValue(SEGMENT_BYTES));
    set("ns3::TcpSocket::DelAckTimeout", ns3::TimeValue(ns3::MilliSeconds(40)));
    set("ns3::TcpSocket::DelAckCount", ns3::UintegerValue(2));
    // A closed sender keeps its port for twice this time; no port is reused.
    set("ns3::TcpSocketBase::MaxSegLifetime", ns3::DoubleValue(1));

    size_t last = scenario.links.size() - 1;
    ReportWriter reports(out + "/reports.pcap", scenario.links.size());
    ProbeWriter probe(out + "/tcp_probe.txt");
    Truth truth(scenario);
    Network network(scenario, [&](size_t link, const Seen& seen) {
        reports.Add(link, seen);
        if (link == last)
        {
            truth.Add(seen);
        }
    });
    std::vector<std::unique_ptr<TcpFlow>> tcp;
    std::map<uint32_t, TcpFlow*> byId;
    std::vector<std::unique_ptr<UdpFlow>> udp;
    std::vector<const Outcome*> outcomes;
    for (const auto& flow : scenario.flows)
    {
        auto sender = network.SenderOf(flow);
        auto receiver = network.Receiver();
        auto to = network.ReceiverAddress();
        if (flow.Udp())
        {
            udp.push_back(std::make_unique<UdpFlow>(flow, sender.node, receiver, to));
            outcomes.push_back(&udp.back()->GetOutcome());
            continue;
        }
        tcp.push_back(std::make_unique<TcpFlow>(
            scenario, flow, sender.node, sender.address, receiver, to, probe));
        outcomes.push_back(&tcp.back()->GetOutcome());
        byId[flow.id] = tcp.back().get();
        if (flow.afterId >= 0)
        {
            // Earlier flows exist already.
            auto* next = tcp.back().get();
            byId.at(static_cast<uint32_t>(flow.afterId))->WhenDone([next, s = flow.thinkS] {
                next->StartIn(s);
            });
        }
    }
    for (double atS : scenario.ChangesS())
    {
        ns3::Simulator::Schedule(ns3::Seconds(atS), [&tcp] {
            for (auto& flow : tcp)
            {
                flow->SetSmallestRto();
            }
        });
    }
    network.Route();
    ns3::Simulator::Stop(ns3::Seconds(scenario.run.seconds));
    ns3::Simulator::Run();
    truth.Write(out + "/truth.json", outcomes, reports.Sent(last), probe.Samples());
    ns3::Simulator::Destroy();
}

int
main(int argc, char** argv)
{
    if (argc != 3)
    {
        std::fprintf(stderr, "usage: bottleneck SCENARIO OUT\n");
        return 2;
    }
    try
    {
        auto scenario = ReadScenario(argv[1]);
        if (scenario.flows.size() > MOST_FLOWS)
        {
            throw std::runtime_error("at most " + std::to_string(MOST_FLOWS) + " flows");
        }
        Simulate(scenario, argv[2]);
    }
    catch (const std::exception& e)
    {
        std::fprintf(stderr, "bottleneck: %s\n", e.what());
        return 1;
    }
    return 0;
}
