// SPDX-License-Identifier: GPL-2.0-only
// Reads a scenario from a text file with one record per line.
#pragma once

#include "record.h"
#include "scenario.h"

#include <fstream>

namespace tidemark
{

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

inline Link
ReadLink(Record& r)
{
    Link link;
    link.capacityBps = r.Number("capacity_bps");
    link.limitPackets = static_cast<uint32_t>(r.Number("limit_packets"));
    link.markPackets = static_cast<uint32_t>(r.Number("mark_packets"));
    if (link.capacityBps <= 0 || link.limitPackets == 0)
    {
        r.Fail("needs a capacity and a limit");
    }
    return link;
}

// Reads a `fair` or `change` record.
inline void
ReadSetting(Record& r, Link& link)
{
    if (r.Name() == "fair")
    {
        link.quantumBytes = static_cast<uint32_t>(r.Number("quantum_bytes"));
        if (link.quantumBytes == 0)
        {
            r.Fail("needs bytes of a turn");
        }
        return;
    }
    Change c;
    c.atS = r.Number("at_s");
    c.limitPackets = static_cast<uint32_t>(r.Number("limit_packets"));
    c.markPackets = static_cast<uint32_t>(r.Number("mark_packets"));
    if (c.limitPackets == 0 || (!link.changes.empty() && c.atS < link.changes.back().atS))
    {
        r.Fail("needs a limit, and times in order");
    }
    link.changes.push_back(c);
}

// Reads a scenario. Throws std::runtime_error with file and line.
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
                s.links.push_back(ReadLink(r));
            }
            else if (r.Name() == "fair" || r.Name() == "change")
            {
                if (s.links.empty())
                {
                    r.Fail("belongs to the link before it: there is none");
                }
                ReadSetting(r, s.links.back());
            }
            else if (r.Name() == "run")
            {
                s.run.seconds = r.Number("seconds");
                s.run.warmupS = r.Number("warmup_s");
                s.run.seed = static_cast<uint32_t>(r.Number("seed"));
                s.run.jitterPackets = r.Number("jitter_packets");
            }
            else if (r.Name() == "rto")
            {
                s.run.leastRtoS = r.Number("least_s");
            }
            else if (r.Name() == "tcp" || r.Name() == "udp")
            {
                s.flows.push_back(ReadFlow(r, r.Name() == "udp"));
                if (s.flows.back().id != s.flows.size() - 1)
                {
                    r.Fail("ids must be 0, 1, 2, ...");
                }
            }
            else if (r.Name() == "enters")
            {
                auto id = static_cast<size_t>(r.Number("id"));
                auto link = static_cast<size_t>(r.Number("link"));
                if (id >= s.flows.size() || link >= s.links.size())
                {
                    r.Fail("needs a flow and a link that stand before it");
                }
                s.flows[id].link = static_cast<uint32_t>(link);
            }
            else if (r.Name() == "opens")
            {
                auto id = static_cast<size_t>(r.Number("id"));
                auto packets = static_cast<uint32_t>(r.Number("packets"));
                if (id >= s.flows.size() || packets == 0)
                {
                    r.Fail("needs a flow that stands before it, and packets");
                }
                s.flows[id].initialWindow = packets;
            }
            else if (r.Name() == "after")
            {
                // Only flows that were read before: a chain has no cycle.
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
                r.Fail("is no record: link, fair, change, run, rto, tcp, udp, opens, after, enters");
            }
            r.End();
        }
    }
    catch (const std::runtime_error& e)
    {
        throw std::runtime_error(path + ": " + e.what());
    }
    if (s.links.empty() || s.run.seconds <= s.run.warmupS)
    {
        throw std::runtime_error(path + ": needs a link, and more seconds than warm-up");
    }
    return s;
}

} // namespace tidemark
