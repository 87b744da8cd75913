// SPDX-License-Identifier: GPL-2.0-only
// The outcome of a flow.
#pragma once

#include <cstdint>
#include <string>

namespace tidemark
{

// End points of a TCP connection.
struct Ends
{
    std::string source;
    std::string destination;
    uint16_t sourcePort;
    uint16_t destinationPort;
    uint32_t cookie;
};

struct Outcome
{
    // Not set for UDP.
    Ends ends;
    uint64_t deliveredBytes = 0;
    uint64_t retransmissions = 0;
    // -1: not started.
    double startedS = -1;
    // For a flow with an end, when its last byte arrived; otherwise when it stopped; 0: not yet.
    double stoppedS = 0;
};

} // namespace tidemark
