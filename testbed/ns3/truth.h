// SPDX-License-Identifier: GPL-2.0-only
// Truth of a run at the last link, which every flow passes: totals after the warm-up, values per
// second, and every flow.
#pragma once

#include "bottleneck_queue.h"
#include "outcome.h"
#include "ports.h"
#include "report_writer.h"
#include "scenario.h"
#include "tcp_flow.h"

#include <cmath>
#include <fstream>
#include <iomanip>
#include <map>
#include <stdexcept>
#include <type_traits>

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
        Add({1, !left, seen.marked, left ? seen.headers[2] << 8u | seen.headers[3] : 0u});
    }

    void Add(const Counts& c)
    {
        arrivals += c.arrivals;
        drops += c.drops;
        marks += c.marks;
        ipBytesOut += c.ipBytesOut;
    }

    double LossRate() const { return arrivals ? double(drops) / arrivals : 0; }
};

// Fields of a JSON object.
class Object
{
  public:
    explicit Object(std::ostream& out, const char* between = ", ")
        : m_out(out),
          m_between(between)
    {
        m_out << std::setprecision(9) << "{";
    }

    ~Object() { m_out << "}"; }

    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;

    // Names the next field; the caller writes its value.
    std::ostream& Next(const std::string& name)
    {
        m_out << m_comma << "\"" << name << "\": ";
        m_comma = m_between;
        return m_out;
    }

    template <typename T>
    Object& Add(const char* name, const T& value)
    {
        if constexpr (std::is_convertible_v<T, std::string>)
        {
            Next(name) << '"' << value << '"';
        }
        else
        {
            Next(name) << std::boolalpha << value;
        }
        return *this;
    }

    // A time; `null` if unknown.
    Object& Time(const char* name, double seconds, bool known)
    {
        known ? Next(name) << seconds : Next(name) << "null";
        return *this;
    }

  private:
    std::ostream& m_out;
    const char* m_between;
    const char* m_comma = "";
};

class Truth
{
  public:
    explicit Truth(const Scenario& scenario)
        : m_scenario(scenario),
          m_warmupNs(static_cast<int64_t>(scenario.run.warmupS * 1e9)),
          m_all(scenario.flows.size()),
          m_measured(scenario.flows.size())
    {
    }

    // Adds packets in the order of their departures or drops.
    void Add(const Seen& seen)
    {
        uint32_t id = (seen.headers[22] << 8 | seen.headers[23]) - FIRST_PORT;
        bool known = id < m_all.size();
        m_totalAll.Add(seen);
        if (known)
        {
            m_all[id].Add(seen);
        }
        if (seen.departureNs < m_warmupNs)
        {
            return;
        }
        m_total.Add(seen);
        if (known)
        {
            m_measured[id].Add(seen);
        }
        size_t second = (seen.departureNs - m_warmupNs) / 1000000000;
        m_eachS.resize(std::max(m_eachS.size(), second + 1));
        m_eachS[second].Add(seen);
        m_depthSum += seen.depth;
        m_depthMost = std::max(m_depthMost, seen.depth);
        if (seen.fate == Fate::Left)
        {
            int64_t waitNs = seen.departureNs - seen.arrivalNs;
            m_waitNs += waitNs;
            m_waitMostNs = std::max(m_waitMostNs, waitNs);
        }
    }

    // Writes JSON like the other simulated runs'; `outcomes` in the order of the scenario's flows.
    void Write(const std::string& path,
               const std::vector<const Outcome*>& outcomes,
               uint64_t reports,
               uint64_t samples) const
    {
        std::ofstream out(path);
        const auto& link = m_scenario.links.back();
        const auto& run = m_scenario.run;
        double seconds = run.seconds - run.warmupS;
        uint64_t left = m_total.arrivals - m_total.drops;
        {
            Object truth(out, ",\n ");
            truth.Add("generator", "ns-3 3.44").Add("seed", run.seed);
            truth.Add("duration_s", run.seconds).Add("warmup_s", run.warmupS);
            truth.Add("measured_s", seconds);
            truth.Add("C_bps", std::llround(link.capacityBps)).Add("B_pkts", link.limitPackets);
            truth.Add("ecn_k", link.markPackets).Add("ce_marks", m_total.marks);
            truth.Add("ce_marks_all", m_totalAll.marks).Add("recovery", "PrrSack");
            truth.Add("mss", SEGMENT_BYTES);
            truth.Add("utilisation", m_total.ipBytesOut * 8.0 / link.capacityBps / seconds);
            truth.Add("loss_rate", m_total.LossRate());
            truth.Add("arrivals", m_total.arrivals).Add("drops", m_total.drops);
            truth.Add("arrivals_all", m_totalAll.arrivals).Add("drops_all", m_totalAll.drops);
            double arrivals = std::max<uint64_t>(m_total.arrivals, 1);
            truth.Add("queue_mean_pkts_arrival", m_depthSum / arrivals);
            truth.Add("queue_max_pkts", m_depthMost);
            truth.Add("queue_delay_mean_s", m_waitNs / 1e9 / std::max<uint64_t>(left, 1));
            truth.Add("queue_delay_max_s", m_waitMostNs / 1e9);
            EachSecond(truth.Next("each_s"));
            Kinds(truth.Next("kinds"), seconds);
            truth.Next("flows") << "[";
            for (const auto& flow : m_scenario.flows)
            {
                WriteFlow(out << (flow.id ? ",\n  " : "\n  "), flow, *outcomes[flow.id]);
            }
            out << "\n ]";
            Object capture(truth.Next("capture"));
            capture.Add("reports_sent", reports).Add("reports_lost", 0);
            capture.Add("tcp_probe_samples", samples);
            capture.Add("limit_packets", link.markPackets ? link.markPackets : link.limitPackets);
            capture.Add("node", ReportWriter::NODE + uint32_t(m_scenario.links.size() - 1));
            capture.Add("egress_port", ReportWriter::EGRESS_PORT);
            capture.Add("occupancy_unit", "packets").Add("switch_clock_minus_host_clock_s", 0);
            capture.Add("switch_drift_ppm", 0).Add("seconds", run.seconds);
        }
        out << "\n";
        if (!out.flush())
        {
            throw std::runtime_error(path + ": cannot be written");
        }
    }

