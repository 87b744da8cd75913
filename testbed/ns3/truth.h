// SPDX-License-Identifier: GPL-2.0-only
// What happened at the last link, which every flow passes: totals, those of each second, and every
// flow.
#pragma once

#include "bottleneck_queue.h"
#include "outcome.h"
#include "ports.h"
#include "scenario.h"

#include <fstream>
#include <iomanip>
#include <stdexcept>

namespace tidemark
{

struct Counts
{
    uint64_t arrivals = 0;
    uint64_t drops = 0;
    uint64_t marks = 0;
    uint64_t ipBytesOut = 0;

    void Add(const Seen& seen)
    {
        bool left = seen.fate == Fate::Left;
        arrivals++;
        drops += !left;
        marks += seen.marked;
        ipBytesOut += left ? seen.headers[2] << 8 | seen.headers[3] : 0;
    }

    double LossRate() const { return arrivals ? double(drops) / arrivals : 0; }
};

class Truth
{
  public:
    explicit Truth(const Scenario& scenario)
        : m_scenario(scenario),
          m_warmupNs(static_cast<int64_t>(scenario.run.warmupS * 1e9))
    {
    }

    // Packets in the order of their departure, or of their drop.
    void Add(const Seen& seen)
    {
        m_all.Add(seen);
        if (seen.departureNs < m_warmupNs)
        {
            return;
        }
        m_measured.Add(seen);
        size_t second = (seen.departureNs - m_warmupNs) / 1000000000;
        m_eachS.resize(std::max(m_eachS.size(), second + 1));
        m_eachS[second].Add(seen);
    }

    // JSON; `outcomes` of the scenario's flows, in their order.
    void Write(const std::string& path, const std::vector<const Outcome*>& outcomes) const
    {
        std::ofstream out(path);
        out << std::setprecision(9);
        const auto& run = m_scenario.run;
        double bits = m_scenario.links.back().capacityBps * (run.seconds - run.warmupS);
        out << "{\n \"generator\": \"ns-3 3.44\",\n \"seed\": " << run.seed
            << ",\n \"duration_s\": " << run.seconds << ",\n \"warmup_s\": " << run.warmupS
            << ",\n \"utilisation\": " << m_measured.ipBytesOut * 8.0 / bits
            << ",\n \"loss_rate\": " << m_measured.LossRate()
            << ",\n \"arrivals_all\": " << m_all.arrivals << ",\n \"drops_all\": " << m_all.drops
            << ",\n \"ce_marks_all\": " << m_all.marks << ",\n \"each_s\": {";
        Column(out, "arrivals", &Counts::arrivals);
        Column(out << ",", "drops", &Counts::drops);
        Column(out << ",", "ce_marks", &Counts::marks);
        Column(out << ",", "ip_bytes_out", &Counts::ipBytesOut);
        out << "\n },\n \"flows\": [";
        for (const auto& flow : m_scenario.flows)
        {
            WriteFlow(out << (flow.id ? ",\n  " : "\n  "), flow, *outcomes[flow.id]);
        }
        out << "\n ]\n}\n";
        if (!out.flush())
        {
            throw std::runtime_error(path + ": cannot be written");
        }
    }

  private:
    // Of each second after the warm-up.
    void Column(std::ostream& out, const char* name, uint64_t Counts::*value) const
    {
        out << "\n  \"" << name << "\": [";
        for (size_t i = 0; i < m_eachS.size(); i++)
        {
            out << (i ? ", " : "") << m_eachS[i].*value;
        }
        out << "]";
    }

    static void WriteFlow(std::ostream& out, const Flow& flow, const Outcome& outcome)
    {
        out << "{\"id\": " << flow.id << ", \"kind\": \"" << flow.kind << "\", \"cc\": \""
            << (flow.Udp() ? "none" : flow.cc) << "\", ";
        if (!flow.Udp())
        {
            out << "\"src\": \"" << outcome.ends.source << "\", \"dst\": \""
                << outcome.ends.destination << "\", \"sport\": " << outcome.ends.sourcePort << ", ";
        }
        out << "\"dport\": " << FIRST_PORT + flow.id << ", \"proto\": " << (flow.Udp() ? 17 : 6)
            << ", \"base_rtt_s\": " << flow.rttS << ", \"start_s\": ";
        Time(out, outcome.startedS, outcome.startedS >= 0);
        Time(out << ", \"stop_s\": ", outcome.stoppedS, outcome.stoppedS > 0);
        out << ", \"size_bytes\": " << flow.bytes
            << ", \"bytes_delivered\": " << outcome.deliveredBytes
            << ", \"retransmissions\": " << outcome.retransmissions << "}";
    }

    static void Time(std::ostream& out, double seconds, bool known)
    {
        known ? out << seconds : out << "null";
    }

    const Scenario& m_scenario;
    int64_t m_warmupNs;
    Counts m_all;
    Counts m_measured;
    std::vector<Counts> m_eachS;
};

} // namespace tidemark
