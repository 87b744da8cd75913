// SPDX-License-Identifier: GPL-2.0-only
// What happened at the last link, which every flow passes: totals after the warm-up, and of every
// flow.
#pragma once

#include "bottleneck_queue.h"
#include "report_writer.h"
#include "scenario.h"
#include "tcp_flow.h"
#include "udp_flow.h"

#include <cinttypes>
#include <cstdio>
#include <map>
#include <memory>

namespace tidemark
{

struct Counts
{
    uint64_t arrivals = 0;
    uint64_t drops = 0;
    uint64_t marks = 0;
    uint64_t ipBytesOut = 0;

    void Add(const Seen& seen, uint32_t ipBytes)
    {
        arrivals++;
        drops += seen.fate != Fate::Left;
        marks += seen.marked;
        ipBytesOut += seen.fate == Fate::Left ? ipBytes : 0;
    }

    double LossRate() const { return arrivals ? double(drops) / arrivals : 0; }
};

class Truth
{
  public:
    explicit Truth(const Scenario& scenario)
        : m_scenario(scenario),
          m_all(scenario.flows.size()),
          m_measured(scenario.flows.size()),
          m_warmupNs(static_cast<int64_t>(scenario.run.warmupS * 1e9))
    {
    }

    // Packets in the order of their departure, or of their drop.
    void Add(const Seen& seen)
    {
        const uint8_t* ip = seen.headers;
        uint32_t ipBytes = ip[2] << 8 | ip[3];
        uint32_t id = (ip[22] << 8 | ip[23]) - FIRST_PORT;
        bool known = id < m_all.size();
        m_totalAll.Add(seen, ipBytes);
        if (known)
        {
            m_all[id].Add(seen, ipBytes);
        }
        if (seen.departureNs < m_warmupNs)
        {
            return;
        }
        m_total.Add(seen, ipBytes);
        if (known)
        {
            m_measured[id].Add(seen, ipBytes);
        }
        size_t second = (seen.departureNs - m_warmupNs) / 1000000000;
        m_eachS.resize(std::max(m_eachS.size(), second + 1));
        m_eachS[second].Add(seen, ipBytes);
        m_depthSum += seen.depth;
        m_depthMost = std::max(m_depthMost, seen.depth);
        if (seen.fate == Fate::Left)
        {
            int64_t waitNs = seen.departureNs - seen.arrivalNs;
            m_waitNs += waitNs;
            m_waitMostNs = std::max(m_waitMostNs, waitNs);
        }
    }

