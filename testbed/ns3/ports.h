// SPDX-License-Identifier: GPL-2.0-only
// Who listens where.
#pragma once

#include <cstdint>

namespace tidemark
{

// So that a flow is known by its destination port; each has its own, as a listening socket that is
// shared echoes the newest timestamp of all its SYNs.
constexpr uint16_t FIRST_PORT = 5001;
constexpr uint32_t MOST_FLOWS = 60000;

} // namespace tidemark
