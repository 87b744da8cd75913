// SPDX-License-Identifier: GPL-2.0-only
// The queue under observation: drop-tail, or marking above a threshold.
#pragma once

#include "fair_order.h"

#include "ns3/ipv4-header.h"
#include "ns3/packet.h"
#include "ns3/ppp-header.h"
#include "ns3/queue.h"
#include "ns3/simulator.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

namespace tidemark
{

enum class Fate
{
    Left,
    // The queue was full; with fair queueing, possibly only after the packet had been queued.
    Dropped,
    // At the threshold, but not ECN-capable.
    Refused,
};

// One packet: `headers` are its IP header and the bytes after it, on departure or on arrival.
struct Seen
{
    Fate fate;
    bool marked;
    uint32_t depth;
    // First bound to act: the threshold if the port marks, otherwise the limit.
    uint32_t actsAt;
    int64_t arrivalNs;
    int64_t departureNs;
    uint8_t headers[40];
    uint32_t headerBytes;
};

// The bottleneck's queue. Holds only waiting packets, not the one in transmission.
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

    // `most`: largest limit of the whole run.
    void Configure(uint32_t most, std::function<void(const Seen&)> observer)
    {
        m_observer = std::move(observer);
        // SetLimit's limit applies: the base class must not be the one that drops.
        SetMaxSize(ns3::QueueSize(ns3::QueueSizeUnit::PACKETS, most + 1));
    }

    // Packets beyond a lower limit stay and leave in their turn.
    void SetLimit(uint32_t limit, uint32_t mark)
    {
        m_limit = limit;
        m_mark = mark;
    }

    // Starts fair queueing, in which a full queue drops from the longest flow; it must be empty.
    void SetFair(uint32_t quantumBytes) { m_fair.emplace(quantumBytes); }

    bool Enqueue(ns3::Ptr<ns3::Packet> packet) override
    {
        Waiting w{GetNPackets(), ns3::Simulator::Now().GetNanoSeconds(), false, 0, 0, {}};
        if (m_fair)
        {
            w.flow = FlowOf(packet);
            w.bytes = packet->GetSize();
        }
        // A lower limit pushes no packet out: packets beyond it leave in their turn.
        if (w.depth == m_limit && m_fair && MakeRoom(w.flow))
        {
            w.depth--;
        }
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
        Iterator place;
        bool taken = DoEnqueue(GetContainer().end(), packet, place);
        NS_ASSERT(taken);
        w.place = place;
        if (m_fair)
        {
            m_fair->Push(w);
        }
        else
        {
            m_waiting.push_back(w);
        }
        return taken;
    }

    ns3::Ptr<ns3::Packet> Dequeue() override
    {
        if (m_fair)
        {
            if (GetNPackets() == 0)
            {
                return nullptr;
            }
            Waiting w = m_fair->Pop();
            auto packet = DoDequeue(w.place);
            Report(packet, w, Fate::Left);
            return packet;
        }
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
        // Flow number, for fair queueing.
        uint64_t flow;
        uint32_t bytes;
        ConstIterator place;
    };

    // Each flow has its own destination port.
    static uint64_t FlowOf(ns3::Ptr<const ns3::Packet> packet)
    {
        uint8_t bytes[26] = {};
        packet->CopyData(bytes, sizeof(bytes));
        return bytes[24] << 8 | bytes[25];
    }

    // Drops the last packet of the longest flow's queue, unless that is the new packet's flow.
    bool MakeRoom(uint64_t flow)
    {
        uint64_t longest = m_fair->Longest();
        if (m_fair->Length(flow) + 1 > m_fair->Length(longest))
        {
            return false;
        }
        Waiting w = m_fair->PushOut(longest);
        auto packet = DoRemove(w.place);
        Report(packet, w, Fate::Dropped);
        return true;
    }

    bool Drop(ns3::Ptr<ns3::Packet> packet, const Waiting& w, Fate fate)
    {
        Report(packet, w, fate);
        DropBeforeEnqueue(packet);
        return false;
    }

    void Report(ns3::Ptr<const ns3::Packet> packet, const Waiting& w, Fate fate)
    {
        // The device has put its two bytes of PPP in front of the packet.
        uint8_t bytes[42] = {};
        uint32_t n = packet->CopyData(bytes, sizeof(bytes));
        int64_t now = ns3::Simulator::Now().GetNanoSeconds();
        uint32_t actsAt = m_mark ? m_mark : m_limit;
        Seen seen{fate, w.marked, w.depth, actsAt, w.arrivalNs, now, {}, n > 2 ? n - 2 : 0};
        std::copy(bytes + 2, bytes + 42, seen.headers);
        m_observer(seen);
    }

    // Returns false if the packet is not ECN-capable.
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
    std::optional<FairOrder<Waiting>> m_fair;
};

NS_OBJECT_ENSURE_REGISTERED(BottleneckQueue);

} // namespace tidemark
