// SPDX-License-Identifier: GPL-2.0-only
// TCP senders and receivers.
#pragma once

#include "ports.h"
#include "probe_writer.h"
#include "recovery.h"
#include "scenario.h"

#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <functional>

namespace tidemark
{

constexpr uint32_t SEGMENT_BYTES = 1448;
// Larger than any window here.
constexpr uint32_t BUFFER_BYTES = 1 << 26;

// Exposes a socket's protected state: the fields that tcp_probe shows on Linux.
struct SocketState : ns3::TcpSocketBase
{
    static const ns3::TcpSocketState& Tcb(const ns3::TcpSocketBase& s)
    {
        return *(s.*(&SocketState::m_tcb));
    }

    static const ns3::TcpTxBuffer& Buffer(const ns3::TcpSocketBase& s)
    {
        return *(s.*(&SocketState::m_txBuffer));
    }

    static ns3::RttEstimator& Rtt(const ns3::TcpSocketBase& s)
    {
        return *(s.*(&SocketState::m_rtt));
    }

    static uint32_t Window(const ns3::TcpSocketBase& s) { return (s.*(&SocketState::m_rWnd)).Get(); }

    static bool Established(const ns3::TcpSocketBase& s)
    {
        auto state = (s.*(&SocketState::m_state)).Get();
        return state != ns3::TcpSocket::SYN_SENT && state != ns3::TcpSocket::CLOSED;
    }
};

class TcpFlow
{
  public:
    TcpFlow(const Scenario& scenario,
            const Flow& flow,
            ns3::Ptr<ns3::Node> sender,
            ns3::Ipv4Address source,
            ns3::Ptr<ns3::Node> receiver,
            ns3::Ipv4Address destination,
            ProbeWriter& probe)
        : m_scenario(scenario),
          m_flow(flow),
          m_sender(sender),
          m_receiver(receiver),
          m_source(source),
          m_destination(destination),
          m_probe(probe)
    {
        m_outcome.ends = {Text(source),
                  Text(destination),
                  static_cast<uint16_t>(1024 + flow.id % 4000),
                  static_cast<uint16_t>(FIRST_PORT + flow.id),
                  flow.id + 1};
        if (flow.afterId < 0)
        {
            StartIn(flow.startS);
        }
        if (flow.stopS > 0)
        {
            ns3::Simulator::Schedule(ns3::Seconds(flow.stopS), &TcpFlow::Stop, this);
        }
    }

    void StartIn(double seconds)
    {
        ns3::Simulator::Schedule(ns3::Seconds(seconds), &TcpFlow::Start, this);
    }

    // Linux's RTO exceeds the observed round trips by 200 ms; a scenario may ask for more. If the
    // RTT exceeds the RTO, ns-3 never samples it again: so this uses the longest RTT that the
    // limits in force allow.
    void SetSmallestRto()
    {
        if (m_socket)
        {
            double longestS = m_scenario.LongestQueuesS(m_flow, ns3::Simulator::Now().GetSeconds());
            double leastS = std::max(0.2 + m_flow.rttS + longestS, m_scenario.run.leastRtoS);
            m_socket->SetMinRto(ns3::Seconds(leastS));
        }
    }

    // Called when the last byte has arrived.
    void WhenDone(std::function<void()> done) { m_whenDone = std::move(done); }

    const Outcome& GetOutcome() const { return m_outcome; }

  private:
    static std::string Text(ns3::Ipv4Address a)
    {
        std::ostringstream out;
        out << a;
        return out.str();
    }

    ns3::Ptr<ns3::TcpSocketBase> MakeSocket(ns3::Ptr<ns3::Node> node) const
    {
        auto cc = ns3::TypeId::LookupByName("ns3::Tcp" + m_flow.cc);
        auto tcp = node->GetObject<ns3::TcpL4Protocol>();
        auto made = tcp->CreateSocket(cc, PrrSackRecovery::GetTypeId());
        auto socket = ns3::DynamicCast<ns3::TcpSocketBase>(made);
        socket->SetUseEcn(m_flow.ecn ? ns3::TcpSocketState::On : ns3::TcpSocketState::Off);
        return socket;
    }