    // JSON in the form of the other simulated runs.
    void Write(const std::string& path,
               const std::vector<std::unique_ptr<TcpFlow>>& tcp,
               const std::vector<std::unique_ptr<UdpFlow>>& udp,
               uint64_t reports,
               uint64_t samples) const
    {
        std::FILE* f = std::fopen(path.c_str(), "w");
        if (!f)
        {
            throw std::runtime_error(path + ": cannot be written");
        }
        const auto& link = m_scenario.links.back();
        const auto& run = m_scenario.run;
        double seconds = run.seconds - run.warmupS;
        uint64_t left = m_total.arrivals - m_total.drops;
        std::fprintf(f, "{\n \"generator\": \"ns-3 3.44\",\n");
        std::fprintf(f, " \"seed\": %u,\n \"duration_s\": %.9g,\n", run.seed, run.seconds);
        std::fprintf(f, " \"warmup_s\": %.9g,\n \"measured_s\": %.9g,\n", run.warmupS, seconds);
        std::fprintf(f, " \"C_bps\": %.0f,\n \"B_pkts\": %u,\n", link.capacityBps, link.limitPackets);
        std::fprintf(f, " \"ecn_k\": %u,\n \"ce_marks\": %" PRIu64 ",\n", link.markPackets, m_total.marks);
        std::fprintf(f, " \"ce_marks_all\": %" PRIu64 ",\n", m_totalAll.marks);
        std::fprintf(f, " \"recovery\": \"PrrSack\",\n \"mss\": %u,\n", SEGMENT_BYTES);
        std::fprintf(f,
                     " \"utilisation\": %.9g,\n \"loss_rate\": %.9g,\n",
                     m_total.ipBytesOut * 8.0 / link.capacityBps / seconds,
                     m_total.LossRate());
        std::fprintf(f,
                     " \"arrivals\": %" PRIu64 ",\n \"drops\": %" PRIu64 ",\n",
                     m_total.arrivals,
                     m_total.drops);
        std::fprintf(f,
                     " \"arrivals_all\": %" PRIu64 ",\n \"drops_all\": %" PRIu64 ",\n",
                     m_totalAll.arrivals,
                     m_totalAll.drops);
        std::fprintf(f,
                     " \"queue_mean_pkts_arrival\": %.9g,\n \"queue_max_pkts\": %u,\n",
                     m_total.arrivals ? double(m_depthSum) / m_total.arrivals : 0,
                     m_depthMost);
        std::fprintf(f,
                     " \"queue_delay_mean_s\": %.9g,\n",
                     left ? m_waitNs / 1e9 / left : 0);
        std::fprintf(f, " \"queue_delay_max_s\": %.9g,\n", m_waitMostNs / 1e9);
        EachSecond(f);
        Kinds(f, seconds);
        std::fprintf(f, " \"flows\": [");
        size_t nextTcp = 0;
        size_t nextUdp = 0;
        for (const auto& spec : m_scenario.flows)
        {
            std::fprintf(f, spec.id ? ",\n  " : "\n  ");
            if (spec.Udp())
            {
                const auto& u = *udp[nextUdp++];
                WriteFlow(f, spec, u.Delivered(), 0, spec.startS, 0, nullptr);
            }
            else
            {
                const auto& t = *tcp[nextTcp++];
                WriteFlow(f,
                          spec,
                          t.Delivered(),
                          t.Retransmissions(),
                          t.StartedS(),
                          t.StoppedS(),
                          &t.GetEnds());
            }
        }
        std::fprintf(f,
                     "\n ],\n \"capture\": {\"reports_sent\": %" PRIu64
                     ", \"reports_lost\": 0, \"tcp_probe_samples\": %" PRIu64
                     ", \"limit_packets\": %u, \"node\": %u, \"egress_port\": %u, "
                     "\"occupancy_unit\": \"packets\", \"switch_clock_minus_host_clock_s\": 0, "
                     "\"switch_drift_ppm\": 0, \"seconds\": %.9g}\n}\n",
                     reports,
                     samples,
                     link.markPackets ? link.markPackets : link.limitPackets,
                     ReportWriter::NODE + uint32_t(m_scenario.links.size() - 1),
                     ReportWriter::EGRESS_PORT,
                     run.seconds);
        if (std::fclose(f) != 0)
        {
            throw std::runtime_error(path + ": cannot be written");
        }
    }

  private:
    // After the warm-up.
    void EachSecond(std::FILE* f) const
    {
        std::fprintf(f, " \"each_s\": {");
        auto column = [&](const char* name, auto value) {
            std::fprintf(f, "\n  \"%s\": [", name);
            for (size_t i = 0; i < m_eachS.size(); i++)
            {
                std::fprintf(f, "%s%" PRIu64, i ? ", " : "", uint64_t{value(m_eachS[i])});
            }
            std::fprintf(f, "]");
        };
        column("arrivals", [](const Counts& c) { return c.arrivals; });
        std::fprintf(f, ",");
        column("drops", [](const Counts& c) { return c.drops; });
        std::fprintf(f, ",");
        column("ce_marks", [](const Counts& c) { return c.marks; });
        std::fprintf(f, ",");
        column("lost_or_marked", [](const Counts& c) { return c.drops + c.marks; });
        std::fprintf(f, ",");
        column("ip_bytes_out", [](const Counts& c) { return c.ipBytesOut; });
        std::fprintf(f, "\n },\n");
    }

