// SPDX-License-Identifier: GPL-2.0-only
// A point-to-point channel that adds a random delay to the packets of its first device.
#pragma once

#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/random-variable-stream.h"
#include "ns3/simulator.h"

namespace tidemark
{

// Real hosts are not exact to the nanosecond; flows that are become synchronised (phase effects).
// Packets stay in order.
class JitterChannel : public ns3::PointToPointChannel
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("tidemark::JitterChannel")
                                     .SetParent<ns3::PointToPointChannel>()
                                     .AddConstructor<JitterChannel>();
        return tid;
    }

    void SetJitter(ns3::Time most)
    {
        m_jitter = ns3::CreateObject<ns3::UniformRandomVariable>();
        m_jitter->SetAttribute("Max", ns3::DoubleValue(most.GetSeconds()));
    }

    bool TransmitStart(ns3::Ptr<const ns3::Packet> packet,
                       ns3::Ptr<ns3::PointToPointNetDevice> source,
                       ns3::Time txTime) override
    {
        if (!m_jitter || source != GetSource(0))
        {
            return ns3::PointToPointChannel::TransmitStart(packet, source, txTime);
        }
        ns3::Time now = ns3::Simulator::Now();
        ns3::Time at = now + txTime + GetDelay() + ns3::Seconds(m_jitter->GetValue());
        at = std::max(at, m_last);
        m_last = at;
        auto destination = GetDestination(0);
        ns3::Simulator::ScheduleWithContext(destination->GetNode()->GetId(),
                                            at - now,
                                            &ns3::PointToPointNetDevice::Receive,
                                            destination,
                                            packet->Copy());
        return true;
    }

  private:
    ns3::Ptr<ns3::UniformRandomVariable> m_jitter;
    ns3::Time m_last;
};

NS_OBJECT_ENSURE_REGISTERED(JitterChannel);

} // namespace tidemark
