// SPDX-License-Identifier: GPL-2.0-only
// The queue under observation: drop-tail, or marking above a threshold.
#pragma once

#include "ns3/ipv4-header.h"
#include "ns3/packet.h"
#include "ns3/ppp-header.h"
#include "ns3/queue.h"
#include "ns3/simulator.h"

#include <cstdint>
#include <deque>
#include <functional>

namespace tidemark
{

enum class Fate
{
    Left,
    // The queue was full.
    Dropped,
    // At the threshold, and cannot be marked.
    Refused,
};

// One packet: `headers` are its IP header and what follows, as it left or as it came.
struct Seen
{
    Fate fate;
    bool marked;
    uint32_t depth;
    // What acts first: the threshold where the port marks, else the limit.
    uint32_t actsAt;
    int64_t arrivalNs;
    int64_t departureNs;
    uint8_t headers[40];
    uint32_t headerBytes;
};

// Waiting packets only: the one in transmission is not counted.
class BottleneckQueue : public ns3::Queue<ns3::Packet>
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("tidemark::BottleneckQueue")
                                     .SetParent<ns3::Queue<ns3::Packet>>()
                                     .AddConstructor<BottleneckQueue>();
        return tid;
    }

    // `most` of all limits to come.
    void Configure(uint32_t most, std::function<void(const Seen&)> observer)
    {
        m_observer = std::move(observer);
        // The limit is ours: the base class must not be the one that drops.
        SetMaxSize(ns3::QueueSize(ns3::QueueSizeUnit::PACKETS, most + 1));
    }

    // What waits beyond a lower limit leaves in its time.
    void SetLimit(uint32_t limit, uint32_t mark)
    {
        m_limit = limit;
        m_mark = mark;
    }

    bool Enqueue(ns3::Ptr<ns3::Packet> packet) override
    {
        Waiting w{GetNPackets(), ns3::Simulator::Now().GetNanoSeconds(), false};
        if (w.depth >= m_limit)
        {
            return Drop(packet, w, Fate::Dropped);
        }
        if (m_mark && w.depth >= m_mark)
        {
            if (!MarkCe(packet))
            {
                return Drop(packet, w, Fate::Refused);
            }
            w.marked = true;
        }
        bool taken = DoEnqueue(GetContainer().end(), packet);
        NS_ASSERT(taken);
        m_waiting.push_back(w);
        return taken;
    }

    ns3::Ptr<ns3::Packet> Dequeue() override
    {
        auto packet = DoDequeue(GetContainer().begin());
        if (packet)
        {
            Waiting w = m_waiting.front();
            m_waiting.pop_front();
            Report(packet, w, Fate::Left);
        }
        return packet;
    }

    ns3::Ptr<ns3::Packet> Remove() override { return DoRemove(GetContainer().begin()); }

    ns3::Ptr<const ns3::Packet> Peek() const override { return DoPeek(GetContainer().begin()); }

  private:
    struct Waiting
    {
        uint32_t depth;
        int64_t arrivalNs;
        bool marked;
    };

    bool Drop(ns3::Ptr<ns3::Packet> packet, const Waiting& w, Fate fate)
    {
        Report(packet, w, fate);
        DropBeforeEnqueue(packet);
        return false;
    }

    void Report(ns3::Ptr<const ns3::Packet> packet, const Waiting& w, Fate fate)
    {
        // The device has put its two bytes of PPP in front.
        uint8_t bytes[42] = {};
        uint32_t n = packet->CopyData(bytes, sizeof(bytes));
        int64_t now = ns3::Simulator::Now().GetNanoSeconds();
        uint32_t actsAt = m_mark ? m_mark : m_limit;
        Seen seen{fate, w.marked, w.depth, actsAt, w.arrivalNs, now, {}, n > 2 ? n - 2 : 0};
        std::copy(bytes + 2, bytes + 42, seen.headers);
        m_observer(seen);
    }

    // False where the sender has not asked for it.
    static bool MarkCe(ns3::Ptr<ns3::Packet> packet)
    {
        ns3::PppHeader ppp;
        ns3::Ipv4Header ip;
        packet->RemoveHeader(ppp);
        packet->RemoveHeader(ip);
        bool capable = ip.GetEcn() != ns3::Ipv4Header::ECN_NotECT;
        if (capable)
        {
            ip.SetEcn(ns3::Ipv4Header::ECN_CE);
        }
        packet->AddHeader(ip);
        packet->AddHeader(ppp);
        return capable;
    }

    uint32_t m_limit = 1;
    uint32_t m_mark = 0;
    std::function<void(const Seen&)> m_observer;
    std::deque<Waiting> m_waiting;
};

NS_OBJECT_ENSURE_REGISTERED(BottleneckQueue);

} // namespace tidemark
