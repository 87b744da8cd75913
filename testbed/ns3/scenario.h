// SPDX-License-Identifier: GPL-2.0-only
// The simulated scenario.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace tidemark
{

// From a time on the port has another limit.
struct Change
{
    double atS = 0;
    uint32_t limitPackets = 0;
    uint32_t markPackets = 0;
};

// A router's port, and the link behind it.
struct Link
{
    double capacityBps = 0;
    uint32_t limitPackets = 0;
    // From this depth on packets are marked CE, and refused where they cannot be; 0: never.
    uint32_t markPackets = 0;
    // Fair queueing, so many bytes a turn; 0: first come, first served.
    uint32_t quantumBytes = 0;
    // In the order of their times.
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

    // From a time on until the next change.
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

    // A full queue at that time, and the packet in transmission.
    double LongestS(double atS) const { return (LimitPacketsAt(atS) + 1) * 12000 / capacityBps; }
};

struct Run
{
    double seconds = 0;
    double warmupS = 0;
    uint32_t seed = 1;
    // Delay of each packet on its way to its first link: uniform up to so many of that link's
    // packet times.
    double jitterPackets = 1;
    // No sender's RTO is shorter.
    double leastRtoS = 0;
};

// As Linux begins (RFC 6928).
constexpr uint32_t INITIAL_WINDOW = 10;

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
    // Segments that it sends at first.
    uint32_t initialWindow = INITIAL_WINDOW;
    // Receive window in segments; 0: larger than any congestion window.
    uint32_t windowPackets = 0;
    bool ecn = false;
    // An own link before the bottleneck; 0: none.
    double accessBps = 0;
    uint32_t accessPackets = 0;
    // Starts so long after that flow has ended, and not at `startS`; -1: after none.
    int64_t afterId = -1;
    double thinkS = 0;
    // The first link that it passes; it passes all behind it.
    uint32_t link = 0;
    // UDP: Poisson arrivals.
    double rateBps = 0;
    uint32_t ipBytes = 1500;

    bool Udp() const { return cc.empty(); }
};

struct Scenario
{
    // In a row, in the order of the data.
    std::vector<Link> links;
    Run run;
    std::vector<Flow> flows;

    // Of every queue on a flow's way, with the limits in force at a time.
    double LongestQueuesS(const Flow& flow, double atS) const
    {
        double sum = flow.accessBps > 0 ? (flow.accessPackets + 1) * 12000 / flow.accessBps : 0;
        for (size_t k = flow.link; k < links.size(); k++)
        {
            sum += links[k].LongestS(atS);
        }
        return sum;
    }

    // When a limit changes, in no order.
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
