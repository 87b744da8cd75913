// SPDX-License-Identifier: GPL-2.0-only
// Writes the senders' state like the kernel's tracepoints print it to trace_pipe.
#pragma once

#include "outcome.h"

#include "ns3/simulator.h"

#include <cinttypes>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace tidemark
{

struct Sample
{
    uint32_t sndNxt;
    uint32_t sndUna;
    uint32_t cwndPackets;
    uint32_t ssthreshPackets;
    uint32_t sndWndBytes;
    uint32_t srttUs;
};

class ProbeWriter
{
  public:
    explicit ProbeWriter(const std::string& path)
        : m_file(std::fopen(path.c_str(), "w"))
    {
        if (!m_file)
        {
            throw std::runtime_error(path + ": cannot be written");
        }
        std::fputs("# tracer: nop\n#\n"
                   "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
                   "#              | |         |   |||||     |         |\n",
                   m_file);
    }

    ~ProbeWriter() { std::fclose(m_file); }

    ProbeWriter(const ProbeWriter&) = delete;
    ProbeWriter& operator=(const ProbeWriter&) = delete;

    uint64_t Samples() const { return m_samples; }

    void Probe(const Ends& e, const Sample& s)
    {
        Heading();
        std::fprintf(m_file,
                     "tcp_probe: family=AF_INET src=%s:%u dest=%s:%u mark=0x0 data_len=0 "
                     "snd_nxt=0x%x snd_una=0x%x snd_cwnd=%u ssthresh=%u snd_wnd=%u srtt=%u "
                     "rcv_wnd=65535 sock_cookie=%x skbaddr=0000000000000000 "
                     "skaddr=0000000000000000\n",
                     e.source.c_str(),
                     e.sourcePort,
                     e.destination.c_str(),
                     e.destinationPort,
                     s.sndNxt,
                     s.sndUna,
                     s.cwndPackets,
                     s.ssthreshPackets,
                     s.sndWndBytes,
                     s.srttUs,
                     e.cookie);
        m_samples++;
    }

    void Retransmit(const Ends& e)
    {
        Heading();
        std::fprintf(m_file,
                     "tcp_retransmit_skb: skbaddr=0000000000000000 skaddr=0000000000000000 "
                     "family=AF_INET sport=%u dport=%u saddr=%s daddr=%s saddrv6=::ffff:%s "
                     "daddrv6=::ffff:%s state=TCP_ESTABLISHED err=0\n",
                     e.sourcePort,
                     e.destinationPort,
                     e.source.c_str(),
                     e.destination.c_str(),
                     e.source.c_str(),
                     e.destination.c_str());
    }

  private:
    void Heading()
    {
        int64_t us = ns3::Simulator::Now().GetNanoSeconds() / 1000;
        std::fprintf(m_file,
                     "          <idle>-0       [000] ..s2. %5" PRId64 ".%06" PRId64 ": ",
                     us / 1000000,
                     us % 1000000);
    }

    std::FILE* m_file;
    uint64_t m_samples = 0;
};

} // namespace tidemark