  private:
    // Values per second after the warm-up.
    void EachSecond(std::ostream& out) const
    {
        Object columns(out, ",\n  ");
        auto column = [&](const char* name, auto value) {
            columns.Next(name) << "[";
            for (size_t i = 0; i < m_eachS.size(); i++)
            {
                out << (i ? ", " : "") << value(m_eachS[i]);
            }
            out << "]";
        };
        column("arrivals", [](const Counts& c) { return c.arrivals; });
        column("drops", [](const Counts& c) { return c.drops; });
        column("ce_marks", [](const Counts& c) { return c.marks; });
        column("lost_or_marked", [](const Counts& c) { return c.drops + c.marks; });
        column("ip_bytes_out", [](const Counts& c) { return c.ipBytesOut; });
    }

    void Kinds(std::ostream& out, double seconds) const
    {
        std::map<std::string, Counts> kinds;
        for (const auto& flow : m_scenario.flows)
        {
            kinds[flow.kind].Add(m_measured[flow.id]);
        }
        Object all(out, ",\n  ");
        for (const auto& [name, c] : kinds)
        {
            double bps = c.ipBytesOut * 8.0 / seconds;
            Object kind(all.Next(name));
            kind.Add("share_of_C", bps / m_scenario.links.back().capacityBps);
            kind.Add("throughput_bps", bps).Add("arrivals", c.arrivals);
            kind.Add("drops", c.drops).Add("loss_rate", c.LossRate());
        }
    }

    void WriteFlow(std::ostream& out, const Flow& spec, const Outcome& outcome) const
    {
        const auto& all = m_all[spec.id];
        const auto& c = m_measured[spec.id];
        Object flow(out);
        flow.Add("id", spec.id).Add("kind", spec.kind);
        flow.Add("cc", spec.Udp() ? "none" : spec.cc).Add("ecn", spec.ecn);
        if (!spec.Udp())
        {
            flow.Add("src", outcome.ends.source).Add("dst", outcome.ends.destination);
            flow.Add("sport", outcome.ends.sourcePort);
        }
        flow.Add("dport", FIRST_PORT + spec.id).Add("proto", spec.Udp() ? 17 : 6);
        flow.Add("base_rtt_s", spec.rttS);
        flow.Time("start_s", outcome.startedS, outcome.startedS >= 0);
        flow.Time("stop_s", outcome.stoppedS, outcome.stoppedS > 0);
        flow.Add("size_bytes", spec.bytes).Add("rcv_window_pkts", spec.windowPackets);
        flow.Add("bytes_delivered", outcome.deliveredBytes).Add("ip_bytes_out", all.ipBytesOut);
        flow.Add("ip_bytes_out_meas", c.ipBytesOut).Add("ce_marks", c.marks);
        flow.Add("arrivals", c.arrivals).Add("drops", c.drops);
        flow.Add("arrivals_all", all.arrivals).Add("drops_all", all.drops);
        flow.Add("retransmissions", outcome.retransmissions);
    }

    const Scenario& m_scenario;
    int64_t m_warmupNs;
    std::vector<Counts> m_all;
    std::vector<Counts> m_measured;
    Counts m_total;
    Counts m_totalAll;
    uint64_t m_depthSum = 0;
    uint32_t m_depthMost = 0;
    int64_t m_waitNs = 0;
    int64_t m_waitMostNs = 0;
    std::vector<Counts> m_eachS;
};

} // namespace tidemark
