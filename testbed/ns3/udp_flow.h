// SPDX-License-Identifier: GPL-2.0-only
// UDP senders and receivers.
#pragma once

#include "outcome.h"
#include "ports.h"
#include "scenario.h"

#include "ns3/internet-module.h"
#include "ns3/network-module.h"

namespace tidemark
{

// Sends packets of one size with exponentially distributed gaps.
class UdpFlow
{
  public:
    UdpFlow(const Flow& flow,
            ns3::Ptr<ns3::Node> sender,
            ns3::Ptr<ns3::Node> receiver,
            ns3::Ipv4Address destination)
        : m_flow(flow),
          m_destination(destination, static_cast<uint16_t>(FIRST_PORT + flow.id))
    {
        auto sink = ns3::Socket::CreateSocket(receiver, ns3::UdpSocketFactory::GetTypeId());
        sink->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), m_destination.GetPort()));
        sink->SetRecvCallback(ns3::MakeCallback(&UdpFlow::Drain, this));
        m_sink = sink;
        m_socket = ns3::Socket::CreateSocket(sender, ns3::UdpSocketFactory::GetTypeId());
        m_socket->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), 20000 + flow.id % 20000));
        m_outcome.startedS = flow.startS;
        m_gap = ns3::CreateObject<ns3::ExponentialRandomVariable>();
        m_gap->SetAttribute("Mean", ns3::DoubleValue(flow.ipBytes * 8.0 / flow.rateBps));
        ns3::Simulator::Schedule(ns3::Seconds(flow.startS + m_gap->GetValue()),
                                 &UdpFlow::Send,
                                 this);
    }

    const Outcome& GetOutcome() const { return m_outcome; }

  private:
    void Send()
    {
        if (m_flow.stopS > 0 && ns3::Simulator::Now().GetSeconds() >= m_flow.stopS)
        {
            return;
        }
        m_socket->SendTo(ns3::Create<ns3::Packet>(m_flow.ipBytes - 28), 0, m_destination);
        ns3::Simulator::Schedule(ns3::Seconds(m_gap->GetValue()), &UdpFlow::Send, this);
    }

    void Drain(ns3::Ptr<ns3::Socket> socket)
    {
        while (auto packet = socket->Recv())
        {
            m_outcome.deliveredBytes += packet->GetSize();
        }
    }

    Flow m_flow;
    ns3::InetSocketAddress m_destination;
    ns3::Ptr<ns3::Socket> m_socket;
    ns3::Ptr<ns3::Socket> m_sink;
    ns3::Ptr<ns3::ExponentialRandomVariable> m_gap;
    Outcome m_outcome;
};

} // namespace tidemark