    void Kinds(std::FILE* f, double seconds) const
    {
        std::map<std::string, Counts> kinds;
        for (const auto& spec : m_scenario.flows)
        {
            auto& k = kinds[spec.kind];
            const auto& c = m_measured[spec.id];
            k.arrivals += c.arrivals;
            k.drops += c.drops;
            k.marks += c.marks;
            k.ipBytesOut += c.ipBytesOut;
        }
        std::fprintf(f, " \"kinds\": {");
        const char* comma = "";
        for (const auto& [name, c] : kinds)
        {
            double bps = c.ipBytesOut * 8.0 / seconds;
            std::fprintf(f,
                         "%s\n  \"%s\": {\"share_of_C\": %.9g, \"throughput_bps\": %.9g, "
                         "\"arrivals\": %" PRIu64 ", \"drops\": %" PRIu64 ", \"loss_rate\": %.9g}",
                         comma,
                         name.c_str(),
                         bps / m_scenario.links.back().capacityBps,
                         bps,
                         c.arrivals,
                         c.drops,
                         c.LossRate());
            comma = ",";
        }
        std::fprintf(f, "\n },\n");
    }

    void WriteFlow(std::FILE* f,
                   const Flow& spec,
                   uint64_t delivered,
                   uint64_t retransmissions,
                   double startedS,
                   double stoppedS,
                   const Ends* ends) const
    {
        const auto& all = m_all[spec.id];
        const auto& c = m_measured[spec.id];
        std::fprintf(f,
                     "{\"id\": %u, \"kind\": \"%s\", \"cc\": \"%s\", \"ecn\": %s, ",
                     spec.id,
                     spec.kind.c_str(),
                     spec.Udp() ? "none" : spec.cc.c_str(),
                     spec.ecn ? "true" : "false");
        if (ends)
        {
            std::fprintf(f, "\"src\": \"%s\", \"dst\": \"%s\", ", ends->source.c_str(), ends->destination.c_str());
            std::fprintf(f, "\"sport\": %u, ", ends->sourcePort);
        }
        std::fprintf(f, "\"dport\": %u, \"proto\": %d, ", FIRST_PORT + spec.id, spec.Udp() ? 17 : 6);
        std::fprintf(f, "\"base_rtt_s\": %.9g, ", spec.rttS);
        if (startedS >= 0)
        {
            std::fprintf(f, "\"start_s\": %.9g, ", startedS);
        }
        else
        {
            std::fprintf(f, "\"start_s\": null, ");
        }
        if (stoppedS > 0)
        {
            std::fprintf(f, "\"stop_s\": %.9g, ", stoppedS);
        }
        else
        {
            std::fprintf(f, "\"stop_s\": null, ");
        }
        std::fprintf(f,
                     "\"size_bytes\": %" PRIu64 ", \"rcv_window_pkts\": %u, \"bytes_delivered\": %" PRIu64
                     ", \"ip_bytes_out\": %" PRIu64 ", \"ip_bytes_out_meas\": %" PRIu64
                     ", \"ce_marks\": %" PRIu64 ", \"arrivals\": %" PRIu64 ", \"drops\": %" PRIu64
                     ", \"arrivals_all\": %" PRIu64 ", \"drops_all\": %" PRIu64
                     ", \"retransmissions\": %" PRIu64 "}",
                     spec.bytes,
                     spec.windowPackets,
                     delivered,
                     all.ipBytesOut,
                     c.ipBytesOut,
                     c.marks,
                     c.arrivals,
                     c.drops,
                     all.arrivals,
                     all.drops,
                     retransmissions);
    }

    const Scenario& m_scenario;
    std::vector<Counts> m_all;
    std::vector<Counts> m_measured;
    Counts m_total;
    Counts m_totalAll;
    int64_t m_warmupNs;
    uint64_t m_depthSum = 0;
    uint32_t m_depthMost = 0;
    int64_t m_waitNs = 0;
    int64_t m_waitMostNs = 0;
    std::vector<Counts> m_eachS;
};

} // namespace tidemark
