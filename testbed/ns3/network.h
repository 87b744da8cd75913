// SPDX-License-Identifier: GPL-2.0-only
// Senders, a router with a queue for each link in a row, a receiver.
//
//     sender of an RTT --- router === link === router === link === receiver
//     sender of an RBP flow --- (own slow link) --- router
#pragma once

#include "bottleneck_queue.h"
#include "jitter_channel.h"
#include "scenario.h"

#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <functional>
#include <map>
#include <tuple>

namespace tidemark
{

// Total delay of all links in the row.
constexpr double ROW_DELAY_S = 0.001;
constexpr double ACCESS_BPS = 1e9;
constexpr double REVERSE_BPS = 10e9;
constexpr uint32_t DEEP_PACKETS = 100000;
// The device adds two bytes of PPP: at this rate a packet of 1500 bytes takes 12000/C.
constexpr double PPP = 1502.0 / 1500.0;

struct Sender
{
    ns3::Ptr<ns3::Node> node;
    ns3::Ipv4Address address;
};

// Receives every packet that leaves or is dropped by a link's queue, with the link's number.
using Observer = std::function<void(size_t, const Seen&)>;

class Network
{
  public:
    Network(const Scenario& scenario, const Observer& observer)
        : m_scenario(scenario)
    {
        for (size_t k = 0; k <= scenario.links.size(); k++)
        {
            m_row.push_back(ns3::CreateObject<ns3::Node>());
            m_internet.Install(m_row.back());
        }
        for (size_t k = 0; k < scenario.links.size(); k++)
        {
            AddLink(k, observer);
        }
    }

    Sender SenderOf(const Flow& flow)
    {
        // A remotely bottlenecked flow has its own link.
        auto key = std::make_tuple(flow.link, flow.rttS, flow.accessBps > 0 ? flow.id + 1 : 0);
        auto found = m_senders.find(key);
        if (found != m_senders.end())
        {
            return found->second;
        }
        return m_senders[key] = Add(flow);
    }

    // To be called once all senders exist.
    void Route() { ns3::Ipv4GlobalRoutingHelper::PopulateRoutingTables(); }

    ns3::Ptr<ns3::Node> Receiver() const { return m_row.back(); }

    ns3::Ipv4Address ReceiverAddress() const { return m_receiverAddress; }

  private:
    double LinkDelayS() const { return ROW_DELAY_S / m_scenario.links.size(); }

    // Connects the k-th node of the row with the next.
    void AddLink(size_t k, const Observer& observer)
    {
        const auto& link = m_scenario.links[k];
        auto queue = ns3::CreateObject<BottleneckQueue>();
        queue->Configure(link.LargestLimitPackets(),
                         [observer, k](const Seen& seen) { observer(k, seen); });
        queue->SetLimit(link.limitPackets, link.markPackets);
        if (link.quantumBytes)
        {
            queue->SetFair(link.quantumBytes);
        }
        for (const auto& change : link.changes)
        {
            ns3::Simulator::Schedule(ns3::Seconds(change.atS),
                                     &BottleneckQueue::SetLimit,
                                     queue,
                                     change.limitPackets,
                                     change.markPackets);
        }
        auto channel = ns3::CreateObject<ns3::PointToPointChannel>();
        channel->SetAttribute("Delay", ns3::TimeValue(ns3::Seconds(LinkDelayS())));
        auto out = Device(m_row[k], link.capacityBps * PPP, queue, channel);
        auto back = Device(m_row[k + 1], REVERSE_BPS, DropTail(DEEP_PACKETS), channel);
        auto base = "10.0." + std::to_string(k) + ".0";
        ns3::Ipv4AddressHelper addresses(base.c_str(), "255.255.255.0");
        // The last one is the receiver's.
        m_receiverAddress = Addresses(addresses, out, back).second;
    }

    Sender Add(const Flow& flow)
    {
        double oneWayS = flow.rttS / 2 - LinkDelayS() * (m_scenario.links.size() - flow.link);
        if (oneWayS < 0)
        {
            throw std::runtime_error("rtt_s: at least " + std::to_string(2 * ROW_DELAY_S));
        }
        size_t number = m_senders.size();
        auto node = ns3::CreateObject<ns3::Node>();
        m_internet.Install(node);
        auto channel = ns3::CreateObject<JitterChannel>();
        channel->SetAttribute("Delay", ns3::TimeValue(ns3::Seconds(oneWayS)));
        double packetS = 12000 / m_scenario.links[flow.link].capacityBps;
        channel->SetJitter(ns3::Seconds(m_scenario.run.jitterPackets * packetS));
        bool own = flow.accessBps > 0;
        auto queue = DropTail(own ? std::max(1u, flow.accessPackets) : DEEP_PACKETS);
        auto up = Device(node, own ? flow.accessBps * PPP : ACCESS_BPS, queue, channel);
        auto down = Device(m_row[flow.link], ACCESS_BPS, DropTail(DEEP_PACKETS), channel);
        std::ostringstream base;
        base << "10." << 1 + number / 256 << "." << number % 256 << ".0";
        ns3::Ipv4AddressHelper addresses(base.str().c_str(), "255.255.255.0");
        // The router has the first address of each link.
        auto given = Addresses(addresses, down, up);
        return {node, given.second};
    }

    static ns3::Ptr<ns3::Queue<ns3::Packet>> DropTail(uint32_t packets)
    {
        auto queue = ns3::CreateObject<ns3::DropTailQueue<ns3::Packet>>();
        queue->SetMaxSize(ns3::QueueSize(ns3::QueueSizeUnit::PACKETS, packets));
        return queue;
    }

    // Without flow control towards the upper layer: packets wait only in this queue.
    static ns3::Ptr<ns3::PointToPointNetDevice> Device(ns3::Ptr<ns3::Node> node,
                                                       double bps,
                                                       ns3::Ptr<ns3::Queue<ns3::Packet>> queue,
                                                       ns3::Ptr<ns3::PointToPointChannel> channel)
    {
        auto device = ns3::CreateObject<ns3::PointToPointNetDevice>();
        device->SetAddress(ns3::Mac48Address::Allocate());
        device->SetDataRate(ns3::DataRate(static_cast<uint64_t>(bps)));
        device->SetQueue(queue);
        node->AddDevice(device);
        device->Attach(channel);
        return device;
    }

    static std::pair<ns3::Ipv4Address, ns3::Ipv4Address> Addresses(
        ns3::Ipv4AddressHelper& addresses,
        ns3::Ptr<ns3::NetDevice> first,
        ns3::Ptr<ns3::NetDevice> second)
    {
        ns3::NetDeviceContainer both;
        both.Add(first);
        both.Add(second);
        auto given = addresses.Assign(both);
        return {given.GetAddress(0), given.GetAddress(1)};
    }

    const Scenario& m_scenario;
    ns3::InternetStackHelper m_internet;
    // One router per link, then the receiver.
    std::vector<ns3::Ptr<ns3::Node>> m_row;
    ns3::Ipv4Address m_receiverAddress;
    std::map<std::tuple<uint32_t, double, uint32_t>, Sender> m_senders;
};

} // namespace tidemark
