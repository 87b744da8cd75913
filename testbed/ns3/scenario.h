// SPDX-License-Identifier: GPL-2.0-only
// The simulated scenario.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace tidemark
{

// A change of a port's limit.
struct Change
{
    double atS = 0;
    uint32_t limitPackets = 0;
    uint32_t markPackets = 0;
};

// A router's port, and the link connected to it.
struct Link
{
    double capacityBps = 0;
    uint32_t limitPackets = 0;
    // At this depth packets are marked CE, or refused if they cannot be; 0: never.
    uint32_t markPackets = 0;
    // Bytes per turn of fair queueing; 0: first come, first served.
    uint32_t quantumBytes = 0;
    // Ordered by time.
    std::vector<Change> changes;

    uint32_t LargestLimitPackets() const
    {
        uint32_t most = limitPackets;
        for (const auto& change : changes)
        {
            most = std::max(most, change.limitPackets);
        }
        return most;
    }

    // Limit in force at a time.
    uint32_t LimitPacketsAt(double atS) const
    {
        uint32_t limit = limitPackets;
        for (const auto& change : changes)
        {
            if (change.atS <= atS)
            {
                limit = change.limitPackets;
            }
        }
        return limit;
    }

    // Time to drain a full queue at that time, and the packet in transmission.
    double LongestS(double atS) const { return (LimitPacketsAt(atS) + 1) * 12000 / capacityBps; }
};

struct Run
{
    double seconds = 0;
    double warmupS = 0;
    uint32_t seed = 1;
    // Random delay of each packet on its way to its first link: uniform up to this many of that
    // link's packet times.
    double jitterPackets = 1;
    // Lower bound on all senders' RTOs.
    double leastRtoS = 0;
};

// Linux's initial window (RFC 6928).
constexpr uint32_t INITIAL_WINDOW = 10;

struct Flow
{
    uint32_t id = 0;
    std::string kind;
    // Empty for UDP.
    std::string cc;
    double rttS = 0;
    double startS = 0;
    // 0: runs until the end.
    double stopS = 0;
    // 0: unlimited.
    uint64_t bytes = 0;
    // Initial window in segments.
    uint32_t initialWindow = INITIAL_WINDOW;
    // Receive window in segments; 0: larger than any congestion window.
    uint32_t windowPackets = 0;
    bool ecn = false;
    // Rate of the flow's own link before the bottleneck; 0: none.
    double accessBps = 0;
    uint32_t accessPackets = 0;
    // Flow after whose end this one starts, after `thinkS`, instead of at `startS`; -1: none.
    int64_t afterId = -1;
    double thinkS = 0;
    // First link that it passes, followed by all later ones.
    uint32_t link = 0;
    // UDP: rate of its Poisson packets.
    double rateBps = 0;
    uint32_t ipBytes = 1500;

    bool Udp() const { return cc.empty(); }
};

struct Scenario
{
    // In a row, in the data's direction.
    std::vector<Link> links;
    Run run;
    std::vector<Flow> flows;

    // Sum of the full queues on a flow's path, with the limits in force at a time.
    double LongestQueuesS(const Flow& flow, double atS) const
    {
        double sum = flow.accessBps > 0 ? (flow.accessPackets + 1) * 12000 / flow.accessBps : 0;
        for (size_t k = flow.link; k < links.size(); k++)
        {
            sum += links[k].LongestS(atS);
        }
        return sum;
    }

    // Times of the limits' changes, unsorted.
    std::vector<double> ChangesS() const
    {
        std::vector<double> times;
        for (const auto& link : links)
        {
            for (const auto& change : link.changes)
            {
                times.push_back(change.atS);
            }
        }
        return times;
    }
};

} // namespace tidemark
