// SPDX-License-Identifier: GPL-2.0-only
// What is simulated: a text file of one record per line, `NAME key=value ...`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace tidemark
{

struct Link
{
    double capacityBps = 0;
    uint32_t limitPackets = 0;
    // From this depth on packets are marked CE, and refused where they cannot be; 0: never.
    uint32_t markPackets = 0;
    // Fair queueing, so many bytes a turn; 0: first come, first served.
    uint32_t quantumBytes = 0;
};

// From a time on the port has another limit.
struct Change
{
    double atS = 0;
    uint32_t limitPackets = 0;
    uint32_t markPackets = 0;
};

struct Run
{
    double seconds = 0;
    double warmupS = 0;
    uint32_t seed = 1;
    // Delay of each packet on its way to the bottleneck: uniform up to so many packet times.
    double jitterPackets = 1;
};

struct Flow
{
    uint32_t id = 0;
    std::string kind;
    // Empty for UDP.
    std::string cc;
    double rttS = 0;
    double startS = 0;
    // 0: until the end.
    double stopS = 0;
    // 0: without an end.
    uint64_t bytes = 0;
    // Receive window in segments; 0: larger than any congestion window.
    uint32_t windowPackets = 0;
    bool ecn = false;
    // An own link before the bottleneck; 0: none.
    double accessBps = 0;
    uint32_t accessPackets = 0;
    // Starts so long after that flow has ended, and not at `startS`; -1: after none.
    int64_t afterId = -1;
    double thinkS = 0;
    // UDP: Poisson arrivals.
    double rateBps = 0;
    uint32_t ipBytes = 1500;

    bool Udp() const { return cc.empty(); }
};

struct Scenario
{
    Link link;
    // In the order of their times.
    std::vector<Change> changes;
    Run run;
    std::vector<Flow> flows;

    uint32_t LargestLimitPackets() const
    {
        uint32_t most = link.limitPackets;
        for (const auto& change : changes)
        {
            most = std::max(most, change.limitPackets);
        }
        return most;
    }
};

// The fields of one line; each must be asked for.
class Record
{
  public:
    Record(const std::string& line, int number)
        : m_number(number)
    {
        std::istringstream in(line);
        in >> m_name;
        for (std::string field; in >> field;)
        {
            auto at = field.find('=');
            if (at == std::string::npos)
            {
                Fail("'" + field + "' is not key=value");
            }
            m_fields[field.substr(0, at)] = field.substr(at + 1);
        }
    }

    const std::string& Name() const { return m_name; }

    std::string Text(const std::string& key)
    {
        auto found = m_fields.find(key);
        if (found == m_fields.end())
        {
            Fail("has no " + key);
        }
        auto value = found->second;
        m_fields.erase(found);
        return value;
    }

    double Number(const std::string& key)
    {
        auto text = Text(key);
        size_t end = 0;
        double value = -1;
        try
        {
            value = std::stod(text, &end);
        }
        catch (const std::exception&)
        {
        }
        if (end != text.size() || value < 0 || value > 1e15)
        {
            Fail(key + "=" + text + " is no number from 0 on");
        }
        return value;
    }

    void End()
    {
        if (!m_fields.empty())
        {
            Fail("does not know " + m_fields.begin()->first);
        }
    }

    [[noreturn]] void Fail(const std::string& what) const
    {
        throw std::runtime_error("line " + std::to_string(m_number) + ": " + m_name + " " + what);
    }

  private:
    int m_number;
    std::string m_name;
    std::map<std::string, std::string> m_fields;
};

inline Flow
ReadFlow(Record& r, bool udp)
{
    Flow f;
    f.id = static_cast<uint32_t>(r.Number("id"));
    f.kind = r.Text("kind");
    f.rttS = r.Number("rtt_s");
    f.startS = r.Number("start_s");
    f.stopS = r.Number("stop_s");
    if (udp)
    {
        f.rateBps = r.Number("rate_bps");
        f.ipBytes = static_cast<uint32_t>(r.Number("ip_bytes"));
        if (f.rateBps <= 0 || f.ipBytes < 29 || f.ipBytes > 1500)
        {
            r.Fail("needs a rate, and packets of 29 to 1500 bytes");
        }
        return f;
    }
    f.cc = r.Text("cc");
    f.bytes = static_cast<uint64_t>(r.Number("bytes"));
    f.windowPackets = static_cast<uint32_t>(r.Number("window_packets"));
    f.ecn = r.Number("ecn") != 0;
    f.accessBps = r.Number("access_bps");
    f.accessPackets = static_cast<uint32_t>(r.Number("access_packets"));
    return f;
}

// Throws std::runtime_error with file and line.
inline Scenario
ReadScenario(const std::string& path)
{
    std::ifstream in(path);
    if (!in)
    {
        throw std::runtime_error(path + ": cannot be read");
    }
    Scenario s;
    int number = 0;
    try
    {
        for (std::string line; std::getline(in, line);)
        {
            number++;
            Record r(line, number);
            if (r.Name() == "link")
            {
                s.link.capacityBps = r.Number("capacity_bps");
                s.link.limitPackets = static_cast<uint32_t>(r.Number("limit_packets"));
                s.link.markPackets = static_cast<uint32_t>(r.Number("mark_packets"));
            }
            else if (r.Name() == "fair")
            {
                s.link.quantumBytes = static_cast<uint32_t>(r.Number("quantum_bytes"));
                if (s.link.quantumBytes == 0)
                {
                    r.Fail("needs bytes of a turn");
                }
            }
            else if (r.Name() == "run")
            {
                s.run.seconds = r.Number("seconds");
                s.run.warmupS = r.Number("warmup_s");
                s.run.seed = static_cast<uint32_t>(r.Number("seed"));
                s.run.jitterPackets = r.Number("jitter_packets");
            }
            else if (r.Name() == "tcp" || r.Name() == "udp")
            {
                s.flows.push_back(ReadFlow(r, r.Name() == "udp"));
                if (s.flows.back().id != s.flows.size() - 1)
                {
                    r.Fail("ids must be 0, 1, 2, ...");
                }
            }
            else if (r.Name() == "change")
            {
                Change c;
                c.atS = r.Number("at_s");
                c.limitPackets = static_cast<uint32_t>(r.Number("limit_packets"));
                c.markPackets = static_cast<uint32_t>(r.Number("mark_packets"));
                if (c.limitPackets == 0 || (!s.changes.empty() && c.atS < s.changes.back().atS))
                {
                    r.Fail("needs a limit, and times in order");
                }
                s.changes.push_back(c);
            }
            else if (r.Name() == "after")
            {
                // Of flows that have been read: a chain has no circle.
                auto id = static_cast<size_t>(r.Number("id"));
                auto flow = static_cast<size_t>(r.Number("flow"));
                if (id >= s.flows.size() || flow >= id || s.flows[flow].bytes == 0)
                {
                    r.Fail("needs a flow with an end, and a later one that follows it");
                }
                s.flows[id].afterId = static_cast<int64_t>(flow);
                s.flows[id].thinkS = r.Number("think_s");
            }
            else if (!r.Name().empty())
            {
                r.Fail("is no record: link, fair, change, run, tcp, udp, after");
            }
            r.End();
        }
    }
    catch (const std::runtime_error& e)
    {
        throw std::runtime_error(path + ": " + e.what());
    }
    if (s.link.capacityBps <= 0 || s.link.limitPackets == 0 || s.run.seconds <= s.run.warmupS)
    {
        throw std::runtime_error(path + ": needs capacity, limit, and more seconds than warm-up");
    }
    return s;
}

} // namespace tidemark