    void Start()
    {
        m_outcome.startedS = ns3::Simulator::Now().GetSeconds();
        auto listener = MakeSocket(m_receiver);
        bool limited = m_flow.windowPackets > 0;
        uint32_t window = limited ? m_flow.windowPackets * SEGMENT_BYTES : BUFFER_BYTES;
        listener->SetAttribute("RcvBufSize", ns3::UintegerValue(window));
        listener->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), m_outcome.ends.destinationPort));
        listener->Listen();
        listener->SetAcceptCallback(
            ns3::MakeNullCallback<bool, ns3::Ptr<ns3::Socket>, const ns3::Address&>(),
            ns3::MakeCallback(&TcpFlow::Accepted, this));
        m_listener = listener;

        m_socket = MakeSocket(m_sender);
        SetSmallestRto();
        m_socket->SetAttribute("InitialCwnd", ns3::UintegerValue(m_flow.initialWindow));
        m_socket->SetAttribute("SndBufSize", ns3::UintegerValue(BUFFER_BYTES));
        m_socket->Bind(ns3::InetSocketAddress(m_source, m_outcome.ends.sourcePort));
        m_socket->SetConnectCallback(ns3::MakeCallback(&TcpFlow::Connected, this),
                                     ns3::MakeNullCallback<void, ns3::Ptr<ns3::Socket>>());
        m_socket->SetSendCallback(ns3::MakeCallback(&TcpFlow::Fill, this));
        m_socket->TraceConnectWithoutContext("Rx", ns3::MakeCallback(&TcpFlow::Received, this));
        m_socket->TraceConnectWithoutContext("Retransmission",
                                             ns3::MakeCallback(&TcpFlow::SentAgain, this));
        m_socket->Connect(ns3::InetSocketAddress(m_destination, m_outcome.ends.destinationPort));
    }

    void Connected(ns3::Ptr<ns3::Socket>) { Fill(m_socket, 0); }

    // Writes little more than the window, so that a flow that stops has little left to send.
    void Fill(ns3::Ptr<ns3::Socket>, uint32_t)
    {
        if (m_filling || m_closed)
        {
            return;
        }
        m_filling = true;
        const auto& buffer = SocketState::Buffer(*m_socket);
        uint64_t enough = 2ull * SocketState::Tcb(*m_socket).m_cWnd.Get() + 20 * SEGMENT_BYTES;
        while (buffer.Size() < enough && !m_closed)
        {
            uint64_t left = m_flow.bytes ? m_flow.bytes - m_written : SEGMENT_BYTES;
            uint32_t n = std::min<uint64_t>(left, SEGMENT_BYTES);
            if (n == 0 || m_socket->Send(ns3::Create<ns3::Packet>(n), 0) < 0)
            {
                break;
            }
            m_written += n;
        }
        if (m_flow.bytes && m_written == m_flow.bytes)
        {
            Close();
        }
        m_filling = false;
    }

    void Close()
    {
        if (!m_closed)
        {
            m_closed = true;
            m_socket->Close();
        }
    }

    void Stop()
    {
        if (m_socket && m_outcome.stoppedS == 0)
        {
            m_outcome.stoppedS = ns3::Simulator::Now().GetSeconds();
            Close();
        }
    }

    void Accepted(ns3::Ptr<ns3::Socket> socket, const ns3::Address&)
    {
        socket->SetRecvCallback(ns3::MakeCallback(&TcpFlow::Drain, this));
        socket->SetCloseCallbacks(ns3::MakeCallback(&TcpFlow::PeerClosed, this),
                                  ns3::MakeCallback(&TcpFlow::PeerClosed, this));
        // ns-3 searches all ports in use for each packet: thousands of transfers would be slow.
        ns3::Simulator::ScheduleNow(&ns3::TcpSocketBase::Close, m_listener);
    }

    void Drain(ns3::Ptr<ns3::Socket> socket)
    {
        while (auto packet = socket->Recv())
        {
            if (packet->GetSize() == 0)
            {
                break;
            }
            m_outcome.deliveredBytes += packet->GetSize();
        }
        if (m_flow.bytes && m_outcome.deliveredBytes >= m_flow.bytes && m_outcome.stoppedS == 0)
        {
            m_outcome.stoppedS = ns3::Simulator::Now().GetSeconds();
            if (m_whenDone)
            {
                m_whenDone();
            }
        }
    }

    void PeerClosed(ns3::Ptr<ns3::Socket> socket) { socket->Close(); }

    // Called before the segment is processed, like tcp_probe.
    void Received(ns3::Ptr<const ns3::Packet>,
                  const ns3::TcpHeader&,
                  ns3::Ptr<const ns3::TcpSocketBase> socket)
    {
        if (!SocketState::Established(*socket))
        {
            return;
        }
        const auto& tcb = SocketState::Tcb(*socket);
        auto packets = [](uint32_t bytes) { return bytes / SEGMENT_BYTES; };
        uint32_t ssthresh = tcb.m_ssThresh.Get();
        m_probe.Probe(m_outcome.ends,
                      {tcb.m_highTxMark.Get().GetValue(),
                       SocketState::Buffer(*socket).HeadSequence().GetValue(),
                       packets(tcb.m_cWnd.Get()),
                       ssthresh == UINT32_MAX ? INT32_MAX : packets(ssthresh),
                       SocketState::Window(*socket),
                       static_cast<uint32_t>(SocketState::Rtt(*socket).GetEstimate().GetMicroSeconds())});
    }

    void SentAgain(ns3::Ptr<const ns3::Packet>,
                   const ns3::TcpHeader&,
                   const ns3::Address&,
                   const ns3::Address&,
                   ns3::Ptr<const ns3::TcpSocketBase>)
    {
        m_outcome.retransmissions++;
        m_probe.Retransmit(m_outcome.ends);
    }

    const Scenario& m_scenario;
    Flow m_flow;
    ns3::Ptr<ns3::Node> m_sender;
    ns3::Ptr<ns3::Node> m_receiver;
    ns3::Ipv4Address m_source;
    ns3::Ipv4Address m_destination;
    ProbeWriter& m_probe;
    Outcome m_outcome;
    ns3::Ptr<ns3::TcpSocketBase> m_socket;
    ns3::Ptr<ns3::TcpSocketBase> m_listener;
    uint64_t m_written = 0;
    std::function<void()> m_whenDone;
    bool m_filling = false;
    bool m_closed = false;
};

} // namespace tidemark
