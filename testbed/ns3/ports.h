// SPDX-License-Identifier: GPL-2.0-only
// Ports of the listeners.
#pragma once

#include <cstdint>

namespace tidemark
{

// Flows are identified by their destination port; each has its own, because a shared listening
// socket echoes the newest timestamp of all its SYNs.
constexpr uint16_t FIRST_PORT = 5001;
constexpr uint32_t MOST_FLOWS = 60000;

} // namespace tidemark
