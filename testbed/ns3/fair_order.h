// SPDX-License-Identifier: GPL-2.0-only
// Order of waiting packets: deficit round robin over the flows (Shreedhar, Varghese 1995).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>

namespace tidemark
{

// `Item` has the fields `flow` and `bytes`.
template <typename Item>
class FairOrder
{
  public:
    explicit FairOrder(uint32_t quantumBytes)
        : m_quantum(quantumBytes)
    {
    }

    void Push(const Item& item)
    {
        auto& flow = m_flows[item.flow];
        if (flow.items.empty())
        {
            flow.deficit = m_quantum;
            m_turns.push_back(item.flow);
        }
        flow.items.push_back(item);
    }

    // Removes the next packet. The queue must not be empty.
    Item Pop()
    {
        for (;;)
        {
            uint64_t id = m_turns.front();
            auto& flow = m_flows[id];
            if (flow.items.front().bytes > flow.deficit)
            {
                flow.deficit += m_quantum;
                m_turns.splice(m_turns.end(), m_turns, m_turns.begin());
                continue;
            }
            Item item = flow.items.front();
            flow.items.pop_front();
            flow.deficit -= item.bytes;
            if (flow.items.empty())
            {
                m_flows.erase(id);
                m_turns.pop_front();
            }
            return item;
        }
    }

    // Number of waiting packets of a flow.
    size_t Length(uint64_t id) const
    {
        auto found = m_flows.find(id);
        return found == m_flows.end() ? 0 : found->second.items.size();
    }

    // The flow with the most packets; in a tie, the smallest number. The queue must not be empty.
    uint64_t Longest() const
    {
        auto longest = m_flows.begin();
        for (auto it = m_flows.begin(); it != m_flows.end(); ++it)
        {
            if (it->second.items.size() > longest->second.items.size())
            {
                longest = it;
            }
        }
        return longest->first;
    }

    // Removes the newest packet of a flow.
    Item PushOut(uint64_t id)
    {
        auto& flow = m_flows.at(id);
        Item item = flow.items.back();
        flow.items.pop_back();
        if (flow.items.empty())
        {
            m_flows.erase(id);
            m_turns.remove(id);
        }
        return item;
    }

  private:
    struct Waiting
    {
        std::deque<Item> items;
        uint64_t deficit = 0;
    };

    uint32_t m_quantum;
    std::map<uint64_t, Waiting> m_flows;
    std::list<uint64_t> m_turns;
};

} // namespace tidemark
